//! Two writers: one wins, the other is told who; a former holder can write no more.

use kusion_model::{Action, Timestamp};
use kusion_store::{LEASE_TTL_MILLIS, Liveness, SimDisk, StoreError};

use crate::setup::{at, open, owner, plan, recorded, release, step, store};

#[test]
fn second_writer_is_told_who_holds_the_lock() {
    let disk = SimDisk::default();
    let session = store(&disk).acquire(owner("li"), at(0), &|_| Liveness::Alive).unwrap();
    let Err(StoreError::Locked { holder }) = store(&disk).acquire(owner("wang"), at(1), &|_| Liveness::Alive)
    else {
        panic!("two holders");
    };
    assert_eq!(holder.owner.user, "li");
    let text = holder.to_string();
    assert!(text.contains("li on host (process 1, `kusion apply dev`)"), "{text}");
    session.close(at(2)).unwrap();
    store(&disk).acquire(owner("wang"), at(3), &|_| Liveness::Alive).unwrap();
}

#[test]
fn dead_holder_is_replaced_at_once_and_fenced_for_ever() {
    let disk = SimDisk::default();
    let mut first = open(&disk).unwrap();
    let plan = plan(first.state(), vec![step("a", Action::Create)]);
    let no = first.begin(&plan, Default::default(), at(1)).unwrap();
    let mut second = store(&disk).acquire(owner("wang"), at(2), &|_| Liveness::Dead).unwrap();
    assert!(matches!(first.record(no, vec![recorded("a", no)]), Err(StoreError::Fenced { .. })));
    assert!(matches!(first.heartbeat(at(3)), Err(StoreError::Fenced { .. })));
    assert!(matches!(first.close(at(3)), Err(StoreError::Fenced { .. })));
    release(&mut second, &["b"]).unwrap();
}

#[test]
fn silent_holder_on_another_machine_loses_after_the_lease_time() {
    let disk = SimDisk::default();
    let session = store(&disk).acquire(owner("li"), at(0), &|_| Liveness::Unknown).unwrap();
    session.heartbeat(at(20)).unwrap();
    let rival = |now| store(&disk).acquire(owner("wang"), now, &|_| Liveness::Unknown);
    assert!(matches!(rival(at(40)), Err(StoreError::Locked { .. })));
    rival(Timestamp::from_millis(at(20).millis + LEASE_TTL_MILLIS + 1)).unwrap();
}

#[test]
fn plan_made_on_an_older_state_is_refused() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    let old = plan(session.state(), vec![step("a", Action::Create)]);
    release(&mut session, &["b"]).unwrap();
    assert!(matches!(session.begin(&old, Default::default(), at(1)), Err(StoreError::Stale { .. })));
}

#[test]
fn broken_lock_fences_its_former_holder() {
    let disk = SimDisk::default();
    let session = store(&disk).acquire(owner("li"), at(0), &|_| Liveness::Alive).unwrap();
    assert_eq!(store(&disk).break_lock(at(1)).unwrap().unwrap().user, "li");
    assert!(matches!(session.heartbeat(at(2)), Err(StoreError::Fenced { .. })));
}

#[test]
fn writing_behind_the_sessions_back_is_noticed() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    disk.tamper(&store(&disk).dir().join("log"), |bytes| bytes.extend_from_slice(b"x\n"));
    assert!(matches!(release(&mut session, &["a"]), Err(StoreError::Stale { .. })));
}

#[test]
fn state_that_is_known_counts_until_somebody_writes() {
    let disk = SimDisk::default();
    let mut first = open(&disk).unwrap();
    release(&mut first, &["a"]).unwrap();
    first.close(at(2)).unwrap();
    let known = store(&disk).read().unwrap();
    let knowing =
        |known| store(&disk).acquire_knowing(Some(known), owner("wang"), at(3), &|_| Liveness::Dead);
    // Nobody wrote: what is appended fits what stands there.
    let mut second = knowing(&known).unwrap();
    assert_eq!(second.state(), &known);
    release(&mut second, &["b"]).unwrap();
    second.close(at(4)).unwrap();
    // Somebody wrote: the old state is not believed.
    let mut third = knowing(&known).unwrap();
    assert_eq!(third.state(), &store(&disk).read().unwrap());
    assert_eq!(third.state().records.len(), 2);
    release(&mut third, &["c"]).unwrap();
    third.close(at(5)).unwrap();
    assert_eq!(store(&disk).read().unwrap().records.len(), 3);
}

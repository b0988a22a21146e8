//! Several writers: one wins, the others are told who; a former holder can write no more: on every medium.

use std::time::Duration;

use kusion_model::Action;
use kusion_store::{Claim, LEASE_TIME, Liveness, Session, StoreError, Watch, wait};

use crate::setup::{Medium, at, on_every_medium, owner, plan, recorded, release, step};

on_every_medium! {
    second_writer_is_told_who_holds_the_lock
    dead_holder_is_replaced_at_once_and_fenced_for_ever
    silent_holder_elsewhere_loses_after_the_lease_time_of_the_waiter
    clocks_hours_apart_do_not_break_a_lease
    plan_made_on_an_older_state_is_refused
    broken_lock_fences_its_former_holder
    garbage_where_the_lease_was_is_told_and_can_be_cleared
    state_that_is_known_counts_until_somebody_writes
    racing_writers_lose_no_release
}

fn second_writer_is_told_who_holds_the_lock(new: fn() -> Medium) {
    let medium = new();
    let session = medium.acquire("li", Liveness::Alive).unwrap();
    let Err(StoreError::Locked { holder }) = medium.acquire("wang", Liveness::Alive) else {
        panic!("two holders");
    };
    assert_eq!(holder.owner.user, "li");
    let text = holder.to_string();
    assert!(text.contains("li on host (process 1, `kusion apply dev`)"), "{text}");
    wait(session.close(at(2))).unwrap();
    medium.acquire("wang", Liveness::Alive).unwrap();
}

fn dead_holder_is_replaced_at_once_and_fenced_for_ever(new: fn() -> Medium) {
    let medium = new();
    let mut first = medium.open().unwrap();
    let plan = plan(first.state(), vec![step("a", Action::Create)]);
    let no = wait(first.begin(&plan, Default::default(), at(1))).unwrap();
    let mut second = medium.acquire("wang", Liveness::Dead).unwrap();
    assert!(matches!(wait(first.record(no, vec![recorded("a", no)])), Err(StoreError::Fenced { .. })));
    assert!(matches!(wait(first.heartbeat(at(3))), Err(StoreError::Fenced { .. })));
    assert!(matches!(wait(first.close(at(3))), Err(StoreError::Fenced { .. })));
    release(&mut second, &["b"]).unwrap();
}

fn claim(medium: &Medium, watch: &mut Watch, now: u64, elapsed: Duration) -> Result<Session, StoreError> {
    let claim = Claim { owner: owner("wang"), now: at(now), elapsed, alive: &|_| Liveness::Unknown };
    wait(medium.store().claim(&claim, None, watch))
}

fn silent_holder_elsewhere_loses_after_the_lease_time_of_the_waiter(new: fn() -> Medium) {
    let medium = new();
    let session = medium.acquire("li", Liveness::Unknown).unwrap();
    let (mut watch, second) = (Watch::default(), Duration::from_secs(1));
    let mut locked =
        |elapsed| matches!(claim(&medium, &mut watch, 0, elapsed), Err(StoreError::Locked { .. }));
    assert!(locked(second) && locked(20 * second));
    wait(session.heartbeat(at(20))).unwrap();
    assert!(locked(40 * second), "it has just shown itself");
    assert!(locked(40 * second + LEASE_TIME));
    claim(&medium, &mut watch, 0, 41 * second + LEASE_TIME).unwrap();
    assert!(matches!(wait(session.heartbeat(at(99))), Err(StoreError::Fenced { .. })));
}

fn clocks_hours_apart_do_not_break_a_lease(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.acquire("li", Liveness::Unknown).unwrap();
    for now in [0, 7_200, 1_000_000] {
        let refused = claim(&medium, &mut Watch::default(), now, Duration::from_secs(5));
        assert!(matches!(refused, Err(StoreError::Locked { .. })), "the waiter's clock says {now}");
    }
    release(&mut session, &["a"]).unwrap();
}

fn plan_made_on_an_older_state_is_refused(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    let old = plan(session.state(), vec![step("a", Action::Create)]);
    release(&mut session, &["b"]).unwrap();
    assert!(matches!(wait(session.begin(&old, Default::default(), at(1))), Err(StoreError::Stale { .. })));
}

fn broken_lock_fences_its_former_holder(new: fn() -> Medium) {
    let medium = new();
    let session = medium.acquire("li", Liveness::Alive).unwrap();
    assert_eq!(wait(medium.store().break_lock(at(1))).unwrap().unwrap().user, "li");
    assert!(matches!(wait(session.heartbeat(at(2))), Err(StoreError::Fenced { .. })));
}

fn garbage_where_the_lease_was_is_told_and_can_be_cleared(new: fn() -> Medium) {
    let medium = new();
    let mut first = medium.open().unwrap();
    release(&mut first, &["a"]).unwrap();
    medium.garble_lease();
    assert_eq!(medium.read().records.len(), 1, "who only reads needs no lease");
    assert!(matches!(medium.open(), Err(StoreError::LeaseGarbled { .. })));
    assert!(matches!(
        wait(medium.store().holder(&|_| Liveness::Alive)),
        Err(StoreError::LeaseGarbled { .. })
    ));
    wait(medium.store().break_lock(at(1))).unwrap();
    let mut second = medium.acquire("wang", Liveness::Alive).unwrap();
    assert!(matches!(release(&mut first, &["b"]), Err(StoreError::Fenced { .. })));
    release(&mut second, &["b"]).unwrap();
}

fn state_that_is_known_counts_until_somebody_writes(new: fn() -> Medium) {
    let medium = new();
    let mut first = medium.open().unwrap();
    release(&mut first, &["a"]).unwrap();
    wait(first.close(at(2))).unwrap();
    let known = medium.read();
    let claim =
        Claim { owner: owner("wang"), now: at(3), elapsed: Duration::ZERO, alive: &|_| Liveness::Dead };
    let knowing = || wait(medium.store().claim(&claim, Some(&known), &mut Watch::default()));
    // Nobody wrote: what is appended fits what stands there.
    let mut second = knowing().unwrap();
    assert_eq!(second.state(), &known);
    release(&mut second, &["b"]).unwrap();
    wait(second.close(at(4))).unwrap();
    // Somebody wrote: the old state is not believed.
    let mut third = knowing().unwrap();
    assert_eq!(third.state(), &medium.read());
    assert_eq!(third.state().records.len(), 2);
    release(&mut third, &["c"]).unwrap();
    wait(third.close(at(5))).unwrap();
    assert_eq!(medium.read().records.len(), 3);
}

fn racing_writers_lose_no_release(new: fn() -> Medium) {
    const WRITERS: u64 = 6;
    const RELEASES: u64 = 5;
    let medium = new();
    let write = |writer: u64| {
        for number in 0..RELEASES {
            let mut session = loop {
                match medium.acquire(&format!("u{writer}"), Liveness::Alive) {
                    Ok(session) => break session,
                    Err(StoreError::Locked { .. } | StoreError::Fenced { .. }) => std::thread::yield_now(),
                    Err(error) => panic!("{error}"),
                }
            };
            release(&mut session, &[&format!("m{writer}-{number}")]).unwrap();
            wait(session.close(at(2))).unwrap();
        }
    };
    std::thread::scope(|threads| {
        for writer in 0..WRITERS {
            threads.spawn(move || write(writer));
        }
    });
    let state = medium.read();
    assert_eq!(state.records.len() as u64, WRITERS * RELEASES);
    assert_eq!(state.releases.len() as u64, WRITERS * RELEASES);
    assert_eq!(state.serial, 3 * WRITERS * RELEASES, "no number is used twice or left out");
}

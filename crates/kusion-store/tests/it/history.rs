//! Releases: list, show, rebuild, compact; cost follows the change: on every medium.

use kusion_model::{Phase, ReleaseNo, diff_releases};
use kusion_store::{Store, StoreError, wait};

use crate::setup::{Medium, at, end, key, on_every_medium, plan, recorded, release, scope};

on_every_medium! {
    any_release_can_be_rebuilt_and_compared
    unknown_release_names_the_known_ones
    compaction_keeps_state_serial_history_and_the_newest_releases
    many_releases_compact_themselves
    bytes_follow_the_change_not_the_stack
    stacks_are_listed_in_order
}

fn any_release_can_be_rebuilt_and_compared(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    release(&mut session, &["a", "b"]).unwrap();
    release(&mut session, &["b", "c"]).unwrap();
    let first = wait(medium.store().state_at(ReleaseNo(1))).unwrap();
    let second = wait(medium.store().state_at(ReleaseNo(2))).unwrap();
    let diff = diff_releases(&first, &second);
    assert_eq!((diff.added, diff.changed, diff.removed), (vec![key("c")], vec![key("b")], vec![]));
}

fn unknown_release_names_the_known_ones(new: fn() -> Medium) {
    let medium = new();
    assert!(wait(medium.store().state_at(ReleaseNo(1))).unwrap_err().to_string().contains("no release yet"));
    let mut session = medium.open().unwrap();
    release(&mut session, &["a"]).unwrap();
    release(&mut session, &["b"]).unwrap();
    let error = wait(medium.store().state_at(ReleaseNo(7))).unwrap_err().to_string();
    assert_eq!(error, "release 7 does not exist; there are 1 to 2");
}

fn compaction_keeps_state_serial_history_and_the_newest_releases(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    for name in ["a", "b", "c", "d"] {
        release(&mut session, &[name]).unwrap();
    }
    let before = medium.read();
    wait(session.compact(2)).unwrap();
    assert_eq!(medium.read(), before);
    assert_eq!(wait(medium.store().state_at(ReleaseNo(3))).unwrap().len(), 3);
    assert_eq!(wait(medium.store().state_at(ReleaseNo(2))).unwrap().len(), 2);
    assert!(matches!(wait(medium.store().state_at(ReleaseNo(1))), Err(StoreError::NoRelease { .. })));
    release(&mut session, &["e"]).unwrap();
    assert_eq!(medium.read().records.len(), 5);
}

fn many_releases_compact_themselves(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    for _ in 0..120 {
        release(&mut session, &["a"]).unwrap();
    }
    let state = medium.read();
    assert_eq!(state.releases.len(), 120);
    assert!(matches!(wait(medium.store().state_at(ReleaseNo(1))), Err(StoreError::NoRelease { .. })));
    assert_eq!(wait(medium.store().state_at(ReleaseNo(119))).unwrap().len(), 1);
}

fn bytes_follow_the_change_not_the_stack(new: fn() -> Medium) {
    let cost = |n: usize| {
        let medium = new();
        let mut session = medium.open().unwrap();
        let names: Vec<String> = (0..n).map(|at| format!("m{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        release(&mut session, &names).unwrap();
        let before = medium.plug.n_bytes();
        release(&mut session, &["m0"]).unwrap();
        medium.plug.n_bytes() - before
    };
    let (small, large) = (cost(10), cost(400));
    assert!(large < small + 200, "{small} bytes, then {large}");
}

fn stacks_are_listed_in_order(new: fn() -> Medium) {
    let medium = new();
    let session = medium.open().unwrap();
    drop(session);
    let store = Store::new(std::sync::Arc::clone(&medium.backend));
    assert_eq!(wait(store.list()).unwrap(), [scope()]);
}

#[test]
fn one_change_to_ten_thousand_resources_costs_one_record() {
    let medium = Medium::sim();
    let mut session = medium.open().unwrap();
    let names: Vec<String> = (0..10_000).map(|at| format!("m{at}")).collect();
    let plan = plan(session.state(), Vec::new());
    let no = wait(session.begin(&plan, Default::default(), at(1))).unwrap();
    wait(session.record(no, names.iter().map(|name| recorded(name, no)).collect())).unwrap();
    wait(session.end(no, Vec::new(), end(Phase::Succeeded))).unwrap();
    let before = medium.plug.n_bytes();
    release(&mut session, &["m0"]).unwrap();
    let cost = medium.plug.n_bytes() - before;
    assert!(cost < 4_000, "{cost} bytes");
}

#[test]
fn log_at_rest_is_opened_with_five_requests_however_many_releases_it_has() {
    let medium = Medium::objects();
    let asked = medium.objects.clone().unwrap();
    for sessions in [1, 30] {
        let mut session = medium.open().unwrap();
        for n in 0..sessions {
            release(&mut session, &[&format!("r{n}")]).unwrap();
        }
        wait(session.close(at(2))).unwrap();
        let before = asked.n_requests();
        let state = medium.read();
        // The head, a list, the first object, the pack, the key.
        assert!(asked.n_requests() - before <= 5, "{} requests", asked.n_requests() - before);
        assert_eq!(state.records.len(), sessions);
    }
    // What comes behind the pack is read beside it.
    release(&mut medium.open().unwrap(), &["later"]).unwrap();
    assert_eq!(medium.read().records.len(), 31);
}

#[test]
fn run_asks_little_beside_its_steps() {
    let medium = Medium::objects();
    let asked = medium.objects.clone().unwrap();
    let mut session = medium.open().unwrap();
    release(&mut session, &["a"]).unwrap();
    wait(session.close(at(2))).unwrap();
    let before = asked.n_requests();
    let mut session = medium.open().unwrap();
    let plan = plan(session.state(), Vec::new());
    let no = wait(session.begin(&plan, Default::default(), at(3))).unwrap();
    wait(session.end(no, vec![recorded("b", no)], end(Phase::Succeeded))).unwrap();
    wait(session.close(at(4))).unwrap();
    // The lease and its number, the state with its key (5), taking the lease, naming the stack, looking and holding the place (6), the
    // plan and the end (3 each), giving the lease back, the next pack, the old one.
    assert_eq!(asked.n_requests() - before, 22);
    assert_eq!(medium.read().records.len(), 2);
}

//! Releases: list, show, rebuild, compact; cost follows the change.

use kusion_model::{ReleaseNo, diff_releases};
use kusion_store::{SimDisk, Store, StoreError};

use crate::setup::{key, open, release, scope, store};

#[test]
fn any_release_can_be_rebuilt_and_compared() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    release(&mut session, &["a", "b"]).unwrap();
    release(&mut session, &["b", "c"]).unwrap();
    let first = store(&disk).state_at(ReleaseNo(1)).unwrap();
    let second = store(&disk).state_at(ReleaseNo(2)).unwrap();
    let diff = diff_releases(&first, &second);
    assert_eq!((diff.added, diff.changed, diff.removed), (vec![key("c")], vec![key("b")], vec![]));
}

#[test]
fn unknown_release_names_the_known_ones() {
    let disk = SimDisk::default();
    assert!(store(&disk).state_at(ReleaseNo(1)).unwrap_err().to_string().contains("no release yet"));
    let mut session = open(&disk).unwrap();
    release(&mut session, &["a"]).unwrap();
    release(&mut session, &["b"]).unwrap();
    let error = store(&disk).state_at(ReleaseNo(7)).unwrap_err().to_string();
    assert_eq!(error, "release 7 does not exist; there are 1 to 2");
}

#[test]
fn compaction_keeps_state_serial_history_and_the_newest_releases() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    for name in ["a", "b", "c", "d"] {
        release(&mut session, &[name]).unwrap();
    }
    let before = store(&disk).read().unwrap();
    session.compact(2).unwrap();
    assert_eq!(store(&disk).read().unwrap(), before);
    assert_eq!(store(&disk).state_at(ReleaseNo(3)).unwrap().len(), 3);
    assert_eq!(store(&disk).state_at(ReleaseNo(2)).unwrap().len(), 2);
    assert!(matches!(store(&disk).state_at(ReleaseNo(1)), Err(StoreError::NoRelease { .. })));
    release(&mut session, &["e"]).unwrap();
    assert_eq!(store(&disk).read().unwrap().records.len(), 5);
}

#[test]
fn many_releases_compact_themselves() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    for _ in 0..120 {
        release(&mut session, &["a"]).unwrap();
    }
    let state = store(&disk).read().unwrap();
    assert_eq!(state.releases.len(), 120);
    assert!(matches!(store(&disk).state_at(ReleaseNo(1)), Err(StoreError::NoRelease { .. })));
    assert_eq!(store(&disk).state_at(ReleaseNo(119)).unwrap().len(), 1);
}

#[test]
fn bytes_follow_the_change_not_the_stack() {
    let cost = |n: usize| {
        let disk = SimDisk::default();
        let mut session = open(&disk).unwrap();
        let names: Vec<String> = (0..n).map(|at| format!("m{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        release(&mut session, &names).unwrap();
        let before = disk.n_bytes();
        release(&mut session, &["m0"]).unwrap();
        disk.n_bytes() - before
    };
    let (small, large) = (cost(10), cost(400));
    assert!(large < small + 200, "{small} bytes, then {large}");
}

#[test]
fn stacks_are_listed_in_order() {
    let disk = SimDisk::default();
    let session = open(&disk).unwrap();
    drop(session);
    let store = Store::new(std::sync::Arc::new(disk), "/home");
    assert_eq!(store.list().unwrap(), [scope()]);
}

#[test]
fn log_of_the_format_before_is_read_and_one_from_the_future_is_not() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    release(&mut session, &["a"]).unwrap();
    drop(session);
    let log = store(&disk).dir().join("log");
    let rewrite = |from: &str, to: &str| {
        disk.tamper(&log, |bytes| {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let lines = text.lines().map(|line| {
                let json = line.split_once(' ').unwrap().1.replace(from, to);
                format!("{} {json}\n", &kusion_model::sha256_hex(json.as_bytes())[..16])
            });
            *bytes = lines.collect::<String>().into_bytes();
        });
    };
    rewrite("\"token\":", "\"fence\":");
    rewrite("\"format\":1", "\"format\":0");
    let state = store(&disk).read().unwrap();
    assert_eq!((state.records.len(), state.token), (1, 1));
    let mut session = open(&disk).unwrap();
    release(&mut session, &["b"]).unwrap();
    assert_eq!(store(&disk).read().unwrap().records.len(), 2);
    rewrite("\"format\":1", "\"format\":9");
    assert!(matches!(store(&disk).read(), Err(StoreError::Newer { found: 9, .. })));
}

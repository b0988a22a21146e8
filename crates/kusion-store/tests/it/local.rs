//! The real disk: modes, locks, processes.

use std::os::unix::fs::PermissionsExt;

use kusion_store::{Liveness, Store, StoreError, local_liveness, local_owner, wait};

use crate::setup::{Medium, at, key, release, scope};

#[test]
fn files_are_private_and_survive_reopening() {
    let home = tempfile::tempdir().unwrap();
    let stack = Store::local(home.path().join("deep/er")).stack(&scope());
    let mut session =
        wait(stack.acquire(local_owner("li", "h", "test"), at(0), &|_| Liveness::Unknown)).unwrap();
    release(&mut session, &["a"]).unwrap();
    let key_once = wait(stack.digest_key()).unwrap();
    assert_eq!(wait(stack.digest_key()).unwrap(), key_once);
    wait(session.close(at(1))).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&stack.place()), 0o700);
    for file in ["log", "head", "lease", "key", "guard"] {
        assert_eq!(mode(&stack.place().join(file)), 0o600, "{file}");
    }
    assert!(wait(stack.read()).unwrap().records.contains_key(&key("a")));
}

#[test]
fn processes_are_told_apart() {
    let me = local_owner("li", "h", "test");
    assert_eq!(local_liveness("h", &me), Liveness::Alive);
    assert_eq!(local_liveness("other", &me), Liveness::Unknown);
    let reused = kusion_store::Owner { started: me.started + 1, ..me.clone() };
    assert_eq!(local_liveness("h", &reused), Liveness::Dead);
    let gone = kusion_store::Owner { pid: 4_000_000, ..me };
    assert_eq!(local_liveness("h", &gone), Liveness::Dead);
}

#[test]
fn threads_that_race_for_the_lock_get_one_winner() {
    let home = tempfile::tempdir().unwrap();
    let stack = Store::local(home.path()).stack(&scope());
    let results: Vec<_> = std::thread::scope(|threads| {
        let run = |n: u32| {
            let stack = stack.clone();
            move || {
                wait(stack.acquire(local_owner(&format!("u{n}"), "h", "race"), at(0), &|_| Liveness::Alive))
            }
        };
        let handles: Vec<_> = (0..8).map(|n| threads.spawn(run(n))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    let winners = results.iter().filter(|result| result.is_ok()).count();
    let told = results.iter().filter(|result| matches!(result, Err(StoreError::Locked { .. }))).count();
    assert_eq!((winners, told), (1, 7));
}

#[test]
fn folder_that_cannot_be_written_names_the_way_out() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("plain-file");
    std::fs::write(&file, "x").unwrap();
    let stack = Store::local(&file).stack(&scope());
    let error = wait(stack.acquire(local_owner("li", "h", "t"), at(0), &|_| Liveness::Dead)).err().unwrap();
    assert!(error.to_string().contains("plain-file"), "{error}");
}

#[test]
fn writing_behind_the_sessions_back_is_noticed() {
    let medium = Medium::local();
    let mut session = medium.open().unwrap();
    let mut log = std::fs::OpenOptions::new().append(true).open(medium.store().place().join("log")).unwrap();
    std::io::Write::write_all(&mut log, b"x\n").unwrap();
    assert!(matches!(release(&mut session, &["a"]), Err(StoreError::Stale { .. })));
    // What was never acknowledged counts for nothing, and the next writer cuts it off.
    assert!(medium.read().torn_tail);
    release(&mut medium.open().unwrap(), &["a"]).unwrap();
    assert!(!medium.read().torn_tail);
}

//! State that earlier engines wrote opens, and is brought forward once.

use std::path::Path;
use std::sync::Arc;

use kusion_model::{Phase, ReleaseNo, sha256_hex};
use kusion_store::{Liveness, LocalFolder, Plug, Session, StackStore, Store, StoreError, wait};

use crate::setup::{at, key, owner, release, scope};

/// A copy of a fixture under a folder of its own.
fn fixture(name: &str, plug: &Plug) -> (tempfile::TempDir, StackStore) {
    let home = tempfile::tempdir().unwrap();
    let stack = Store::new(Arc::new(LocalFolder::with_plug(home.path(), plug.clone()))).stack(&scope());
    std::fs::create_dir_all(stack.place()).unwrap();
    for file in std::fs::read_dir(source(name)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), stack.place().join(file.file_name())).unwrap();
    }
    (home, stack)
}

fn source(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn open(stack: &StackStore) -> Result<Session, StoreError> {
    wait(stack.acquire(owner("li"), at(0), &|_| Liveness::Dead))
}

#[test]
fn state_of_format_1_opens_with_all_its_releases_and_is_brought_forward_once() {
    let (_home, stack) = fixture("format-1", &Plug::default());
    let state = wait(stack.read()).unwrap();
    assert_eq!((state.serial, state.token, state.open), (14, 5, None));
    let phases: Vec<Phase> = state.releases.values().map(|release| release.phase).collect();
    let (good, bad) = (Phase::Succeeded, Phase::Failed);
    assert_eq!(phases, [good, good, good, bad, good]);
    assert_eq!(state.records.len(), 4);
    assert_eq!(wait(stack.state_at(ReleaseNo(3))).unwrap().len(), 4);
    let file = |name: &str| std::fs::read(stack.place().join(name)).unwrap();
    assert_eq!(
        file("log"),
        std::fs::read(source("format-1").join("log")).unwrap(),
        "reading changes nothing"
    );
    let mut session = open(&stack).unwrap();
    assert_eq!(session.state(), &state, "bringing it forward changes the form only");
    release(&mut session, &["next"]).unwrap();
    assert_eq!(wait(stack.read()).unwrap().records.len(), 5);
    assert_eq!(wait(stack.state_at(ReleaseNo(3))).unwrap().len(), 4);
    assert_eq!(
        file("log.format-1"),
        std::fs::read(source("format-1").join("log")).unwrap(),
        "a copy is kept"
    );
    // The copy put back is in clear, and known as such.
    std::fs::copy(stack.place().join("log.format-1"), stack.place().join("log")).unwrap();
    let error = wait(stack.read()).unwrap_err().to_string();
    assert!(error.contains("the log is in clear, but it was sealed"), "{error}");
}

#[test]
fn interrupted_release_of_format_1_is_open_and_its_intents_are_known() {
    let (_home, stack) = fixture("format-1-interrupted", &Plug::default());
    let state = wait(stack.read()).unwrap();
    assert_eq!((state.open, state.intents.len()), (Some(ReleaseNo(4)), 1));
    let holder = wait(stack.holder(&|_| Liveness::Alive)).unwrap().unwrap();
    assert_eq!(holder.owner.user, "li");
    release(&mut open(&stack).unwrap(), &["next"]).unwrap();
    assert_eq!(wait(stack.read()).unwrap().intents.len(), 1);
}

#[test]
fn state_in_clear_is_sealed_once_and_its_witness_stays_true() {
    let (_home, stack) = fixture("format-2", &Plug::default());
    let file = |name: &str| std::fs::read(stack.place().join(name)).unwrap();
    let key = wait(stack.digest_key()).unwrap();
    let (state, clear) = (wait(stack.read()).unwrap(), file("log"));
    assert_eq!((state.serial, state.records.len(), state.releases.len()), (21, 6, 7));
    let witness = state.head().unwrap();
    let mut session = open(&stack).unwrap();
    assert_eq!(session.state(), &state, "sealing changes the form only");
    assert_eq!(state.agrees_with(&witness), Ok(()));
    assert_eq!(session.state().head().unwrap().hash, witness.hash, "the chain is that of the entries");
    release(&mut session, &["sealed"]).unwrap();
    assert_eq!(wait(stack.read()).unwrap().agrees_with(&witness), Ok(()));
    assert_eq!(file("log.format-2"), clear, "a copy is kept");
    assert_eq!(wait(stack.digest_key()).unwrap(), key, "no secret looks changed");
    let log = String::from_utf8(file("log")).unwrap();
    for word in ["ConfigMap", "\"uid\"", "sealed\"", "succeeded", "(secret)"] {
        assert!(!log.contains(word), "{word} in {log}");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &stack.place().join("ring.1").metadata().unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn killed_at_every_step_of_bringing_it_forward_it_opens_all_the_same() {
    killed_at_every_step("format-1", 5);
    killed_at_every_step("format-2", 7);
}

fn killed_at_every_step(name: &str, records: usize) {
    for steps in 0..100 {
        let plug = Plug::default();
        let (_home, stack) = fixture(name, &plug);
        plug.kill_after(steps);
        let done = open(&stack).and_then(|mut session| release(&mut session, &["next"])).is_ok();
        plug.revive();
        let mut session = open(&stack).unwrap_or_else(|e| panic!("after {steps} steps: {e}"));
        release(&mut session, &["last"]).unwrap();
        let state = wait(stack.read()).unwrap();
        assert!(
            state.records.len() >= records && state.records.contains_key(&key("last")),
            "after {steps} steps"
        );
        assert!(stack.place().join(format!("log.{name}")).exists(), "after {steps} steps");
        if done {
            return;
        }
    }
    panic!("it never ran to its end");
}

/// Writes the log of a stack anew with a change in its text.
fn rewrite(stack: &StackStore, from: &str, to: &str) {
    let log = stack.place().join("log");
    let text = std::fs::read_to_string(&log).unwrap();
    let lines = text.lines().map(|line| {
        let json = line.split_once(' ').unwrap().1.replace(from, to);
        format!("{} {json}\n", &sha256_hex(json.as_bytes())[..16])
    });
    std::fs::write(&log, lines.collect::<String>()).unwrap();
}

#[test]
fn drafts_before_the_first_format_are_read_and_one_from_the_future_is_not() {
    let (_home, stack) = fixture("format-1", &Plug::default());
    rewrite(&stack, "\"token\":", "\"fence\":");
    rewrite(&stack, "\"format\":1", "\"format\":0");
    let state = wait(stack.read()).unwrap();
    assert_eq!((state.records.len(), state.token), (4, 5));
    release(&mut open(&stack).unwrap(), &["b"]).unwrap();
    assert!(stack.place().join("log.format-0").exists());
    let (_home, stack) = fixture("format-1", &Plug::default());
    rewrite(&stack, "\"format\":1", "\"format\":9");
    assert!(matches!(wait(stack.read()), Err(StoreError::Newer { found: 9, .. })));
}

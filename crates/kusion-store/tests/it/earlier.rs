//! State that earlier engines wrote opens.

use std::path::Path;

use kusion_model::{Phase, ReleaseNo};
use kusion_store::{Liveness, StackStore, Store, local_owner};

use crate::setup::{at, release, scope};

/// A copy of a fixture under a folder of its own.
fn fixture(name: &str) -> (tempfile::TempDir, StackStore) {
    let home = tempfile::tempdir().unwrap();
    let stack = Store::local(home.path()).stack(&scope());
    std::fs::create_dir_all(stack.dir()).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    for file in ["log", "lease", "key"] {
        std::fs::copy(from.join(file), stack.dir().join(file)).unwrap();
    }
    (home, stack)
}

#[test]
fn state_of_format_1_opens_with_all_its_releases() {
    let (_home, stack) = fixture("format-1");
    let state = stack.read().unwrap();
    assert_eq!((state.serial, state.token, state.open), (14, 5, None));
    let phases: Vec<Phase> = state.releases.values().map(|release| release.phase).collect();
    let (good, bad) = (Phase::Succeeded, Phase::Failed);
    assert_eq!(phases, [good, good, good, bad, good]);
    assert_eq!(state.records.len(), 4);
    assert_eq!(stack.state_at(ReleaseNo(3)).unwrap().len(), 4);
    let owner = local_owner("li", "h", "test");
    let mut session = stack.acquire(owner, at(0), &|_| Liveness::Unknown).unwrap();
    release(&mut session, &["next"]).unwrap();
    assert_eq!(stack.read().unwrap().records.len(), 5);
}

#[test]
fn interrupted_release_of_format_1_is_open_and_its_intents_are_known() {
    let (_home, stack) = fixture("format-1-interrupted");
    let state = stack.read().unwrap();
    assert_eq!((state.open, state.intents.len()), (Some(ReleaseNo(4)), 1));
    let holder = stack.holder(at(0), &|_| Liveness::Alive).unwrap().unwrap();
    assert_eq!(holder.owner.user, "li");
}

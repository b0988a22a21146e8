//! Keys: what locks them, what opens without them, and how they are changed: on every medium.

use std::time::Duration;

use kusion_model::{Attr, ReleaseNo, Secret};
use kusion_store::{Claim, Damage, Liveness, Lock, Outcome, Session, StackStore, Store, StoreError, wait};
use serde_json::json;

use crate::setup::{Medium, STRIDE, at, key, on_every_medium, owner, plan, recorded, release, scope};

on_every_medium! {
    rotation_changes_every_record_and_no_entry
    rotation_killed_at_every_step_leaves_one_truth
    rotation_with_lost_answers_is_done_once
    who_knew_the_state_before_a_rotation_writes_with_the_new_key
    lock_can_be_changed_to_a_passphrase_and_back
    sealed_texts_are_bound_to_their_stack_and_kind
    old_values_of_secrets_come_back_with_their_release
}

pub(crate) fn rotate(store: &StackStore, lock: Option<&Lock>) -> Result<u64, StoreError> {
    let (elapsed, alive) = (Duration::ZERO, &|_: &kusion_store::Owner| Liveness::Dead);
    wait(store.rotate(&Claim { owner: owner("li"), now: at(60), elapsed, alive }, lock))
}

fn locked(medium: &Medium, lock: Lock) -> StackStore {
    Store::new(medium.backend.clone()).with_lock(lock).stack(&scope())
}

fn open(store: &StackStore) -> Result<Session, StoreError> {
    wait(store.acquire(owner("li"), at(0), &|_| Liveness::Dead))
}

fn passphrase(text: &str) -> Lock {
    Lock::Passphrase(text.to_owned().into())
}

fn damage(result: Result<impl Sized, StoreError>) -> Damage {
    match result {
        Err(StoreError::Damaged { damage, .. }) => damage,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not noticed"),
    }
}

fn rotation_changes_every_record_and_no_entry(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    release(&mut session, &["a"]).unwrap();
    release(&mut session, &["b"]).unwrap();
    wait(session.close(at(2))).unwrap();
    let (digest, before) = (wait(medium.store().digest_key()).unwrap(), medium.read());
    let raw = || wait(medium.backend.read(&scope(), 0)).unwrap().log.unwrap();
    let old = raw();
    assert_eq!(rotate(&medium.store(), None).unwrap(), 2);
    let (after, new) = (medium.read(), raw());
    assert_eq!((after.serial, &after.records, &after.releases), (7, &before.records, &before.releases));
    assert_eq!(after.agrees_with(&before.head().unwrap()), Ok(()), "the chain goes on");
    assert!(!new.iter().any(|record| old.iter().any(|old| old == record)), "all are sealed anew");
    assert_eq!(wait(medium.store().digest_key()).unwrap(), digest, "no secret looks changed");
    assert_eq!(wait(medium.store().state_at(kusion_model::ReleaseNo(1))).unwrap().len(), 1);
    release(&mut medium.open().unwrap(), &["c"]).unwrap();
    assert_eq!(rotate(&medium.store(), None).unwrap(), 3);
    assert_eq!(medium.read().records.len(), 3);
    assert!(matches!(rotate(&new_store(), None), Err(StoreError::NoState { .. })));
}

fn new_store() -> StackStore {
    Medium::sim().store()
}

fn rotation_killed_at_every_step_leaves_one_truth(new: fn() -> Medium) {
    for steps in (0..100).step_by(*STRIDE) {
        let medium = new();
        let mut session = medium.open().unwrap();
        release(&mut session, &["a"]).unwrap();
        wait(session.close(at(2))).unwrap();
        medium.plug.kill_after(steps);
        let done = rotate(&medium.store(), None).is_ok();
        medium.plug.revive();
        let state = wait(medium.store().read()).unwrap_or_else(|e| panic!("after {steps} steps: {e}"));
        assert!(state.records.contains_key(&key("a")), "after {steps} steps");
        assert!(!done || state.serial == 4, "after {steps} steps");
        let mut session = medium.open().unwrap_or_else(|e| panic!("after {steps} steps: {e}"));
        release(&mut session, &["b"]).unwrap_or_else(|e| panic!("after {steps} steps: {e}"));
        wait(session.close(at(3))).unwrap();
        rotate(&medium.store(), None).unwrap_or_else(|e| panic!("after {steps} steps: {e}"));
        assert_eq!(medium.read().records.len(), 2, "after {steps} steps");
        if done && steps > 3 {
            return;
        }
    }
    panic!("it never ran to its end");
}

fn rotation_with_lost_answers_is_done_once(new: fn() -> Medium) {
    for every in 2..8 {
        let medium = new();
        release(&mut medium.open().unwrap(), &["a"]).unwrap();
        medium.plug.lose_answers(Some(every));
        rotate(&medium.store(), None).unwrap_or_else(|e| panic!("every {every}th answer is lost: {e}"));
        medium.plug.lose_answers(None);
        assert_eq!(medium.read().serial, 4, "every {every}th answer is lost");
    }
}

fn who_knew_the_state_before_a_rotation_writes_with_the_new_key(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    release(&mut session, &["a"]).unwrap();
    wait(session.close(at(2))).unwrap();
    let known = medium.read();
    rotate(&medium.store(), None).unwrap();
    let (elapsed, alive) = (Duration::ZERO, &|_: &kusion_store::Owner| Liveness::Dead);
    let claim = Claim { owner: owner("wang"), now: at(70), elapsed, alive };
    let mut session = wait(medium.store().claim(&claim, Some(&known), &mut Default::default())).unwrap();
    release(&mut session, &["b"]).unwrap();
    assert_eq!(medium.read().records.len(), 2);
}

fn lock_can_be_changed_to_a_passphrase_and_back(new: fn() -> Medium) {
    let medium = new();
    release(&mut medium.open().unwrap(), &["a"]).unwrap();
    let digest = wait(medium.store().digest_key()).unwrap();
    rotate(&medium.store(), Some(&passphrase("correct horse"))).unwrap();
    let told = wait(medium.store().read()).unwrap_err().to_string();
    assert_eq!(told, "the state is locked by a passphrase, and the key file beside the log was given");
    let wrong = damage(wait(locked(&medium, passphrase("wrong")).read()));
    assert_eq!(wrong, Damage::WrongKey { needs: "a passphrase".into() });
    let store = locked(&medium, passphrase("correct horse"));
    release(&mut open(&store).unwrap(), &["b"]).unwrap();
    assert_eq!(wait(store.digest_key()).unwrap(), digest, "no secret looks changed");
    rotate(&store, Some(&Lock::Beside)).unwrap();
    assert_eq!(medium.read().records.len(), 2);
    assert_eq!(wait(medium.store().digest_key()).unwrap(), digest);
}

fn sealed_texts_are_bound_to_their_stack_and_kind(new: fn() -> Medium) {
    let medium = new();
    let store = medium.store();
    // Before the first release: what seals a plan now opens it after the log was made.
    let text = wait(store.seal("plan", "canary")).unwrap();
    assert!(!text.contains("canary"));
    release(&mut medium.open().unwrap(), &["a"]).unwrap();
    assert_eq!(wait(medium.store().unseal("plan", &text)).unwrap(), "canary");
    let refused = |store: &StackStore, what: &str, text: &str| wait(store.unseal(what, text)).unwrap_err();
    let told =
        "the plan is not what was sealed with the key of this stack: it was changed since it was sealed";
    let other = if text.as_bytes()[40] == b'A' { 'B' } else { 'A' };
    assert_eq!(refused(&store, "plan", &format!("{}{other}{}", &text[..40], &text[41..])).to_string(), told);
    assert!(refused(&store, "token", &text).to_string().contains("changed since"));
    let other = kusion_model::Scope { stack: "prod".into(), ..scope() };
    let other = Store::new(medium.backend.clone()).stack(&other);
    assert!(refused(&other, "plan", &text).to_string().contains("sealed with another key"));
}

fn old_values_of_secrets_come_back_with_their_release(new: fn() -> Medium) {
    let medium = new();
    let digest = wait(medium.store().digest_key()).unwrap();
    let mut session = medium.open().unwrap();
    let values = [json!("canary-1"), json!("canary-2"), json!(["canary-3", 3])];
    for value in &values {
        let plan = plan(session.state(), Vec::new());
        let no = wait(session.begin(&plan, Default::default(), at(1))).unwrap();
        let Outcome::Recorded(mut record) = recorded("s", no) else { panic!() };
        let secret = Secret::new(&value.clone().into(), &digest);
        record.attributes = Attr::map([("data", Attr::map([("pw", Attr::Secret(secret))]))]);
        wait(session.record(no, vec![Outcome::Recorded(record)])).unwrap();
        wait(session.end(no, Vec::new(), crate::setup::end(kusion_model::Phase::Succeeded))).unwrap();
    }
    let value_at = |no: u64| {
        let records = wait(medium.store().state_at(ReleaseNo(no))).unwrap();
        match records[&key("s")].attributes.get("data").unwrap().get("pw").unwrap() {
            Attr::Secret(secret) => secret.expose(),
            other => panic!("{other:?}"),
        }
    };
    let all = || (1..=3).map(|no| value_at(no).unwrap()).collect::<Vec<_>>();
    assert_eq!(all(), values);
    let state = medium.read();
    assert!(!format!("{state:?}").contains("canary"), "the state shows none of them");
    wait(session.compact(2)).unwrap();
    wait(session.close(at(2))).unwrap();
    rotate(&medium.store(), None).unwrap();
    assert_eq!(all(), values, "neither folding nor another key loses them");
}

#[test]
fn passphrase_file_and_command_lock_a_new_stack() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("keys/shop");
    let rot = |word: &str| vec!["sh".to_owned(), "-c".to_owned(), word.to_owned(), "kms".to_owned()];
    let command = Lock::Command(rot("tr A-Za-z N-ZA-Mn-za-m"));
    for lock in [passphrase("correct horse"), Lock::File(path.clone()), command.clone()] {
        let medium = Medium::local();
        let store = locked(&medium, lock.clone());
        let digest = wait(store.digest_key()).unwrap();
        release(&mut open(&store).unwrap(), &["a"]).unwrap();
        let again = locked(&medium, lock.clone());
        assert_eq!(wait(again.read()).unwrap().records.len(), 1, "{lock:?}");
        assert_eq!(wait(again.digest_key()).unwrap(), digest, "{lock:?}");
        assert!(!store.place().join("key").exists(), "{lock:?}: nothing beside the log opens it");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let medium = Medium::local();
    release(&mut open(&locked(&medium, Lock::File(path.clone()))).unwrap(), &["a"]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let gone = damage(wait(locked(&medium, Lock::File(path)).read()));
    assert!(matches!(gone, Damage::NoKey { .. }), "{gone:?}");
    let medium = Medium::local();
    release(&mut open(&locked(&medium, command)).unwrap(), &["a"]).unwrap();
    let failing = wait(locked(&medium, Lock::Command(rot("exit 3"))).read()).unwrap_err().to_string();
    assert_eq!(
        failing,
        "the command `sh` does not open or lock the keys: `unwrap` ended with exit status: 3"
    );
    let strange = damage(wait(locked(&medium, Lock::Command(rot("echo no"))).read()));
    assert!(matches!(strange, Damage::WrongKey { .. }), "{strange:?}");
}

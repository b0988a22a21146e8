//! What an attacker on the medium does, each with its own words; and what a wrong key must never do.

use std::collections::BTreeSet;
use std::time::Duration;

use kusion_store::{Claim, Damage, Fault, Liveness, StoreError, wait};

use crate::damage::{Files, Subject, files, foreign, lines};
use crate::setup::{Medium, at, owner};

fn with_log(folder: &Files, lines: &[Vec<u8>]) -> Files {
    let mut changed = folder.clone();
    changed.insert("log".into(), lines.concat());
    changed
}

#[test]
fn every_way_to_tamper_has_its_own_words() {
    let subject = Subject::new(3, false, false);
    let whole = files(&subject.folder());
    let records = lines(&whole);
    let edit = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut records = records.clone();
        change(&mut records);
        with_log(&whole, &records)
    };
    let relabelled = |record: &[u8]| [b"x0", &record[2..]].concat();
    let mut other_key = whole.clone();
    other_key.insert("key".into(), vec![7; 32]);
    let mut older = whole.clone();
    older.insert("log".into(), subject.older[0]["log"].clone());
    let mut strange = whole.clone();
    strange.insert("log".into(), foreign()["log"].clone());
    let table: [(&str, Files, &str); 7] = [
        (
            "flipped byte",
            edit(&|all| all[3][60] ^= 1),
            "line 4 of the log is damaged: it was changed since it was sealed",
        ),
        ("removed tail", edit(&|all| drop(all.pop())), "but 12 were written"),
        ("replayed snapshot", older, "the log ends at entry 4, but 12 were written"),
        ("swapped records", edit(&|all| all.swap(3, 4)), "the entries are not in order"),
        ("foreign lineage", strange, "of another history"),
        ("wrong key", other_key, "the key is not the one that the state is sealed with"),
        (
            "downgraded algorithm",
            edit(&|all| all[3] = relabelled(&all[3])),
            "by an algorithm that is not known here",
        ),
    ];
    let mut told = BTreeSet::new();
    for (name, folder, words) in table {
        subject.put(&folder);
        let error = wait(subject.medium.store().read()).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{name}: {error}");
        assert!(error.to_string().contains(words), "{name}: {error}");
        assert!(told.insert(error.to_string()), "{name} is told like another: {error}");
        assert_eq!(files(&subject.folder()), folder, "{name}: nothing is touched");
    }
    subject.put(&whole);
    assert_eq!(wait(subject.medium.store().read()).unwrap(), subject.whole);
}

#[test]
fn a_repair_without_the_right_key_touches_nothing() {
    let phrase = |text: &str| kusion_store::Lock::Passphrase(text.to_owned().into());
    let store = |medium: &Medium, text: &str| {
        kusion_store::Store::new(medium.backend.clone()).with_lock(phrase(text)).stack(&crate::setup::scope())
    };
    let subject = Subject::new(2, false, false);
    crate::sealed::rotate(&subject.medium.store(), Some(&phrase("right"))).unwrap();
    let whole = files(&subject.folder());
    let mut cut_first = whole.clone();
    cut_first.insert("log".into(), lines(&whole)[1..].concat());
    let mut flipped = whole.clone();
    flipped.get_mut("log").unwrap()[40] ^= 1;
    let mut gone = whole.clone();
    gone.remove("log");
    let claim =
        || Claim { owner: owner("li"), now: at(50), elapsed: Duration::ZERO, alive: &|_| Liveness::Dead };
    for (name, folder) in
        [("whole", whole), ("first line gone", cut_first), ("flipped", flipped), ("gone", gone)]
    {
        subject.put(&folder);
        let wrong = store(&subject.medium, "wrong");
        assert!(wait(wrong.examine(None)).unwrap().is_locked(), "{name}");
        let refused = wait(wrong.repair(&claim(), None, false));
        assert!(matches!(refused, Err(StoreError::KeyNeeded { .. })), "{name}");
        assert_eq!(files(&subject.folder()), folder, "{name}: nothing is touched");
        let right = store(&subject.medium, "right");
        assert!(!wait(right.examine(None)).unwrap().is_locked(), "{name}");
        wait(right.repair(&claim(), None, false)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn another_number_of_the_format_is_no_newer_engine() {
    let subject = Subject::new(3, false, false);
    let whole = files(&subject.folder());
    let mut records = lines(&whole);
    let first = String::from_utf8(records[0].clone()).unwrap();
    records[0] = first.replacen("\"format\":3", "\"format\":9", 1).into_bytes();
    subject.put(&with_log(&whole, &records));
    let store = subject.medium.store();
    assert!(matches!(wait(store.read()), Err(StoreError::Newer { found: 9, .. })));
    let found = wait(store.examine(None)).unwrap();
    assert_eq!(found.damage, Some(Damage::Garbled { line: 1, what: Fault::Seal }));
    assert_eq!((&found.saved.records, found.missing.as_slice()), (&subject.whole.records, [].as_slice()));
}

#[test]
fn the_log_and_head_of_another_history_are_no_dead_end_and_not_adopted() {
    let subject = Subject::new(3, false, false);
    let (whole, foreign) = (files(&subject.folder()), foreign());
    let witness = subject.whole.head().unwrap();
    let mut mixed = whole.clone();
    for name in ["log", "head"] {
        mixed.insert(name.into(), foreign[name].clone());
    }
    subject.put(&mixed);
    let store = subject.medium.store();
    wait(store.digest_key()).unwrap();
    assert!(matches!(wait(store.read()), Err(StoreError::Damaged { .. })));
    assert!(wait(store.examine(Some(&witness))).unwrap().damage.is_some());
    // With its own key it opens, and is still not what was here.
    subject.put(&foreign);
    let found = wait(store.examine(Some(&witness))).unwrap();
    assert!(matches!(found.damage, Some(Damage::Stranger { .. })), "{:?}", found.damage);
    assert_eq!((found.saved.records.len(), found.missing.as_slice()), (0, [(1, witness.serial)].as_slice()));
}

#[test]
fn a_plan_with_another_number_in_front_is_not_what_was_sealed() {
    let store = Subject::new(1, false, false).medium.store();
    let sealed = wait(store.seal("plan", "text")).unwrap();
    assert_eq!(wait(store.unseal("plan", &sealed)).unwrap(), "text");
    assert!(wait(store.unseal("plan", &sealed.replacen("x1 0 ", "x1 1 ", 1))).is_err());
}

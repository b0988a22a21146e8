//! What an attacker on the medium does, each with its own words; and what a wrong key must never do.

use std::collections::BTreeSet;
use std::time::Duration;

use kusion_store::{Claim, Liveness, StoreError, wait};

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

//! A state as a document: pulled, changed, pushed; what does not fit is refused.

use std::time::Duration;

use kusion_store::{Claim, Liveness, Owner, ReleaseDraft, Snapshot, Store, Unfit, wait};

use crate::setup::{Medium, at, key, on_every_medium, owner, recorded, release, scope};

on_every_medium! {
    what_was_pulled_can_be_pushed_where_the_state_was_lost
    edit_is_a_release_and_all_or_nothing
    old_releases_are_folded_as_somebody_says
}

fn what_was_pulled_can_be_pushed_where_the_state_was_lost(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    release(&mut session, &["a"]).unwrap();
    let pulled = Snapshot::of(session.state());
    let text = serde_json::to_string(&pulled).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), pulled);
    release(&mut session, &["b"]).unwrap();
    wait(session.close(at(2))).unwrap();
    assert!(matches!(pulled.fits(&medium.read()), Err(Unfit::Older { found: 3, known: 6 })));
    let foreign = Snapshot { lineage: "other".into(), serial: 6, ..pulled.clone() };
    assert!(matches!(foreign.fits(&medium.read()), Err(Unfit::Foreign { .. })));
    let twice = Snapshot {
        resources: [pulled.resources.clone(), pulled.resources.clone()].concat(),
        ..pulled.clone()
    };
    assert!(matches!(twice.fits(&medium.read()), Err(Unfit::Twice { .. })));

    let (lost, witness) = (new(), medium.read().head().unwrap());
    let newest = Snapshot::of(&medium.read());
    assert_eq!(newest.fits(&lost.read()), Ok(()));
    let (elapsed, alive) = (Duration::ZERO, &|_: &Owner| Liveness::Dead);
    let claim = Claim { owner: owner("li"), now: at(60), elapsed, alive };
    assert_eq!(wait(lost.store().restore(&claim, &newest)).unwrap(), 7);
    let restored = lost.read();
    assert_eq!((&restored.records, &restored.lineage), (&medium.read().records, &medium.read().lineage));
    assert_eq!(restored.agrees_with(&witness), Ok(()), "the cluster believes it");
    assert_eq!(restored.next_release().0, 3, "no number is used again");
    assert!(wait(lost.store().restore(&claim, &newest)).is_err(), "it is not older any more");
    release(&mut lost.open().unwrap(), &["c"]).unwrap();
}

fn edit_is_a_release_and_all_or_nothing(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    let no = release(&mut session, &["a"]).unwrap();
    let draft = || ReleaseDraft { message: Some("by hand".into()), ..ReleaseDraft::default() };
    assert_eq!(wait(session.edit(draft(), Vec::new(), at(3))).unwrap(), None, "nothing to do is no release");
    let outcomes = vec![recorded("b", no), kusion_store::Outcome::Forgotten(key("a"))];
    let edited = wait(session.edit(draft(), outcomes, at(3))).unwrap().unwrap();
    let state = medium.read();
    assert_eq!(state.records.keys().cloned().collect::<Vec<_>>(), [key("b")]);
    assert_eq!(state.releases[&edited].message.as_deref(), Some("by hand"));
    assert!(wait(medium.store().state_at(no)).unwrap().contains_key(&key("a")), "the past stays");
}

fn old_releases_are_folded_as_somebody_says(new: fn() -> Medium) {
    let medium = new();
    let store = Store::new(medium.backend.clone()).with_retention(2).stack(&scope());
    let mut session = wait(store.acquire(owner("li"), at(0), &|_| Liveness::Dead)).unwrap();
    for number in 0..6 {
        release(&mut session, &[&format!("r{number}")]).unwrap();
    }
    let at_release = |no| wait(store.state_at(kusion_model::ReleaseNo(no)));
    assert!(at_release(6).is_ok() && at_release(5).is_ok());
    assert!(at_release(2).unwrap_err().to_string().contains("does not exist"));
    assert_eq!(medium.read().releases.len(), 6, "history lines stay");
}

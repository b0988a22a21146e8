//! The action table of the product's first slides: prior × plan × live. Everything is decided here; the executor only obeys.
//!
//! | prior | plan | live | action |
//! |---|---|---|---|
//! | 1 | 1 | 1 | what the runtime proposes: update, replace, no-op |
//! | 1 | 1 | 0 | create, "deleted outside" |
//! | 1 | 0 | 1 | delete; release, if somebody else made it or another stack owns it |
//! | 1 | 0 | 0 | delete of the record, "already gone" |
//! | 1 | 1 | other | the record is of an object that is gone: as if there were none; import, "made anew by somebody else" |
//! | 1 | 0 | other | release: the record goes, the object stays |
//! | 0 | 1 | 1 | import, with or without changes; refused, if another stack owns it |
//! | 0 | 1 | 0 | create |
//! | · | 1 | · | no-op or read, if the runtime only looks at it; no-op, "put off", if it cannot say yet |
//! | 0 | 0 | · | never reached |

use kusion_model::{Action, FieldChange, ImportedPolicy, Mover, Proposal, Proposed, Reason, ReleaseNo};

/// What the state says about a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    No,
    Yes,
    /// An interrupted release was going to make it.
    Intended(ReleaseNo),
}

/// Decides about a wanted resource; `proposal` is the runtime's word on the live object, `None` if there is none.
pub(crate) fn decide_wanted(recorded: Recorded, proposal: Option<&Proposal>) -> (Action, Reason) {
    match (recorded, proposal) {
        (_, Some(Proposal { what: Proposed::PutOff(why), .. })) => {
            (Action::NoOp, Reason::PutOff(why.clone()))
        }
        (_, Some(Proposal { what: Proposed::Read, .. })) => (Action::Read, Reason::ReadLater),
        (Recorded::No, None) => (Action::Create, Reason::New),
        (Recorded::Yes, None) => (Action::Create, Reason::DeletedOutside),
        (Recorded::Intended(release), None) => (Action::Create, Reason::Resumed(release)),
        (_, Some(Proposal { what: Proposed::Replace { because, .. }, .. })) => match because.is_empty() {
            true => (Action::Replace, Reason::Tainted),
            false => (Action::Replace, Reason::Immutable(because.clone())),
        },
        (Recorded::No, Some(_)) => (Action::Import, Reason::ExistsUnmanaged),
        // Its outcome was lost, so the record is missing: applying again is idempotent and writes the record.
        (Recorded::Intended(release), Some(_)) => (Action::Update, Reason::Resumed(release)),
        (Recorded::Yes, Some(proposal)) => decide_change(&proposal.changes, &proposal.what),
    }
}

fn decide_change(changes: &[FieldChange], what: &Proposed) -> (Action, Reason) {
    let mut effective = changes.iter().filter(|change| change.is_effective()).peekable();
    if *what == Proposed::Same || (effective.peek().is_none() && !changes.is_empty()) {
        return (Action::NoOp, Reason::Unchanged);
    }
    let drift_only = effective.peek().is_some() && effective.all(|change| change.origin == Mover::Theirs);
    (Action::Update, if drift_only { Reason::Drift } else { Reason::Changed })
}

/// Whose a live object is, from the view of the stack that plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose<'a> {
    /// It does not say.
    Nobodys,
    Ours {
        imported: bool,
    },
    Theirs {
        owner: &'a str,
        may_take: bool,
    },
    /// It has the name of what was recorded, and is another object.
    Strangers,
}

/// What ownership makes of a decision about a wanted resource.
pub(crate) fn decide_owned(decided: (Action, Reason), whose: Whose<'_>) -> (Action, Reason) {
    let (action, reason) = decided;
    match whose {
        Whose::Theirs { owner, may_take } => {
            let action = if action == Action::NoOp { Action::Update } else { action };
            let owner = owner.to_owned();
            (action, if may_take { Reason::TakenOver(owner) } else { Reason::OwnedBy(owner) })
        }
        Whose::Ours { imported: false } if reason == Reason::ExistsUnmanaged => (action, Reason::Ours),
        Whose::Strangers if action == Action::Import => (action, Reason::MadeAnew),
        Whose::Ours { .. } | Whose::Nobodys | Whose::Strangers => (action, reason),
    }
}

/// Decides about a recorded resource that is wanted no more. Nothing that others made or own is deleted, unless the user says so.
pub(crate) fn decide_unwanted(
    live: Option<Whose<'_>>,
    imported: bool,
    policy: ImportedPolicy,
) -> (Action, Reason) {
    match live {
        None => (Action::Delete, Reason::AlreadyGone),
        Some(Whose::Theirs { owner, .. }) => (Action::Release, Reason::OwnedBy(owner.to_owned())),
        Some(Whose::Strangers) => (Action::Release, Reason::MadeAnew),
        Some(whose) => {
            let imported = imported || whose == Whose::Ours { imported: true };
            match imported && policy == ImportedPolicy::Release {
                true => (Action::Release, Reason::Imported),
                false => (Action::Delete, Reason::NotInConfiguration),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kusion_model::FieldPath;

    fn proposal(what: Proposed, origins: &[Mover]) -> Proposal {
        let change = |&origin: &Mover| FieldChange::new(FieldPath::keys(["a"]), None, None, origin);
        Proposal { changes: origins.iter().map(change).collect(), ..Proposal::of(what) }
    }

    #[test]
    fn row_1_1_1_is_the_runtimes_word() {
        let decide = |p| decide_wanted(Recorded::Yes, Some(&p));
        assert_eq!(decide(Proposal::same()), (Action::NoOp, Reason::Unchanged));
        let update = |origins: &[Mover]| decide(proposal(Proposed::Update, origins));
        assert_eq!(update(&[Mover::Ours]), (Action::Update, Reason::Changed));
        assert_eq!(update(&[Mover::Theirs]), (Action::Update, Reason::Drift));
        assert_eq!(update(&[Mover::Theirs, Mover::Ours]), (Action::Update, Reason::Changed));
        let because = vec![FieldPath::keys(["spec", "selector"])];
        let replace = Proposed::Replace { because: because.clone(), lost: None, create_first: false };
        assert_eq!(decide(proposal(replace, &[])), (Action::Replace, Reason::Immutable(because)));
    }

    #[test]
    fn row_1_1_0_creates_what_was_deleted_outside() {
        assert_eq!(decide_wanted(Recorded::Yes, None), (Action::Create, Reason::DeletedOutside));
    }

    #[test]
    fn what_somebody_made_anew_is_never_deleted() {
        for policy in [ImportedPolicy::Release, ImportedPolicy::Delete] {
            let left = decide_unwanted(Some(Whose::Strangers), true, policy);
            assert_eq!(left, (Action::Release, Reason::MadeAnew));
        }
    }

    #[test]
    fn row_1_0_1_deletes_what_we_made_and_releases_the_rest() {
        let leaves = |whose, imported, policy| decide_unwanted(Some(whose), imported, policy);
        let (ours, release) = (Whose::Ours { imported: false }, ImportedPolicy::Release);
        let delete = (Action::Delete, Reason::NotInConfiguration);
        assert_eq!(leaves(ours, false, release), delete);
        assert_eq!(leaves(Whose::Nobodys, false, release), delete, "made before objects had owners");
        assert_eq!(leaves(ours, true, release), (Action::Release, Reason::Imported));
        assert_eq!(
            leaves(Whose::Ours { imported: true }, false, release),
            (Action::Release, Reason::Imported)
        );
        assert_eq!(leaves(ours, true, ImportedPolicy::Delete), delete);
        let theirs = Whose::Theirs { owner: "b/dev/default", may_take: true };
        let owned = (Action::Release, Reason::OwnedBy("b/dev/default".into()));
        assert_eq!(leaves(theirs, false, ImportedPolicy::Delete), owned, "never what another stack owns");
    }

    #[test]
    fn an_object_of_another_stack_is_refused_or_taken_over() {
        let theirs = |may_take| Whose::Theirs { owner: "b/dev/default", may_take };
        let import = (Action::Import, Reason::ExistsUnmanaged);
        let owner = || "b/dev/default".to_owned();
        assert_eq!(decide_owned(import.clone(), theirs(false)), (Action::Import, Reason::OwnedBy(owner())));
        assert_eq!(decide_owned(import.clone(), theirs(true)), (Action::Import, Reason::TakenOver(owner())));
        let same = (Action::NoOp, Reason::Unchanged);
        assert_eq!(decide_owned(same, theirs(false)), (Action::Update, Reason::OwnedBy(owner())));
        assert_eq!(decide_owned(import.clone(), Whose::Nobodys), import);
        let reclaimed = decide_owned(import.clone(), Whose::Ours { imported: false });
        assert_eq!(reclaimed, (Action::Import, Reason::Ours), "the state was lost");
        assert_eq!(decide_owned(import.clone(), Whose::Ours { imported: true }), import);
    }

    #[test]
    fn row_1_0_0_forgets_the_record() {
        let gone = decide_unwanted(None, true, ImportedPolicy::Release);
        assert_eq!(gone, (Action::Delete, Reason::AlreadyGone));
    }

    #[test]
    fn row_0_1_1_imports_changed_or_not() {
        let import = (Action::Import, Reason::ExistsUnmanaged);
        assert_eq!(decide_wanted(Recorded::No, Some(&Proposal::same())), import);
        assert_eq!(decide_wanted(Recorded::No, Some(&proposal(Proposed::Update, &[Mover::Ours]))), import);
    }

    #[test]
    fn what_is_put_off_is_left_alone() {
        for recorded in [Recorded::No, Recorded::Yes, Recorded::Intended(ReleaseNo(4))] {
            let later = proposal(Proposed::PutOff("later".into()), &[]);
            assert_eq!(decide_wanted(recorded, Some(&later)), (Action::NoOp, Reason::PutOff("later".into())));
        }
    }

    #[test]
    fn row_0_1_0_creates() {
        assert_eq!(decide_wanted(Recorded::No, None), (Action::Create, Reason::New));
    }

    #[test]
    fn interrupted_work_is_ours_not_foreign() {
        let begun = Recorded::Intended(ReleaseNo(4));
        assert_eq!(decide_wanted(begun, None), (Action::Create, Reason::Resumed(ReleaseNo(4))));
        let (action, _) = decide_wanted(begun, Some(&Proposal::same()));
        assert_eq!(action, Action::Update);
    }

    #[test]
    fn fields_left_alone_change_nothing() {
        let mut left = proposal(Proposed::Update, &[Mover::Theirs]);
        left.changes[0].note = Some(kusion_model::Note::LeftAlone);
        assert_eq!(decide_wanted(Recorded::Yes, Some(&left)), (Action::NoOp, Reason::Unchanged));
    }
}

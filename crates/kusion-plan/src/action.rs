//! The action table of the product's first slides: prior × plan × live. Everything is decided here; the executor only obeys.
//!
//! | prior | plan | live | action |
//! |---|---|---|---|
//! | 1 | 1 | 1 | what the runtime proposes: update, replace, no-op |
//! | 1 | 1 | 0 | create, "deleted outside" |
//! | 1 | 0 | 1 | delete |
//! | 1 | 0 | 0 | delete of the record, "already gone" |
//! | 1 | 1 | other | the record is of an object that is gone: as if there were none; import, "made anew by somebody else" |
//! | 1 | 0 | other | release: the record goes, the object stays |
//! | 0 | 1 | 1 | import, with or without changes |
//! | 0 | 1 | 0 | create |
//! | 0 | 0 | · | never reached |

use kusion_model::{Action, FieldChange, Origin, Proposal, Proposed, Reason, ReleaseNo};

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
        (Recorded::No, None) => (Action::Create, Reason::New),
        (Recorded::Yes, None) => (Action::Create, Reason::DeletedOutside),
        (Recorded::Intended(release), None) => (Action::Create, Reason::Resumed(release)),
        (_, Some(Proposal { what: Proposed::Replace { because, .. }, .. })) => {
            (Action::Replace, Reason::Immutable(because.clone()))
        }
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
    let drift_only = effective.peek().is_some() && effective.all(|change| change.origin == Origin::Theirs);
    (Action::Update, if drift_only { Reason::Drift } else { Reason::Changed })
}

/// What is there under the name of a recorded resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    No,
    /// The object that was recorded.
    Same,
    /// Another one.
    MadeAnew,
}

/// Decides about a recorded resource that is wanted no more.
pub(crate) fn decide_unwanted(live: Live) -> (Action, Reason) {
    match live {
        Live::Same => (Action::Delete, Reason::NotInConfiguration),
        Live::No => (Action::Delete, Reason::AlreadyGone),
        Live::MadeAnew => (Action::Release, Reason::MadeAnew),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kusion_model::FieldPath;

    fn proposal(what: Proposed, origins: &[Origin]) -> Proposal {
        let change = |&origin: &Origin| FieldChange::new(FieldPath::keys(["a"]), None, None, origin);
        Proposal { what, changes: origins.iter().map(change).collect(), warnings: Vec::new() }
    }

    #[test]
    fn row_1_1_1_is_the_runtimes_word() {
        let decide = |p| decide_wanted(Recorded::Yes, Some(&p));
        assert_eq!(decide(Proposal::same()), (Action::NoOp, Reason::Unchanged));
        let update = |origins: &[Origin]| decide(proposal(Proposed::Update, origins));
        assert_eq!(update(&[Origin::Ours]), (Action::Update, Reason::Changed));
        assert_eq!(update(&[Origin::Theirs]), (Action::Update, Reason::Drift));
        assert_eq!(update(&[Origin::Theirs, Origin::Ours]), (Action::Update, Reason::Changed));
        let because = vec![FieldPath::keys(["spec", "selector"])];
        let replace = Proposed::Replace { because: because.clone(), lost: None };
        assert_eq!(decide(proposal(replace, &[])), (Action::Replace, Reason::Immutable(because)));
    }

    #[test]
    fn row_1_1_0_creates_what_was_deleted_outside() {
        assert_eq!(decide_wanted(Recorded::Yes, None), (Action::Create, Reason::DeletedOutside));
    }

    #[test]
    fn row_1_0_1_deletes() {
        assert_eq!(decide_unwanted(Live::Same), (Action::Delete, Reason::NotInConfiguration));
    }

    #[test]
    fn what_somebody_made_anew_is_never_deleted() {
        assert_eq!(decide_unwanted(Live::MadeAnew), (Action::Release, Reason::MadeAnew));
    }

    #[test]
    fn row_1_0_0_forgets_the_record() {
        assert_eq!(decide_unwanted(Live::No), (Action::Delete, Reason::AlreadyGone));
    }

    #[test]
    fn row_0_1_1_imports_changed_or_not() {
        let import = (Action::Import, Reason::ExistsUnmanaged);
        assert_eq!(decide_wanted(Recorded::No, Some(&Proposal::same())), import);
        assert_eq!(decide_wanted(Recorded::No, Some(&proposal(Proposed::Update, &[Origin::Ours]))), import);
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
        let mut left = proposal(Proposed::Update, &[Origin::Theirs]);
        left.changes[0].note = Some(kusion_model::Note::LeftAlone);
        assert_eq!(decide_wanted(Recorded::Yes, Some(&left)), (Action::NoOp, Reason::Unchanged));
    }
}

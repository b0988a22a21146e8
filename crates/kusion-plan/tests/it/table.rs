//! All rows of prior × plan × live, as whole plans.

use kusion_model::{Action, Mover, Plan, Reason, ReleaseNo};
use kusion_plan::moved_since;

use crate::toy::KEY;
use crate::world::{Situation, key};

#[test]
fn row_1_1_1_equal_is_no_op_and_carries_nothing() {
    let step = Situation::default().want("a", 1, &[]).record("a", 1, &[]).live("a", 1).step("a");
    assert_eq!((step.action, &step.desired, &step.before), (Action::NoOp, &None, &None));
}

#[test]
fn row_1_1_1_ours_theirs_both() {
    for (recorded, wanted, live, origin, drift) in
        [(1, 2, 1, Mover::Ours, false), (1, 1, 2, Mover::Theirs, true), (1, 2, 3, Mover::Both, true)]
    {
        let step =
            Situation::default().want("a", wanted, &[]).record("a", recorded, &[]).live("a", live).step("a");
        assert_eq!((step.action, step.changes[0].origin, step.drift), (Action::Update, origin, drift));
        assert_eq!(step.changes[0].path.to_string(), "data.v");
        assert_eq!(step.live_version.as_deref(), Some("7"));
    }
}

#[test]
fn row_1_1_0_is_create_because_deleted_outside() {
    let step = Situation::default().want("a", 1, &[]).record("a", 1, &[]).step("a");
    assert_eq!((step.action, step.reason), (Action::Create, Reason::DeletedOutside));
}

#[test]
fn row_1_0_1_is_delete_with_the_identity_of_what_goes() {
    let step = Situation::default().record("a", 1, &[]).live("a", 1).step("a");
    assert_eq!((step.action, step.reason), (Action::Delete, Reason::NotInConfiguration));
    assert_eq!(step.live_uid.as_deref(), Some("uid-a"));
}

#[test]
fn row_1_0_0_is_delete_of_the_record() {
    let step = Situation::default().record("a", 1, &[]).step("a");
    assert_eq!((step.action, step.reason), (Action::Delete, Reason::AlreadyGone));
}

#[test]
fn row_0_1_1_is_import_with_its_changes() {
    let equal = Situation::default().want("a", 1, &[]).live("a", 1).step("a");
    assert_eq!((equal.action, equal.changes.len(), equal.drift), (Action::Import, 0, false));
    let different = Situation::default().want("a", 1, &[]).live("a", 2).step("a");
    assert_eq!((different.action, different.changes.len(), different.drift), (Action::Import, 1, false));
}

#[test]
fn row_0_1_0_is_create() {
    let step = Situation::default().want("a", 1, &[]).step("a");
    assert_eq!((step.action, step.reason), (Action::Create, Reason::New));
}

#[test]
fn row_0_0_is_never_reached() {
    assert!(Situation::default().live("a", 1).plan().steps.is_empty());
}

#[test]
fn empty_stack_after_a_non_empty_one_deletes_everything() {
    let plan = Situation::default().record("a", 1, &[]).record("b", 1, &[]).live("a", 1).live("b", 1).plan();
    assert_eq!((plan.tally().delete, plan.steps.len()), (2, 2));
}

#[test]
fn interrupted_release_left_an_orphan_that_is_wanted_no_more() {
    let step = Situation::default().intend("a", 1).live("a", 1).step("a");
    assert_eq!(step.action, Action::Delete);
}

#[test]
fn interrupted_release_made_an_object_that_is_still_wanted() {
    let step = Situation::default().want("a", 1, &[]).intend("a", 1).live("a", 1).step("a");
    assert_eq!((step.action, step.reason), (Action::Update, Reason::Resumed(ReleaseNo(3))));
}

#[test]
fn object_on_its_way_out_is_made_anew_after_it_is_gone() {
    let mut situation = Situation::default().want("a", 1, &[]).record("a", 1, &[]).live("a", 1);
    situation.live.get_mut(&key("a")).unwrap().terminating = Some(vec!["example.com/hold".into()]);
    let step = situation.step("a");
    assert_eq!((step.action, step.live_uid.as_deref()), (Action::Create, Some("uid-a")));
    assert!(step.warnings[0].contains("example.com/hold"));
}

#[test]
fn record_that_lags_behind_is_refreshed_without_a_write() {
    let step = Situation::default().want("a", 2, &[]).record("a", 1, &[]).live("a", 2).step("a");
    assert_eq!(step.action, Action::NoOp);
    assert_eq!(step.rerecord.unwrap().attributes["data"]["v"], serde_json::json!(2));
}

#[test]
fn same_situation_gives_the_same_bytes_and_hash() {
    let situation =
        || Situation::default().want("b", 1, &["a"]).want("a", 2, &[]).record("a", 1, &[]).live("a", 1);
    assert_eq!(situation().plan().to_json(), situation().plan().to_json());
    assert_eq!(Plan::from_json(&situation().plan().to_json()), Ok(situation().plan()));
}

#[test]
fn saved_plan_is_stale_only_if_it_would_do_something_else() {
    let base = || Situation::default().want("a", 2, &[]).record("a", 1, &[]).live("a", 1);
    let mut touched = base();
    touched.live.get_mut(&key("a")).unwrap().version = Some("8".into());
    assert_ne!(base().plan().hash, touched.plan().hash);
    assert!(moved_since(&base().plan(), &touched.plan()).is_empty());
    let moved = moved_since(&base().plan(), &base().live("a", 9).plan());
    assert_eq!(moved.len(), 1);
    assert!(!moved_since(&base().plan(), &base().want("b", 1, &[]).plan()).is_empty());
}

#[test]
fn secret_values_are_in_no_plan() {
    let mut situation = Situation::default();
    situation.wanted.push(serde_json::json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "s", "namespace": "ns"}, "data": {"pw": "Y2FuYXJ5"}, "stringData": {"x": "canary"}}));
    let plan = situation.plan();
    let shown = format!("{plan:?} {} {}", plan.to_json(), kusion_model::upstream_view(&plan));
    assert!(!shown.contains("Y2FuYXJ5") && !shown.contains("canary"), "{shown}");
    assert!(!format!("{KEY:?}").contains('1'));
}

#[test]
fn what_was_being_made_when_a_release_was_cut_off_is_told_by_name_and_only_that() {
    let mut situation = Situation::default().want("cut", 1, &[]).want("later", 1, &[]);
    situation = situation.intend("cut", 1).intend("later", 1).intend("gone", 1);
    situation.prior.tried = std::sync::Arc::new([key("cut"), key("gone")].into());
    let plan = situation.plan();
    let warnings = |name: &str| {
        let step = plan.steps.iter().find(|step| step.key == key(name)).unwrap();
        (step.action, step.warnings.join(" "))
    };
    let (action, told) = warnings("cut");
    assert!(
        action == Action::Create && told.contains(&format!("kusion import STACK {} ID", key("cut"))),
        "{told}"
    );
    assert_eq!(warnings("later"), (Action::Create, String::new()));
    let (action, told) = warnings("gone");
    assert!(action == Action::Delete && told.contains("look for it"), "{told}");
}

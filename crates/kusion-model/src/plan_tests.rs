//! Plans as they are stored, sealed and read.

use super::*;
use crate::ResourceId;

pub(crate) fn step(id: &str, action: Action) -> Step {
    Step {
        key: ResourceKey::new(ResourceId::parse(id).unwrap()),
        kind: ResourceType::kubernetes(),
        action,
        reason: Reason::New,
        drift: false,
        changes: Vec::new(),
        warnings: Vec::new(),
        lost: None,
        desired: Some(serde_json::json!({"kind": "Namespace"}).into()),
        unknown: Vec::new(),
        before: None,
        live_version: None,
        live_uid: None,
        after: Vec::new(),
        old_after: Vec::new(),
        depends_on: Vec::new(),
        extensions: Map::new(),
        planned: None,
        blob: None,
        kept: None,
        create_first: false,
        once: false,
        references: Vec::new(),
        deposed: Vec::new(),
        rerecord: None,
        aliases: Vec::new(),
    }
}

pub(crate) fn plan(steps: Vec<Step>) -> Plan {
    PlanDraft {
        schema: PLAN_SCHEMA.to_owned(),
        engine: "0.1.0".to_owned(),
        scope: Scope { project: "shop".into(), stack: "dev".into(), workspace: "default".into() },
        lineage: "l".to_owned(),
        serial: 3,
        spec_digest: "d".to_owned(),
        rules: Vec::new(),
        steps,
        hash: String::new(),
    }
    .sealed()
    .unwrap()
}

#[test]
fn one_object_is_touched_once() {
    let uid = |id: &str| Step { live_uid: Some("u".to_owned()), ..step(id, Action::Update) };
    let unsealed = |steps| PlanDraft { steps, ..(*plan(Vec::new())).clone() };
    let twice = unsealed(vec![uid("v1:ConfigMap:web"), uid("v1:ConfigMap:default:web")]).sealed();
    assert!(matches!(twice, Err(PlanError::Twice { .. })));
    let mut alias = step("v1:ConfigMap:default:web", Action::Update);
    alias.aliases = vec![ResourceKey::new(ResourceId::parse("v1:ConfigMap:web").unwrap())];
    let twice = unsealed(vec![alias.clone(), step("v1:ConfigMap:web", Action::Delete)]).sealed();
    assert!(matches!(twice, Err(PlanError::Twice { .. })));
    assert!(unsealed(vec![alias]).sealed().is_ok());
}

#[test]
fn stored_plan_reads_back_and_a_touched_one_is_refused() {
    let plan = plan(vec![step("v1:Namespace:shop", Action::Create)]);
    let text = plan.to_json();
    assert_eq!(Plan::from_json(&text), Ok(plan));
    assert_eq!(Plan::from_json(&text.replace("create", "delete")), Err(PlanError::Hash));
    let other = text.replace("plan/v1", "plan/v9");
    assert!(matches!(Plan::from_json(&other), Err(PlanError::Schema(_))));
    assert!(matches!(Plan::from_json("{"), Err(PlanError::Unreadable(_))));
}

#[test]
fn references_read_back_as_references_and_other_texts_as_texts() {
    let text = "$kusion_path.v1:Service:a:b.spec.clusterIP";
    let mut step = step("v1:ConfigMap:a:c", Action::Create);
    let desired = serde_json::json!({"data": {"ip": text}});
    let mut desired = Attr::read(desired, &mut Vec::new());
    step.unknown = crate::references_in(&desired);
    desired.get_mut("data").unwrap().as_map_mut().unwrap().insert("quoted".into(), Attr::text(text));
    step.desired = Some(desired);
    let plan = plan(vec![step]);
    assert_eq!(Plan::from_json(&plan.to_json()), Ok(plan));
}

#[test]
fn hash_depends_on_serial_versions_and_engine() {
    let base = plan(vec![step("v1:Namespace:shop", Action::Update)]);
    let mut serial = (*base).clone();
    serial.serial += 1;
    let mut version = (*base).clone();
    version.steps[0].live_version = Some("42".to_owned());
    let mut engine = (*base).clone();
    engine.engine = "0.2.0".to_owned();
    for other in [serial, version, engine] {
        assert_ne!(other.sealed().unwrap().hash, base.hash);
    }
    assert_eq!((*base).clone().sealed().unwrap().hash, base.hash);
}

//! One object under several ids: its record follows the id in use, and no plan touches it twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kusion_model::{
    Action, Observed, Plan, ReleaseNo, ResourceId, ResourceKey, ResourceRecord, ResourceType,
};
use serde_json::json;

use crate::world::Situation;

/// The ways to write one object: with and without its namespace, in several versions, in a group it once had.
const SPELLINGS: [(&str, Option<&str>); 5] = [
    ("apps/v1", Some("default")),
    ("apps/v1", None),
    ("apps/v1beta2", Some("default")),
    ("extensions/v1beta1", Some("default")),
    ("extensions/v1beta1", None),
];
const N_OBJECTS: usize = 4;

fn key(object: usize, spelling: usize) -> ResourceKey {
    let (version, namespace) = SPELLINGS[spelling];
    let name = format!("o{object}");
    let parts = [version, "Deployment"].into_iter().chain(namespace).chain([name.as_str()]);
    ResourceKey::new(ResourceId::from_parts(parts))
}

fn manifest(object: usize, spelling: usize) -> serde_json::Value {
    let (version, namespace) = SPELLINGS[spelling];
    let mut manifest =
        json!({"apiVersion": version, "kind": "Deployment", "metadata": {"name": format!("o{object}")}});
    if let Some(namespace) = namespace {
        manifest["metadata"]["namespace"] = json!(namespace);
    }
    manifest
}

fn record(object: usize, spelling: usize, release: u64, depends_on: Vec<ResourceKey>) -> ResourceRecord {
    ResourceRecord {
        key: key(object, spelling),
        kind: ResourceType::kubernetes(),
        attributes: manifest(object, spelling).into(),
        depends_on,
        extensions: serde_json::Map::new(),
        references: Vec::new(),
        uid: None,
        release: ReleaseNo(release),
        imported: false,
        kept: None,
        deposed: Vec::new(),
    }
}

/// What the platform says of every key.
fn meanings() -> BTreeMap<ResourceKey, String> {
    let all = (0..N_OBJECTS).flat_map(|object| (0..SPELLINGS.len()).map(move |spelling| (object, spelling)));
    all.map(|(object, spelling)| (key(object, spelling), format!("apps Deployment default o{object}")))
        .collect()
}

fn live(situation: &mut Situation, object: usize, spelling: usize) {
    let observed = Observed {
        attributes: manifest(object, spelling).into(),
        version: Some("1".into()),
        uid: Some(format!("uid-{object}")),
        ..Observed::default()
    };
    situation.live.insert(key(object, spelling), observed);
}

fn want(situation: &mut Situation, object: usize, spelling: usize) {
    let id = key(object, spelling).to_string();
    situation.wanted.push(json!({"id": id, "type": "Kubernetes", "attributes": manifest(object, spelling)}));
}

#[test]
fn a_namespace_that_is_written_out_renames_the_record() {
    let mut situation = Situation { identities: meanings(), ..Situation::default() };
    want(&mut situation, 0, 0);
    for spelling in [0, 1] {
        live(&mut situation, 0, spelling);
    }
    let records = Arc::make_mut(&mut situation.prior.records);
    records.insert(key(0, 1), record(0, 1, 2, Vec::new()));
    let plan = situation.plan();
    assert_eq!(plan.steps.len(), 1, "{:?}", plan.steps);
    let step = &plan.steps[0];
    assert_eq!((step.action, step.aliases.as_slice()), (Action::NoOp, &[key(0, 1)][..]), "{step:?}");
    assert_eq!(step.rerecord.as_ref().map(|record| &record.key), Some(&key(0, 0)), "the record follows");
}

#[test]
fn two_resources_that_are_one_object_are_named() {
    let mut situation = Situation { identities: meanings(), ..Situation::default() };
    want(&mut situation, 0, 0);
    want(&mut situation, 0, 3);
    let problems = situation.try_plan().unwrap_err();
    assert_eq!(problems[0].id(), "one-object-twice");
    let text = problems[0].to_string();
    assert!(text.contains("apps/v1:Deployment:default:o0") && text.contains("extensions/v1beta1"), "{text}");
}

#[test]
fn the_uid_tells_where_the_platform_does_not() {
    let mut situation = Situation::default();
    want(&mut situation, 0, 2);
    for spelling in [0, 2] {
        live(&mut situation, 0, spelling);
    }
    Arc::make_mut(&mut situation.prior.records).insert(key(0, 0), record(0, 0, 1, Vec::new()));
    let plan = situation.plan();
    assert_eq!(plan.steps.len(), 1, "{:?}", plan.steps);
    assert_ne!(plan.steps[0].action, Action::Delete);
}

/// A small generator: the same seed, the same situations.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// A random past, present and wish; how often it is only the uid that tells is random too.
fn random(dice: &mut Dice) -> (Situation, BTreeSet<usize>, BTreeSet<usize>) {
    let mut situation = Situation::default();
    let (mut wanted, mut alive) = (BTreeSet::new(), BTreeSet::new());
    let knows = dice.roll(4) > 0;
    if knows {
        situation.identities = meanings();
    }
    for object in 0..N_OBJECTS {
        if dice.roll(3) > 0 {
            alive.insert(object);
        }
        if dice.roll(3) > 0 {
            let spelling = dice.roll(SPELLINGS.len());
            want(&mut situation, object, spelling);
            wanted.insert(object);
        }
        for _ in 0..dice.roll(3) {
            let on = vec![key(dice.roll(N_OBJECTS), dice.roll(SPELLINGS.len()))];
            let (spelling, release) = (dice.roll(SPELLINGS.len()), dice.roll(9) as u64);
            let made = record(object, spelling, release, on);
            let place = match dice.roll(3) {
                0 => &mut situation.prior.intents,
                _ => &mut situation.prior.records,
            };
            Arc::make_mut(place).insert(made.key.clone(), made);
        }
    }
    for &object in &alive {
        (0..SPELLINGS.len()).for_each(|spelling| live(&mut situation, object, spelling));
    }
    // Without the platform's word only what lives can be known to be one.
    if !knows {
        let dead = |key: &ResourceKey| !situation.live.contains_key(key);
        let gone: Vec<ResourceKey> =
            situation.prior.keys().into_iter().filter(|key| dead(key)).cloned().collect();
        for key in gone {
            Arc::make_mut(&mut situation.prior.records).remove(&key);
            Arc::make_mut(&mut situation.prior.intents).remove(&key);
        }
    }
    (situation, wanted, alive)
}

fn object_of(key: &ResourceKey) -> usize {
    key.to_string().rsplit('o').next().unwrap().parse().unwrap()
}

fn check(situation: &Situation, plan: &Plan, wanted: &BTreeSet<usize>, seed: u64) {
    let touched: Vec<usize> = plan.steps.iter().map(|step| object_of(&step.key)).collect();
    let distinct: BTreeSet<usize> = touched.iter().copied().collect();
    assert_eq!(touched.len(), distinct.len(), "seed {seed}: one object in two steps: {:?}", plan.steps);
    for step in &plan.steps {
        let deletes = matches!(step.action, Action::Delete | Action::Replace);
        assert!(!(deletes && wanted.contains(&object_of(&step.key))), "seed {seed}: {step:?}");
    }
    // Every id of the state is carried on or forgotten, exactly once.
    let mut known: Vec<&ResourceKey> =
        plan.steps.iter().flat_map(|step| std::iter::once(&step.key).chain(&step.aliases)).collect();
    known.sort();
    for key in situation.prior.keys() {
        assert_eq!(known.iter().filter(|known| **known == key).count(), 1, "seed {seed}: {key}");
    }
}

#[test]
fn no_plan_touches_one_object_twice_however_it_is_written() {
    for seed in 0..3000 {
        let (situation, wanted, _) = random(&mut Dice(seed));
        check(&situation, &situation.plan(), &wanted, seed);
    }
}

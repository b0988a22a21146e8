//! Bad input is refused, never panicked on: mutated bodies, patches and managedFields from a fixed seed.

use kube_meaning::decide::{Question, decide};
use kube_meaning::ssa::Target;
use kube_meaning::write::{Verb, Writer, write};
use kube_meaning::{builtin, elem::Elem, fieldset::FieldSet, quantity::Quantity, selectors::LabelSelector};
use serde_json::{Value, json};

/// A small generator: the same seed gives the same run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn odd(dice: &mut Dice) -> Value {
    match dice.roll(14) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(1.5e300),
        4 => json!(""),
        5 => json!("é\u{0}x"),
        6 => json!([]),
        7 => json!({}),
        8 => json!([null, {}, [], "a"]),
        9 => json!({"name": null}),
        10 => json!([{"name": "c"}, {"name": "c"}]),
        11 => json!({"$patch": "replace"}),
        12 => json!({"": {"": 1}}),
        _ => json!(u64::MAX),
    }
}

fn mutate(value: &mut Value, dice: &mut Dice) {
    if dice.roll(12) == 0 {
        *value = odd(dice);
        return;
    }
    match value {
        Value::Object(map) => {
            if dice.roll(10) == 0 {
                map.insert(
                    ["x", "name", "$patch", "$setElementOrder/containers", "spec", "f:a"]
                        [dice.roll(6) as usize]
                        .to_owned(),
                    odd(dice),
                );
            }
            map.values_mut().for_each(|v| mutate(v, dice));
        }
        Value::Array(items) => {
            if dice.roll(8) == 0 {
                items.push(odd(dice));
            }
            items.iter_mut().for_each(|v| mutate(v, dice));
        }
        _ => {}
    }
}

fn seed_object() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"a": "b"}, "finalizers": ["a.b/c"]},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
            "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}], "volumes": [{"name": "v"}]}}}})
}

#[test]
fn mutated_writes_never_panic() {
    let resource = builtin().resource("apps", "v1", "Deployment").unwrap();
    let target = Target::main(builtin(), resource);
    let mut dice = Dice(7);
    let put = |live: Option<&Value>, verb: Verb<'_>| {
        write(
            target,
            live,
            verb,
            Writer {
                manager: "m",
                force: true,
                now: "2026-01-01T00:00:00Z",
                uid: "u",
                admit: &mut |_, _| Ok(()),
            },
        )
    };
    let live = put(None, Verb::Apply(&seed_object())).unwrap().object;
    for _ in 0..400 {
        let mut body = seed_object();
        mutate(&mut body, &mut dice);
        let mut strange = live.clone();
        mutate(&mut strange, &mut dice);
        for live in [&live, &strange] {
            for verb in [
                Verb::Apply(&body),
                Verb::Update(&body),
                Verb::MergePatch(&body),
                Verb::StrategicPatch(&body),
                Verb::Create(&body),
            ] {
                let _ = put(Some(live), verb);
            }
            let _ = decide(Question { target, live, manager: "m", desired: &body, prior: None });
        }
        let operations = json!([{"op": "add", "path": "/spec/-", "value": body}, {"op": "move", "from": "/spec", "path": "/spec/template"}]);
        let _ = put(Some(&live), Verb::JsonPatch(&operations));
    }
}

#[test]
fn random_text_never_panics_a_parser() {
    let mut dice = Dice(11);
    let alphabet: Vec<char> = "f:k:v:i:{}[]\"=!(),. \\0123456789eEiKMGn-+a/é<>\n".chars().collect();
    for _ in 0..20_000 {
        let text: String =
            (0..dice.roll(24)).map(|_| alphabet[dice.roll(alphabet.len() as u64) as usize]).collect();
        let _ =
            (Elem::parse(&text), Quantity::parse(&text).map(|q| q.canonical()), LabelSelector::parse(&text));
        let _ = (kube_meaning::time::parse_time(&text), kube_meaning::time::parse_duration(&text));
        let _ = kube_meaning::strict::duplicate_fields(&text);
        let _ = FieldSet::parse(&json!({text.clone(): {text: {}}}));
    }
}

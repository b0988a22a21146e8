//! Random cases: a few resources, some with references, changed from step to step.

use testkit::generate::Rng;
use tf_value::json::Json;

use super::Case;

pub(super) fn case(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let n = 1 + rng.below(4);
    let kinds: Vec<usize> = (0..n).map(|_| rng.below(7)).collect();
    let steps = (0..2 + rng.below(2)).map(|_| step(&mut rng, &kinds)).collect();
    Case { name: format!("random {seed}"), steps }
}

fn step(rng: &mut Rng, kinds: &[usize]) -> Json {
    let mut by_type: Vec<(String, Vec<(String, Json)>)> = Vec::new();
    let mut earlier: Vec<String> = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        if rng.chance(10) && earlier.is_empty() {
            continue;
        }
        let (ty, members, result) = resource(rng, *kind, &earlier);
        let name = format!("r{at}");
        earlier.push(format!("${{{ty}.{name}.{result}}}"));
        let body = (name, Json::Object(members));
        match by_type.iter_mut().find(|(other, _)| other == ty) {
            Some((_, bodies)) => bodies.push(body),
            None => by_type.push((ty.to_owned(), vec![body])),
        }
    }
    // tofu refuses an empty list of resources, and takes none at all.
    if by_type.is_empty() {
        return Json::Object(Vec::new());
    }
    let resources = by_type.into_iter().map(|(ty, bodies)| (ty, Json::Object(bodies))).collect();
    Json::Object(vec![("resource".to_owned(), Json::Object(resources))])
}

fn number(n: usize) -> Json {
    Json::Number(n.to_string())
}

/// A text, or the result of an earlier resource.
fn text(rng: &mut Rng, earlier: &[String]) -> Json {
    if !earlier.is_empty() && rng.chance(40) {
        return Json::string(rng.pick(earlier));
    }
    Json::string(*rng.pick(&["a", "b", "c"]))
}

fn keepers(rng: &mut Rng, earlier: &[String]) -> Json {
    let names = ["k", "l"].into_iter().filter(|_| rng.chance(60)).collect::<Vec<_>>();
    Json::Object(names.into_iter().map(|name| (name.to_owned(), text(rng, earlier))).collect())
}

/// A type, its arguments, and the attribute that others may use.
fn resource(
    rng: &mut Rng,
    kind: usize,
    earlier: &[String],
) -> (&'static str, Vec<(String, Json)>, &'static str) {
    let mut members: Vec<(&str, Json)> = Vec::new();
    let (ty, result) = match kind {
        0 => {
            members.push(("byte_length", number(2 + rng.below(3))));
            ("random_id", "hex")
        }
        1 => {
            members.push(("length", number(2 + rng.below(2))));
            ("random_pet", "id")
        }
        2 => {
            members.push(("length", number(6 + rng.below(3))));
            members.push(("special", Json::Bool(rng.chance(50))));
            ("random_string", "result")
        }
        3 => {
            members.push(("min", number(1)));
            members.push(("max", number(10 + rng.below(3))));
            ("random_integer", "result")
        }
        4 => {
            members.push(("length", number(8 + rng.below(2))));
            ("random_password", "result")
        }
        5 => {
            members.push(("input", Json::Array(vec![text(rng, earlier), Json::string("z")])));
            ("random_shuffle", "id")
        }
        _ => ("random_uuid", "id"),
    };
    if rng.chance(50) {
        members.push(("keepers", keepers(rng, earlier)));
    }
    (ty, members.into_iter().map(|(name, json)| (name.to_owned(), json)).collect(), result)
}

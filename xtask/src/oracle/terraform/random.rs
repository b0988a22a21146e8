//! Random cases: a few resources, some with references, changed from step to step.
//!
//! Names carry the seed, so that many cases fit into one configuration: tofu costs half a second to start.

use testkit::generate::Rng;
use tf_value::json::Json;

use super::Case;

/// Every case has so many configurations.
const STEPS: usize = 3;

pub(super) fn case(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let n = 1 + rng.below(4);
    let kinds: Vec<usize> = (0..n).map(|_| rng.below(KINDS)).collect();
    let steps = (0..STEPS).map(|_| step(&mut rng, seed, &kinds)).collect();
    Case { name: format!("random {seed}"), steps }
}

/// Many cases side by side in one.
pub(super) fn packed(cases: &[Case]) -> Case {
    let steps = (0..STEPS).map(|at| {
        let mut by_type: Vec<(String, Vec<(String, Json)>)> = Vec::new();
        for case in cases {
            for (ty, bodies) in case.steps[at].get("resource").and_then(Json::as_object).unwrap_or_default() {
                for (name, body) in bodies.as_object().unwrap_or_default() {
                    add(&mut by_type, ty, (name.clone(), body.clone()));
                }
            }
        }
        written(by_type)
    });
    Case { name: "random cases together".to_owned(), steps: steps.collect() }
}

fn add(by_type: &mut Vec<(String, Vec<(String, Json)>)>, ty: &str, body: (String, Json)) {
    match by_type.iter_mut().find(|(other, _)| other == ty) {
        Some((_, bodies)) => bodies.push(body),
        None => by_type.push((ty.to_owned(), vec![body])),
    }
}

fn written(by_type: Vec<(String, Vec<(String, Json)>)>) -> Json {
    // tofu refuses an empty list of resources, and takes none at all.
    if by_type.is_empty() {
        return Json::Object(Vec::new());
    }
    let resources = by_type.into_iter().map(|(ty, bodies)| (ty, Json::Object(bodies))).collect();
    Json::Object(vec![("resource".to_owned(), Json::Object(resources))])
}

fn step(rng: &mut Rng, seed: u64, kinds: &[usize]) -> Json {
    let mut by_type: Vec<(String, Vec<(String, Json)>)> = Vec::new();
    let mut earlier: Vec<String> = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        if rng.chance(10) && earlier.is_empty() {
            continue;
        }
        let name = format!("s{seed}r{at}");
        let Made { ty, members, result } = resource(rng, *kind, &name, &earlier);
        earlier.push(format!("${{{ty}.{name}.{result}}}"));
        add(&mut by_type, ty, (name, object(members)));
    }
    written(by_type)
}

type Members = Vec<(&'static str, Json)>;

fn object(members: Members) -> Json {
    Json::Object(members.into_iter().map(|(name, json)| (name.to_owned(), json)).collect())
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
struct Made {
    ty: &'static str,
    members: Members,
    result: &'static str,
}

const KINDS: usize = 17;

fn resource(rng: &mut Rng, kind: usize, name: &str, earlier: &[String]) -> Made {
    let (ty, result, members): (_, _, Members) = match kind {
        0 => ("random_id", "hex", vec![("byte_length", number(2 + rng.below(3)))]),
        1 => ("random_pet", "id", vec![("length", number(2 + rng.below(2)))]),
        2 => {
            let special = Json::Bool(rng.chance(50));
            ("random_string", "result", vec![("length", number(6 + rng.below(3))), ("special", special)])
        }
        3 => ("random_integer", "result", vec![("min", number(1)), ("max", number(10 + rng.below(3)))]),
        4 => ("random_password", "result", vec![("length", number(8 + rng.below(2)))]),
        5 => {
            let input = Json::Array(vec![text(rng, earlier), Json::string("z")]);
            ("random_shuffle", "id", vec![("input", input)])
        }
        6 => ("random_uuid", "id", vec![]),
        7 => {
            return Made {
                ty: "tls_private_key",
                members: key(rng),
                result: "public_key_fingerprint_sha256",
            };
        }
        8 => return Made { ty: "time_static", members: triggers(rng, earlier), result: "id" },
        9 => {
            let mut members = triggers(rng, earlier);
            members.push(("base_rfc3339", Json::string("2020-01-02T03:04:05Z")));
            members.push((*rng.pick(&["offset_days", "offset_hours"]), number(1 + rng.below(3))));
            return Made { ty: "time_offset", members, result: "rfc3339" };
        }
        10 => {
            let content = text(rng, earlier);
            let filename = Json::string(format!("out/{name}"));
            return Made {
                ty: "local_file",
                members: vec![("filename", filename), ("content", content)],
                result: "id",
            };
        }
        11..=13 => {
            let members = thing(rng, earlier, true);
            return Made { ty: "lab_thing", members, result: rng.pick::<&str>(&["id", "either"]) };
        }
        14 | 15 => {
            let members = thing(rng, earlier, false);
            return Made { ty: "lab5_thing", members, result: rng.pick::<&str>(&["id", "either"]) };
        }
        _ => {
            let members =
                vec![("name", text(rng, earlier)), ("country", Json::string(*rng.pick(&["x", "y"])))];
            return Made { ty: "lab_citizen", members, result: "id" };
        }
    };
    let mut members = members;
    if rng.chance(50) {
        members.push(("keepers", keepers(rng, earlier)));
    }
    Made { ty, members, result }
}

fn triggers(rng: &mut Rng, earlier: &[String]) -> Members {
    if rng.chance(60) { vec![("triggers", keepers(rng, earlier))] } else { vec![] }
}

fn key(rng: &mut Rng) -> Members {
    // RSA keys take seconds.
    let mut members = vec![("algorithm", Json::string(*rng.pick(&["ED25519", "ECDSA"])))];
    if rng.chance(30) {
        members.push(("ecdsa_curve", Json::string(*rng.pick(&["P256", "P384"]))));
    }
    members
}

/// Everything that a schema can hold, each with some luck.
fn thing(rng: &mut Rng, earlier: &[String], with6: bool) -> Members {
    let mut members: Members = vec![("name", Json::string(*rng.pick(&["n", "m"])))];
    let texts = |rng: &mut Rng| Json::Array((0..rng.below(3)).map(|_| text(rng, earlier)).collect());
    for name in ["opt", "either", "force", "secret"] {
        if rng.chance(35) {
            members.push((name, text(rng, earlier)));
        }
    }
    if rng.chance(30) {
        members.push((
            "number",
            Json::Number((*rng.pick(&["1", "-7", "0.1", "1.50", "12345678901234567890"])).into()),
        ));
    }
    if rng.chance(30) {
        members.push(("flag", Json::Bool(rng.chance(50))));
    }
    if rng.chance(30) {
        members.push(("write", text(rng, &[])));
        members.push(("write_version", number(rng.below(2))));
    }
    for name in ["list", "set"] {
        if rng.chance(30) {
            members.push((name, texts(rng)));
        }
    }
    if rng.chance(20) {
        members.push(("numbers", Json::Array((0..rng.below(3)).map(|_| number(8 + rng.below(4))).collect())));
    }
    if rng.chance(30) {
        members.push(("map", keepers(rng, earlier)));
    }
    let pair = |rng: &mut Rng| object(vec![("a", text(rng, earlier)), ("n", number(rng.below(12)))]);
    if rng.chance(20) {
        members.push(("object", pair(rng)));
    }
    if rng.chance(20) {
        members.push(("objects", Json::Array((0..rng.below(3)).map(|_| pair(rng)).collect())));
    }
    if rng.chance(25) {
        let any = match rng.below(4) {
            0 => text(rng, earlier),
            1 => number(rng.below(3)),
            2 => texts(rng),
            _ => keepers(rng, earlier),
        };
        members.push(("any", any));
    }
    blocks(rng, earlier, with6, &mut members);
    members
}

fn blocks(rng: &mut Rng, earlier: &[String], with6: bool, members: &mut Members) {
    let lists: &[&'static str] = if with6 { &["many", "bag", "in_list", "in_set"] } else { &["many", "bag"] };
    let maps: &[&'static str] = if with6 { &["named", "in_map"] } else { &["named"] };
    let ones: &[&'static str] = if with6 { &["one", "group", "in_one"] } else { &["one", "group"] };
    for name in lists {
        if rng.chance(25) {
            let mut items: Vec<Members> = (0..rng.below(3)).map(|_| inner(rng, earlier)).collect();
            if *name == "many" && rng.chance(50) {
                items
                    .iter_mut()
                    .for_each(|item| item.push(("leaf", Json::Array(vec![object(inner(rng, earlier))]))));
            }
            members.push((name, Json::Array(items.into_iter().map(object).collect())));
        }
    }
    for name in maps {
        if rng.chance(20) {
            // tofu cannot read an empty map of blocks: it misses their labels.
            let keys = ["x", "y"].into_iter().filter(|key| *key == "x" || rng.chance(70)).collect::<Vec<_>>();
            let items = keys.into_iter().map(|key| (key.to_owned(), object(inner(rng, earlier))));
            members.push((name, Json::Object(items.collect())));
        }
    }
    for name in ones {
        if rng.chance(20) {
            members.push((name, object(inner(rng, earlier))));
        }
    }
}

/// What stands in a block.
fn inner(rng: &mut Rng, earlier: &[String]) -> Members {
    let mut members: Members = vec![("name", Json::string(*rng.pick(&["p", "q", "r"])))];
    for name in ["value", "either", "fixed", "hidden"] {
        if rng.chance(30) {
            members.push((name, text(rng, earlier)));
        }
    }
    members
}

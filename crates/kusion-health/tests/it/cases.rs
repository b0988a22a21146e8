//! Runs the case files.
//!
//! A case is `case NAME`, then objects, then expectations about the first object:
//!
//! ```text
//! case a deployment that is rolled out
//! apps/v1 Deployment web {"spec": {...}, "S": {...status...}, "C": ["Available=T:Reason:message"]}
//! v1 Pod web-1-a < ReplicaSet/web-1 {...}
//! = healthy RolledOut
//! cause: text that the cause contains
//! ```
//!
//! `S` is the status, `C` its conditions. Every object gets namespace `shop`, uid `Kind/name` and generation 1 unless it says
//! otherwise (`null` removes a field). `live` before the objects judges with a clock.

use kusion_health::{Profile, Snapshot, judge};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(Default)]
pub(crate) struct Case {
    pub name: String,
    pub objects: Vec<Value>,
    pub live: bool,
    pub expect: Vec<(String, String)>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// All cases of all files, in order.
pub(crate) fn all() -> Vec<Case> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "case"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        cases.extend(parse(&stem, &std::fs::read_to_string(&file).unwrap()));
    }
    cases
}

fn parse(stem: &str, text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("case ") {
            cases.push(Case { name: format!("{stem}: {name}"), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().unwrap_or_else(|| panic!("{stem}:{}: no case yet", at + 1));
        if line == "live" {
            case.live = true;
        } else if let Some(verdict) = line.strip_prefix("= ") {
            case.expect.push(("=".to_owned(), verdict.trim().to_owned()));
        } else if let Some((key, value)) = expectation(line) {
            case.expect.push((key.to_owned(), value.to_owned()));
        } else {
            let object = object(line).unwrap_or_else(|problem| panic!("{stem}:{}: {problem}", at + 1));
            case.objects.push(object);
        }
    }
    cases
}

fn expectation(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    matches!(key, "cause" | "next" | "message" | "hold").then(|| (key, value.trim()))
}

fn object(line: &str) -> Result<Value, String> {
    let (head, body) = match line.find('{') {
        Some(at) => line.split_at(at),
        None => (line, "{}"),
    };
    let mut words = head.split_whitespace();
    let mut next = |what: &str| words.next().map(str::to_owned).ok_or(format!("no {what} in `{line}`"));
    let (version, kind, name) = (next("apiVersion")?, next("kind")?, next("name")?);
    let mut meta =
        json!({"name": name, "namespace": "shop", "uid": format!("{kind}/{name}"), "generation": 1});
    if words.next() == Some("<") {
        let owner = words.next().ok_or("no owner")?;
        let (owner_kind, owner_name) = owner.split_once('/').ok_or("owner is Kind/name")?;
        meta["ownerReferences"] =
            json!([{"kind": owner_kind, "name": owner_name, "uid": owner, "controller": true}]);
    }
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": meta});
    let body: Value = serde_json::from_str(body).map_err(|problem| format!("{problem} in `{body}`"))?;
    let mut body = body.as_object().cloned().unwrap_or_default();
    if let Some(status) = body.remove("S") {
        body.insert("status".to_owned(), status);
    }
    if let Some(conditions) = body.remove("C") {
        let status = body.entry("status").or_insert_with(|| Value::Object(Map::new()));
        status["conditions"] =
            conditions.as_array().unwrap().iter().map(|text| condition(text.as_str().unwrap())).collect();
    }
    merge(&mut object, &Value::Object(body));
    Ok(object)
}

/// `Type=T:Reason:message`, with `@N` after the status for the observed generation.
fn condition(text: &str) -> Value {
    let (kind, rest) = text.split_once('=').unwrap();
    let mut parts = rest.splitn(3, ':');
    let status = parts.next().unwrap();
    let (status, generation) = status.split_once('@').unwrap_or((status, ""));
    let word = match status {
        "T" => "True",
        "F" => "False",
        _ => "Unknown",
    };
    let mut found = json!({"type": kind, "status": word});
    if let Some(reason) = parts.next() {
        found["reason"] = json!(reason);
    }
    if let Some(message) = parts.next() {
        found["message"] = json!(message);
    }
    if let Ok(number) = generation.parse::<i64>() {
        found["observedGeneration"] = json!(number);
    }
    found
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                if value.is_null() {
                    into.remove(key);
                } else {
                    merge(into.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// What is wrong with a case, if anything.
fn check(case: &Case) -> Option<String> {
    let snapshot = Snapshot::of(case.objects.clone());
    let now = case.live.then_some(1_800_000_000_000);
    let verdict = judge(&case.objects[0], &snapshot, &Profile::default(), now);
    for (key, wanted) in &case.expect {
        let fine = match key.as_str() {
            "=" => {
                let mut words = wanted.split_whitespace();
                let state = words.next() == Some(verdict.verdict.as_str());
                state && words.next().is_none_or(|reason| reason == verdict.reason)
            }
            "cause" if wanted == "none" => verdict.cause.is_none(),
            "cause" => verdict.cause.as_deref().is_some_and(|cause| cause.contains(wanted.as_str())),
            "next" => verdict.next.as_deref().is_some_and(|next| next.contains(wanted.as_str())),
            "message" => verdict.full_message().contains(wanted.as_str()),
            "hold" => {
                verdict
                    .hold
                    .as_ref()
                    .map_or("none".to_owned(), |hold| format!("{} {}", hold.grace, hold.then))
                    == *wanted
            }
            _ => false,
        };
        if !fine {
            return Some(format!("{}\n    wanted {key} {wanted}\n    found  {verdict:?}", case.name));
        }
    }
    case.expect.is_empty().then(|| format!("{}: expects nothing", case.name))
}

#[test]
fn every_case_gets_its_verdict_reason_and_cause() {
    let cases = all();
    let wrong: Vec<String> = cases.iter().filter_map(check).collect();
    assert!(wrong.is_empty(), "{} of {} cases are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() >= 250, "only {} cases", cases.len());
}

/// Whoever is told "failed" is told why.
#[test]
fn every_failure_has_a_cause() {
    let silent = |case: &Case| {
        let snapshot = Snapshot::of(case.objects.clone());
        let verdict = judge(&case.objects[0], &snapshot, &Profile::default(), None);
        let mute = verdict.cause.as_deref().is_none_or(|cause| cause.trim().is_empty());
        (verdict.verdict.as_str() == "failed" && mute).then(|| format!("{}: {}", case.name, verdict.reason))
    };
    let found: Vec<String> = all().iter().filter_map(silent).collect();
    assert!(found.is_empty(), "{} failures without a cause:\n{}", found.len(), found.join("\n"));
}

#[test]
fn case_names_are_unique() {
    let mut names: Vec<String> = all().into_iter().map(|case| case.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn a_wrong_expectation_is_reported() {
    let text = |expect: &str| format!("case x\nv1 ConfigMap c {{}}\n{expect}\n");
    let wrong = |expect: &str| check(&parse("t", &text(expect))[0]).is_some();
    assert!(!wrong("= healthy NothingToWatch"));
    for expect in ["= failed", "= healthy Other", "cause: x", "next: x", "message: zzz", "hold: 1 failed", ""]
    {
        assert!(wrong(expect), "{expect}");
    }
}

//! The fact tables of `kube-meaning`, asked from the real API server.
//!
//! In: discovery and OpenAPI v3 of a freshly started server. Out: `crates/kube-meaning/src/tables/kubernetes.tsv`, in the
//! format of the README beside it. Facts only, no prose, and the same bytes on every run.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use testenv::http::Client;
use testenv::{ControlPlane, Options};

use crate::ChoreResult;

mod discovery;
mod schema;

const TABLE: &str = "../crates/kube-meaning/src/tables/kubernetes.tsv";

/// Starts a server without controllers, writes the table, ends the server.
pub(crate) fn generate() -> ChoreResult {
    let options = Options { controllers: false, build: true, ..Options::default() };
    let plane = ControlPlane::start(options).map_err(|error| error.to_string())?;
    let text = table(&mut plane.http())?;
    drop(plane);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    std::fs::write(&path, &text).map_err(|error| format!("writing {}: {error}", path.display()))?;
    let (resources, types) = (count(&text, 'R'), count(&text, 'T'));
    println!("{}: {} bytes, {resources} resources, {types} types", path.display(), text.len());
    Ok(ExitCode::SUCCESS)
}

fn count(text: &str, letter: char) -> usize {
    text.lines().filter(|line| line.starts_with(letter)).count()
}

fn table(client: &mut Client) -> Result<String, String> {
    let version = get(client, "/version")?;
    let groups = discovery::groups(client)?;
    let schemas = schema::Schemas::load(client)?;
    let mut text = format!("V\t1\t{}\n", string(&version, "gitVersion"));
    for group in &groups {
        writeln!(text, "G\t{}\t{}", group.name, group.versions.join(",")).expect("writing to a string");
    }
    let mut roots = Vec::new();
    for resource in groups.iter().flat_map(|group| &group.resources) {
        let root = schemas.of_kind(&resource.gvk());
        writeln!(text, "{}\t{}", resource.line(), root.unwrap_or_default()).expect("writing to a string");
        roots.extend(root);
        roots.extend(resource.subresources.iter().filter_map(|sub| schemas.of_kind(&sub.gvk)));
    }
    for (name, json) in schemas.reachable(&roots)? {
        writeln!(text, "T\t{name}\t{json}").expect("writing to a string");
    }
    Ok(text)
}

/// A document of the server.
fn get(client: &mut Client, path: &str) -> Result<Value, String> {
    let answer = client.get(path).map_err(|error| error.to_string())?;
    if answer.status != 200 {
        return Err(format!("GET {path}: {} {}", answer.status, answer.text()));
    }
    serde_json::from_slice(&answer.body).map_err(|error| format!("GET {path}: {error}"))
}

fn string<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The strings of a list.
fn strings(value: &Value, key: &str) -> Vec<String> {
    list(value, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_is_what_the_real_server_says() {
        let Some(plane) = testenv::shared() else { return };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
        let committed = std::fs::read_to_string(path).expect("the table is committed");
        let fresh = table(&mut plane.http()).expect("the server answers");
        let differ = committed.lines().zip(fresh.lines()).find(|(old, new)| old != new);
        assert_eq!(differ, None, "run `cargo xtask codegen kube`");
        assert_eq!(committed.len(), fresh.len());
    }

    #[test]
    fn every_reference_of_the_table_has_its_type() {
        let text = include_str!("../../../../crates/kube-meaning/src/tables/kubernetes.tsv");
        let types: std::collections::BTreeSet<&str> =
            text.lines().filter_map(|line| line.strip_prefix("T\t")?.split('\t').next()).collect();
        let mut seen = 0;
        for part in text.split('#').skip(1) {
            let name = part.split('"').next().unwrap_or_default();
            assert!(types.contains(name), "{name}");
            seen += 1;
        }
        assert!(seen > 500);
    }
}

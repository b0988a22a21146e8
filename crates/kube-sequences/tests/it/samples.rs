//! One object of nearly every kind: the model's defaults beside the server's.

use std::collections::BTreeSet;
use std::path::Path;

use kube_meaning::quantity::Quantity;
use kube_sequences::model::{create, lines};
use serde_json::Value;

/// Samples on which the model differs from the server, and why. Admission is the sandbox's (`sandbox_world::admission`).
const KNOWN: &[(&str, &str)] = &[
    ("PersistentVolumeClaim", "admission adds a finalizer"),
    ("PersistentVolume", "admission adds a finalizer"),
    ("VolumeAttributesClass", "admission adds a finalizer"),
    ("Pod", "admission adds token volume, tolerations and priority"),
    ("Node", "admission adds a taint"),
    ("CertificateSigningRequest", "names its sender, whom only the API knows"),
    ("ControllerRevision", "its data is tracked as one value, whatever its fields"),
];

fn fixture(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../kube-meaning/fixtures").join(name))
        .unwrap()
}

#[test]
fn a_new_object_of_every_kind_gets_the_servers_defaults_and_owners() {
    let mut wrong = Vec::new();
    let mut differ = BTreeSet::new();
    let mut agreed = 0;
    for line in fixture("samples/defaults.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let kind = line["body"]["kind"].as_str().unwrap();
        let ours = create(&line["body"]).unwrap_or_else(|error| error);
        let lines = lines(&ours, &line["object"]);
        agreed += usize::from(lines.is_empty());
        if !lines.is_empty() {
            differ.insert(kind.to_owned());
        }
        if !lines.is_empty() && KNOWN.iter().all(|(known, _)| *known != kind) {
            wrong.push(format!("{kind} {}: {}", line["body"]["metadata"]["name"], lines.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let settled: Vec<&str> =
        KNOWN.iter().map(|(kind, _)| *kind).filter(|kind| !differ.contains(*kind)).collect();
    assert!(settled.is_empty(), "agree by now, take them off the list: {settled:?}");
    assert!(agreed >= 65, "only {agreed} samples agree");
}

/// The spellings that people use. The server keeps odd ones (`5.`, `+2n`, `1E3`, beyond 64 bits) in ways of its own.
fn ordinary(sent: &str) -> bool {
    let end = sent.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(sent.len());
    let (number, suffix) = sent.split_at(end);
    let suffixes = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"];
    let odd = number.is_empty() || number.ends_with('.') || number.starts_with("00");
    !odd && number.len() <= 5 && suffixes.contains(&suffix)
}

#[test]
fn ordinary_quantities_are_spelt_as_the_server_spells_them() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for line in fixture("quantities.tsv").lines() {
        let mut fields = line.split('\t');
        let sent: Value = serde_json::from_str(fields.next().unwrap()).unwrap();
        let expected = fields.next().unwrap();
        if !sent.as_str().is_some_and(ordinary) {
            continue;
        }
        tried += 1;
        let ours = Quantity::from_json(&sent).map(|quantity| quantity.canonical());
        if ours.as_deref().unwrap_or("!") != expected {
            wrong.push(format!("{sent}: {ours:?} ≠ {expected}"));
        }
    }
    assert!(tried > 100, "only {tried} tried");
    assert!(wrong.is_empty(), "{} of {tried} differ\n{}", wrong.len(), wrong.join("\n"));
}

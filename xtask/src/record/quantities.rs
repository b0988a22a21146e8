//! How the server spells a quantity: `quantities.tsv`, what was sent (as JSON), its canonical form in a plain field, and in a
//! map of resources, which is rounded up to thousandths; `!` where it is refused.

use serde_json::{Value, json};
use testenv::ControlPlane;
use testenv::http::Client;

use super::write;

const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "3",
    "10",
    "100",
    "1000",
    "1024",
    "1500",
    "2048",
    "100000",
    "0.5",
    "1.5",
    ".5",
    "5.",
    "0.1",
    "0.01",
    "0.001",
    "0.0005",
    "1.1234567891",
    "123456789",
    "9223372036854775807",
    "9223372036854775808",
    "007",
    "+2",
];
const SUFFIXES: [&str; 24] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E3", "e-3",
    "e2", "E10", "e", "K", "ki",
];
const OTHERS: [&str; 12] =
    ["", " ", "-1", "-500m", "1 Gi", "1.5.5", "e3", "Gi", "1e", "0x10", "1_000", "12E+2"];

pub(super) fn record(plane: &ControlPlane) -> Result<(), String> {
    let mut client = plane.http();
    let mut text = String::new();
    let mut sent: Vec<Value> = Vec::new();
    for number in NUMBERS {
        sent.extend(SUFFIXES.iter().map(|suffix| json!(format!("{number}{suffix}"))));
    }
    sent.extend(OTHERS.iter().map(|other| json!(other)));
    sent.extend([
        json!(0),
        json!(1),
        json!(1024),
        json!(0.5),
        json!(1.25),
        json!(1e3),
        json!(-1),
        json!(true),
        json!(null),
    ]);
    for quantity in &sent {
        let plain = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": {"name": "q"},
            "storageClassName": "s", "capacity": quantity});
        let listed = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
            "spec": {"hard": {"requests.storage": quantity}}});
        let plain = ask(&mut client, "/apis/storage.k8s.io/v1", "csistoragecapacities", &plain, "/capacity")?;
        let listed = ask(&mut client, "/api/v1", "resourcequotas", &listed, "/spec/hard/requests.storage")?;
        text.push_str(&format!("{quantity}\t{plain}\t{listed}\n"));
    }
    println!("{} quantities", sent.len());
    write("quantities.tsv", &text)
}

fn ask(client: &mut Client, root: &str, plural: &str, body: &Value, pointer: &str) -> Result<String, String> {
    let path = format!("{root}/namespaces/default/{plural}?dryRun=All");
    let answer = client
        .request("POST", &path, "application/json", body.to_string().as_bytes())
        .map_err(|error| error.to_string())?;
    let object: Value = serde_json::from_slice(&answer.body).map_err(|error| format!("{body}: {error}"))?;
    Ok(object.pointer(pointer).and_then(Value::as_str).unwrap_or("!").to_owned())
}

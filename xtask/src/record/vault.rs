//! `cargo xtask record vault [--check]`: what the real Vault answers, as a fixture for the tests of `kusion-secrets`.
//!
//! What differs from run to run (ids, times, tokens) is written as a word, so that two recordings are equal.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use testenv::vaults::{ROOT_TOKEN, VAULT_ASKS, vault};

use crate::ChoreResult;

const FILE: &str = "../crates/kusion-secrets/tests/it/fixtures/vault.json";
/// Fields that differ from run to run.
const VOLATILE: [&str; 8] = [
    "request_id",
    "created_time",
    "deletion_time",
    "client_token",
    "accessor",
    "entity_id",
    "lease_id",
    "issue_time",
];

pub(crate) fn main(check: bool) -> ChoreResult {
    testenv::build_program("vault").map_err(|error| error.to_string())?;
    let server = vault().ok_or("Vault is not built")?;
    server.set_up().map_err(|error| error.to_string())?;
    let mut recorded = Vec::new();
    for ask in VAULT_ASKS {
        let answer = server.ask(*ask).map_err(|error| error.to_string())?;
        let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        settle(&mut body);
        recorded.push(json!({
            "method": ask.0, "path": ask.1, "known": ask.2 == ROOT_TOKEN, "body": ask.3,
            "status": answer.status, "answer": body,
        }));
    }
    let text = format!("{}\n", serde_json::to_string_pretty(&recorded).unwrap_or_default());
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if !check {
        std::fs::write(&path, text).map_err(|error| format!("writing {}: {error}", path.display()))?;
        println!("{} answers of Vault in {}", recorded.len(), path.display());
        return Ok(ExitCode::SUCCESS);
    }
    let before =
        std::fs::read_to_string(&path).map_err(|error| format!("reading {}: {error}", path.display()))?;
    if before != text {
        return Err(
            "Vault answers otherwise than recorded: `cargo xtask record vault`, then read the diff".into()
        );
    }
    println!("{} answers of Vault are as recorded", recorded.len());
    Ok(ExitCode::SUCCESS)
}

fn settle(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if VOLATILE.contains(&key.as_str()) && !text.is_empty() => {
                        *text = format!("({key})");
                    }
                    other => settle(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        _ => {}
    }
}

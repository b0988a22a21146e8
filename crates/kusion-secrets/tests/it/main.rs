//! Stores and locks on real servers where they are built, on their recorded answers where they are not.
#![allow(clippy::unwrap_used)]

mod aws;
mod corpus;
mod files;
mod openid;
mod replay;
mod vault;

use std::path::Path;
use std::sync::Arc;

use kusion_model::{SecretRef, StoreConfig};
use kusion_secrets::{Refusal, SecretStore, open};
use serde_json::{Value, json};

fn store(provider: &str, settings: Value, folder: &Path) -> Arc<dyn SecretStore> {
    let config = StoreConfig::from_value(&json!({"provider": {provider: settings}})).unwrap();
    open(&config, folder).unwrap().unwrap()
}

fn reference(text: &str) -> SecretRef {
    SecretRef::parse(text).unwrap().unwrap()
}

async fn get(store: &Arc<dyn SecretStore>, text: &str) -> Result<String, (Refusal, String)> {
    let value = store.get(&reference(text)).await;
    value
        .map(|value| value.expose_text().unwrap().to_owned())
        .map_err(|e| (e.kind, format!("{} {:?}", e.message, e.next)))
}

/// A file that only its owner can read.
fn private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// Runs a test of this program in a process of its own, with variables of its own.
fn in_a_process(test: &str, environment: &[(&str, &str)]) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture"]).envs(environment.iter().copied());
    let done = command.output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success() && told.contains("1 passed"), "{told}");
}

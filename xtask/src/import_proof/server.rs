//! What the real API server says: a dry run of creation, with unknown attributes refused.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use testenv::ControlPlane;
use testenv::http::Client;

use super::manifests::Manifest;

/// A running server and what it knows.
pub(super) struct Server {
    plane: ControlPlane,
    client: Client,
    /// Resources by `apiVersion`: kind, plural, namespaced.
    known: BTreeMap<String, Vec<(String, String, bool)>>,
}

/// Why a manifest is refused.
pub(super) enum Verdict {
    Accepted,
    /// A wrong type, an unknown or missing attribute, a value that the schema does not take.
    Structure(String),
    /// Something else: a rule of the server's own code, a name that is taken.
    Other,
}

impl Server {
    /// Starts a server; none if it was not built.
    pub(super) fn start() -> Result<Option<Server>, String> {
        if testenv::binary().is_none() {
            testenv::skip("the control plane is not built (cargo xtask testenv build)");
            return Ok(None);
        }
        let plane = ControlPlane::start(testenv::Options::default()).map_err(|e| e.to_string())?;
        let client = plane.http();
        Ok(Some(Server { plane, client, known: BTreeMap::new() }))
    }

    /// A document of the server.
    pub(super) fn get(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let answer = self.client.get(path).map_err(|e| e.to_string())?;
        if answer.status == 200 { Ok(answer.body) } else { Err(format!("{path}: {}", answer.status)) }
    }

    /// Installs definitions and waits until they are served.
    pub(super) fn install(&mut self, files: &[PathBuf]) -> Result<(), String> {
        for definition in super::manifests::read(files) {
            // Marks of a chart are no part of what is defined; groups of Kubernetes itself need their approval.
            let mut value = definition.value;
            if let Some(metadata) = value.get_mut("metadata") {
                const APPROVAL: &str = "api-approved.kubernetes.io";
                let approved = metadata.get("annotations").and_then(|notes| notes.get(APPROVAL)).cloned();
                let notes = approved.map_or(json!({}), |approved| json!({ APPROVAL: approved }));
                *metadata = json!({"name": metadata.get("name"), "annotations": notes});
            }
            let file = self.plane.folder().join("definition.json");
            std::fs::write(&file, value.to_string()).map_err(|e| e.to_string())?;
            let output = self
                .plane
                .kubectl()
                .args(["apply", "--server-side", "--force-conflicts", "-f"])
                .arg(&file)
                .output()
                .map_err(|e| e.to_string())?;
            if !output.status.success() {
                return Err(format!("{}: {}", definition.from, String::from_utf8_lossy(&output.stderr)));
            }
        }
        let output = self
            .plane
            .kubectl()
            .args(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"])
            .output()
            .map_err(|e| e.to_string())?;
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    fn resource(&mut self, api: &str, kind: &str) -> Result<Option<(String, bool)>, String> {
        if !self.known.contains_key(api) {
            let path = if api.contains('/') { format!("/apis/{api}") } else { format!("/api/{api}") };
            let listed: Value = match self.get(&path) {
                Ok(body) => serde_json::from_slice(&body).map_err(|e| e.to_string())?,
                Err(_) => json!({}),
            };
            let rows = listed.get("resources").and_then(Value::as_array).cloned().unwrap_or_default();
            let row = |row: &Value| {
                let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
                let (kind, name) = (text("kind")?, text("name")?);
                (!name.contains('/')).then(|| (kind, name, row.get("namespaced") == Some(&Value::Bool(true))))
            };
            self.known.insert(api.to_owned(), rows.iter().filter_map(row).collect());
        }
        let rows = self.known.get(api).map_or(&[][..], Vec::as_slice);
        Ok(rows
            .iter()
            .find(|(known, ..)| known == kind)
            .map(|(_, name, namespaced)| (name.clone(), *namespaced)))
    }

    /// Asks about one manifest; none if the server does not know its kind.
    pub(super) fn judge(&mut self, manifest: &Manifest) -> Result<Option<Verdict>, String> {
        let Some((api, kind)) = manifest.kind() else { return Ok(None) };
        let Some((plural, namespaced)) = self.resource(&api, &kind)? else { return Ok(None) };
        let base = if api.contains('/') { format!("/apis/{api}") } else { format!("/api/{api}") };
        let place = if namespaced { "/namespaces/default" } else { "" };
        let path = format!("{base}{place}/{plural}?dryRun=All&fieldValidation=Strict");
        let mut value = manifest.value.clone();
        if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
            metadata.remove("namespace");
            metadata.remove("resourceVersion");
            if metadata.get("name").is_none() && metadata.get("generateName").is_none() {
                metadata.insert("name".to_owned(), json!("proof"));
            }
        }
        let body = value.to_string();
        let answer = self
            .client
            .request("POST", &path, "application/json", body.as_bytes())
            .map_err(|e| e.to_string())?;
        Ok(Some(verdict(answer.status, &answer.text(), api.contains('.') && !api.contains("k8s.io"))))
    }
}

fn verdict(status: u16, body: &str, custom: bool) -> Verdict {
    if status < 300 {
        return Verdict::Accepted;
    }
    let answer: Value = serde_json::from_str(body).unwrap_or_default();
    let message = answer.get("message").and_then(Value::as_str).unwrap_or(body).to_owned();
    if status == 400 {
        // Decoding; a text that is no quantity or time is not one by its words, which is no question of types.
        let words = ["quantities must match", "parsing time", "illegal base64", "time: "];
        let by_words = words.iter().any(|word| message.contains(word));
        return if by_words { Verdict::Other } else { Verdict::Structure(message) };
    }
    let causes = answer.pointer("/details/causes").and_then(Value::as_array).cloned().unwrap_or_default();
    let structural = |cause: &Value| {
        let text = |key: &str| cause.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("reason") {
            "FieldValueTypeInvalid" => true,
            "FieldValueRequired" | "FieldValueNotSupported" | "FieldValueTooLong" | "FieldValueTooMany" => {
                custom
            }
            "FieldValueInvalid" => custom && text("message").contains("should "),
            _ => false,
        }
    };
    if status == 422 && causes.iter().any(structural) { Verdict::Structure(message) } else { Verdict::Other }
}

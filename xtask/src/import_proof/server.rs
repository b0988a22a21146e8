//! What the real API server says: a dry run of creation, with unknown attributes refused.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testenv::ControlPlane;
use testenv::http::Client;

use super::manifests::Manifest;

/// How long definitions may take until they are served.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// A running server and what it knows.
pub(super) struct Server {
    /// It ends with this value.
    _plane: ControlPlane,
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
        Ok(Some(Server { _plane: plane, client, known: BTreeMap::new() }))
    }

    /// A document of the server.
    pub(super) fn get(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let answer = self.client.get(path).map_err(|e| e.to_string())?;
        if answer.status == 200 { Ok(answer.body) } else { Err(format!("{path}: {}", answer.status)) }
    }

    /// Installs definitions and waits until they are served.
    pub(super) fn install(&mut self, files: &[PathBuf]) -> Result<(), String> {
        const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let mut kinds = Vec::new();
        for definition in super::manifests::read(files) {
            // Marks of a chart are no part of what is defined; groups of Kubernetes itself need their approval.
            let mut value = definition.value;
            if let Some(metadata) = value.get_mut("metadata") {
                const APPROVAL: &str = "api-approved.kubernetes.io";
                let approved = metadata.get("annotations").and_then(|notes| notes.get(APPROVAL)).cloned();
                let notes = approved.map_or(json!({}), |approved| json!({ APPROVAL: approved }));
                *metadata = json!({"name": metadata.get("name"), "annotations": notes});
            }
            let body = value.to_string();
            let answer = self.client.request("POST", PATH, "application/json", body.as_bytes());
            let answer = answer.map_err(|e| e.to_string())?;
            // Some projects ship a definition twice.
            if !matches!(answer.status, 201 | 409) {
                return Err(format!("{}: {}", definition.from, answer.text()));
            }
            let told =
                |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            let versions = value.pointer("/spec/versions").and_then(Value::as_array);
            for version in versions.into_iter().flatten().filter(|version| version["served"] == true) {
                let version = version["name"].as_str().unwrap_or_default();
                kinds.push((format!("{}/{version}", told("/spec/group")), told("/spec/names/kind")));
            }
        }
        let begun = Instant::now();
        for (api, kind) in kinds {
            while self.resource(&api, &kind)?.is_none() {
                if begun.elapsed() > PATIENCE {
                    return Err(format!("{kind} of {api} is not served after {PATIENCE:?}"));
                }
                self.known.remove(&api);
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
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
        let begun = Instant::now();
        let answer = loop {
            let answer = self.client.request("POST", &path, "application/json", body.as_bytes());
            let answer = answer.map_err(|e| e.to_string())?;
            // What is listed is served a moment later.
            if answer.status != 404 {
                break answer;
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("{path}: {}", answer.text()));
            }
            std::thread::sleep(PAUSE);
        };
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

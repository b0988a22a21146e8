//! Small private things in Secrets of one namespace, each with the server's version: what a shared state is kept in.
//!
//! In: a name, labels, annotations, bytes. Out: the same, with a version that changes whenever they do. A write compares that
//! version on the server. Nothing is asked again here: whoever keeps a state knows what a lost answer means.

use std::collections::BTreeMap;
use std::time::Duration;

use data_encoding::BASE64;
use http::Method;
use kube::Client;
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::{Value, json};

use crate::api::{Api, query};
use crate::border::{self, Written, ended, written};
use crate::kinds::{Kind, builtin_kind};

/// What these Secrets are, for the server and for people.
const TYPE: &str = "kusion.io/state";
/// The one key of their data.
const BYTES: &str = "bytes";
/// So many Secrets are listed in one request.
const PAGE: usize = 500;
/// A server that never comes to its last page is not believed.
const MOST_PAGES: usize = 10_000;

/// The Secrets of one namespace as a chest of small things.
#[derive(Clone)]
pub struct KubeChest {
    api: Api,
    namespace: String,
}

/// A thing in the chest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub bytes: Vec<u8>,
    /// Empty before it is put.
    pub version: String,
}

impl KubeChest {
    /// Keeps things in a namespace; each request may take so long.
    #[must_use]
    pub fn new(client: Client, namespace: &str, limit: Duration) -> Self {
        KubeChest { api: Api::new(client, limit), namespace: namespace.to_owned() }
    }

    /// Reads a thing; `None` if it is proved that there is none.
    ///
    /// # Errors
    /// An answer that proves nothing.
    pub async fn get(&self, name: &str) -> Result<Option<Kept>, RuntimeError> {
        let kind = secrets()?;
        let asked = kind.one(&self.namespace, name);
        let found = border::object(&asked, self.api.get(&asked.path()).await?)?;
        found.as_ref().map(kept).transpose()
    }

    /// Puts a thing that is not there, or in place of the one with this version; `None` if it is not so. Returns the new version.
    ///
    /// # Errors
    /// A request that was refused, or not answered: then it may have happened.
    pub async fn put(&self, thing: &Kept, version: Option<&str>) -> Result<Option<String>, RuntimeError> {
        let kind = secrets()?;
        let asked = kind.one(&self.namespace, &thing.name);
        let (method, path) = match version {
            None => (Method::POST, kind.collection(&self.namespace)),
            Some(_) => (Method::PUT, asked.path()),
        };
        let body = self.secret(thing, version).to_string().into_bytes();
        let mut answer = self.api.call(method, &path, Some(("application/json", body))).await?;
        let error = match written(&asked, &mut answer, Written::Stored) {
            Ok(object) => return kept(&object).map(|kept| Some(kept.version)),
            Err(error) => error,
        };
        if !matches!(error.kind, ErrorKind::Conflict | ErrorKind::Unreadable) {
            return Err(error);
        }
        // A conflict may be about something else (a quota): only what stands there proves that the condition does not hold.
        let now = self.get(&thing.name).await?;
        match (version, &now) {
            (None, Some(_)) | (Some(_), None) => Ok(None),
            (Some(wanted), Some(now)) if now.version != wanted => Ok(None),
            _ if error.kind == ErrorKind::Conflict => {
                Err(RuntimeError::new(ErrorKind::Server, error.message))
            }
            _ => Err(error),
        }
    }

    /// Lists the things that bear a label.
    ///
    /// # Errors
    /// A list that is not complete.
    pub async fn list(&self, label: &str) -> Result<Vec<Kept>, RuntimeError> {
        let kind = secrets()?;
        let (mut all, mut next) = (Vec::new(), String::new());
        for _ in 0..MOST_PAGES {
            let token = if next.is_empty() { String::new() } else { format!("&continue={}", query(&next)) };
            let label = query(label);
            let path =
                format!("{}?limit={PAGE}&labelSelector={label}{token}", kind.collection(&self.namespace));
            let page = border::page(&kind, &self.namespace, self.api.get(&path).await?)?;
            for item in &page.items {
                all.push(kept(item)?);
            }
            match page.next {
                None => return Ok(all),
                Some(further) => next = further,
            }
        }
        Err(RuntimeError::new(ErrorKind::Unreadable, "a list of Secrets that does not end"))
    }

    /// Takes a thing away; one that is not there does not matter.
    ///
    /// # Errors
    /// A request that was refused or not answered.
    pub async fn remove(&self, name: &str) -> Result<(), RuntimeError> {
        let kind = secrets()?;
        let asked = kind.one(&self.namespace, name);
        let answer = self.api.call(Method::DELETE, &asked.path(), None).await?;
        ended(&asked, None, answer).map(|_| ())
    }

    fn secret(&self, thing: &Kept, version: Option<&str>) -> Value {
        let mut metadata = json!({
            "name": thing.name, "namespace": self.namespace, "labels": thing.labels,
            "annotations": thing.annotations,
        });
        if let Some(version) = version {
            metadata["resourceVersion"] = json!(version);
        }
        let data = json!({BYTES: BASE64.encode(&thing.bytes)});
        json!({"apiVersion": "v1", "kind": "Secret", "type": TYPE, "metadata": metadata, "data": data})
    }
}

fn secrets() -> Result<Kind, RuntimeError> {
    builtin_kind("v1", "Secret")
        .ok_or_else(|| RuntimeError::new(ErrorKind::Unexpected, "Secret is not among the known kinds"))
}

/// Reads a Secret that we put; anything else under its name is told, never quoted.
fn kept(object: &Value) -> Result<Kept, RuntimeError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let texts = |pointer: &str| -> BTreeMap<String, String> {
        let map = object.pointer(pointer).and_then(Value::as_object);
        let pairs = map.into_iter().flatten();
        pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    let name = text("/metadata/name");
    let strange =
        || RuntimeError::new(ErrorKind::Invalid, format!("Secret {name} is not one that a state is kept in"));
    if text("/type") != TYPE {
        return Err(strange());
    }
    let bytes = object.pointer(&format!("/data/{BYTES}")).and_then(Value::as_str).unwrap_or_default();
    let bytes = BASE64.decode(bytes.as_bytes()).map_err(|_| strange())?;
    let (labels, annotations) = (texts("/metadata/labels"), texts("/metadata/annotations"));
    let version = text("/metadata/resourceVersion");
    Ok(Kept { name: name.clone(), labels, annotations, bytes, version })
}

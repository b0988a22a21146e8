//! HashiCorp Vault: how one logs in and asks ([`Vault`]), and secrets in its key-value engine of version 1 or 2.

use std::path::{Path, PathBuf};

use base_secret::SecretValue;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use kusion_model::{KvVersion, SecretRef, VaultAuth, VaultConfig};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::web::{Answer, Web, hidden, request};
use crate::{Refusal, SecretError, SecretStore, property, secret_of};

/// Where every pod finds the token of its service account.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// A server, and the right to ask it.
pub(crate) struct Vault {
    server: String,
    namespace: Option<String>,
    auth: VaultAuth,
    /// What files are relative to.
    folder: PathBuf,
    web: Web,
    /// Fetched once; one run is shorter than its lease.
    token: OnceCell<SecretValue>,
}

impl Vault {
    pub(crate) fn new(
        server: &str,
        namespace: Option<String>,
        authority: Option<&Path>,
        auth: VaultAuth,
        folder: &Path,
    ) -> Result<Self, SecretError> {
        let server = server.trim_end_matches('/').to_owned();
        let advice = "check the address, and that Vault runs and is unsealed";
        let web = Web::new(format!("Vault at {server}"), advice, authority)?;
        Ok(Vault { server, namespace, auth, folder: folder.to_owned(), web, token: OnceCell::new() })
    }

    /// Asks with a token; logs in at the first question.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&str>,
    ) -> Result<Answer, SecretError> {
        let token = self.token.get_or_try_init(|| self.log_in()).await?;
        self.call(method, path, Some(token), body).await
    }

    async fn log_in(&self) -> Result<SecretValue, SecretError> {
        match &self.auth {
            VaultAuth::Token { env, file } => {
                let usual = ["VAULT_SERVER_TOKEN".to_owned(), "VAULT_TOKEN".to_owned()];
                let names = env.clone().map_or(usual.to_vec(), |name| vec![name]);
                self.credential("token", &names, file.as_deref())
            }
            VaultAuth::AppRole { role_id, secret_id_env, secret_id_file, mount } => {
                let name = secret_id_env.clone().unwrap_or_else(|| "VAULT_SECRET_ID".to_owned());
                let id = self.credential("secret id", &[name], secret_id_file.as_deref())?;
                let body = json!({"role_id": role_id, "secret_id": id.expose_text()});
                self.exchange("the AppRole", mount.as_deref().unwrap_or("approle"), body).await
            }
            VaultAuth::Kubernetes { role, token_file, mount } => {
                let file = token_file.as_deref().unwrap_or(POD_TOKEN);
                let token = self.credential("token of a service account", &[], Some(file))?;
                let body = json!({"role": role, "jwt": token.expose_text()});
                self.exchange("the service account", mount.as_deref().unwrap_or("kubernetes"), body).await
            }
        }
    }

    /// Gives credentials for a token.
    async fn exchange(&self, who: &str, mount: &str, body: Value) -> Result<SecretValue, SecretError> {
        let body = Zeroizing::new(body.to_string());
        let path = format!("auth/{}/login", encoded(mount));
        let answer = self.call(Method::POST, &path, None, Some(&body)).await?;
        if answer.status != StatusCode::OK {
            return Err(self.refused(&answer, who));
        }
        secret_of(&answer.body["auth"]["client_token"])
            .ok_or_else(|| SecretError::new(Refusal::Unusable, "Vault's answer to the login has no token"))
    }

    /// A token or an id: from the first variable that is set, else from a file.
    fn credential(
        &self,
        what: &str,
        names: &[String],
        file: Option<&str>,
    ) -> Result<SecretValue, SecretError> {
        if let Some(value) = names.iter().find_map(|name| crate::variable(name)) {
            return Ok(value);
        }
        let Some(file) = file else {
            return Err(SecretError::new(Refusal::Denied, format!("there is no {what} for Vault"))
                .next(format!("export {}=…", names.join("=… or "))));
        };
        let path = self.folder.join(file);
        let text = std::fs::read_to_string(&path).map(Zeroizing::new);
        let text = text.map_err(|e| {
            SecretError::new(Refusal::Denied, format!("the {what} in {} cannot be read: {e}", path.display()))
        })?;
        Ok(SecretValue::from(text.trim().to_owned()))
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        token: Option<&SecretValue>,
        body: Option<&str>,
    ) -> Result<Answer, SecretError> {
        let mut asked = request(method, &format!("{}/v1/{path}", self.server));
        asked = asked.header("X-Vault-Request", "true");
        if let Some(namespace) = &self.namespace {
            asked = asked.header("X-Vault-Namespace", namespace);
        }
        if let Some(token) = token {
            let value = hidden(token.expose()).ok_or_else(|| {
                SecretError::new(Refusal::Denied, "the token for Vault has characters that no token has")
            })?;
            asked = asked.header("X-Vault-Token", value);
        }
        self.web.send(asked, body.unwrap_or_default().as_bytes()).await
    }

    pub(crate) fn refused(&self, answer: &Answer, what: &str) -> SecretError {
        let errors = answer.body["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let said = errors.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
        let said =
            if said.is_empty() { answer.status.to_string() } else { format!("{} ({said})", answer.status) };
        match answer.status {
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST => {
                SecretError::new(Refusal::Denied, format!("Vault refuses {what}: {said}"))
                    .next("log in again, or ask for a policy that may read this path")
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                SecretError::new(Refusal::Unavailable, format!("Vault is sealed or in maintenance: {said}"))
            }
            _ => SecretError::new(Refusal::Unavailable, format!("Vault fails at {what}: {said}")),
        }
    }
}

/// A path for an address; `/` stays.
pub(crate) fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.trim_matches('/').bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Secrets in the key-value engine.
pub(crate) struct VaultStore {
    config: VaultConfig,
    vault: Vault,
}

impl VaultStore {
    pub(crate) fn new(config: VaultConfig, folder: &Path) -> Result<Self, SecretError> {
        let authority = config.ca_cert.as_ref().map(|file| folder.join(file));
        let namespace = config.namespace.clone();
        let vault = Vault::new(&config.server, namespace, authority.as_deref(), config.auth.clone(), folder)?;
        Ok(VaultStore { config, vault })
    }

    async fn fetch(&self, reference: &SecretRef) -> Result<SecretValue, SecretError> {
        let path = self.path(reference)?;
        let answer = self.vault.ask(Method::GET, &path, None).await?;
        let shown = format!("`{}` in {}", reference.name, self.config.path);
        let data = match answer.status {
            StatusCode::OK => &answer.body["data"],
            StatusCode::NOT_FOUND if answer.body["data"]["metadata"].is_object() => {
                let message = format!("this version of {shown} was deleted");
                return Err(SecretError::new(Refusal::NotFound, message));
            }
            StatusCode::NOT_FOUND => {
                return Err(SecretError::new(Refusal::NotFound, format!("Vault has no {shown}"))
                    .next("check the name, and `path` and `version` of the store"));
            }
            _ => return Err(self.vault.refused(&answer, &shown)),
        };
        let values = if self.config.version == KvVersion::V2 { &data["data"] } else { data };
        property_of(values, &reference.property, &shown)
    }

    /// Writes one property; the others stay. What somebody else writes meanwhile is not lost: the version is compared.
    async fn store(&self, reference: &SecretRef, value: &SecretValue) -> Result<(), SecretError> {
        let path = self.path(reference)?;
        let shown = format!("`{}` in {}", reference.name, self.config.path);
        let before = self.vault.ask(Method::GET, &path, None).await?;
        let v2 = self.config.version == KvVersion::V2;
        let mut values = match before.status {
            StatusCode::OK if v2 => before.body["data"]["data"].clone(),
            StatusCode::OK => before.body["data"].clone(),
            StatusCode::NOT_FOUND => json!({}),
            _ => return Err(self.vault.refused(&before, &shown)),
        };
        if !values.is_object() {
            values = json!({});
        }
        values[&reference.property] = value.expose_text().into();
        let version = before.body["data"]["metadata"]["version"].as_u64().unwrap_or(0);
        let body = if v2 { json!({"options": {"cas": version}, "data": values}) } else { values };
        let body = Zeroizing::new(body.to_string());
        let answer = self.vault.ask(Method::POST, &path, Some(&body)).await?;
        if answer.status.is_success() { Ok(()) } else { Err(self.vault.refused(&answer, &shown)) }
    }

    /// Where a secret is read.
    fn path(&self, reference: &SecretRef) -> Result<String, SecretError> {
        let (mount, name) = (encoded(&self.config.path), encoded(&reference.name));
        match (self.config.version, &reference.version) {
            (KvVersion::V1, None) => Ok(format!("{mount}/{name}")),
            (KvVersion::V1, Some(_)) => Err(SecretError::new(
                Refusal::Unusable,
                "version 1 of Vault's key-value engine keeps no versions",
            )),
            (KvVersion::V2, None) => Ok(format!("{mount}/data/{name}")),
            (KvVersion::V2, Some(version)) if version.parse::<u32>().is_ok() => {
                Ok(format!("{mount}/data/{name}?version={version}"))
            }
            (KvVersion::V2, Some(version)) => {
                Err(SecretError::new(Refusal::Unusable, format!("`version={version}` is no number")))
            }
        }
    }
}

/// A property of a secret that is a document, or which ones there are.
pub(crate) fn property_of(values: &Value, name: &str, shown: &str) -> Result<SecretValue, SecretError> {
    let found = property(values, name).and_then(secret_of);
    found.filter(|value| !value.is_empty()).ok_or_else(|| {
        // Names of properties are no secrets, and knowing them is half of the repair.
        let names: Vec<&str> =
            values.as_object().into_iter().flat_map(|map| map.keys().map(String::as_str)).collect();
        let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        SecretError::new(Refusal::NotFound, format!("{shown} has no `{name}`"))
            .next(format!("it has: {names}"))
    })
}

impl SecretStore for VaultStore {
    fn get<'a>(&'a self, reference: &'a SecretRef) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(self.fetch(reference))
    }

    fn set<'a>(
        &'a self,
        reference: &'a SecretRef,
        value: &'a SecretValue,
    ) -> BoxFuture<'a, Result<(), SecretError>> {
        Box::pin(self.store(reference, value))
    }

    fn describe(&self) -> String {
        let version = if self.config.version == KvVersion::V1 { "v1" } else { "v2" };
        format!("vault {} ({}, {version})", self.config.server, self.config.path)
    }
}

//! Secrets in HashiCorp Vault: key-value engine of version 1 or 2, with a token or an AppRole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base_secret::SecretValue;
use futures::future::BoxFuture;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kusion_model::{KvVersion, SecretRef, VaultAuth, VaultConfig};
use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::{LARGEST, Refusal, SecretError, SecretStore, property, secret_of};

pub(crate) struct VaultStore {
    config: VaultConfig,
    folder: PathBuf,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Fetched once; one run is shorter than its lease.
    token: OnceCell<SecretValue>,
}

/// An answer: its status, and its document if it has one.
struct Answer {
    status: StatusCode,
    body: Value,
}

impl VaultStore {
    pub(crate) fn new(config: VaultConfig, folder: &Path) -> Result<Self, SecretError> {
        let https = match &config.ca_cert {
            None => HttpsConnectorBuilder::new().with_native_roots().map_err(|e| {
                SecretError::new(
                    Refusal::Unusable,
                    format!("the certificates of this machine cannot be read: {e}"),
                )
            })?,
            Some(file) => HttpsConnectorBuilder::new().with_tls_config(trusting(&folder.join(file))?),
        };
        let connector = https.https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(VaultStore { config, folder: folder.to_owned(), client, token: OnceCell::new() })
    }

    async fn fetch(&self, reference: &SecretRef) -> Result<SecretValue, SecretError> {
        let token = self.token.get_or_try_init(|| self.log_in()).await?;
        let path = self.path(reference)?;
        let answer = self.call(Method::GET, &path, Some(token), None).await?;
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
            _ => return Err(self.refused(&answer, &shown)),
        };
        let values = if self.config.version == KvVersion::V2 { &data["data"] } else { data };
        let found = property(values, &reference.property).and_then(secret_of);
        found.filter(|value| !value.is_empty()).ok_or_else(|| {
            // Names of properties are no secrets, and knowing them is half of the repair.
            let names: Vec<&str> =
                values.as_object().into_iter().flat_map(|map| map.keys().map(String::as_str)).collect();
            SecretError::new(Refusal::NotFound, format!("{shown} has no `{}`", reference.property)).next(
                format!("it has: {}", if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }),
            )
        })
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

    async fn log_in(&self) -> Result<SecretValue, SecretError> {
        match &self.config.auth {
            VaultAuth::Token { env, file } => {
                let usual = ["VAULT_SERVER_TOKEN".to_owned(), "VAULT_TOKEN".to_owned()];
                let names = env.clone().map_or(usual.to_vec(), |name| vec![name]);
                self.credential("token", &names, file.as_deref())
            }
            VaultAuth::AppRole { role_id, secret_id_env, secret_id_file, mount } => {
                let name = secret_id_env.clone().unwrap_or_else(|| "VAULT_SECRET_ID".to_owned());
                let id = self.credential("secret id", &[name], secret_id_file.as_deref())?;
                let path = format!("auth/{}/login", encoded(mount.as_deref().unwrap_or("approle")));
                let body =
                    Zeroizing::new(json!({"role_id": role_id, "secret_id": id.expose_text()}).to_string());
                let answer = self.call(Method::POST, &path, None, Some(&body)).await?;
                if answer.status != StatusCode::OK {
                    return Err(self.refused(&answer, "the AppRole"));
                }
                secret_of(&answer.body["auth"]["client_token"]).ok_or_else(|| {
                    SecretError::new(Refusal::Unusable, "Vault's answer to the login has no token")
                })
            }
        }
    }

    /// A token or an id: from the first variable that is set, else from a file.
    fn credential(
        &self,
        what: &str,
        names: &[String],
        file: Option<&str>,
    ) -> Result<SecretValue, SecretError> {
        let set = names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        if let Some(value) = set {
            return Ok(SecretValue::from(value));
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
        let server = self.config.server.trim_end_matches('/');
        let unavailable = |what: String| {
            SecretError::new(Refusal::Unavailable, format!("Vault at {server} {what}"))
                .next("check `server` of the store, and that Vault runs and is unsealed")
        };
        let mut request = Request::builder().method(method).uri(format!("{server}/v1/{path}"));
        request = request.header("X-Vault-Request", "true");
        if let Some(namespace) = &self.config.namespace {
            request = request.header("X-Vault-Namespace", namespace);
        }
        if let Some(token) = token {
            let mut value = http::HeaderValue::from_bytes(token.expose()).map_err(|_| {
                SecretError::new(Refusal::Denied, "the token for Vault has characters that no token has")
            })?;
            value.set_sensitive(true);
            request = request.header("X-Vault-Token", value);
        }
        let body = Full::new(Bytes::copy_from_slice(body.unwrap_or_default().as_bytes()));
        let request = request.body(body).map_err(|e| unavailable(format!("has no usable address: {e}")))?;
        let answer = self
            .client
            .request(request)
            .await
            .map_err(|e| unavailable(format!("does not answer: {}", root(&e))))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(|e| unavailable(format!("broke off its answer: {e}")))?.to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if status == StatusCode::OK && !body.is_object() {
            return Err(unavailable("gave an answer that is no document of Vault".to_owned()));
        }
        Ok(Answer { status, body })
    }

    fn refused(&self, answer: &Answer, what: &str) -> SecretError {
        let errors = answer.body["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let said = errors.collect::<Vec<_>>().join("; ");
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

/// The innermost reason, which says more than "client error".
fn root(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string()
}

fn trusting(file: &Path) -> Result<rustls::ClientConfig, SecretError> {
    let unusable = |e: String| {
        SecretError::new(
            Refusal::Unusable,
            format!("the certificate in {} cannot be used: {e}", file.display()),
        )
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|e| unusable(e.to_string()))? {
        roots.add(certificate.map_err(|e| unusable(e.to_string()))?).map_err(|e| unusable(e.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("there is none in it".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(|e| unusable(e.to_string()))?.with_root_certificates(roots).with_no_client_auth())
}

/// A path for an address; `/` stays.
fn encoded(path: &str) -> String {
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

impl SecretStore for VaultStore {
    fn get<'a>(&'a self, reference: &'a SecretRef) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(self.fetch(reference))
    }

    fn describe(&self) -> String {
        let version = if self.config.version == KvVersion::V1 { "v1" } else { "v2" };
        format!("vault {} ({}, {version})", self.config.server, self.config.path)
    }
}

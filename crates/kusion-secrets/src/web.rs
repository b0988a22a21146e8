//! One HTTP client for the stores that are services: bounded answers, reasons that say something.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::Value;

use crate::{LARGEST, Refusal, SecretError};

/// A client, and what its service is called.
pub(crate) struct Web {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// For messages: `Vault at https://vault:8200`.
    pub(crate) service: String,
    /// What to do when it does not answer.
    pub(crate) advice: &'static str,
}

/// An answer: its status, and its document if it has one.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

impl Web {
    /// Trusts what this machine trusts, or only the authorities in a file.
    pub(crate) fn new(
        service: String,
        advice: &'static str,
        authority: Option<&Path>,
    ) -> Result<Self, SecretError> {
        let https = match authority {
            None => HttpsConnectorBuilder::new().with_native_roots().map_err(|e| {
                SecretError::new(
                    Refusal::Unusable,
                    format!("the certificates of this machine cannot be read: {e}"),
                )
            })?,
            Some(file) => HttpsConnectorBuilder::new().with_tls_config(trusting(file)?),
        };
        let connector = https.https_or_http().enable_http1().build();
        Ok(Web { client: Client::builder(TokioExecutor::new()).build(connector), service, advice })
    }

    /// The service is not to be had.
    pub(crate) fn unavailable(&self, what: impl std::fmt::Display) -> SecretError {
        SecretError::new(Refusal::Unavailable, format!("{} {what}", self.service)).next(self.advice)
    }

    /// Sends a request. A good answer is a document; a bad one may be anything.
    pub(crate) async fn send(
        &self,
        request: http::request::Builder,
        body: &[u8],
    ) -> Result<Answer, SecretError> {
        let request = request.body(Full::new(Bytes::copy_from_slice(body)));
        let request = request.map_err(|e| self.unavailable(format!("has no usable address: {e}")))?;
        let asked = log::log_enabled!(log::Level::Debug)
            .then(|| (Instant::now(), format!("{} {}", request.method(), request.uri().path())));
        let answer = self.client.request(request).await;
        if let Some((began, asked)) = asked {
            let status = answer.as_ref().map_or_else(
                |_| "was not answered".to_owned(),
                |answer| answer.status().as_u16().to_string(),
            );
            log::debug!("{}: {asked} {status} in {} ms", self.service, began.elapsed().as_millis());
        }
        let answer = answer.map_err(|e| self.unavailable(format!("does not answer: {}", root(&e))))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(|e| self.unavailable(format!("broke off its answer: {e}")))?.to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if status == StatusCode::OK && !body.is_object() {
            return Err(self.unavailable("gave an answer that is no document"));
        }
        Ok(Answer { status, body })
    }
}

/// A request to an address.
pub(crate) fn request(method: http::Method, address: &str) -> http::request::Builder {
    Request::builder().method(method).uri(address)
}

/// A header that is never shown.
pub(crate) fn hidden(value: &[u8]) -> Option<http::HeaderValue> {
    let mut value = http::HeaderValue::from_bytes(value).ok()?;
    value.set_sensitive(true);
    Some(value)
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

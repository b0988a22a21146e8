//! A client over TLS with the kubeconfig that the sandbox has written.

use std::time::Duration;

use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use sandbox_server::Sandbox;
use serde_json::{Value, json};

pub(crate) struct Wire {
    tokio: tokio::runtime::Runtime,
    client: kube::Client,
}

impl Wire {
    pub(crate) fn new(sandbox: &Sandbox) -> Wire {
        Wire::with(&Kubeconfig::read_from(sandbox.kubeconfig()).unwrap())
    }

    pub(crate) fn with(config: &Kubeconfig) -> Wire {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = KubeConfigOptions::default();
        let client = tokio.block_on(async {
            let config = kube::Config::from_custom_kubeconfig(config.clone(), &options).await.unwrap();
            kube::Client::try_from(config).unwrap()
        });
        Wire { tokio, client }
    }

    /// The body of an answer, or the Status of a refusal.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Value> {
        self.tokio.block_on(self.ask(method, path, body))
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Value> {
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let kind = if method == "PATCH" { "application/apply-patch+yaml" } else { "application/json" };
        let request =
            Request::builder().method(method).uri(path).header("content-type", kind).body(bytes).unwrap();
        match self.client.request::<Value>(request).await {
            Ok(value) => Ok(value),
            Err(kube::Error::Api(status)) => Err(json!({"code": status.code, "reason": status.reason})),
            Err(error) => Err(json!({"code": 0, "reason": error.to_string()})),
        }
    }

    /// Any bytes as a body; status, content type and answer.
    pub(crate) fn raw(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
        self.tokio.block_on(async {
            let request = Request::builder().method(method).uri(path).header("content-type", kind);
            let request = request.body(kube::client::Body::from(body.to_vec())).unwrap();
            let answer = self.client.send(request).await.unwrap();
            let kind = answer.headers().get("content-type").map_or("", |kind| kind.to_str().unwrap());
            let (status, kind) = (answer.status().as_u16(), kind.to_owned());
            (status, kind, answer.into_body().collect_bytes().await.unwrap().to_vec())
        })
    }

    /// Many applies, some at a time.
    pub(crate) fn apply_all(&self, objects: &[(String, Value)]) {
        use futures::stream::{self, StreamExt as _};
        self.tokio.block_on(async {
            let asks = objects.iter().map(|(path, object)| self.ask("PATCH", path, Some(object)));
            let failed = stream::iter(asks).buffer_unordered(16).filter_map(|answer| async { answer.err() });
            assert_eq!(failed.collect::<Vec<_>>().await, Vec::<Value>::new());
        });
    }
}

/// The token of the kubeconfig.
pub(crate) fn token(sandbox: &Sandbox) -> String {
    let text = std::fs::read_to_string(sandbox.kubeconfig()).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    config["users"][0]["user"]["token"].as_str().unwrap().to_owned()
}

/// A bare TLS connection, for what no library would send.
pub(crate) fn tls(sandbox: &Sandbox) -> rustls::StreamOwned<rustls::ClientConnection, std::net::TcpStream> {
    let text = std::fs::read_to_string(sandbox.kubeconfig()).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    let pem = config["clusters"][0]["cluster"]["certificate-authority-data"].as_str().unwrap();
    let pem = data_encoding::BASE64.decode(pem.as_bytes()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    use rustls::pki_types::pem::PemObject as _;
    roots.add(rustls::pki_types::CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let connection = rustls::ClientConnection::new(std::sync::Arc::new(config), name).unwrap();
    let socket = std::net::TcpStream::connect(sandbox.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    rustls::StreamOwned::new(connection, socket)
}

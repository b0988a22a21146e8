//! Who the sandbox is and who may speak to it: a certificate of its own making, one token, a kubeconfig.

use data_encoding::BASE64;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use std::net::SocketAddr;

/// The name of the context, and of the health profile that it asks for.
pub const CONTEXT: &str = "kusion-sandbox";

/// Certificates and token. The token is a secret: it is written to the kubeconfig (mode 0600) and nowhere else.
pub struct Identity {
    pub(crate) ca_pem: String,
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
    pub(crate) token: String,
}

/// The certificates cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox cannot make its certificates: {0}")]
pub struct IdentityError(#[from] rcgen::Error);

impl Identity {
    /// A new identity for loopback.
    pub fn new() -> Result<Identity, IdentityError> {
        let ca_key = KeyPair::generate()?;
        let mut ca = CertificateParams::new(Vec::<String>::new())?;
        ca.distinguished_name.push(DnType::CommonName, "kusion-sandbox-ca");
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let ca_pem = ca.self_signed(&ca_key)?.pem();
        let issuer = Issuer::from_params(&ca, &ca_key);
        let key = KeyPair::generate()?;
        let names = ["localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default.svc"];
        let mut params = CertificateParams::new(names.map(str::to_owned))?;
        params.distinguished_name.push(DnType::CommonName, "kusion-sandbox");
        let certificate = params.signed_by(&key, &issuer)?.der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let token = uuid::Uuid::new_v4().simple().to_string();
        Ok(Identity { ca_pem, certificate, key, token })
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// What clients need to reach it. The extension names the health profile (decisions: image 3 s, hold 0.5 s).
    pub fn kubeconfig(&self, address: SocketAddr) -> String {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": CONTEXT,
            "clusters": [{"name": CONTEXT, "cluster": {
                "server": format!("https://{address}"),
                "certificate-authority-data": BASE64.encode(self.ca_pem.as_bytes()),
            }}],
            "users": [{"name": CONTEXT, "user": {"token": self.token}}],
            "contexts": [{"name": CONTEXT, "context": {
                "cluster": CONTEXT, "user": CONTEXT,
                "extensions": [{"name": "kusion.io/profile", "extension": {"profile": "sandbox"}}],
            }}],
        });
        format!("{config:#}\n")
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Identity(secret)")
    }
}

//! Who the sandbox is and who may speak to it: a certificate of its own making, one token, a kubeconfig.
//!
//! The identity is kept in the data folder, so that a kubeconfig stays right over restarts. It holds secrets: its file has
//! mode 0600 and its `Debug` says nothing.

use std::net::SocketAddr;
use std::path::Path;

use data_encoding::BASE64;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

use crate::keep::write_private;

/// The name of cluster, user and context; health knows the sandbox's graces by it.
pub const CONTEXT: &str = "kusion-sandbox";

/// Certificates and token.
pub struct Identity {
    ca_pem: String,
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
    token: String,
}

/// The certificates cannot be made or kept.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("the sandbox cannot make its certificates: {0}")]
    Make(#[from] rcgen::Error),
    #[error("the sandbox cannot keep its certificates: {0}")]
    Keep(#[from] std::io::Error),
}

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
        let token = uuid::Uuid::new_v4().simple().to_string();
        Ok(Identity { ca_pem, certificate, key: private_key(key.serialize_der()), token })
    }

    /// The identity that a folder keeps, or a new one that it keeps from now on.
    pub fn open(folder: &Path) -> Result<Identity, IdentityError> {
        let file = folder.join("identity.json");
        if let Some(kept) = std::fs::read(&file).ok().and_then(|bytes| Identity::read(&bytes)) {
            return Ok(kept);
        }
        let identity = Identity::new()?;
        let kept = json!({
            "ca": identity.ca_pem,
            "certificate": BASE64.encode(&identity.certificate),
            "key": BASE64.encode(identity.key.secret_der()),
            "token": identity.token,
        });
        write_private(&file, kept.to_string().as_bytes())?;
        Ok(identity)
    }

    fn read(bytes: &[u8]) -> Option<Identity> {
        let kept: Value = serde_json::from_slice(bytes).ok()?;
        let decoded = |name: &str| BASE64.decode(kept[name].as_str()?.as_bytes()).ok();
        Some(Identity {
            ca_pem: kept["ca"].as_str()?.to_owned(),
            certificate: CertificateDer::from(decoded("certificate")?),
            key: private_key(decoded("key")?),
            token: kept["token"].as_str()?.to_owned(),
        })
    }

    /// The certificate that signs its own, as PEM.
    pub fn root_certificate(&self) -> &str {
        &self.ca_pem
    }

    /// What a caller must show.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What clients need to reach it.
    pub fn kubeconfig(&self, address: SocketAddr) -> String {
        // From this machine an address that means "every one" is reached by loopback.
        let reached = match address.ip().is_unspecified() {
            true => SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, address.port())),
            false => address,
        };
        let mut config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": CONTEXT,
            "clusters": [{"name": CONTEXT, "cluster": {
                "server": format!("https://{reached}"),
                "certificate-authority-data": BASE64.encode(self.ca_pem.as_bytes()),
            }}],
            "users": [{"name": CONTEXT, "user": {"token": self.token}}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
        });
        if !reached.ip().is_loopback() {
            // The certificate does not know this address.
            config["clusters"][0]["cluster"]["tls-server-name"] = json!("localhost");
        }
        format!("{config:#}\n")
    }
}

fn private_key(der: Vec<u8>) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(der))
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Identity(secret)")
    }
}

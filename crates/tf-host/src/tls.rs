//! Mutual TLS with a provider that insists on it.
//!
//! Both sides have a certificate of their own that they made a moment ago: ours goes to the provider in its environment,
//! the provider's comes back in its handshake. Nobody else's is taken: the certificate is compared byte by byte, and the
//! signature proves that the other side has its key. Providers sign with P-521, which ring does not know.

use std::sync::Arc;

use p521::ecdsa::signature::Verifier as _;
use p521::ecdsa::{DerSignature, VerifyingKey};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, PrivatePkcs8KeyDer, ServerName,
    SignatureVerificationAlgorithm, UnixTime, alg_id,
};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use tokio_rustls::TlsConnector;

/// The name in the certificates of both sides.
pub(crate) const NAME: &str = "localhost";

/// Our half of mutual TLS with one provider.
pub(crate) struct ClientTls {
    /// For the provider: the only client that it takes.
    pub(crate) pem: String,
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl ClientTls {
    /// Makes a certificate for one connection.
    pub(crate) fn new() -> Result<Self, String> {
        let made = || {
            let key = KeyPair::generate()?;
            let mut wanted = CertificateParams::new([NAME.to_owned()])?;
            // Providers take it for an authority, too: it is the only entry in their list of trusted ones.
            wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            wanted.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
            let certificate = wanted.self_signed(&key)?;
            let pem = certificate.pem();
            let key = PrivatePkcs8KeyDer::from(key.serialize_der());
            Ok(ClientTls { pem, certificate: certificate.der().clone(), key })
        };
        made().map_err(|error: rcgen::Error| error.to_string())
    }

    /// A connector that talks to nobody but the owner of this certificate.
    pub(crate) fn connector(self, provider: Vec<u8>) -> Result<TlsConnector, String> {
        let pinned = Pinned { certificate: CertificateDer::from(provider) };
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(pinned))
            .with_client_auth_cert(vec![self.certificate], self.key.into());
        let mut config = config.map_err(|error| error.to_string())?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// Trusts one certificate.
#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match *end_entity == self.certificate {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::General("its certificate is not the one that its handshake names".into())),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &ALGORITHMS)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ALGORITHMS.supported_schemes()
    }
}

/// What a provider may sign with: today all of them take P-521.
static ALGORITHMS: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[&P521],
    mapping: &[(SignatureScheme::ECDSA_NISTP521_SHA512, &[&P521])],
};

#[derive(Debug)]
struct P521;

impl SignatureVerificationAlgorithm for P521 {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_P521
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_SHA512
    }

    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = VerifyingKey::from_sec1_bytes(public_key).map_err(|_| InvalidSignature)?;
        let signature = DerSignature::from_bytes(signature).map_err(|_| InvalidSignature)?;
        key.verify(message, &signature).map_err(|_| InvalidSignature)
    }
}

//! Tokens of OpenID providers: who somebody is, proved by the provider's signature.
//!
//! In: a token (a JWT), and the time. Out: issuer, subject and name. Invariant: nothing of a token is believed before its
//! signature was checked with a key that the issuer itself publishes, and before its times were looked at.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use http::{Method, StatusCode};
use kusion_model::Identity;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;

use crate::web::{Web, request};
use crate::{Refusal, SecretError};

/// Clocks may be that far apart, in seconds.
const LEEWAY: u64 = 60;
/// Longer tokens are a mistake.
const LONGEST: usize = 64 * 1024;

/// What a token must be for us, if it matters.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    pub issuer: Option<String>,
    pub audience: Option<String>,
}

/// The parts of a token, not yet believed.
struct Token<'a> {
    /// What is signed.
    signed: &'a str,
    header: Value,
    claims: Value,
    signature: Vec<u8>,
}

fn refused(what: impl fmt::Display) -> SecretError {
    SecretError::new(Refusal::Denied, format!("the identity token is refused: {what}"))
        .next("take a fresh token of your provider (KUSION_ID_TOKEN or KUSION_ID_TOKEN_FILE), or none")
}

impl<'a> Token<'a> {
    fn read(text: &'a str) -> Result<Self, SecretError> {
        let unreadable = || refused("it is no signed token (JWT)");
        let (signed, signature) =
            text.rsplit_once('.').filter(|_| text.len() <= LONGEST).ok_or_else(unreadable)?;
        let (header, claims) = signed.split_once('.').ok_or_else(unreadable)?;
        let bytes = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| unreadable());
        let json = |part: &str| serde_json::from_slice::<Value>(&bytes(part)?).map_err(|_| unreadable());
        Ok(Token { signed, header: json(header)?, claims: json(claims)?, signature: bytes(signature)? })
    }

    fn text(&self, claim: &str) -> Option<&str> {
        self.claims[claim].as_str()
    }

    /// Whether a key of the issuer has made the signature.
    fn is_signed_by(&self, key: &Value) -> bool {
        let part = |name: &str| BASE64URL_NOPAD.decode(key[name].as_str()?.as_bytes()).ok();
        let (message, signature) = (self.signed.as_bytes(), self.signature.as_slice());
        match (self.header["alg"].as_str(), key["kty"].as_str(), key["crv"].as_str()) {
            (Some("RS256"), Some("RSA"), _) => match (part("n"), part("e")) {
                (Some(n), Some(e)) => RsaPublicKeyComponents { n, e }
                    .verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signature)
                    .is_ok(),
                _ => false,
            },
            (Some("ES256"), Some("EC"), Some("P-256")) => match (part("x"), part("y")) {
                (Some(x), Some(y)) => {
                    let point = [&[4], x.as_slice(), y.as_slice()].concat();
                    let key = UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point);
                    key.verify(message, signature).is_ok()
                }
                _ => false,
            },
            (Some("EdDSA"), Some("OKP"), Some("Ed25519")) => part("x").is_some_and(|x| {
                UnparsedPublicKey::new(&signature::ED25519, x).verify(message, signature).is_ok()
            }),
            _ => false,
        }
    }
}

/// Checks a token with the keys that its issuer publishes.
///
/// # Errors
/// Why it is not believed, or that its issuer cannot be asked.
pub async fn identify(text: &str, now: u64, expected: &Expected) -> Result<Identity, SecretError> {
    let token = Token::read(text.trim())?;
    let issuer = token.text("iss").ok_or_else(|| refused("it names no issuer"))?;
    let local =
        ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|at| issuer.starts_with(at));
    if !issuer.starts_with("https://") && !local {
        return Err(refused(format!("its issuer `{issuer}` is not reached over TLS")));
    }
    if expected.issuer.as_deref().is_some_and(|wanted| wanted != issuer) {
        return Err(refused(format!("it is of `{issuer}`, not of the expected issuer")));
    }
    let keys = keys_of(issuer).await?;
    let id = token.header["kid"].as_str();
    let usable = keys["keys"].as_array().into_iter().flatten();
    let mut usable = usable.filter(|key| id.is_none() || key["kid"].as_str() == id);
    if !usable.any(|key| token.is_signed_by(key)) {
        return Err(refused(format!("it is not signed by a key of `{issuer}`")));
    }
    in_time(&token, now)?;
    if let Some(wanted) = &expected.audience {
        let audience = &token.claims["aud"];
        let listed = audience.as_array().is_some_and(|list| list.iter().any(|item| item == wanted.as_str()));
        if audience != wanted.as_str() && !listed {
            return Err(refused(format!("it is not meant for `{wanted}`")));
        }
    }
    let subject = token.text("sub").ok_or_else(|| refused("it names no subject"))?;
    let name = ["email", "preferred_username", "name"].iter().find_map(|claim| token.text(claim));
    let name = name.filter(|name| *name != subject).map(str::to_owned);
    Ok(Identity::Token { issuer: issuer.to_owned(), subject: subject.to_owned(), name })
}

fn in_time(token: &Token<'_>, now: u64) -> Result<(), SecretError> {
    match token.claims["exp"].as_u64() {
        None => return Err(refused("it says not how long it holds")),
        Some(end) if end.saturating_add(LEEWAY) < now => return Err(refused("it has expired")),
        Some(_) => {}
    }
    match token.claims["nbf"].as_u64() {
        Some(begin) if begin > now.saturating_add(LEEWAY) => Err(refused("it does not hold yet")),
        _ => Ok(()),
    }
}

/// The keys that an issuer publishes.
async fn keys_of(issuer: &str) -> Result<Value, SecretError> {
    let web =
        Web::new(format!("the identity provider {issuer}"), "see that it can be reached from here", None)?;
    let ask = async |address: &str| {
        let answer = web.send(request(Method::GET, address), b"").await?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            status => Err(web.unavailable(format!("answers {status} at {address}"))),
        }
    };
    let about = ask(&format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))).await?;
    if about["issuer"].as_str() != Some(issuer) {
        return Err(refused(format!("`{issuer}` says that it is somebody else")));
    }
    let keys = about["jwks_uri"].as_str().ok_or_else(|| web.unavailable("publishes no keys"))?;
    ask(keys).await
}

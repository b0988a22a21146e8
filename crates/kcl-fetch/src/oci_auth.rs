//! Tokens of registries: what `WWW-Authenticate` asks for.

use std::io::Read;

use serde_json::Value;
use ureq::Agent;

use crate::Trouble;
use crate::credentials::{Credentials, TOKEN};

/// Returns the value of an `Authorization` header that answers a challenge; none if nothing can be answered.
pub(crate) fn token(
    agent: &Agent,
    host: &str,
    challenge: &str,
    credentials: Option<&Credentials>,
) -> Result<Option<String>, Trouble> {
    let (scheme, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Ok(credentials.map(Credentials::basic));
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Ok(None);
    }
    let parts = parameters(rest);
    let part = |key: &str| parts.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let realm = part("realm").unwrap_or_default();
    // A password is only sent where nobody listens.
    let safe = realm.starts_with("https://") || credentials.is_none() || is_here(realm);
    if !safe {
        return Err(Trouble::new(format!("{host} wants the password sent to {realm}, without TLS")));
    }
    let mut asked: Vec<(&str, &str)> = Vec::new();
    asked.extend(["service", "scope"].into_iter().filter_map(|key| Some((key, part(key)?))));
    let exchanged =
        credentials.filter(|known| known.user == TOKEN).and_then(|known| known.password.expose_text());
    let answer = match (exchanged, credentials) {
        // An identity token is no password: it is exchanged for a token of this registry.
        (Some(token), _) => {
            asked.extend([("grant_type", "refresh_token"), ("client_id", "kcl"), ("refresh_token", token)]);
            agent.post(realm).send_form(asked)
        }
        (None, Some(known)) => {
            agent.get(realm).query_pairs(asked).header("authorization", known.basic()).call()
        }
        (None, None) => agent.get(realm).query_pairs(asked).call(),
    };
    let answer = answer.map_err(|e| Trouble::new(format!("cannot reach {realm} for a token: {e}")))?;
    if !answer.status().is_success() {
        return Ok(None);
    }
    let mut text = String::new();
    let read = answer.into_body().into_reader().take(1 << 20).read_to_string(&mut text);
    read.map_err(|e| Trouble::new(format!("{realm}: the answer broke off: {e}")))?;
    let answer: Value = serde_json::from_str(&text)
        .map_err(|_| Trouble::new(format!("{realm} did not answer with a token")))?;
    let token = answer.get("token").or_else(|| answer.get("access_token")).and_then(Value::as_str);
    Ok(token.map(|token| format!("Bearer {token}")))
}

fn is_here(url: &str) -> bool {
    ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|here| {
        url.strip_prefix(here).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    })
}

/// `realm="https://x/token",service="x",scope="repository:a:pull,push"`.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while let Some((name, after)) = rest.split_once('=') {
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.push((name.trim_matches([',', ' ']).to_ascii_lowercase(), value.to_owned()));
        rest = next.trim_start_matches([',', ' ']);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let parts = parameters("realm=\"https://x/token\",service=\"x\", scope=\"repository:a/b:pull,push\"");
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            parts,
            [
                pair("realm", "https://x/token"),
                pair("service", "x"),
                pair("scope", "repository:a/b:pull,push")
            ]
        );
        assert!(parameters("").is_empty() && parameters("nonsense").is_empty());
        assert!(is_here("http://127.0.0.1:5000/t") && !is_here("http://127.0.0.1.example.org/t"));
    }
}

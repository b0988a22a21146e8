//! Who may ask: programs of this machine that know the token, and no web page.

use base_secret::SecretValue;
use http::{HeaderMap, StatusCode, Uri, header};

/// What is asked of every request.
#[derive(Clone)]
pub(crate) struct Guard {
    /// The token, if one is asked for.
    pub(crate) token: Option<SecretValue>,
    /// Whether requests come over TCP, where a browser could send them.
    pub(crate) is_tcp: bool,
}

impl Guard {
    /// Returns why a request is refused.
    pub(crate) fn refuses(&self, uri: &Uri, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        // A browser says which page a request is from; nothing else does.
        if headers.contains_key(header::ORIGIN) {
            return Some((StatusCode::FORBIDDEN, "requests of web pages are refused"));
        }
        let host = uri.authority().map(|a| a.as_str()).or_else(|| headers.get(header::HOST)?.to_str().ok());
        if self.is_tcp && !host.is_some_and(is_loopback) {
            // A page whose name was made to lead here would send its own name.
            return Some((
                StatusCode::FORBIDDEN,
                "the Host of a request must be 127.0.0.1, [::1] or localhost",
            ));
        }
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let sent = sent.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        match &self.token {
            Some(token) if !same(token.expose(), sent.as_bytes()) => {
                Some((StatusCode::UNAUTHORIZED, "send the server's token: `Authorization: Bearer TOKEN`"))
            }
            _ => None,
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Compares without telling by its time how much is right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(guard: &Guard, rows: &[(&'static str, &str)]) -> Option<u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in rows {
            headers.insert(*name, value.parse().unwrap());
        }
        guard.refuses(&"/".parse().unwrap(), &headers).map(|(status, _)| status.as_u16())
    }

    #[test]
    fn a_request_needs_a_loopback_host_the_token_and_no_origin() {
        let guard = Guard { token: Some(SecretValue::new(b"abc".to_vec())), is_tcp: true };
        let auth = ("authorization", "Bearer abc");
        for host in ["127.0.0.1:1", "localhost", "[::1]:9", "127.9.9.9"] {
            assert_eq!(refused(&guard, &[("host", host), auth]), None, "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", ""] {
            assert_eq!(refused(&guard, &[("host", host), auth]), Some(403), "{host}");
        }
        assert_eq!(refused(&guard, &[auth]), Some(403));
        assert_eq!(refused(&guard, &[("host", "localhost"), ("origin", "null"), auth]), Some(403));
        for wrong in ["Bearer ab", "Bearer abcd", "abc", "Bearer "] {
            assert_eq!(
                refused(&guard, &[("host", "localhost"), ("authorization", wrong)]),
                Some(401),
                "{wrong}"
            );
        }
        let open = Guard { token: None, is_tcp: false };
        assert_eq!(refused(&open, &[]), None);
    }
}

//! The HTTP client: bounded waiting, certificates as the system trusts them, failures of the server as answers.

use std::time::{Duration, Instant};

use ureq::http::{Request, Response};
use ureq::middleware::MiddlewareNext;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, SendBody};

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct Net {
    /// Refuses everything without TLS, also where an answer leads to it.
    pub https_only: bool,
    /// Longest wait for a name, and for a connection.
    pub connect: Duration,
    /// Longest wait for the head of an answer.
    pub answer: Duration,
    /// Longest time that the body of an answer may take.
    pub body: Duration,
    /// Certificates that are trusted instead of the system's, as PEM.
    pub roots: Option<Vec<u8>>,
    /// What the client calls itself; none for the library's own name.
    pub name: Option<String>,
}

impl Default for Net {
    fn default() -> Net {
        Net {
            https_only: false,
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(30),
            body: Duration::from_secs(600),
            roots: None,
            name: None,
        }
    }
}

/// Makes a client. Statuses are answers, not errors; credentials do not follow to another host.
pub fn agent(net: &Net) -> Agent {
    let roots = match &net.roots {
        None => RootCerts::PlatformVerifier,
        Some(pem) => RootCerts::new_with_certs(&certificates(pem)),
    };
    let config = Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .http_status_as_error(false)
        .https_only(net.https_only)
        .max_redirects(5)
        .timeout_resolve(Some(net.connect))
        .timeout_connect(Some(net.connect))
        .timeout_recv_response(Some(net.answer))
        .timeout_recv_body(Some(net.body));
    let config = match &net.name {
        Some(name) => config.user_agent(name.as_str()),
        None => config,
    };
    match log::log_enabled!(log::Level::Debug) {
        true => config.middleware(told).build().into(),
        false => config.build().into(),
    }
}

/// Tells who listens what is asked: an address may carry a password in front of the host and a signature behind the path.
fn told(request: Request<SendBody<'_>>, next: MiddlewareNext<'_>) -> Result<Response<Body>, ureq::Error> {
    let uri = request.uri();
    let asked = format!("{} {}{}", request.method(), uri.host().unwrap_or_default(), uri.path());
    let began = Instant::now();
    let answer = next.handle(request);
    let status = answer
        .as_ref()
        .map_or_else(|_| "was not answered".to_owned(), |answer| answer.status().as_u16().to_string());
    log::debug!("web: {asked} {status} in {} ms", began.elapsed().as_millis());
    answer
}

fn certificates(pem: &[u8]) -> Vec<Certificate<'static>> {
    parse_pem(pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect()
}

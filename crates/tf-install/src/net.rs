//! Questions to hosts: bounded, over TLS only, with a clear failure for each way they end badly.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use base_secret::SecretValue;
use rim::Net;
use serde_json::Value;
use sha2::{Digest, Sha256};
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body, ResponseExt};

use crate::progress::{Progress, Watch};
use crate::trouble::{Kind, Trouble};
use crate::url;

/// Longest text: lists of versions and of sums.
const MAX_TEXT: u64 = 16 << 20;
/// Longest package, packed.
const MAX_PACKAGE: u64 = 2 << 30;
/// Tries of a question, and of a download.
const TRIES: u32 = 2;
const DOWNLOAD_TRIES: u32 = 3;

/// A client.
pub(crate) struct Web {
    agent: Agent,
}

/// An answer with text.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// Where it came from in the end.
    pub(crate) url: String,
    /// What kind of text the host calls it.
    pub(crate) media: String,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Result<Value, Trouble> {
        let told = |e| Trouble::new(Kind::Answer, format!("{}: the answer is no JSON: {e}", self.url));
        serde_json::from_slice(&self.bytes).map_err(told)
    }
}

impl Web {
    pub(crate) fn new(net: &Net) -> Web {
        Web { agent: rim::agent(&Net { https_only: true, ..net.clone() }) }
    }

    /// Asks for a text. Statuses are answers; the failure of a host is asked about once more.
    pub(crate) fn get(&self, url: &str, token: Option<&SecretValue>) -> Result<Answer, Trouble> {
        let mut tries = 0;
        loop {
            tries += 1;
            let result = self.get_once(url, token);
            let again = match &result {
                Ok(answer) => {
                    answer.status.is_server_error() || answer.status == StatusCode::TOO_MANY_REQUESTS
                }
                Err(trouble) => matches!(trouble.kind, Kind::Unreachable | Kind::Truncated),
            };
            if !again || tries == TRIES {
                return result;
            }
        }
    }

    fn get_once(&self, url: &str, token: Option<&SecretValue>) -> Result<Answer, Trouble> {
        let answer = self.send(url, token)?;
        let status = answer.status();
        let from = answer.get_uri().to_string();
        let media =
            answer.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
        let mut bytes = Vec::new();
        let read = answer.into_body().into_reader().take(MAX_TEXT + 1).read_to_end(&mut bytes);
        read.map_err(|e| broken(url, &e))?;
        if bytes.len() as u64 > MAX_TEXT {
            return Err(Trouble::new(
                Kind::Answer,
                format!("{url}: the answer is longer than {MAX_TEXT} bytes"),
            ));
        }
        Ok(Answer { status, url: from, media, bytes })
    }

    /// Downloads into a new file and returns its SHA-256.
    pub(crate) fn download(&self, url: &str, to: &Path, watch: &Watch<'_>) -> Result<[u8; 32], Trouble> {
        let mut tries = 0;
        loop {
            tries += 1;
            let result = self.download_once(url, to, watch);
            let again = result.as_ref().is_err_and(|t| matches!(t.kind, Kind::Unreachable | Kind::Truncated));
            if !again || tries == DOWNLOAD_TRIES {
                return result;
            }
        }
    }

    fn download_once(&self, url: &str, to: &Path, watch: &Watch<'_>) -> Result<[u8; 32], Trouble> {
        let answer = expect(self.send(url, None)?, url)?;
        let total = answer.body().content_length();
        let told = |e: &std::io::Error| Trouble::disk("write", to, e);
        let mut file = File::create(to).map_err(|e| told(&e))?;
        let mut reader = answer.into_body().into_reader().take(MAX_PACKAGE + 1);
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        let mut done = 0;
        loop {
            let n = reader.read(&mut buffer).map_err(|e| broken(url, &e))?;
            if n == 0 {
                break;
            }
            hasher.update(&buffer[..n]);
            file.write_all(&buffer[..n]).map_err(|e| told(&e))?;
            done += n as u64;
            watch(&Progress::Downloaded { done, total });
        }
        if done > MAX_PACKAGE {
            return Err(Trouble::new(
                Kind::Archive,
                format!("{url}: the package is larger than {MAX_PACKAGE} bytes"),
            ));
        }
        match total {
            Some(total) if total != done => Err(cut_off(url, &format!("{done} of {total} bytes came"))),
            _ => Ok(hasher.finalize().into()),
        }
    }

    fn send(&self, url: &str, token: Option<&SecretValue>) -> Result<Response<Body>, Trouble> {
        // Registries choose what they tell by the version of the tool.
        let mut request = self.agent.get(url).header("x-terraform-version", "1.12.6").header("accept", "*/*");
        if let Some(token) = token.and_then(SecretValue::expose_text) {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        request.call().map_err(|e| failed(url, &e))
    }
}

/// Takes an answer that must be a success.
fn expect(answer: Response<Body>, url: &str) -> Result<Response<Body>, Trouble> {
    match answer.status() {
        StatusCode::OK => Ok(answer),
        status => Err(refused(url, status)),
    }
}

/// What a status means where a success is needed.
pub(crate) fn refused(url: &str, status: StatusCode) -> Trouble {
    let host = url::host(url);
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Trouble::new(
            Kind::Credentials,
            format!("{host} asks for credentials, or does not take those it got ({status}): {url}"),
        )
        .next(format!(
            "put `credentials \"{host}\" {{ token = \"..\" }}` into ~/.tofurc, or set TF_TOKEN_{}",
            host.replace('.', "_").replace('-', "__")
        )),
        StatusCode::NOT_FOUND => Trouble::new(Kind::Answer, format!("{host} says that there is no {url}")),
        status => Trouble::new(Kind::Unreachable, format!("{host} answered {status}: {url}"))
            .next("try again later"),
    }
}

fn cut_off(url: &str, how: &str) -> Trouble {
    Trouble::new(Kind::Truncated, format!("{url}: the download broke off: {how}")).next("try again")
}

fn stalled(url: &str) -> Trouble {
    Trouble::new(Kind::Stalled, format!("{} does not answer in time: {url}", url::host(url)))
        .next("try again later")
}

/// A body that did not come to its end.
fn broken(url: &str, error: &std::io::Error) -> Trouble {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    match inner {
        Some(ureq::Error::Timeout(_) | ureq::Error::BodyStalled) => stalled(url),
        _ if error.kind() == std::io::ErrorKind::TimedOut => stalled(url),
        _ => cut_off(url, &error.to_string()),
    }
}

fn failed(url: &str, error: &ureq::Error) -> Trouble {
    let host = url::host(url);
    match error {
        ureq::Error::Timeout(_) => stalled(url),
        ureq::Error::TooManyRedirects => {
            Trouble::new(Kind::Redirect, format!("{url}: the answers lead in a circle"))
        }
        ureq::Error::RedirectFailed => {
            Trouble::new(Kind::Redirect, format!("{url}: the answer leads nowhere"))
        }
        ureq::Error::RequireHttpsOnly(to) => {
            Trouble::new(Kind::Redirect, format!("{url}: the answer leads to {to}, which is not https"))
                .next("what comes without TLS is not taken")
        }
        ureq::Error::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => cut_off(url, &e.to_string()),
        other => Trouble::new(Kind::Unreachable, format!("cannot reach {host}: {other}"))
            .next("is the name right, and is there a network?"),
    }
}

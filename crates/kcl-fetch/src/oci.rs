//! A client of OCI registries: tags, manifests, blobs; tokens and passwords; every byte is compared with its digest. Uploads are in
//! `oci_push`, signatures in `oci_signatures`.

use std::io::Read;

use data_encoding::HEXLOWER;
use kcl_mod::{Content, unpack_layer};
use kcl_sign::{Proof, Trust, digest};
use serde_json::Value;
use sha2::{Digest, Sha256};
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

use crate::credentials::{self, Credentials};
use crate::watch::Watch;
use crate::{Trouble, oci_auth};

pub(crate) const ACCEPTED: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
/// Manifests and lists of tags.
const MAX_TEXT: u64 = 4 << 20;
/// Packages, packed.
const MAX_BLOB: u64 = 512 << 20;
/// How often a download is asked for.
const MAX_TRIES: usize = 50;
const ASK_AUTHOR: &str = "nothing was kept; ask its author for a package that holds files and folders only";
const ASK_TLS: &str =
    "it was asked without TLS, as registries on this machine are: `OCI_REG_PLAIN_HTTP=off` asks with it";
/// Pages of tags that are read.
const MAX_PAGES: usize = 100;

/// A registry that answers to one host name.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Host and port.
    pub host: String,
    /// Without TLS; only on this machine, unless the user asks for it.
    pub plain: bool,
}

impl Registry {
    /// Returns the registry of a host; `OCI_REG_PLAIN_HTTP=on` asks for no TLS anywhere.
    pub fn new(host: &str) -> Registry {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let here = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
        let asked = std::env::var("OCI_REG_PLAIN_HTTP").ok();
        let plain = asked.as_deref().map_or(here, |word| matches!(word, "on" | "true" | "1"));
        Registry { host: host.to_owned(), plain }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}/v2/{path}", if self.plain { "http" } else { "https" }, self.host)
    }
}

/// Who signed a package, and what proves it.
pub(crate) type Proven = (String, Proof);

/// A client for one registry; it remembers its token.
pub struct Client {
    pub(crate) registry: Registry,
    agent: Agent,
    credentials: Option<Credentials>,
    token: Option<String>,
    watch: Watch,
}

impl Client {
    /// Makes a client with the credentials that the user's Docker configuration has for the host.
    ///
    /// # Errors
    /// A configuration or a helper that cannot be read.
    pub fn new(registry: Registry) -> Result<Client, Trouble> {
        crate::patience()?;
        let credentials = credentials::find(&registry.host)?;
        Ok(Client::with(registry, credentials))
    }

    /// Makes a client with given credentials.
    pub fn with(registry: Registry, credentials: Option<Credentials>) -> Client {
        let watch = Watch::default();
        Client { registry, agent: agent(), credentials, token: None, watch }
    }

    /// Tells somebody how downloads get on.
    #[must_use]
    pub fn watched(mut self, watch: Watch) -> Client {
        self.watch = watch;
        self
    }

    /// Asks whether the registry takes our credentials.
    ///
    /// # Errors
    /// A registry that refuses or does not answer.
    pub fn check(&mut self) -> Result<(), Trouble> {
        let answer = self.ask("GET", &self.registry.url(""), None, &[])?;
        self.expect(answer, "the registry", &[StatusCode::OK]).map(|_| ())
    }

    /// Returns the tags of a repository.
    ///
    /// # Errors
    /// A registry that refuses, does not answer, or answers nonsense.
    pub fn tags(&mut self, repository: &str) -> Result<Vec<String>, Trouble> {
        let mut url = self.registry.url(&format!("{repository}/tags/list"));
        let mut tags = Vec::new();
        for _ in 0..MAX_PAGES {
            let answer = self.ask("GET", &url, None, &[])?;
            let answer = self.expect(answer, repository, &[StatusCode::OK])?;
            let next = answer.headers().get("link").and_then(|link| next_page(link.to_str().ok()?));
            let page = self.json(answer, repository)?;
            let listed = page.get("tags").and_then(Value::as_array);
            tags.extend(listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
            let Some(next) = next else { return Ok(tags) };
            let scheme = if self.registry.plain { "http" } else { "https" };
            // A page elsewhere would get our credentials.
            let path = next
                .strip_prefix('/')
                .ok_or_else(|| Trouble::new(format!("{repository}: the list of tags goes on elsewhere")))?;
            url = format!("{scheme}://{}/{path}", self.registry.host);
        }
        Err(Trouble::new(format!("{}/{repository} has too many tags to list", self.registry.host)))
    }

    /// Fetches a package: the tag, or the greatest that is a version. Returns the tag that was taken.
    ///
    /// # Errors
    /// A registry that refuses or does not answer; what came is damaged.
    pub fn package(&mut self, repository: &str, tag: Option<&str>) -> Result<(Content, String), Trouble> {
        let (content, tag, _) = self.signed_package(repository, tag, None)?;
        Ok((content, tag))
    }

    /// The same; with somebody to trust, a package that they have not signed is refused before it is fetched. Also returns who signed, and the proof.
    pub(crate) fn signed_package(
        &mut self,
        repository: &str,
        tag: Option<&str>,
        trust: Option<&Trust>,
    ) -> Result<(Content, String, Option<Proven>), Trouble> {
        let tag = match tag {
            Some(tag) => tag.to_owned(),
            None => {
                let tags = self.tags(repository)?;
                let newest = kcl_mod::greatest(tags.iter().map(String::as_str)).map(str::to_owned);
                let none = || {
                    Trouble::new(format!("{}/{repository} has no tag that is a version", self.registry.host))
                        .next("name a tag")
                };
                newest.ok_or_else(none)?
            }
        };
        let (content, who) = self.pull(repository, &tag, trust)?;
        Ok((content, tag, who))
    }

    fn pull(
        &mut self,
        repository: &str,
        tag: &str,
        trust: Option<&Trust>,
    ) -> Result<(Content, Option<Proven>), Trouble> {
        let shown = format!("{}/{repository}:{tag}", self.registry.host);
        let url = self.registry.url(&format!("{repository}/manifests/{tag}"));
        let answer = self.ask("GET", &url, None, &[("accept", ACCEPTED)])?;
        let answer = self.expect(answer, &shown, &[StatusCode::OK])?;
        let told = String::from_utf8(self.text(answer, &shown)?).map_err(|_| self.no_registry())?;
        let manifest: Value = serde_json::from_str(&told).map_err(|_| self.no_registry())?;
        let who = match trust {
            Some(trust) => Some(self.signer(repository, &digest(told.as_bytes()), &shown, trust)?),
            None => None,
        };
        let layers = manifest.get("layers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let [layer] = layers else {
            return Err(Trouble::new(format!(
                "{shown} is not a package: it has {} layers instead of one",
                layers.len()
            ))
            .next("packages are what `kcl mod push` uploads; images of containers are none"));
        };
        let text = |key: &str| layer.get(key).and_then(Value::as_str).unwrap_or_default();
        let size = layer.get("size").and_then(Value::as_u64);
        let bytes = self.blob(repository, text("digest"), size, &shown)?;
        let damaged = |e: String| Trouble::new(format!("{shown} cannot be unpacked: {e}")).next(ASK_AUTHOR);
        let content = unpack_layer(&bytes).map_err(damaged)?;
        let signed = who.map(|(who, evidence)| (who, Proof { manifest: told, evidence, layer: bytes }));
        Ok((content, signed))
    }

    /// Fetches a blob. No more is taken than the size that the manifest promises: a digest is known only at the end.
    pub(crate) fn blob(
        &mut self,
        repository: &str,
        digest: &str,
        size: Option<u64>,
        shown: &str,
    ) -> Result<Vec<u8>, Trouble> {
        let wanted = digest
            .strip_prefix("sha256:")
            .filter(|hex| hex.len() == 64 && hex.chars().all(|c| c.is_ascii_hexdigit()));
        let wanted =
            wanted.ok_or_else(|| Trouble::new(format!("{shown}: `{digest}` is not a digest of SHA-256")))?;
        let url = self.registry.url(&format!("{repository}/blobs/{digest}"));
        let most = size.unwrap_or(MAX_BLOB);
        if most > MAX_BLOB {
            return Err(Trouble::new(format!(
                "{shown} has {most} bytes, more than {MAX_BLOB} are not fetched"
            )));
        }
        let bytes = self.download(&url, most, shown)?;
        if let Some(size) = size.filter(|size| bytes.len() as u64 != *size) {
            return Err(damaged(format!("{shown}: {} bytes came instead of {size}", bytes.len())));
        }
        let found = HEXLOWER.encode(&Sha256::digest(&bytes));
        if found != wanted.to_ascii_lowercase() {
            return Err(damaged(format!(
                "{shown}: what came is not what was promised: sha256 {found} instead of {wanted}"
            )));
        }
        Ok(bytes)
    }

    /// Downloads a body. One that breaks off or stands still is asked for again from where it was; it is given up when a try brings nothing.
    fn download(&mut self, url: &str, most: u64, shown: &str) -> Result<Vec<u8>, Trouble> {
        let mut bytes: Vec<u8> = Vec::new();
        // A registry that always begins again must come further than before.
        let mut best = 0;
        for _ in 0..MAX_TRIES {
            let range = format!("bytes={}-", bytes.len());
            let headers: &[(&str, &str)] = if bytes.is_empty() { &[] } else { &[("range", range.as_str())] };
            let answer = self.ask("GET", url, None, headers)?;
            let answer = self.expect(answer, shown, &[StatusCode::OK, StatusCode::PARTIAL_CONTENT])?;
            if answer.status() == StatusCode::OK {
                // The registry does not know ranges: it begins again, and so do we.
                bytes.clear();
            }
            let mut body = answer.into_body().into_reader();
            let error = match self.read_on(&mut body, &mut bytes, (most, shown))? {
                None => return Ok(bytes),
                Some(error) => error,
            };
            if bytes.len() <= best {
                let what = if is_timeout(&error) {
                    format!("{shown}: the download stands still at {best} bytes")
                } else {
                    format!("{shown}: the download broke off: {error}")
                };
                return Err(Trouble::new(what).next("try again; nothing was kept"));
            }
            best = bytes.len();
        }
        Err(Trouble::new(format!("{shown}: the download broke off {MAX_TRIES} times")).next("try again"))
    }

    /// Reads until the end (none) or an error of the connection.
    fn read_on(
        &self,
        body: &mut dyn Read,
        bytes: &mut Vec<u8>,
        (most, shown): (u64, &str),
    ) -> Result<Option<std::io::Error>, Trouble> {
        let mut piece = vec![0; 64 << 10];
        loop {
            match body.read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(n) => bytes.extend_from_slice(&piece[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Some(error)),
            }
            self.watch.tell(shown, bytes.len() as u64);
            if bytes.len() as u64 > most {
                return Err(damaged(format!("{shown} is larger than {most} bytes")));
            }
        }
    }

    /// Sends a request, and once more with a token if the registry asks for one.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        url: &str,
        body: Option<Vec<u8>>,
        headers: &[(&str, &str)],
    ) -> Result<Response<Body>, Trouble> {
        let answer = self.send(method, url, body.clone(), headers)?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let challenge = answer
            .headers()
            .get("www-authenticate")
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        match oci_auth::token(&self.agent, &self.registry.host, &challenge, self.credentials.as_ref())? {
            Some(token) => self.token = Some(token),
            None => return Ok(answer),
        }
        self.send(method, url, body, headers)
    }

    fn send(
        &self,
        method: &str,
        url: &str,
        body: Option<Vec<u8>>,
        headers: &[(&str, &str)],
    ) -> Result<Response<Body>, Trouble> {
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", token);
        }
        let wrong = |e: ureq::http::Error| Trouble::new(format!("{url}: {e}"));
        let result = match body {
            Some(bytes) => self.agent.run(request.body(bytes).map_err(wrong)?),
            None => self.agent.run(request.body(()).map_err(wrong)?),
        };
        result.map_err(|e| unreachable(&self.registry, &e))
    }

    pub(crate) fn expect(
        &self,
        answer: Response<Body>,
        shown: &str,
        good: &[StatusCode],
    ) -> Result<Response<Body>, Trouble> {
        let (status, host) = (answer.status(), &self.registry.host);
        if good.contains(&status) {
            return Ok(answer);
        }
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if self.credentials.is_none() => {
                Trouble::new(format!("{host} does not let strangers in: {shown}"))
                    .next(format!("`kcl registry login {host}`"))
            }
            StatusCode::UNAUTHORIZED => {
                Trouble::new(format!("{host} does not take the credentials it has of you"))
                    .next(format!("`kcl registry login {host}` again: they may have expired"))
            }
            StatusCode::FORBIDDEN => Trouble::new(format!("{host} forbids this: {shown}"))
                .next(format!("ask for the right, or be somebody else: `kcl registry login {host}`")),
            StatusCode::NOT_FOUND => Trouble::new(format!("{shown} does not exist on {host}"))
                .next("are the path and the version right?"),
            StatusCode::BAD_REQUEST if self.registry.plain => {
                Trouble::new(format!("{host} answered {status} for {shown}")).next(ASK_TLS)
            }
            other => Trouble::new(format!("{host} answered {other} for {shown}"))
                .next("try again later; the registry's own log says more"),
        })
    }

    pub(crate) fn json(&self, answer: Response<Body>, shown: &str) -> Result<Value, Trouble> {
        serde_json::from_slice(&self.text(answer, shown)?).map_err(|_| self.no_registry())
    }

    fn text(&self, answer: Response<Body>, shown: &str) -> Result<Vec<u8>, Trouble> {
        let mut bytes = Vec::new();
        let read = answer.into_body().into_reader().take(MAX_TEXT).read_to_end(&mut bytes);
        read.map_err(|e| match is_timeout(&e) {
            true => Trouble::new(format!("{shown}: the answer stands still")).next("try again"),
            false => Trouble::new(format!("{shown}: the answer broke off: {e}")).next("try again"),
        })?;
        Ok(bytes)
    }

    fn no_registry(&self) -> Trouble {
        Trouble::new(format!("{} did not answer as a registry does", self.registry.host))
            .next("is that the address of an OCI registry, and not of its pages?")
    }
}

fn agent() -> Agent {
    // What is wrong with the setting is told by those who can fail.
    let patience = crate::patience().unwrap_or(rim::Net::default().answer);
    rim::agent(&rim::Net { answer: patience, body: patience, ..rim::Net::default() })
}

fn is_timeout(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    error.kind() == std::io::ErrorKind::TimedOut || matches!(inner, Some(ureq::Error::Timeout(_)))
}

fn damaged(what: String) -> Trouble {
    Trouble::new(what).next("the registry, or something before it, is damaged; nothing was kept")
}

/// `</v2/x/tags/list?last=b>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    let (page, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then(|| page.to_owned())
}

fn unreachable(registry: &Registry, error: &ureq::Error) -> Trouble {
    let host = &registry.host;
    match error {
        ureq::Error::Timeout(_) => {
            Trouble::new(format!("{host} does not answer in time")).next("try again, or work with --offline")
        }
        // A handshake of TLS fails as a read does.
        ureq::Error::Io(e) if e.to_string().contains("peer certificate") => {
            let next = match e.to_string().contains("CaUsedAsEndEntity") {
                true => "it shows the certificate of an authority (CA:TRUE): a server needs one of its own, which that may sign",
                false => "`SSL_CERT_FILE` names a file of certificates to trust",
            };
            Trouble::new(format!("the certificate of {host} is not one that this machine trusts: {e}")).next(next)
        }
        ureq::Error::Io(e) => Trouble::new(format!("cannot reach {host}: {e}"))
            .next("is the name right, and is there a network?"),
        // What answers in TLS is no HTTP.
        other if registry.plain => Trouble::new(format!("cannot reach {host}: {other}")).next(ASK_TLS),
        other => Trouble::new(format!("cannot reach {host}: {other}"))
            .next("does it speak TLS, and does this machine trust its certificate? `SSL_CERT_FILE` names others to trust"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_not_a_network() {
        let told = |what: &str| {
            let error = ureq::Error::Io(std::io::Error::other(what.to_owned()));
            let host = "reg.example.org".to_owned();
            unreachable(&Registry { host, plain: false }, &error).next.unwrap_or_default()
        };
        assert!(told("invalid peer certificate: UnknownIssuer").contains("SSL_CERT_FILE"));
        assert!(
            told("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))").contains("of its own")
        );
        assert!(told("Connection refused").contains("is there a network"));
    }
}

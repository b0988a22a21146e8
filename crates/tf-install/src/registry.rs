//! The registry protocol: discovery, versions, packages, and the proof that a package is the publisher's.

use std::collections::BTreeMap;
use std::sync::Mutex;

use base_secret::SecretValue;
use serde_json::Value;
use ureq::http::StatusCode;

use crate::address::{Address, OPENTOFU};
use crate::net::{Answer, Web, refused};
use crate::openpgp;
use crate::platform::Platform;
use crate::progress::{Progress, Watch};
use crate::source::{Location, Package};
use crate::trouble::{Kind, Trouble};
use crate::url::{self, join};
use crate::version::Version;

/// Versions of one provider that are read.
const MAX_VERSIONS: usize = 20_000;
/// Keys of one publisher that are read.
const MAX_KEYS: usize = 100;

/// How strict signatures are taken.
#[derive(Clone, Copy, Default, Debug)]
pub struct Strictness {
    /// A signature is needed also where the public registry has no keys of a publisher.
    pub signed: bool,
    /// A key whose time is over is an error instead of a warning.
    pub fresh: bool,
    /// Seconds since 1970.
    pub now: u64,
}

/// The registries of all hosts.
pub(crate) struct Registries {
    /// Addresses of services that hosts have told.
    known: Mutex<BTreeMap<String, String>>,
    strictness: Strictness,
}

/// One question to a registry.
pub(crate) struct Asked<'a> {
    pub(crate) web: &'a Web,
    pub(crate) address: &'a Address,
    /// What the user's configuration says about the host.
    pub(crate) service: Option<&'a str>,
    pub(crate) token: Option<SecretValue>,
}

impl Asked<'_> {
    fn get(&self, url: &str) -> Result<Answer, Trouble> {
        self.web.get(url, self.token.as_ref())
    }
}

impl Registries {
    pub(crate) fn new(strictness: Strictness) -> Registries {
        Registries { known: Mutex::default(), strictness }
    }

    /// The address of a host's service, with a `/` at its end.
    fn service(&self, asked: &Asked<'_>) -> Result<String, Trouble> {
        let host = asked.address.host();
        let slash = |url: String| if url.ends_with('/') { url } else { format!("{url}/") };
        let origin = format!("https://{host}/");
        let wrong = |what: String| Trouble::new(Kind::Answer, format!("{host}: {what}"));
        if let Some(url) = asked.service {
            return join(&origin, url).map(slash).map_err(wrong);
        }
        if let Ok(known) = self.known.lock()
            && let Some(url) = known.get(host)
        {
            return Ok(url.clone());
        }
        let answer = asked.get(&format!("{origin}.well-known/terraform.json"))?;
        let none = || {
            Trouble::new(Kind::Unknown, format!("{host} offers no registry of providers"))
                .next("is the host name right?")
        };
        let told = match answer.status {
            StatusCode::OK => answer.json()?,
            StatusCode::NOT_FOUND => return Err(none()),
            status => return Err(refused(&answer.url, status)),
        };
        let service = told.get("providers.v1").and_then(Value::as_str).ok_or_else(none)?;
        let service = join(&answer.url, service).map(slash).map_err(wrong)?;
        if let Ok(mut known) = self.known.lock() {
            known.insert(host.to_owned(), service.clone());
        }
        Ok(service)
    }

    /// The versions that speak a protocol that is known; none if the registry does not know the provider.
    pub(crate) fn versions(&self, asked: &Asked<'_>) -> Result<Option<Vec<Version>>, Trouble> {
        let address = asked.address;
        let url = format!("{}{}/{}/versions", self.service(asked)?, address.namespace(), address.name());
        let answer = asked.get(&url)?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            status => return Err(refused(&url, status)),
        }
        let told = answer.json()?;
        let rows = told.get("versions").and_then(Value::as_array);
        let rows =
            rows.ok_or_else(|| Trouble::new(Kind::Answer, format!("{url}: the answer lists no versions")))?;
        let mut versions = Vec::new();
        let mut old = None;
        for row in rows.iter().take(MAX_VERSIONS) {
            let Some(Ok(version)) = row.get("version").and_then(Value::as_str).map(Version::parse) else {
                continue;
            };
            if speaks_known(row.get("protocols")) { versions.push(version) } else { old = Some(version) }
        }
        match old {
            Some(old) if versions.is_empty() => Err(Trouble::new(
                Kind::Version,
                format!("no version of {address} speaks protocol 5 or 6 (version {old} does not)"),
            )),
            _ => Ok(Some(versions)),
        }
    }

    /// A package with everything that proves it, except its bytes.
    pub(crate) fn package(
        &self,
        asked: &Asked<'_>,
        version: &Version,
        platform: &Platform,
        watch: &Watch<'_>,
    ) -> Result<Option<Package>, Trouble> {
        let address = asked.address;
        let (os, arch) = (platform.os(), platform.arch());
        let service = self.service(asked)?;
        let url =
            format!("{service}{}/{}/{version}/download/{os}/{arch}", address.namespace(), address.name());
        let answer = asked.get(&url)?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            status => return Err(refused(&url, status)),
        }
        let told = Told { value: answer.json()?, url: answer.url };
        let sum = told.text("shasum")?.to_ascii_lowercase();
        let filename = told.text("filename")?;
        let mut package = Package::at(Location::Url(told.link("download_url")?), address.host().to_owned());
        if let Some(row) = told.value.get("packages").and_then(|all| all.get(platform.to_string())) {
            package.size = row.get("package_size").and_then(Value::as_u64);
            let hashes = texts(row.get("hashes")).filter(|hash| hash.starts_with("zh:"));
            let hashes: Vec<String> = hashes.map(str::to_owned).collect();
            if !hashes.is_empty() {
                package.promised.push(hashes);
            }
        }
        let shown = format!("{address} {version}");
        let keys = told
            .value
            .get("signing_keys")
            .and_then(|keys| keys.get("gpg_public_keys"))
            .and_then(Value::as_array);
        let keys = keys.into_iter().flatten().take(MAX_KEYS);
        let keys: Vec<&str> = keys.filter_map(|key| key.get("ascii_armor").and_then(Value::as_str)).collect();
        let sums = self.fetch(asked, &told.link("shasums_url")?)?;
        let hashes = listed(&sums, filename, &sum, &shown)?;
        if keys.is_empty() && address.host() == OPENTOFU && !self.strictness.signed {
            watch(&Progress::Warning(format!(
                "{shown} is not signed: {OPENTOFU} has no key of its publisher"
            )));
        } else {
            let signature = self.fetch(asked, &told.link("shasums_signature_url")?)?;
            package.key = Some(self.proved(&keys, &signature, &sums, &shown, watch)?);
            package.signed = hashes;
        }
        package.sum = Some(sum);
        Ok(Some(package))
    }

    /// A file beside a package. No token goes with it: it may lie anywhere.
    fn fetch(&self, asked: &Asked<'_>, url: &str) -> Result<Vec<u8>, Trouble> {
        let answer = asked.web.get(url, None)?;
        match answer.status {
            StatusCode::OK => Ok(answer.bytes),
            status => Err(refused(url, status)),
        }
    }

    fn proved(
        &self,
        keys: &[&str],
        signature: &[u8],
        sums: &[u8],
        shown: &str,
        watch: &Watch<'_>,
    ) -> Result<openpgp::KeyId, Trouble> {
        let wrong = |why: String| {
            Trouble::new(Kind::Signature, format!("{shown} is not signed by its publisher: {why}"))
                .next("nothing was kept; ask the publisher, or wait for another version")
        };
        if signature.len() > openpgp::MAX_BYTES {
            return Err(wrong("the signature is too long".to_owned()));
        }
        let signed = openpgp::verify(keys, signature, sums, self.strictness.now).map_err(wrong)?;
        if signed.is_expired && self.strictness.fresh {
            return Err(wrong(format!("the time of the key {} is over", signed.key)));
        }
        if signed.is_expired {
            watch(&Progress::Warning(format!(
                "{shown} is signed with the key {}, whose time is over",
                signed.key
            )));
        }
        Ok(signed.key)
    }
}

/// What a registry says about a package.
struct Told {
    value: Value,
    url: String,
}

impl Told {
    fn text(&self, name: &str) -> Result<&str, Trouble> {
        let text = self.value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.ok_or_else(|| Trouble::new(Kind::Answer, format!("{}: the answer has no `{name}`", self.url)))
    }

    fn link(&self, name: &str) -> Result<String, Trouble> {
        let wrong = |e| Trouble::new(Kind::Redirect, format!("{}: `{name}`: {e}", url::host(&self.url)));
        join(&self.url, self.text(name)?).map_err(wrong)
    }
}

fn texts(node: Option<&Value>) -> impl Iterator<Item = &str> {
    node.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// No list means that nobody asked yet: the handshake decides.
fn speaks_known(protocols: Option<&Value>) -> bool {
    let Some(list) = protocols.and_then(Value::as_array).filter(|list| !list.is_empty()) else { return true };
    let known = |text: &str| matches!(text.split('.').next(), Some("5" | "6"));
    list.iter().filter_map(Value::as_str).any(known)
}

/// The sums of all files as hashes; the list must name the file with its sum.
fn listed(sums: &[u8], filename: &str, sum: &str, shown: &str) -> Result<Vec<String>, Trouble> {
    let wrong = |what: String| Trouble::new(Kind::Checksum, format!("{shown}: {what}; nothing was kept"));
    let text = std::str::from_utf8(sums).map_err(|_| wrong("the list of sums is no text".to_owned()))?;
    let mut hashes = Vec::new();
    let mut found = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let (Some(hex), Some(name), None) = (words.next(), words.next(), words.next()) else {
            return Err(wrong("the list of sums has a line that is none".to_owned()));
        };
        if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong("the list of sums has a line that is none".to_owned()));
        }
        let hex = hex.to_ascii_lowercase();
        hashes.push(format!("zh:{hex}"));
        if name.trim_start_matches('*') == filename {
            found = Some(hex);
        }
    }
    match found {
        None => Err(wrong(format!("the list of sums has no line for `{filename}`"))),
        Some(found) if found != sum => {
            Err(wrong(format!("the registry says {sum} of `{filename}`, its list of sums {found}")))
        }
        Some(_) => Ok(hashes),
    }
}

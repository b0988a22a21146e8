//! Mirrors: folders with packages, packed or not, and the same behind HTTPS.

use std::path::{Path, PathBuf};

use serde_json::Value;
use ureq::http::StatusCode;

use crate::address::Address;
use crate::net::{Answer, Web, refused};
use crate::platform::Platform;
use crate::source::{Location, Package};
use crate::trouble::{Kind, Trouble};
use crate::url::{self, join};
use crate::version::Version;

/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// The folder of a provider below a root.
pub(crate) fn folder_of(root: &Path, address: &Address) -> PathBuf {
    root.join(address.host()).join(address.namespace()).join(address.name())
}

/// The name of a packed package.
pub(crate) fn archive_name(address: &Address, version: &Version, platform: &Platform) -> String {
    format!("terraform-provider-{}_{version}_{platform}.zip", address.name())
}

/// The versions that a folder has for a platform; none if it does not know the provider.
pub(crate) fn folder_versions(
    root: &Path,
    address: &Address,
    platform: &Platform,
) -> Result<Option<Vec<Version>>, Trouble> {
    let folder = folder_of(root, address);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && root.is_dir() => return Ok(None),
        Err(e) => return Err(Trouble::disk("read", if root.is_dir() { &folder } else { root }, &e)),
    };
    let mut versions = Vec::new();
    let prefix = format!("terraform-provider-{}_", address.name());
    for entry in entries.take(MAX_ENTRIES) {
        let entry = entry.map_err(|e| Trouble::disk("read", &folder, &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let packed =
            name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(&format!("_{platform}.zip")));
        let version = match packed {
            Some(version) => version,
            None if entry.path().join(platform.to_string()).is_dir() => &name,
            None => continue,
        };
        versions.extend(Version::parse(version));
    }
    versions.sort();
    versions.dedup();
    Ok(Some(versions))
}

/// A package of a folder.
pub(crate) fn folder_package(
    root: &Path,
    address: &Address,
    version: &Version,
    platform: &Platform,
) -> Option<Package> {
    let folder = folder_of(root, address);
    let unpacked = folder.join(version.to_string()).join(platform.to_string());
    let packed = folder.join(archive_name(address, version, platform));
    let location = if unpacked.is_dir() {
        Location::Folder(unpacked)
    } else if packed.is_file() {
        Location::Archive(packed)
    } else {
        return None;
    };
    Some(Package::at(location, root.display().to_string()))
}

/// A mirror behind HTTPS.
pub(crate) struct NetworkMirror<'a> {
    pub(crate) web: &'a Web,
    /// Its address, with `/` at the end.
    pub(crate) base: &'a str,
    pub(crate) token: Option<base_secret::SecretValue>,
}

impl NetworkMirror<'_> {
    fn get(&self, address: &Address, file: &str) -> Result<Option<Answer>, Trouble> {
        let url = format!("{}{address}/{file}", self.base);
        let answer = self.web.get(&url, self.token.as_ref())?;
        match answer.status {
            StatusCode::OK
                if answer.media.split(';').next().is_some_and(|m| m.trim() == "application/json") =>
            {
                Ok(Some(answer))
            }
            StatusCode::OK => Err(Trouble::new(
                Kind::Answer,
                format!(
                    "{url}: a mirror answers with application/json, not `{}`",
                    answer.media.escape_debug()
                ),
            )),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(refused(&url, status)),
        }
    }

    /// The versions that it has; none if it does not know the provider.
    pub(crate) fn versions(&self, address: &Address) -> Result<Option<Vec<Version>>, Trouble> {
        let Some(answer) = self.get(address, "index.json")? else { return Ok(None) };
        let told = answer.json()?;
        let wrong = || Trouble::new(Kind::Answer, format!("{}: the answer lists no versions", answer.url));
        let versions = told.get("versions").and_then(Value::as_object).ok_or_else(wrong)?;
        Ok(Some(versions.keys().filter_map(|text| Version::parse(text).ok()).collect()))
    }

    /// A package.
    pub(crate) fn package(
        &self,
        address: &Address,
        version: &Version,
        platform: &Platform,
    ) -> Result<Option<Package>, Trouble> {
        let Some(answer) = self.get(address, &format!("{version}.json"))? else { return Ok(None) };
        let told = answer.json()?;
        let Some(row) = told.get("archives").and_then(|all| all.get(platform.to_string())) else {
            return Ok(None);
        };
        let wrong = |what: String| Trouble::new(Kind::Answer, format!("{}: {what}", answer.url));
        let link = row
            .get("url")
            .and_then(Value::as_str)
            .ok_or_else(|| wrong("a package has no `url`".to_owned()))?;
        let link = join(&answer.url, link)
            .map_err(|e| Trouble::new(Kind::Redirect, format!("{}: {e}", answer.url)))?;
        let mut package = Package::at(Location::Url(link), url::host(self.base).to_owned());
        let hashes =
            row.get("hashes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let hashes: Vec<String> =
            hashes.filter(|h| h.starts_with("zh:") || h.starts_with("h1:")).map(str::to_owned).collect();
        if !hashes.is_empty() {
            package.promised.push(hashes);
        }
        Ok(Some(package))
    }
}

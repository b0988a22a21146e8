//! Packages for others: a mirror as a folder, which a plain HTTPS server can hand out.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::address::Address;
use crate::archive;
use crate::cache::Temporary;
use crate::hash::{sha256, zh};
use crate::install::Installer;
use crate::lock::{Lock, Locked};
use crate::mirror::{archive_name, folder_of};
use crate::platform::Platform;
use crate::progress::Watch;
use crate::source::Location;
use crate::trouble::{Kind, Trouble};
use crate::version::{Constraints, Version};

impl Installer {
    /// Puts the archive of a provider into a mirror, proved as for an installation, and renews the mirror's index.
    /// Returns the archive's place.
    ///
    /// # Errors
    /// What went wrong; nothing unproved is left behind.
    pub fn mirror(
        &self,
        address: &Address,
        constraints: &Constraints,
        lock: &mut Lock,
        root: &Path,
        watch: &Watch<'_>,
    ) -> Result<PathBuf, Trouble> {
        let version = self.choose(address, constraints, lock, watch)?;
        let package = self.find_package(address, &version, watch)?;
        let folder = folder_of(root, address);
        std::fs::create_dir_all(&folder).map_err(|e| Trouble::disk("make", &folder, &e))?;
        let place = folder.join(archive_name(address, &version, self.platform()));
        let temporary = Temporary(folder.join(format!(".new-{}-{}", self.platform(), std::process::id())));
        match &package.location {
            Location::Url(url) => drop(self.web().download(url, &temporary.0, watch)?),
            Location::Archive(path) => {
                std::fs::copy(path, &temporary.0).map_err(|e| Trouble::disk("copy", path, &e))?;
            }
            Location::Folder(path) => {
                return Err(Trouble::new(
                    Kind::Archive,
                    format!("{} is unpacked: a mirror needs the publisher's archive", path.display()),
                )
                .next("let the CLI configuration name a registry, or a mirror with archives"));
            }
        }
        let unpacked =
            Temporary(folder.join(format!(".new-{}-{}.tree", self.platform(), std::process::id())));
        let locked = lock.get(address).filter(|locked| locked.version == version);
        let locked = locked.map(|locked| locked.hashes.clone()).unwrap_or_default();
        let record = self.proved(&temporary.0, &unpacked.0, &package, address, &version, &locked, watch)?;
        std::fs::rename(&temporary.0, &place).map_err(|e| Trouble::disk("make", &place, &e))?;
        drop(unpacked);
        let hashes = record.hashes().collect();
        lock.set(address, Locked { version: version.clone(), constraints: constraints.clone(), hashes });
        write_index(root, address, &version)?;
        Ok(place)
    }
}

/// Writes `index.json` and `VERSION.json` of a provider, from the archives that are there.
fn write_index(root: &Path, address: &Address, version: &Version) -> Result<(), Trouble> {
    let folder = folder_of(root, address);
    let told = |e: std::io::Error| Trouble::disk("read", &folder, &e);
    let prefix = format!("terraform-provider-{}_", address.name());
    let mut versions = BTreeMap::new();
    let mut archives = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).map_err(told)? {
        let name = entry.map_err(told)?.file_name().to_string_lossy().into_owned();
        let Some((of, platform)) =
            name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".zip")?.split_once('_'))
        else {
            continue;
        };
        let (Ok(of), Ok(platform)) = (Version::parse(of), Platform::parse(platform)) else { continue };
        if of == *version {
            let path = folder.join(&name);
            let sum = sha256(&mut File::open(&path).map_err(told)?).map_err(told)?;
            let hashes = [archive::h1(&path)?, zh(&sum)];
            archives.insert(platform.to_string(), json!({"hashes": hashes, "url": name}));
        }
        versions.insert(of.to_string(), json!({}));
    }
    let write = |name: String, value: serde_json::Value| {
        let path = folder.join(name);
        let text = format!("{value:#}\n");
        rim::replace(&path, text.as_bytes()).map_err(|e| Trouble::disk("write", &path, &e))
    };
    write(format!("{version}.json"), json!({ "archives": archives }))?;
    write("index.json".to_owned(), json!({ "versions": versions }))
}

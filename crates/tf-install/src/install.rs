//! From an address and a constraint to a verified folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rim::Net;

use crate::address::Address;
use crate::archive::{Limits, unpack};
use crate::cache::{Cache, Record, Slot, Temporary};
use crate::compare::{altered, checked, not_locked};
use crate::config::{CliConfig, Method, MethodKind};
use crate::lock::{Lock, Locked};
use crate::mirror::{NetworkMirror, folder_package, folder_versions};
use crate::net::Web;
use crate::openpgp::KeyId;
use crate::platform::Platform;
use crate::progress::{Progress, Watch};
use crate::registry::{Asked, Registries, Strictness};
use crate::source::{Location, Package};
use crate::trouble::{Kind, Trouble};
use crate::version::{Constraints, Version};

/// How an installer works.
pub struct Options {
    /// What the user's tools are told.
    pub config: CliConfig,
    /// Where packages are kept, unless the configuration says another folder.
    pub cache: PathBuf,
    /// What the providers must run on.
    pub platform: Platform,
    /// Nothing but this machine is asked.
    pub offline: bool,
    /// A locked version that does not fit is chosen anew, and others where a newer one fits.
    pub upgrade: bool,
    /// How hosts are asked.
    pub net: Net,
    /// How strict signatures are taken.
    pub strictness: Strictness,
    /// What an archive may hold.
    pub limits: Limits,
}

/// A provider that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installed {
    /// Its folder.
    pub folder: PathBuf,
    /// The program in it.
    pub executable: PathBuf,
    /// None for a provider in development (`dev_overrides`), about which nothing is known.
    pub version: Option<Version>,
    /// What belongs into the lock file.
    pub hashes: BTreeSet<String>,
    /// The key that the publisher has signed with, where one did.
    pub key: Option<String>,
}

/// Brings providers to this machine.
pub struct Installer {
    options: Options,
    cache: Cache,
    web: Web,
    registries: Registries,
}

impl Installer {
    /// Makes an installer; nothing is asked or made yet.
    pub fn new(options: Options) -> Installer {
        let root = options.config.plugin_cache.clone().unwrap_or_else(|| options.cache.clone());
        Installer {
            cache: Cache::new(root),
            web: Web::new(&options.net),
            registries: Registries::new(options.strictness),
            options,
        }
    }

    /// The folder of packages.
    pub fn cache_folder(&self) -> &Path {
        self.cache.root()
    }

    /// Installs a provider, or finds it where it is, and puts what was proved into the lock.
    ///
    /// # Errors
    /// What went wrong; nothing unproved is left behind.
    pub fn install(
        &self,
        address: &Address,
        constraints: &Constraints,
        lock: &mut Lock,
        watch: &Watch<'_>,
    ) -> Result<Installed, Trouble> {
        if address.is_built_in() {
            return Err(Trouble::new(
                Kind::Usage,
                format!("{address} is part of the tools themselves: there is nothing to install"),
            ));
        }
        if let Some(folder) = self.options.config.override_of(address) {
            watch(&Progress::Warning(format!(
                "{address} is taken from {}, unverified (dev_overrides)",
                folder.display()
            )));
            return installed(address, folder.to_owned(), None, None);
        }
        let version = self.choose(address, constraints, lock, watch)?;
        let locked: BTreeSet<String> = match lock.get(address) {
            Some(locked) if locked.version == version && !self.options.upgrade => locked.hashes.clone(),
            _ => BTreeSet::new(),
        };
        let slot = self.cache.slot(address, &version, &self.options.platform)?;
        let (folder, record) = match self.kept(&slot, address, &version, &locked)? {
            Some(record) => (slot.folder.clone(), record),
            None => self.bring(&slot, address, &version, &locked, watch)?,
        };
        let hashes: BTreeSet<String> = record.hashes().collect();
        let found = installed(address, folder, Some(&version), Some(record))?;
        // Locked anew: what was promised before does not count any more, unless it is the same package.
        if self.options.upgrade && lock.get(address).is_some_and(|old| old.hashes.is_disjoint(&hashes)) {
            lock.remove(address);
        }
        lock.set(address, Locked { version, constraints: constraints.clone(), hashes });
        Ok(found)
    }

    /// The version to install: that of the lock, the only one that can fit, or the newest.
    pub(crate) fn choose(
        &self,
        address: &Address,
        wanted: &Constraints,
        lock: &Lock,
        watch: &Watch<'_>,
    ) -> Result<Version, Trouble> {
        match lock.get(address) {
            Some(locked)
                if wanted.allow(&locked.version) && (!self.options.upgrade || self.options.offline) =>
            {
                return Ok(locked.version.clone());
            }
            Some(locked) if !self.options.upgrade => return Err(locked_to(address, locked, wanted)),
            _ => {}
        }
        if let Some(exact) = wanted.exact().filter(|exact| wanted.allow(exact))
            && self.cache.find(address, exact, &self.options.platform).is_some()
        {
            return Ok(exact.clone());
        }
        let mut offered = BTreeSet::new();
        let mut asked = Vec::new();
        for method in self.config().methods_of(address) {
            let place = place(&method.kind, address);
            if let Some(versions) = self.versions(&method, address, watch)? {
                offered.extend(versions);
            }
            asked.push(place);
        }
        if asked.is_empty() {
            return Err(Trouble::new(
                Kind::Configuration,
                format!("the CLI configuration has no place for {address}"),
            )
            .next("add `direct {}` or a mirror to provider_installation"));
        }
        let asked = asked.join(", ");
        if offered.is_empty() {
            return Err(Trouble::new(Kind::Unknown, format!("{asked}: no provider {address} is there"))
                .next("is the name right? HOST/NAMESPACE/NAME"));
        }
        wanted.newest(&offered).cloned().ok_or_else(|| {
            let newest: Vec<String> = offered.iter().rev().take(5).map(ToString::to_string).collect();
            Trouble::new(Kind::Version, format!("{asked}: no version of {address} fits `{wanted}`")).next(
                format!(
                    "there are {}{}",
                    newest.join(", "),
                    if offered.len() > 5 { " and older ones" } else { "" }
                ),
            )
        })
    }

    pub(crate) fn platform(&self) -> &Platform {
        &self.options.platform
    }

    pub(crate) fn web(&self) -> &Web {
        &self.web
    }

    /// Finds a provider on this machine, without asking anybody; none if it must be brought.
    ///
    /// # Errors
    /// Something stands in its place that is not what was verified or locked.
    pub fn find(
        &self,
        address: &Address,
        constraints: &Constraints,
        lock: &Lock,
    ) -> Result<Option<Installed>, Trouble> {
        if let Some(folder) = self.config().override_of(address) {
            return installed(address, folder.to_owned(), None, None).map(Some);
        }
        let locked = lock.get(address);
        if let Some(other) = locked.filter(|locked| !constraints.allow(&locked.version)) {
            return Err(locked_to(address, other, constraints));
        }
        let version = locked.map(|locked| &locked.version).or_else(|| constraints.exact());
        let Some(version) = version else { return Ok(None) };
        let hashes = locked.map(|locked| locked.hashes.clone()).unwrap_or_default();
        if self.cache.find(address, version, self.platform()).is_some() {
            let slot = self.cache.slot(address, version, self.platform())?;
            if let Some(record) = self.kept(&slot, address, version, &hashes)? {
                return installed(address, slot.folder.clone(), Some(version), Some(record)).map(Some);
            }
        }
        for method in self.config().methods_of(address) {
            if let MethodKind::Folder(root) = &method.kind
                && let Some(Package { location: Location::Folder(folder), .. }) =
                    folder_package(root, address, version, self.platform())
            {
                let record = self.elsewhere(&folder, address, version, &hashes)?;
                return installed(address, folder, Some(version), Some(record)).map(Some);
            }
        }
        Ok(None)
    }

    fn config(&self) -> &CliConfig {
        &self.options.config
    }

    fn token(&self, host: &str) -> Option<base_secret::SecretValue> {
        self.config().token(host, &|name| std::env::var(name).ok())
    }

    fn offline(&self, address: &Address) -> Trouble {
        Trouble::new(
            Kind::Unreachable,
            format!("{address} is not on this machine, and nothing else may be asked (--offline)"),
        )
        .next("install it once with a network")
    }

    fn versions(
        &self,
        method: &Method,
        address: &Address,
        watch: &Watch<'_>,
    ) -> Result<Option<Vec<Version>>, Trouble> {
        if self.options.offline && !matches!(method.kind, MethodKind::Folder(_)) {
            return Err(self.offline(address));
        }
        watch(&Progress::Asking { address: address.clone(), place: place(&method.kind, address) });
        match &method.kind {
            MethodKind::Direct => self.registries.versions(&self.asked(address)),
            MethodKind::Folder(root) => folder_versions(root, address, &self.options.platform),
            MethodKind::Network(base) => self.mirror_at(base).versions(address),
        }
    }

    fn asked<'a>(&'a self, address: &'a Address) -> Asked<'a> {
        let service = self.config().service(address.host(), "providers.v1");
        Asked { web: &self.web, address, service, token: self.token(address.host()) }
    }

    fn mirror_at<'a>(&'a self, base: &'a str) -> NetworkMirror<'a> {
        NetworkMirror { web: &self.web, base, token: self.token(crate::url::host(base)) }
    }

    /// What the cache has, if it may be used.
    fn kept(
        &self,
        slot: &Slot,
        address: &Address,
        version: &Version,
        locked: &BTreeSet<String>,
    ) -> Result<Option<Record>, Trouble> {
        if !slot.folder.is_dir() {
            slot.forget();
            return Ok(None);
        }
        match slot.known()? {
            Some(record) if locked.is_empty() || record.has_any(locked) => Ok(Some(record)),
            Some(record) => Err(not_locked(address, version, &record)),
            // Another tool has put it there: it counts if the lock knows it.
            None if locked.is_empty() => Ok(None),
            None => {
                let record = slot.learn(None, Vec::new(), None)?;
                if record.has_any(locked) {
                    return Ok(Some(record));
                }
                slot.forget();
                Ok(None)
            }
        }
    }

    /// A package from the first place that has it.
    pub(crate) fn find_package(
        &self,
        address: &Address,
        version: &Version,
        watch: &Watch<'_>,
    ) -> Result<Package, Trouble> {
        let platform = &self.options.platform;
        let mut asked = Vec::new();
        for method in self.config().methods_of(address) {
            if self.options.offline && !matches!(method.kind, MethodKind::Folder(_)) {
                return Err(self.offline(address));
            }
            let place = place(&method.kind, address);
            let fetching = Progress::Fetching {
                address: address.clone(),
                version: version.clone(),
                place: place.clone(),
            };
            watch(&fetching);
            asked.push(place);
            let package = match &method.kind {
                MethodKind::Direct => {
                    self.registries.package(&self.asked(address), version, platform, watch)?
                }
                MethodKind::Folder(root) => folder_package(root, address, version, platform),
                MethodKind::Network(base) => self.mirror_at(base).package(address, version, platform)?,
            };
            if let Some(package) = package {
                return Ok(package);
            }
        }
        let asked = if asked.is_empty() { "the CLI configuration".to_owned() } else { asked.join(", ") };
        let what = format!("{asked}: there is no package of {address} {version} for {platform}");
        Err(Trouble::new(Kind::Platform, what).next("choose another version"))
    }

    /// Brings a package: an unpacked one stays where it is, an archive is unpacked into the cache.
    fn bring(
        &self,
        slot: &Slot,
        address: &Address,
        version: &Version,
        locked: &BTreeSet<String>,
        watch: &Watch<'_>,
    ) -> Result<(PathBuf, Record), Trouble> {
        let package = self.find_package(address, version, watch)?;
        let (archive, _temporary) = match &package.location {
            Location::Folder(folder) => {
                let record = self.elsewhere(folder, address, version, locked)?;
                return Ok((folder.clone(), record));
            }
            Location::Archive(path) => (path.clone(), None),
            Location::Url(url) => {
                let temporary = slot.temporary(".zip");
                self.web.download(url, &temporary.0, watch)?;
                (temporary.0.clone(), Some(temporary))
            }
        };
        let unpacked = slot.temporary("");
        let record = self.proved(&archive, &unpacked.0, &package, address, version, locked, watch)?;
        self.place_unpacked(slot, unpacked, record)
    }

    /// What a folder of a mirror holds, if the lock knows it.
    fn elsewhere(
        &self,
        folder: &Path,
        address: &Address,
        version: &Version,
        locked: &BTreeSet<String>,
    ) -> Result<Record, Trouble> {
        let slot = self.cache.slot_of(folder)?;
        let record = match slot.known() {
            Ok(Some(record)) => record,
            // A mirror may be renewed: what is locked decides.
            _ => slot.learn(None, Vec::new(), None)?,
        };
        match locked.is_empty() || record.has_any(locked) {
            true => Ok(record),
            false => Err(not_locked(address, version, &record)),
        }
    }

    /// Unpacks an archive and compares everything with everything that was promised.
    #[expect(clippy::too_many_arguments, reason = "each is another witness")]
    pub(crate) fn proved(
        &self,
        archive: &Path,
        unpacked: &Path,
        package: &Package,
        address: &Address,
        version: &Version,
        locked: &BTreeSet<String>,
        watch: &Watch<'_>,
    ) -> Result<Record, Trouble> {
        watch(&Progress::Unpacking { address: address.clone(), version: version.clone() });
        let shown = format!("{address} {version} of {}", package.place);
        let found = checked(archive, package, &shown)?;
        let h1 = unpack(archive, unpacked, self.options.limits)?;
        let hashes = [h1.clone(), found.clone()];
        if let Some(promised) =
            package.promised.iter().find(|list| !list.iter().any(|hash| hashes.contains(hash)))
        {
            let how = format!("it hashes to {h1} and {found}, not to {}", promised.join(" or "));
            return Err(altered(&shown, &how));
        }
        if package.promised.is_empty() && package.sum.is_none() && locked.is_empty() {
            watch(&Progress::Warning(format!("{shown} is unverified: nobody says what it hashes to")));
        }
        let key = package.key.as_ref().map(KeyId::to_string);
        let record = Record::fresh(h1, Some(found), package.signed.clone(), key);
        if !locked.is_empty() && !record.has_any(locked) {
            return Err(not_locked(address, version, &record));
        }
        executable_in(unpacked, address)?;
        Ok(record)
    }

    /// Puts an unpacked package into its place, or finds that the same stands there.
    fn place_unpacked(
        &self,
        slot: &Slot,
        unpacked: Temporary,
        record: Record,
    ) -> Result<(PathBuf, Record), Trouble> {
        if !slot.folder.exists() {
            return Ok((slot.folder.clone(), slot.keep(unpacked, record)?));
        }
        let there = slot.learn(record.zh.clone(), record.signed.clone(), record.key.clone())?;
        if there.h1 == record.h1 {
            return Ok((slot.folder.clone(), there));
        }
        slot.forget();
        Err(Trouble::new(
            Kind::Altered,
            format!(
                "{} holds something else than the package: {} instead of {}",
                slot.folder.display(),
                there.h1,
                record.h1
            ),
        )
        .next("remove that folder, then try again"))
    }
}

fn locked_to(address: &Address, locked: &Locked, wanted: &Constraints) -> Trouble {
    let what = format!("{address} is locked to {}, which `{wanted}` does not allow", locked.version);
    Trouble::new(Kind::Locked, what).next("lock it anew: kusion provider lock --upgrade")
}

fn place(kind: &MethodKind, address: &Address) -> String {
    match kind {
        MethodKind::Direct => address.host().to_owned(),
        MethodKind::Folder(root) => root.display().to_string(),
        MethodKind::Network(base) => crate::url::host(base).to_owned(),
    }
}

fn installed(
    address: &Address,
    folder: PathBuf,
    version: Option<&Version>,
    record: Option<Record>,
) -> Result<Installed, Trouble> {
    let executable = executable_in(&folder, address)?;
    Ok(Installed {
        executable,
        folder,
        version: version.cloned(),
        hashes: record.iter().flat_map(Record::hashes).collect(),
        key: record.and_then(|record| record.key),
    })
}

/// The program of a package: `terraform-provider-NAME`, alone or followed by `_` or `.`.
fn executable_in(folder: &Path, address: &Address) -> Result<PathBuf, Trouble> {
    let wanted = format!("terraform-provider-{}", address.name());
    let entries = std::fs::read_dir(folder).map_err(|e| Trouble::disk("read", folder, &e))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| {
            name.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
        })
        .collect();
    names.sort();
    let name = names.into_iter().next();
    name.map(|name| folder.join(name)).ok_or_else(|| {
        Trouble::new(Kind::Archive, format!("{}: there is no program `{wanted}`", folder.display()))
            .next("the package is not one of a provider")
    })
}

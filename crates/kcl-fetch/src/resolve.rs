//! From a module to the folders of everything it needs.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use kcl_mod::{Content, Graph, Lock, Locked, LockedSource, Node, Pin, Policy, Requirement, Source};
use kcl_sign::{Proof, Trust};
use toml::Table;

use crate::oci::{Client, Proven, Registry};
use crate::store::Store;
use crate::watch::Watch;
use crate::{Trouble, git};

/// How to resolve.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Nothing is fetched.
    pub offline: bool,
    /// The lock must be right as it is.
    pub locked: bool,
    /// A content that is not what the lock says is taken all the same, and the lock says so then.
    pub no_sum_check: bool,
    /// What the lock says is not believed for these names; `None` inside means for none, an empty list for all.
    pub refresh: Option<Vec<String>>,
    /// `HOST/PATH` of packages that are named by their version only.
    pub default_registry: String,
    /// Who wants to know how downloads get on.
    pub watch: Watch,
    /// Copies of registries beside those that the manifest names.
    pub mirrors: Vec<(String, String)>,
    /// The text of the manifest, where it is another than the one on the disk.
    pub manifest: Option<String>,
}

/// A package that was chosen.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its entry in the lock.
    pub locked: Locked,
    /// Where its files are.
    pub folder: PathBuf,
}

/// What a module needs, all of it there.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// The module's own name and version.
    pub package: kcl_mod::Package,
    /// Packages in the order of names.
    pub packages: Vec<Kept>,
    /// Who needs whom, by names in imports; the module itself is the empty name.
    pub edges: Vec<(String, String)>,
    /// The lock to write.
    pub lock: Lock,
    /// Sentences about choices that not everybody expects.
    pub surprises: Vec<String>,
}

/// So many packages are fetched at a time.
const AT_ONCE: usize = 8;
/// A chain of packages that never ends is one that somebody made on purpose.
const MAX_PACKAGES: usize = 5_000;

/// What is known of a node once it is there.
struct Found {
    locked: Locked,
    folder: PathBuf,
    needs: Vec<Requirement>,
}

/// Resolves a module; nothing is written but the store.
///
/// # Errors
/// A manifest or lock that cannot be read, a package that cannot be had or is not what the lock says.
pub fn resolve(root: &Path, store: &Store, options: &Options) -> Result<Resolution, Trouble> {
    let root = absolute(root)?;
    crate::patience()?;
    let told = match &options.manifest {
        Some(text) => text.clone(),
        None => manifest_text(&root)?,
    };
    let (package, needs) = read_manifest(&told, &root, None)?;
    let (policy, mirrors) = trusted(&told, options)?;
    let old = read_lock(&root)?;
    let load = |name: &str| key_file(&root, name);
    let trust = match policy.require.is_empty() {
        true => None,
        false => Some((Trust::new(&policy, &load)?, policy.print(&load)?)),
    };
    let job = Job { root: &root, store, options, old: &old, policy, trust, mirrors };
    let mut graph = Graph::new(needs);
    let mut found: BTreeMap<Node, Found> = BTreeMap::new();
    loop {
        let unknown = graph.unknown();
        if unknown.is_empty() {
            break;
        }
        if found.len() + unknown.len() > MAX_PACKAGES {
            return Err(Trouble::new(format!("more than {MAX_PACKAGES} packages are needed")));
        }
        for batch in unknown.chunks(AT_ONCE) {
            for (node, result) in job.take_all(batch) {
                let taken = result?;
                graph.learn(&node, taken.needs.clone());
                found.insert(node, taken);
            }
        }
    }
    let choice = graph.choose().map_err(clash)?;
    let packages: Vec<Kept> = choice
        .packages
        .iter()
        .filter_map(|(node, _)| found.remove(node))
        .map(|found| Kept { locked: found.locked, folder: found.folder })
        .collect();
    let lock = Lock { entries: packages.iter().map(|kept| kept.locked.clone()).collect() };
    if options.locked && lock != old {
        return Err(Trouble::new("kcl.mod.lock does not fit kcl.mod").next("`kcl mod update` writes it anew"));
    }
    let surprises = choice.passed.iter().map(surprise).collect();
    Ok(Resolution { package, packages, edges: choice.edges, lock, surprises })
}

struct Job<'j> {
    root: &'j Path,
    store: &'j Store,
    options: &'j Options,
    old: &'j Lock,
    policy: Policy,
    /// Whom the policy trusts, and its print.
    trust: Option<(Trust, String)>,
    mirrors: Vec<(String, String)>,
}

impl Job<'_> {
    fn take_all(&self, batch: &[(Node, Requirement)]) -> Vec<(Node, Result<Found, Trouble>)> {
        std::thread::scope(|scope| {
            let running: Vec<_> =
                batch.iter().map(|(node, need)| (node, scope.spawn(|| self.take(need)))).collect();
            let lost = || Err(Trouble::new("a download ended without a result"));
            running
                .into_iter()
                .map(|(node, thread)| (node.clone(), thread.join().unwrap_or_else(|_| lost())))
                .collect()
        })
    }

    fn take(&self, need: &Requirement) -> Result<Found, Trouble> {
        let name = need.import_name();
        let found = match &need.source {
            Source::Path(path) => self.folder(need, Path::new(path)),
            _ => self.kept(need).unwrap_or_else(|| self.fetched(need)),
        };
        found.map_err(|trouble| Trouble { what: format!("package `{name}`: {}", trouble.what), ..trouble })
    }

    fn folder(&self, need: &Requirement, path: &Path) -> Result<Found, Trouble> {
        let (package, needs) = own_manifest(path)?;
        let source = LockedSource::Path(from_to(self.root, path));
        let locked =
            Locked { name: need.import_name(), version: package.version, sum: None, signed_by: None, source };
        Ok(Found { locked, folder: path.to_path_buf(), needs })
    }

    /// What the lock says, if it answers the requirement and the store, or the module's `vendor`, has it.
    fn kept(&self, need: &Requirement) -> Option<Result<Found, Trouble>> {
        let locked = self.locked(need).filter(|locked| self.is_signed(locked))?;
        let sum = locked.sum.as_deref()?;
        let vendored = || {
            let folder = self.root.join("vendor").join(locked.full_name());
            self.store.prove(&folder, sum).is_ok().then_some(folder)
        };
        let folder = self.store.find(sum).or_else(vendored)?;
        Some(manifest(&folder, Some(&folder)).map(|(_, needs)| Found {
            locked: locked.clone(),
            folder,
            needs,
        }))
    }

    fn locked(&self, need: &Requirement) -> Option<&Locked> {
        let name = need.import_name();
        let refresh =
            self.options.refresh.as_ref().is_some_and(|names| names.is_empty() || names.contains(&name));
        let locked = self.old.get(&name).filter(|_| !refresh)?;
        locked.answers(need, &self.options.default_registry).then_some(locked)
    }

    /// The word of the lock proves no signature: only what was looked at here, under the policy of now, counts.
    fn is_signed(&self, locked: &Locked) -> bool {
        let Some((_, print)) = self.trust.as_ref().filter(|_| self.must_be_signed(&locked.source)) else {
            return true;
        };
        let known = locked.sum.as_ref().zip(locked.signed_by.as_ref());
        known.is_some_and(|(sum, who)| {
            self.store.was_signed(sum, print, who) || self.is_proved(locked, sum, who)
        })
    }

    /// Whether a proof that was kept, here or with the vendored package, holds under the policy of now.
    fn is_proved(&self, locked: &Locked, sum: &str, who: &str) -> bool {
        let Some((trust, print)) = &self.trust else { return false };
        let vendored = self.root.join(kcl_mod::vendored_proof(&locked.full_name()));
        let kept = kcl_mod::proof_file(sum).map(|file| self.store.root().join(file));
        let holds = |file: PathBuf| {
            let proof = Proof::read(&std::fs::read_to_string(file).ok()?).ok()?;
            (proof.signer(trust, sum).ok()? == who).then_some(proof)
        };
        let Some(proof) = [Some(vendored), kept].into_iter().flatten().find_map(holds) else { return false };
        // A note that cannot be written costs time, nothing else.
        let _ = self.store.note_signed(sum, print, who, &proof);
        true
    }

    fn must_be_signed(&self, source: &LockedSource) -> bool {
        match source {
            LockedSource::Oci { registry, repository, .. } => {
                self.policy.requires(&format!("{registry}/{repository}"))
            }
            _ => false,
        }
    }

    fn fetched(&self, need: &Requirement) -> Result<Found, Trouble> {
        if self.options.offline {
            return Err(self.not_here(need));
        }
        // Packages of one repository share its copy.
        let held = match &need.source {
            Source::Git { url, .. } => self.store.lock(&format!("git {url}"))?,
            _ => self.store.lock(&need.identity())?,
        };
        let locked = self.locked(need);
        let (content, source, signed) = match &need.source {
            Source::Git { url, pin } => {
                let (content, source) = self.git(need, (url, pin), locked, &held)?;
                (content, source, None)
            }
            Source::Oci(repository) => self.registry(need, repository, locked)?,
            _ => {
                self.registry(need, &format!("{}/{}", self.options.default_registry, need.package), locked)?
            }
        };
        if content.get("kcl.mod").is_none() {
            return Err(Trouble::new("there is no kcl.mod in it: it is not a package")
                .next("`--package NAME` names a package in a folder of a Git repository"));
        }
        let sum = kcl_mod::sum(&content);
        let promised =
            locked.and_then(|locked| locked.sum.as_deref()).filter(|s| kcl_mod::folder_name(s).is_some());
        let promised = promised.filter(|_| !self.options.no_sum_check);
        if let Some(promised) = promised.filter(|promised| *promised != sum) {
            return Err(Trouble::new(format!(
                "what was fetched has the sum {sum}, kcl.mod.lock says {promised}"
            ))
            .next("somebody changed what stands there; if that is right: `kcl mod update NAME`"));
        }
        let (sum, folder) = self.store.keep(&content)?;
        if let (Some((_, print)), Some((who, proof))) = (&self.trust, &signed) {
            self.store.note_signed(&sum, print, who, proof)?;
        }
        let (package, needs) = manifest(&folder, Some(&folder))?;
        let (name, version) = (need.import_name(), package.version);
        let signed_by = signed.map(|(who, _)| who);
        let locked = Locked { name, version, sum: Some(sum), signed_by, source };
        Ok(Found { locked, folder, needs })
    }

    fn not_here(&self, need: &Requirement) -> Trouble {
        match self.locked(need) {
            Some(locked) if !self.is_signed(locked) => {
                Trouble::new("nobody has looked at its signature here, and --offline asks no registry")
                    .next("`kcl mod update --locked` looks at it, once for each policy")
            }
            Some(Locked { sum: Some(sum), .. }) => Trouble::new(format!(
                "what kcl.mod.lock names ({sum}) is not in the package store, and --offline fetches nothing"
            ))
            .next("`kcl mod update --locked` fetches it"),
            _ => Trouble::new("it is not in the package store, and --offline fetches nothing")
                .next("`kcl mod update` fetches it"),
        }
    }

    fn git(
        &self,
        need: &Requirement,
        (url, pin): (&str, &Pin),
        locked: Option<&Locked>,
        held: &File,
    ) -> Result<(Content, LockedSource), Trouble> {
        // A branch stays where the lock has seen it until somebody asks for more.
        let at = match locked.map(|locked| &locked.source) {
            Some(LockedSource::Git { commit, .. }) if !commit.is_empty() => Pin::Commit(commit.clone()),
            _ => pin.clone(),
        };
        let taken = git::take(&self.store.git_folder(url), url, &at, held)?;
        let pin = match (locked.map(|locked| &locked.source), pin) {
            (Some(LockedSource::Git { pin, .. }), Pin::Greatest) => pin.clone(),
            (_, Pin::Greatest) => taken.pin,
            (_, pin) => pin.clone(),
        };
        let content = package_in(taken.content, need).ok_or_else(|| {
            Trouble::new(format!("{} has no package `{}`", git::shown(url), need.package)).next(
                "a package is a folder with a kcl.mod that has that name; `package = \"NAME\"` names another",
            )
        })?;
        Ok((
            content,
            LockedSource::Git {
                url: url.to_owned(),
                pin,
                package: need.package.clone(),
                commit: taken.commit,
            },
        ))
    }

    fn registry(
        &self,
        need: &Requirement,
        address: &str,
        locked: Option<&Locked>,
    ) -> Result<(Content, LockedSource, Option<Proven>), Trouble> {
        let split = |address: &str| {
            let parts = address.split_once('/').map(|(host, path)| (host.to_owned(), path.to_owned()));
            parts.ok_or_else(|| Trouble::new(format!("`{address}` is not HOST/PATH")))
        };
        let (host, repository) = split(address)?;
        let (from, path) = split(&kcl_mod::mirrored(&self.mirrors, address))?;
        let mut client = Client::new(Registry::new(&from))?.watched(self.options.watch.clone());
        let trust = self.trust.as_ref().filter(|_| self.policy.requires(address)).map(|(trust, _)| trust);
        let tag = match locked.map(|locked| &locked.source) {
            Some(LockedSource::Oci { tag, .. }) => Some(tag.as_str()),
            _ => need.version.as_deref(),
        };
        let (content, tag, signed) = client.signed_package(&path, tag, trust)?;
        Ok((content, LockedSource::Oci { registry: host, repository, tag }, signed))
    }
}

/// Reads a manifest. Folders that it names are made absolute; `inside` is a border that they must not cross.
fn manifest(folder: &Path, inside: Option<&Path>) -> Result<(kcl_mod::Package, Vec<Requirement>), Trouble> {
    read_manifest(&manifest_text(folder)?, folder, inside)
}

/// The manifest of a folder beside the module: it may name folders anywhere, and its development is its own.
fn own_manifest(folder: &Path) -> Result<(kcl_mod::Package, Vec<Requirement>), Trouble> {
    let text = manifest_text(folder)?;
    let (package, mut needs) = read_manifest(&text, folder, None)?;
    let table = kcl_mod::read_table("kcl.mod", &text)?;
    let (own, _) = kcl_mod::requirements(&table);
    needs.retain(|need| own.iter().any(|known| known.key == need.key));
    Ok((package, needs))
}

fn manifest_text(folder: &Path) -> Result<String, Trouble> {
    let path = folder.join("kcl.mod");
    std::fs::read_to_string(&path).map_err(|e| {
        Trouble::new(format!("cannot read {}: {e}", path.display()))
            .next("a package has a kcl.mod; `kcl mod init` makes one")
    })
}

/// What the module itself says about signatures and mirrors; packages that it uses have no say.
fn trusted(text: &str, options: &Options) -> Result<(Policy, Vec<(String, String)>), Trouble> {
    let table = kcl_mod::read_table("kcl.mod", text)?;
    let mut mirrors = kcl_mod::mirrors(&table)?;
    mirrors.extend(options.mirrors.iter().cloned());
    Ok((Policy::read(&table)?, mirrors))
}

/// A key or certificate that the policy names, from the module's folder.
fn key_file(root: &Path, name: &str) -> Result<String, String> {
    let path = root.join(name);
    let meta =
        std::fs::metadata(&path).map_err(|e| format!("[signatures]: cannot read {}: {e}", path.display()))?;
    if meta.len() > 1 << 20 {
        return Err(format!("[signatures]: {} is too large to be a key", path.display()));
    }
    std::fs::read_to_string(&path).map_err(|e| format!("[signatures]: cannot read {}: {e}", path.display()))
}

fn read_manifest(
    text: &str,
    folder: &Path,
    inside: Option<&Path>,
) -> Result<(kcl_mod::Package, Vec<Requirement>), Trouble> {
    let table = kcl_mod::read_table(&folder.join("kcl.mod").display().to_string(), text)?;
    let package = kcl_mod::package(&table)?;
    let (mut needs, problems) = match inside {
        None => kcl_mod::all_requirements(&table),
        // What a package needs for its own development is nothing to those who use it.
        Some(_) => kcl_mod::requirements(&table),
    };
    if let Some(problem) = problems.into_iter().next() {
        return Err(Trouble::new(problem));
    }
    for need in &mut needs {
        if let Source::Path(path) = &mut need.source {
            let place = normalise(&folder.join(&*path));
            if inside.is_some_and(|border| !place.starts_with(border)) {
                return Err(Trouble::new(format!(
                    "its dependency `{}` is a folder outside of it: {path}",
                    need.key
                ))
                .next(
                    "name that package in your own kcl.mod, or ask its author for one that can be fetched",
                ));
            }
            *path = place.display().to_string();
        }
    }
    Ok((package, needs))
}

/// Reads the lock of a module; one that is not there is empty.
///
/// # Errors
/// A file that cannot be read.
pub fn read_lock(root: &Path) -> Result<Lock, Trouble> {
    let path = root.join("kcl.mod.lock");
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Lock::parse(&text)?),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Lock::default()),
        Err(e) => Err(Trouble::new(format!("cannot read {}: {e}", path.display()))),
    }
}

/// The package of a repository: in the folder whose manifest has its name, or, if nobody named it, at the root.
fn package_in(content: Content, need: &Requirement) -> Option<Content> {
    let name = need.package.as_str();
    let named = |manifest: &[u8]| {
        let table: Table = std::str::from_utf8(manifest).ok()?.parse().ok()?;
        Some(kcl_mod::package(&table).ok()?.name)
    };
    let folders = content.files().filter_map(|(path, _)| path.strip_suffix("kcl.mod"));
    let mut folders: Vec<String> = folders.map(|folder| folder.trim_end_matches('/').to_owned()).collect();
    // The root first, then from the shallowest to the deepest.
    folders.sort_by_key(|folder| {
        (folder.matches('/').count() + usize::from(!folder.is_empty()), folder.clone())
    });
    let manifest =
        |folder: &str| if folder.is_empty() { "kcl.mod".to_owned() } else { format!("{folder}/kcl.mod") };
    let is_it = |folder: &&String| content.get(&manifest(folder)).and_then(named).as_deref() == Some(name);
    let folder = folders.iter().find(is_it);
    let root = || folders.iter().find(|folder| folder.is_empty() && !need.named);
    let folder = folder.or_else(root)?;
    Some(if folder.is_empty() { content } else { content.below(folder) })
}

fn who(name: &str) -> String {
    if name.is_empty() { "kcl.mod".to_owned() } else { format!("`{name}`") }
}

fn surprise(passed: &kcl_mod::Passed) -> String {
    let kcl_mod::Passed { name, by, asked, taken } = passed;
    format!(
        "package `{name}`: {} asks for `{asked}`, `{taken}` is taken: what has no version counts less than what has one",
        who(by)
    )
}

fn clash(clash: kcl_mod::Clash) -> Trouble {
    let asks: Vec<String> =
        clash.asks.iter().map(|(name, from)| format!("{} wants {from}", who(name))).collect();
    Trouble::new(format!("two packages are named `{}`: {}", clash.name, asks.join("; ")))
        .next(format!("name `{}` in your own kcl.mod: it decides", clash.name))
}

fn absolute(path: &Path) -> Result<PathBuf, Trouble> {
    std::path::absolute(path)
        .map(|path| normalise(&path))
        .map_err(|e| Trouble::new(format!("cannot find {}: {e}", path.display())))
}

fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = out.pop(),
            other => out.push(other),
        }
    }
    out
}

/// The way from one folder to another, with `/`.
fn from_to(from: &Path, to: &Path) -> String {
    let (a, b): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), a.len() - same);
    let down = b[same..].iter().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let parts: Vec<String> = up.chain(down).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

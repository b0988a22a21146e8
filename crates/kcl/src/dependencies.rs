//! Where the dependencies of a module are, and the proof that they are what its lock says.
//!
//! Nothing is fetched: a dependency is a folder that is there already, given by its path, or a copy that `kcl mod` keeps: what the lock
//! names in the module's `vendor` folder or in the package store. Without a lock, a copy named `name_version` will do. A program pays
//! only for what it uses: a package is proved when it is imported, with the packages whose manifests led to it.

use std::path::{Path, PathBuf};

use kcl_mod::{Lock, Locked, LockedSource, Policy, Requirement, Source};
use kcl_sign::{Proof, Trust};

use crate::files::{Files, normalise};
use crate::manifest::read_manifest;
use crate::mistake::Mistake;
use crate::request::Request;

/// Modules that a chain of dependencies may have: a cycle of paths ends here.
const MAX_MODULES: usize = 1_000;

/// A package that a module needs.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// The name in imports.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) folder: PathBuf,
    /// The module whose manifest names it.
    by: PathBuf,
    /// The sum of its content; none for folders, and for what another tool keeps.
    sum: Option<String>,
    /// The signature that the policy asks for and nobody has noted.
    unseen: Option<Unseen>,
}

/// A signature that is looked at when its package is used.
#[derive(Clone, Debug)]
struct Unseen {
    policy: Policy,
    /// The module of the policy.
    root: PathBuf,
    /// Who signed, as the lock says.
    who: Option<String>,
    /// Where a proof may be.
    proofs: Vec<PathBuf>,
}

impl Unseen {
    /// Whether a proof that was kept holds under the policy of now.
    fn is_proved(&self, files: &dyn Files, sum: &str) -> bool {
        let load = |name: &str| Ok(files.read(&self.root.join(name))?.to_string());
        let Some((who, trust)) = self.who.as_ref().zip(Trust::new(&self.policy, &load).ok()) else {
            return false;
        };
        let holds = |path: &PathBuf| {
            let proof = Proof::read(&files.read(path).ok()?).ok()?;
            proof.signer(&trust, sum).ok().filter(|signer| signer == who)
        };
        self.proofs.iter().filter(|path| files.is_file(path)).any(|path| holds(path).is_some())
    }
}

/// What is not proved yet.
#[derive(Debug, Default)]
pub(crate) struct Unproved(Vec<Dependency>);

impl Unproved {
    pub(crate) fn new(dependencies: Vec<Dependency>) -> Unproved {
        Unproved(dependencies)
    }

    /// Proves the package that a path is in, and those whose manifests led to it; each once. What failed is asked again.
    pub(crate) fn prove(
        &mut self,
        path: &Path,
        files: &dyn Files,
        packages: Option<&Path>,
    ) -> Result<(), Mistake> {
        let mut open = vec![path.to_path_buf()];
        let mut proved = Vec::new();
        while let Some(at) = open.pop().filter(|_| !self.0.is_empty()) {
            let (met, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.0).into_iter().partition(|known| at.starts_with(&known.folder));
            self.0 = rest;
            let mut met = met.into_iter();
            while let Some(dependency) = met.next() {
                if let Err(mistake) = dependency.prove(files, packages) {
                    self.0.extend(proved.into_iter().chain([dependency]).chain(met));
                    return Err(mistake);
                }
                open.push(dependency.by.clone());
                proved.push(dependency);
            }
        }
        Ok(())
    }
}

impl Dependency {
    fn prove(&self, files: &dyn Files, packages: Option<&Path>) -> Result<(), Mistake> {
        let unproven = |why, next| Mistake::UnprovenPackage { name: self.name.clone(), why, next };
        if let Some(sum) = &self.sum {
            let next = "`kcl mod update` fetches it again, `kcl mod vendor` copies it anew";
            files.prove(&self.folder, sum, packages).map_err(|why| unproven(why, next))?;
        }
        let Some(unseen) = &self.unseen else { return Ok(()) };
        if self.sum.as_ref().is_some_and(|sum| unseen.is_proved(files, sum)) {
            return Ok(());
        }
        let why =
            "[signatures] of kcl.mod asks for a signature, and nobody has looked at one here".to_owned();
        Err(unproven(why, "`kcl mod update` looks at the signatures, once for each policy"))
    }
}

/// Finds all dependencies of a module, those of dependencies included; the first of a name is taken.
///
/// # Errors
/// A manifest, a lock or a key of the policy that cannot be read.
pub(crate) fn dependencies(
    request: &Request,
    files: &dyn Files,
    root: &Path,
) -> Result<Vec<Dependency>, Mistake> {
    let lock = lock_of(files, root).map_err(|why| Mistake::BadManifest { why })?;
    let mut search = Search { request, files, root, lock: &lock, signers: None };
    let mut found: Vec<Dependency> = Vec::new();
    let mut open = vec![root.to_path_buf()];
    let mut next = 0;
    while next < open.len() && next < MAX_MODULES {
        let module = open[next].clone();
        next += 1;
        let Some(manifest) = read_manifest(files, &module)? else { continue };
        // What a module needs for its own development is nothing to those who use it; nor do they have a say in whom to trust.
        let own = if module == root { manifest.development.as_slice() } else { &[] };
        if module == root && !manifest.policy.require.is_empty() {
            search.signers = Some(search.signers(manifest.policy.clone())?);
        }
        for need in manifest.dependencies.iter().chain(own) {
            let name = need.import_name();
            if found.iter().any(|known| known.name == name) {
                continue;
            }
            let Some(mut dependency) = search.locate(&module, need) else { continue };
            // As imports name it: by this path it is known when it is used.
            dependency.folder = normalise(&request.work_dir.join(&dependency.folder));
            open.push(dependency.folder.clone());
            found.push(dependency);
        }
    }
    Ok(found)
}

fn lock_of(files: &dyn Files, root: &Path) -> Result<Lock, String> {
    let path = root.join("kcl.mod.lock");
    if files.is_file(&path) { Lock::parse(&files.read(&path)?) } else { Ok(Lock::default()) }
}

/// Returns the version of a package that the lock of a module names.
pub(crate) fn locked_version(files: &dyn Files, root: &Path, name: &str) -> Option<String> {
    lock_of(files, root).ok()?.get(name).map(|locked| locked.version.clone())
}

/// Where packages of one module are looked for.
struct Search<'s> {
    request: &'s Request,
    files: &'s dyn Files,
    root: &'s Path,
    lock: &'s Lock,
    /// Who must have signed packages of registries, and the print of that policy.
    signers: Option<(Policy, String)>,
}

impl Search<'_> {
    fn signers(&self, policy: Policy) -> Result<(Policy, String), Mistake> {
        let load = |name: &str| match self.files.read(&self.root.join(name)) {
            Ok(text) => Ok(text.to_string()),
            Err(why) => Err(format!("kcl.mod: [signatures]: {why}")),
        };
        let print = policy.print(&load).map_err(|why| Mistake::BadManifest { why })?;
        Ok((policy, print))
    }

    /// A path, what the lock of the root module names, or a copy that is named like its version.
    fn locate(&self, module: &Path, need: &Requirement) -> Option<Dependency> {
        let (name, by) = (need.import_name(), module.to_path_buf());
        if let Source::Path(path) = &need.source {
            let folder = normalise(&module.join(path));
            return Some(Dependency { name, folder, by, sum: None, unseen: None });
        }
        let locked = self.lock.get(&name);
        // A sum of another tool cannot be compared.
        let sum =
            locked.and_then(|locked| locked.sum.clone()).filter(|sum| kcl_mod::folder_name(sum).is_some());
        let vendored = locked.map(|locked| self.root.join("vendor").join(locked.full_name()));
        let kept = sum.as_deref().and_then(kcl_mod::folder_name);
        let kept = kept.and_then(|sum| Some(self.request.vendor.as_ref()?.join("store").join(sum)));
        let is_module = |folder: &PathBuf| self.files.is_file(&folder.join("kcl.mod"));
        let folder = vendored.into_iter().chain(kept).find(is_module);
        let folder = folder.or_else(|| {
            let names = copies(need);
            let stores =
                [Some(self.root.join("vendor")), Some(module.join("vendor")), self.request.vendor.clone()];
            let place =
                |store: PathBuf| names.iter().map(|name| normalise(&store.join(name))).find(is_module);
            stores.into_iter().flatten().find_map(place)
        })?;
        let unseen = self.unseen(need, locked);
        Some(Dependency { name, folder, by, sum, unseen })
    }

    /// Whether a signature must still be looked at. The word of the lock proves nothing: `kcl mod` notes what it found, and keeps what
    /// proves it.
    fn unseen(&self, need: &Requirement, locked: Option<&Locked>) -> Option<Unseen> {
        let (policy, print) = self.signers.as_ref()?;
        let required = match (&need.source, locked.map(|locked| &locked.source)) {
            (Source::Oci(repository), _) => policy.requires(repository),
            (Source::Registry, Some(LockedSource::Oci { registry, repository, .. })) => {
                policy.requires(&format!("{registry}/{repository}"))
            }
            // Nothing says where it came from.
            (Source::Registry, _) => true,
            _ => false,
        };
        let known = |sum: &str, who: &str| {
            let file = self.request.vendor.as_ref()?.join(kcl_mod::signed_file(sum)?);
            let note = kcl_mod::signed_note(print, who);
            let text = self.files.is_file(&file).then(|| self.files.read(&file).ok()).flatten()?;
            text.lines().any(|line| line == note).then_some(())
        };
        let known = locked.and_then(|locked| known(locked.sum.as_deref()?, locked.signed_by.as_deref()?));
        if !required || known.is_some() {
            return None;
        }
        let vendored = locked.map(|locked| self.root.join(kcl_mod::vendored_proof(&locked.full_name())));
        let kept = locked.and_then(|locked| kcl_mod::proof_file(locked.sum.as_deref()?));
        let kept = kept.and_then(|file| Some(self.request.vendor.as_ref()?.join(file)));
        let proofs = [vendored, kept].into_iter().flatten().collect();
        let who = locked.and_then(|locked| locked.signed_by.clone());
        Some(Unseen { policy: policy.clone(), root: self.root.to_path_buf(), who, proofs })
    }
}

/// Names under which other tools keep a copy.
fn copies(dependency: &Requirement) -> Vec<String> {
    let package = &dependency.package;
    let mut names = Vec::new();
    for version in [dependency.version.as_deref(), Some(dependency.asked())].into_iter().flatten() {
        names.push(format!("{package}_{version}"));
        names.push(match version.strip_prefix('v') {
            Some(bare) => format!("{package}_{bare}"),
            None => format!("{package}_v{version}"),
        });
    }
    names.push(package.clone());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_followed_and_a_cycle_ends() {
        let mut files = crate::MemoryFiles::default();
        files.add("/m/kcl.mod", "[dependencies]\na = { path = \"../a\" }\nc = \"1.0\"\n");
        files.add("/a/kcl.mod", "[dependencies]\nm = { path = \"../m\" }\nb = { path = \"../b\" }\n");
        files.add("/b/kcl.mod", "");
        files.add("/m/vendor/c_1.0/kcl.mod", "");
        let found = dependencies(&Request::default(), &files, Path::new("/m")).unwrap();
        let paths: Vec<String> = found.iter().map(|d| format!("{}={}", d.name, d.folder.display())).collect();
        assert_eq!(paths, ["a=/a", "c=/m/vendor/c_1.0", "m=/m", "b=/b"]);
    }

    #[test]
    fn a_folder_is_named_as_in_imports() {
        let mut files = crate::MemoryFiles::default();
        files.add("/m/kcl.mod", "[dependencies]\na = \"1.0\"\n");
        files.add("store/a_1.0/kcl.mod", "");
        let request =
            Request { vendor: Some("store".into()), work_dir: "/m/x/..".into(), ..Request::default() };
        let found = dependencies(&request, &files, Path::new("/m")).unwrap();
        assert_eq!(found[0].folder, Path::new("/m/store/a_1.0"));
    }

    #[test]
    fn the_lock_says_which_copy_is_meant() {
        let kept = format!("/store/store/{}", "0".repeat(64));
        let mut files = crate::MemoryFiles::default();
        files.add("/m/kcl.mod", "[dependencies]\na = \"1.0\"\n");
        files.add("/m/vendor/a_1.0/kcl.mod", "");
        files.add(format!("{kept}/kcl.mod"), "");
        let request = Request { vendor: Some("/store".into()), ..Request::default() };
        let found = |files: &crate::MemoryFiles| dependencies(&request, files, Path::new("/m"));
        let folder =
            |files: &crate::MemoryFiles| found(files).unwrap().remove(0).folder.display().to_string();
        assert_eq!(folder(&files), "/m/vendor/a_1.0");
        let sum = format!("h1:{}=", "A".repeat(43));
        let source = "reg = \"r\"\nrepo = \"a\"\noci_tag = \"1.2\"";
        files.add(
            "/m/kcl.mod.lock",
            format!("[dependencies.a]\nversion = \"1.2\"\nsum = \"{sum}\"\n{source}\n"),
        );
        assert_eq!(folder(&files), kept);
        files.add("/m/vendor/a_1.2/kcl.mod", "");
        assert_eq!(folder(&files), "/m/vendor/a_1.2");
        files.add("/m/kcl.mod.lock", "[dependencies.a");
        let told = found(&files).unwrap_err();
        assert!(matches!(told, Mistake::BadManifest { why } if why.contains("kcl.mod.lock:1")));
    }

    #[test]
    fn a_proof_beside_a_vendored_package_needs_no_note() {
        let mut files = crate::MemoryFiles::default();
        let policy = "[signatures]\nkeys = [\"web.pub\"]\n";
        files.add("/m/kcl.mod", format!("[dependencies]\nweb = \"1.0.0\"\n{policy}"));
        files.add("/m/vendor/web_1.0.0/kcl.mod", "");
        files.add("/m/web.pub", include_str!("../../kcl-sign/tests/web.pub"));
        let text = include_str!("../../kcl-sign/tests/web.proof");
        let sum = kcl_mod::sum(&kcl_mod::unpack_layer(&Proof::read(text).unwrap().layer).unwrap());
        let policy = Policy::read(&policy.parse().unwrap()).unwrap();
        let trust = Trust::new(&policy, &|name| Ok(files.read(&Path::new("/m").join(name))?.to_string()));
        let who = Proof::read(text).unwrap().signer(&trust.unwrap(), &sum).unwrap();
        let source = "reg = \"r\"\nrepo = \"web\"\noci_tag = \"1.0.0\"";
        let lock = |who: &str, sum: &str| {
            format!(
                "[dependencies.web]\nversion = \"1.0.0\"\nsum = \"{sum}\"\nsigned_by = \"{who}\"\n{source}\n"
            )
        };
        let request = Request { vendor: Some("/store".into()), ..Request::default() };
        let proved = |files: &crate::MemoryFiles| {
            let mut all = Unproved::new(dependencies(&request, files, Path::new("/m")).unwrap());
            all.prove(Path::new("/m/vendor/web_1.0.0"), files, None).is_ok()
        };
        files.add("/m/kcl.mod.lock", lock(&who, &sum));
        assert!(!proved(&files), "the word of the lock proves nothing");
        files.add("/m/vendor/web_1.0.0.proof", text);
        assert!(proved(&files));
        files.add("/m/kcl.mod.lock", lock(&who, &format!("h1:{}=", "A".repeat(43))));
        assert!(!proved(&files), "the proof is about another content");
        files.add("/m/kcl.mod.lock", lock("key 0123456789abcdef", &sum));
        assert!(!proved(&files), "the lock names another signer");
        files.add("/m/kcl.mod.lock", lock(&who, &sum));
        files.add("/m/web.pub", include_str!("../../kcl-sign/tests/stranger.pub"));
        assert!(!proved(&files), "nobody that the policy names");
    }

    #[test]
    fn a_signature_counts_if_it_was_looked_at_under_the_policy_of_now() {
        let mut files = crate::MemoryFiles::default();
        files.add(
            "/m/kcl.mod",
            "[dependencies]\na = \"1.0\"\n[signatures]\nkeys = [\"a.pub\"]\nrequire = [\"r/**\"]\n",
        );
        files.add("/m/vendor/a_1.0/kcl.mod", "");
        let request = Request { vendor: Some("/store".into()), ..Request::default() };
        let found = |files: &crate::MemoryFiles| {
            let mut all = Unproved::new(dependencies(&request, files, Path::new("/m"))?);
            all.prove(Path::new("/m/vendor/a_1.0"), files, None)
        };
        assert!(matches!(found(&files), Err(Mistake::BadManifest { why }) if why.contains("a.pub")));
        files.add("/m/a.pub", "KEY");
        let unproven =
            |files: &crate::MemoryFiles| matches!(found(files), Err(Mistake::UnprovenPackage { .. }));
        assert!(unproven(&files), "a copy that nobody locked");
        let sum = format!("h1:{}=", "A".repeat(43));
        let lock = |from: &str| {
            format!(
                "[dependencies.a]\nversion = \"1.0\"\nsum = \"{sum}\"\nreg = \"{from}\"\nrepo = \"a\"\noci_tag = \"1.0\"\n"
            )
        };
        files.add("/m/kcl.mod.lock", lock("other"));
        assert!(found(&files).is_ok());
        files.add("/m/kcl.mod.lock", lock("r"));
        assert!(unproven(&files));
        files.add("/m/kcl.mod.lock", lock("r") + "signed_by = \"key 1\"\n");
        assert!(unproven(&files), "the lock says so, and nobody looked");
        let print = Policy { keys: vec!["a.pub".to_owned()], ..Policy::default() }
            .print(&|_| Ok("KEY".to_owned()))
            .unwrap();
        let note = |print: &str| kcl_mod::signed_note(print, "key 1") + "\n";
        let file = format!("/store/{}", kcl_mod::signed_file(&sum).unwrap());
        files.add(&file, note("other"));
        assert!(unproven(&files));
        files.add(&file, note("other") + &note(&print));
        assert!(found(&files).is_ok());
        files.add("/m/a.pub", "ANOTHER KEY");
        assert!(unproven(&files));
    }

    /// Files of which one folder is not what it was.
    struct Tampered(crate::MemoryFiles, &'static str);

    impl Files for Tampered {
        fn read(&self, path: &Path) -> Result<std::sync::Arc<str>, String> {
            self.0.read(path)
        }

        fn is_file(&self, path: &Path) -> bool {
            self.0.is_file(path)
        }

        fn is_dir(&self, path: &Path) -> bool {
            self.0.is_dir(path)
        }

        fn list(&self, path: &Path) -> Vec<String> {
            self.0.list(path)
        }

        fn prove(&self, folder: &Path, _: &str, _: Option<&Path>) -> Result<(), String> {
            if folder == Path::new(self.1) { Err("changed".to_owned()) } else { Ok(()) }
        }
    }

    #[test]
    fn what_is_used_is_proved_with_what_led_to_it() {
        let mut files = crate::MemoryFiles::default();
        files.add("/m/kcl.mod", "[dependencies]\na = \"1\"\nb = \"1\"\n");
        files.add("/m/vendor/a_1/kcl.mod", "[dependencies]\nc = \"1\"\n");
        let lock = |(name, digit): (&str, char)| {
            let sum = format!("h1:{}{digit}=", "A".repeat(42));
            format!(
                "[dependencies.{name}]\nversion = \"1\"\nsum = \"{sum}\"\nreg = \"r\"\nrepo = \"{name}\"\noci_tag = \"1\"\n"
            )
        };
        let rows: String = [("a", 'A'), ("b", 'E'), ("c", 'I')].into_iter().map(lock).collect();
        files.add("/m/kcl.mod.lock", rows);
        files.add("/m/vendor/b_1/kcl.mod", "");
        files.add("/m/vendor/c_1/kcl.mod", "");
        let files = Tampered(files, "/m/vendor/a_1");
        let found = dependencies(&Request::default(), &files, Path::new("/m")).unwrap();
        let using = |path: &str| Unproved::new(found.clone()).prove(Path::new(path), &files, None);
        assert!(using("/m/vendor/b_1/x.k").is_ok() && using("/m/main.k").is_ok());
        for path in ["/m/vendor/a_1", "/m/vendor/c_1/sub"] {
            assert!(
                matches!(using(path), Err(Mistake::UnprovenPackage { name, .. }) if name == "a"),
                "{path}"
            );
        }
        let mut all = Unproved::new(found.clone());
        for path in ["/m/vendor/c_1", "/m/vendor/c_1", "/m/vendor/a_1"] {
            assert!(all.prove(Path::new(path), &files, None).is_err(), "{path}");
        }
    }
}

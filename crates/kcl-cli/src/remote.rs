//! A package from elsewhere as the program: `kcl run oci://…`, `--oci`, `--git` with `--tag`, `--commit`, `--branch`.
//!
//! It is resolved as if a module needed it and nothing else, so the same checks hold; what it needs itself comes with it.

use std::path::{Path, PathBuf};

use kcl::Request;
use kcl_fetch::Resolution;

use crate::flags::Given;
use crate::packages::{last_part, resolve_alone, split_tag};
use crate::wrong::Wrong;

/// What a run needs of a package from elsewhere.
pub(crate) struct Remote {
    /// The folder of the program.
    pub(crate) folder: PathBuf,
    /// What it needs: names in imports and folders.
    pub(crate) externals: Vec<(String, PathBuf)>,
}

impl Remote {
    /// Refuses a program whose `[profile]` names files elsewhere: who runs a package does not mean to show it other files.
    pub(crate) fn keep_inside(&self, request: &Request) -> Result<(), Wrong> {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let own: Vec<PathBuf> = self
            .externals
            .iter()
            .map(|(_, folder)| folder)
            .chain([&self.folder])
            .filter_map(|f| real(f))
            .collect();
        let inside =
            |path: &PathBuf| real(path).is_some_and(|path| own.iter().any(|folder| path.starts_with(folder)));
        let files = kcl::entry_files(request, &kcl::Disk).into_iter().flatten();
        match files.into_iter().find(|file| !inside(file)) {
            None => Ok(()),
            Some(file) => Err(Wrong::with_help(
                format!("[profile] of the package names a file outside of it: {}", file.display()),
                "nothing was run; ask its author, or copy it with `kcl mod pull` and run the files that you trust",
            )),
        }
    }
}

/// Fetches the package that a command line names, if it names one.
pub(crate) fn fetched(given: &Given) -> Result<Option<Remote>, Wrong> {
    asked(given)?.map(resolved).transpose()
}

/// Fetches the package of an address, `oci://HOST/PATH:TAG`; without a tag the newest one.
pub(crate) fn of_registry(address: &str) -> Result<Remote, Wrong> {
    // The reference writes `oci://HOST/PATH?tag=TAG`, too.
    let (address, query) = address.split_once('?').unwrap_or((address, ""));
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("tag=")).map(str::to_owned);
    let (oci, tag) = split_tag(address).map_or((address.to_owned(), asked), |(oci, tag)| (oci, Some(tag)));
    let name = name_of(&oci)?;
    let rows = [("oci", Some(oci)), ("tag", tag)];
    let row = rows.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into())));
    resolved((name, row.collect()))
}

/// The name under which a program is resolved, from its address.
fn name_of(address: &str) -> Result<String, Wrong> {
    let nameless = || Wrong::with_help(format!("`{address}` names no package"), "say which: --package NAME");
    last_part(address).ok_or_else(nameless)
}

/// Resolves the row of a dependency as if a module had it and nothing else.
fn resolved((name, row): (String, toml::Table)) -> Result<Remote, Wrong> {
    let mut dependencies = toml::Table::new();
    dependencies.insert(name.clone(), row.into());
    let mut package = toml::Table::new();
    package.insert("name".to_owned(), "run".into());
    let mut manifest = toml::Table::new();
    manifest.insert("package".to_owned(), package.into());
    manifest.insert("dependencies".to_owned(), dependencies.into());
    remote(resolve_alone(manifest.to_string())?, &name.replace('-', "_"))
}

fn remote(resolution: Resolution, name: &str) -> Result<Remote, Wrong> {
    let mut folder = None;
    let mut externals = Vec::new();
    for kept in resolution.packages {
        if kept.locked.name == name {
            folder = Some(kept.folder)
        } else {
            externals.push((kept.locked.name, kept.folder))
        }
    }
    let folder = folder.ok_or_else(|| Wrong::from("the package could not be found".to_owned()))?;
    Ok(Remote { folder, externals })
}

/// The dependency that the words and flags describe: its name and its row.
fn asked(given: &Given) -> Result<Option<(String, toml::Table)>, Wrong> {
    let flag = |name: &str| given.last(name).map(str::to_owned);
    let (mut git, mut oci, mut tag) = (flag("git"), flag("oci"), flag("tag"));
    let mut words = given.rest.iter().filter(|word| word.contains("://"));
    match words.next() {
        None => {}
        Some(word) if word.starts_with("oci://") => oci = Some(word.clone()),
        Some(word) if word.starts_with("git://") || word.ends_with(".git") => git = Some(word.clone()),
        Some(word) => {
            return Err(Wrong::with_help(
                format!("`{word}` is neither a registry nor a repository"),
                "say oci://HOST/PATH:TAG, or --git URL",
            ));
        }
    }
    let pins = [flag("commit"), flag("branch")];
    if oci.is_none() && git.is_none() {
        return match pins.iter().flatten().next().or(tag.as_ref()) {
            None => Ok(None),
            Some(_) => {
                Err(Wrong::with_help("--tag, --commit and --branch need --oci or --git", "say where it is"))
            }
        };
    }
    if given.rest.len() > usize::from(given.rest.iter().any(|word| word.contains("://")))
        || oci.is_some() && git.is_some()
    {
        return Err(Wrong::from(
            "a package from elsewhere is the whole program: name nothing beside it".to_owned(),
        ));
    }
    if let Some((address, wanted)) = oci.as_deref().and_then(split_tag) {
        tag.get_or_insert(wanted);
        oci = Some(address);
    }
    let address = oci.as_deref().or(git.as_deref()).unwrap_or_default();
    // A package that is named must be there; else the repository's name tells which one is meant, or its root is.
    let package = flag("package");
    let name = package.clone().map_or_else(|| name_of(address), Ok)?;
    let [commit, branch] = pins;
    let rows = [
        ("git", git),
        ("oci", oci),
        ("tag", tag),
        ("commit", commit),
        ("branch", branch),
        ("package", package),
    ];
    let row = rows.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into())));
    Ok(Some((name, row.collect())))
}

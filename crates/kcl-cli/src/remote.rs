//! A package from elsewhere as the program: `kcl run oci://…`, `--oci`, `--git` with `--tag`, `--commit`, `--branch`.
//!
//! It is resolved as if a module needed it and nothing else, so the same checks hold; what it needs itself comes with it.

use std::path::PathBuf;

use kcl_fetch::Resolution;

use crate::flags::Given;
use crate::packages::{resolve_alone, split_tag};
use crate::wrong::Wrong;

/// What a run needs of a package from elsewhere.
pub(crate) struct Remote {
    /// The folder of the program.
    pub(crate) folder: PathBuf,
    /// What it needs: names in imports and folders.
    pub(crate) externals: Vec<(String, PathBuf)>,
}

/// The name under which the program is resolved.
const NAME: &str = "program";

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
    let package = oci.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let rows = [("oci", Some(oci)), ("tag", tag), ("package", Some(package))];
    resolved(rows.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into()))).collect())
}

/// Resolves the row of a dependency as if a module had it and nothing else.
fn resolved(row: toml::Table) -> Result<Remote, Wrong> {
    let mut dependencies = toml::Table::new();
    dependencies.insert(NAME.to_owned(), row.into());
    let mut package = toml::Table::new();
    package.insert("name".to_owned(), "run".into());
    let mut manifest = toml::Table::new();
    manifest.insert("package".to_owned(), package.into());
    manifest.insert("dependencies".to_owned(), dependencies.into());
    remote(resolve_alone(manifest.to_string())?)
}

fn remote(resolution: Resolution) -> Result<Remote, Wrong> {
    let mut folder = None;
    let mut externals = Vec::new();
    for kept in resolution.packages {
        if kept.locked.name == NAME {
            folder = Some(kept.folder)
        } else {
            externals.push((kept.locked.name, kept.folder))
        }
    }
    let folder = folder.ok_or_else(|| Wrong::from("the package could not be found".to_owned()))?;
    Ok(Remote { folder, externals })
}

/// The row of a dependency that the words and flags describe.
fn asked(given: &Given) -> Result<Option<toml::Table>, Wrong> {
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
    let last = address.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let package = flag("package").unwrap_or_else(|| last.trim_end_matches(".git").to_owned());
    let [commit, branch] = pins;
    let rows = [
        ("git", git),
        ("oci", oci),
        ("tag", tag),
        ("commit", commit),
        ("branch", branch),
        ("package", Some(package)),
    ];
    Ok(Some(rows.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into()))).collect()))
}

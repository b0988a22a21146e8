//! The module as a package for others, and a package as a folder to look at.

use std::path::{Path, PathBuf};

use kcl_fetch::{Client, Registry};
use kcl_mod::{Content, Limits, Links, Package};

use super::change::{asked, split_tag};
use super::{Call, module_root, resolve_alone};
use crate::wrong::Wrong;

pub(super) fn pkg(call: &Call) -> Result<(), Wrong> {
    call.no_words()?;
    let (package, content) = kcl_fetch::read_module(&module_root()?, call.given.has("vendor"))?;
    let folder = PathBuf::from(call.given.last("target").unwrap_or("."));
    std::fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let file = folder.join(format!("{}_{}.tar", package.name, package.version));
    kcl_fetch::replace(&file, &kcl_mod::pack(&content)?)?;
    println!("{} ({} files)", file.display(), content.len());
    Ok(())
}

pub(super) fn push(call: &Call) -> Result<(), Wrong> {
    let (package, content) = match call.given.last("tar-path") {
        Some(file) => packed(Path::new(file))?,
        None => kcl_fetch::read_module(&module_root()?, call.given.has("vendor"))?,
    };
    let address = match call.words.as_slice() {
        [] => format!("{}/{}", kcl_fetch::default_registry(), package.name),
        [address] => address.clone(),
        [_, word, ..] => return Err(Wrong::from(format!("`{word}` is one word too many"))),
    };
    let (host, repository) = parts(&address)?;
    if split_tag(&address).is_some_and(|(_, tag)| tag != package.version) {
        let help = "leave it out of the address, or change the version";
        return Err(Wrong::with_help(
            format!("the tag is the version in kcl.mod: {}", package.version),
            help,
        ));
    }
    let repository = repository.split(':').next().unwrap_or(repository);
    let digest =
        Client::new(Registry::new(host))?.push(repository, &package, &content, call.given.has("force"))?;
    println!("pushed {host}/{repository}:{}\n{digest}", package.version);
    Ok(())
}

/// The module in a file of `kcl mod pkg`, with the limits that hold for packages of others.
fn packed(file: &Path) -> Result<(Package, Content), Wrong> {
    let told = |e: String| Wrong::from(format!("{}: {e}", file.display()));
    let bytes = std::fs::File::open(file).map_err(|e| told(e.to_string()))?;
    let (content, _) = kcl_mod::unpack(bytes, Limits::default(), Links::Refuse).map_err(told)?;
    let manifest = content.get("kcl.mod").and_then(|bytes| std::str::from_utf8(bytes).ok());
    let manifest =
        manifest.ok_or_else(|| told("there is no kcl.mod in it: it is not a package".to_owned()))?;
    let table = kcl_mod::read_table("kcl.mod", manifest).map_err(told)?;
    Ok((kcl_mod::package(&table).map_err(told)?, content))
}

/// A package is resolved as if a module needed it and nothing else, so the same checks hold.
pub(super) fn pull(call: &Call) -> Result<(), Wrong> {
    let need = asked(call)?;
    let resolution = resolve_alone(kcl_mod::add(&kcl_mod::new_manifest("pull", "0.1.0"), &need)?)?;
    let kept = resolution.packages.iter().find(|kept| kept.locked.name == need.import_name());
    let kept = kept.ok_or_else(|| Wrong::from("the package could not be found".to_owned()))?;
    let (_, content) = kcl_fetch::read_kept(&kept.folder)?;
    let folder = Path::new(call.given.last("target").unwrap_or(".")).join(kept.locked.full_name());
    if folder.exists() {
        return Err(Wrong::from(format!("{} is there already", folder.display())));
    }
    kcl_fetch::write_folder(&folder, &content)?;
    println!("{} ({} files)", folder.display(), content.len());
    Ok(())
}

fn parts(address: &str) -> Result<(&str, &str), Wrong> {
    let path = address.strip_prefix("oci://").unwrap_or(address).trim_end_matches('/');
    path.split_once('/').ok_or_else(|| Wrong::from(format!("`{address}` is not oci://HOST/PATH")))
}

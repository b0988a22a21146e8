//! The module as a package for others, and a package as a folder to look at.

use std::path::{Path, PathBuf};

use kcl_fetch::{Client, Registry};

use super::change::split_tag;
use super::{Call, module_root};
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
    let [address] = call.words.as_slice() else {
        return Err(Wrong::from("say where to: kcl mod push oci://HOST/PATH".to_owned()));
    };
    let (package, content) = kcl_fetch::read_module(&module_root()?, call.given.has("vendor"))?;
    let (host, repository) = parts(address)?;
    if split_tag(address).is_some() {
        return Err(Wrong::with_help("the tag is the version in kcl.mod", "leave it out of the address"));
    }
    let digest = Client::new(Registry::new(host))?.push(repository, &package, &content)?;
    println!("pushed {host}/{repository}:{}\n{digest}", package.version);
    Ok(())
}

pub(super) fn pull(call: &Call) -> Result<(), Wrong> {
    let [address] = call.words.as_slice() else {
        return Err(Wrong::from("say what: kcl mod pull oci://HOST/PATH[:TAG]".to_owned()));
    };
    let (address, tag) = match split_tag(address.trim_start_matches("oci://")) {
        Some((address, tag)) => (address, Some(tag)),
        None => (address.clone(), call.given.last("tag").map(str::to_owned)),
    };
    let (host, repository) = parts(&address)?;
    let mut client = Client::new(Registry::new(host))?;
    let (content, tag) = client.package(repository, tag.as_deref())?;
    let name = repository.rsplit('/').next().unwrap_or(repository);
    let folder = Path::new(call.given.last("target").unwrap_or(".")).join(format!("{name}_{tag}"));
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

//! The program of a function: a text, a path, or a package of a registry.

use std::path::{Path, PathBuf};

use kcl::Entry;
use kcl_fetch::{Client, Registry, Store};

use crate::wrong::Wrong;

/// Finds a program; returns what to run, and the folder that it may read.
pub(super) fn find(wanted: &str) -> Result<(Entry, PathBuf), Wrong> {
    let here = std::env::current_dir().map_err(|error| format!("the working folder is gone: {error}"))?;
    let wanted_line = wanted.trim();
    if let Some(address) = wanted_line.strip_prefix("oci://") {
        let folder = fetched(address)?;
        return Ok((Entry::Path(folder.display().to_string()), folder));
    }
    let path = here.join(wanted_line);
    // A program of one line is seldom the name of a file, and a name that ends in .k is no program.
    let one_line = !wanted_line.contains('\n');
    if one_line && (path.exists() || is_path(wanted_line)) {
        if !path.exists() {
            let help = "a path is relative to the folder that the function runs in";
            return Err(Wrong::with_help(format!("there is no program at {wanted_line}"), help));
        }
        let folder = if path.is_dir() {
            path.clone()
        } else {
            path.parent().map(Path::to_path_buf).unwrap_or_default()
        };
        return Ok((Entry::Path(path.display().to_string()), folder));
    }
    Ok((Entry::Source { path: "source.k".into(), text: wanted.to_owned() }, here))
}

fn is_path(text: &str) -> bool {
    text.ends_with(".k") || ["./", "../", "/"].iter().any(|start| text.starts_with(start))
}

/// Fetches `HOST/REPOSITORY[:TAG]`, or `HOST/REPOSITORY?tag=TAG`; what is kept already is not fetched again.
fn fetched(address: &str) -> Result<PathBuf, Wrong> {
    let (place, query) = address.split_once('?').unwrap_or((address, ""));
    let (host, rest) = place.split_once('/').ok_or_else(|| {
        Wrong::with_help(format!("oci://{address} names no repository"), "write oci://HOST/REPOSITORY:TAG")
    })?;
    let (repository, tag) = match rest.rsplit_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (rest, query.split('&').find_map(|pair| pair.strip_prefix("tag="))),
    };
    let folder = kcl::package_folder()
        .ok_or_else(|| Wrong::with_help("there is no home folder to keep packages in", "set KCL_PKG_PATH"))?;
    let (content, _) = Client::new(Registry::new(host))?.package(repository, tag)?;
    let (_, folder) = Store::new(folder).keep(&content)?;
    Ok(folder)
}

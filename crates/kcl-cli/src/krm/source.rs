//! The program of a function: a text, a path, or a package of a registry.

use std::path::{Path, PathBuf};

use kcl::{Entry, Request};

use crate::remote::of_registry;
use crate::wrong::Wrong;

/// Finds a program; returns how to run it: its files, the folder that it may read, and what it needs.
pub(super) fn find(wanted: &str) -> Result<Request, Wrong> {
    let here = std::env::current_dir().map_err(|error| format!("the working folder is gone: {error}"))?;
    let wanted_line = wanted.trim();
    if wanted_line.starts_with("oci://") {
        let remote = of_registry(wanted_line)?;
        let entry = Entry::Path(remote.folder.display().to_string());
        return Ok(Request { externals: remote.externals, ..request(entry, remote.folder) });
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
        return Ok(request(Entry::Path(path.display().to_string()), folder));
    }
    Ok(request(Entry::Source { path: "source.k".into(), text: wanted.to_owned() }, here))
}

fn request(entry: Entry, work_dir: PathBuf) -> Request {
    Request { entries: vec![entry], work_dir, vendor: kcl::package_folder(), ..Request::default() }
}

fn is_path(text: &str) -> bool {
    text.ends_with(".k") || ["./", "../", "/"].iter().any(|start| text.starts_with(start))
}

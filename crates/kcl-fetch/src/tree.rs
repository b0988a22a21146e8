//! A module on the disk as content.

use std::path::Path;

use kcl_mod::{Content, Limits, Package};

use crate::Trouble;

/// Folders and files that are no part of a package.
fn is_left_out(name: &str, vendor: bool) -> bool {
    name.starts_with(".git") || name.ends_with(".tar") || name == "vendor" && !vendor
}

/// Reads the files of a module as they would be packed: links, Git data and tar files are left out, `include` and `exclude` are heeded.
///
/// # Errors
/// A folder that cannot be read, is no module, or is too large.
pub fn read_module(root: &Path, vendor: bool) -> Result<(Package, Content), Trouble> {
    let package = package_of(root)?;
    let mut files = Vec::new();
    let mut room = Limits::default();
    walk(root, "", vendor, &mut room, &mut files)?;
    let mut content = Content::new(files)?;
    content.keep(&package.include, &package.exclude)?;
    Ok((package, content))
}

/// Reads a package of the store, every file of it.
///
/// # Errors
/// A folder that cannot be read or is no package.
pub fn read_kept(folder: &Path) -> Result<(Package, Content), Trouble> {
    Ok((package_of(folder)?, kcl_seal::read(folder)?))
}

fn package_of(root: &Path) -> Result<Package, Trouble> {
    let path = root.join("kcl.mod");
    let text = std::fs::read_to_string(&path)
        .map_err(|e| Trouble::new(format!("cannot read {}: {e}", path.display())))?;
    let table = kcl_mod::read_table(&path.display().to_string(), &text)?;
    Ok(kcl_mod::package(&table)?)
}

fn walk(
    folder: &Path,
    prefix: &str,
    vendor: bool,
    room: &mut Limits,
    files: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Trouble> {
    let told = |e: std::io::Error| Trouble::new(format!("cannot read {}: {e}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(told)? {
        let entry = entry.map_err(told)?;
        let name = entry.file_name().into_string();
        let name = name.map_err(|name| {
            Trouble::new(format!("{}: a name is not UTF-8 text: {name:?}", folder.display()))
        })?;
        let kind = entry.file_type().map_err(told)?;
        if is_left_out(&name, vendor) {
            continue;
        }
        let path = format!("{prefix}{name}");
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), vendor, room, files)?;
        } else if kind.is_file() {
            let bytes = std::fs::read(entry.path()).map_err(told)?;
            let left = room.bytes.checked_sub(bytes.len() as u64).filter(|_| room.files > 0);
            room.bytes = left.ok_or_else(|| Trouble::new("the module is too large to be a package"))?;
            room.files -= 1;
            files.push((path, bytes));
        }
    }
    Ok(())
}

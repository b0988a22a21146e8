//! Commands that only look.

use std::collections::BTreeSet;

use kcl_fetch::{Kept, Options, Resolution};
use kcl_mod::{Locked, LockedSource};

use super::{Call, store, write_lock};
use crate::wrong::Wrong;

/// Looking fetches what is missing, but changes nothing in the module.
fn look(call: &Call) -> Result<(std::path::PathBuf, Resolution), Wrong> {
    call.no_words()?;
    call.resolve(&call.options()?)
}

/// `name@version` of a package; the empty name is the module itself.
fn label(resolution: &Resolution, name: &str) -> String {
    match resolution.lock.get(name) {
        Some(locked) => format!("{name}@{}", locked.version),
        None => format!("{}@{}", resolution.package.name, resolution.package.version),
    }
}

pub(super) fn graph(call: &Call) -> Result<(), Wrong> {
    let (_, resolution) = look(call)?;
    for (from, to) in &resolution.edges {
        println!("{} {}", label(&resolution, from), label(&resolution, to));
    }
    Ok(())
}

pub(super) fn tree(call: &Call) -> Result<(), Wrong> {
    let (_, resolution) = look(call)?;
    println!("{}", label(&resolution, ""));
    let mut shown = BTreeSet::new();
    branch(&resolution, "", "", &mut shown);
    Ok(())
}

/// A package that was shown already is named, but not opened again: the lines stay as many as the edges.
fn branch(resolution: &Resolution, from: &str, indent: &str, shown: &mut BTreeSet<String>) {
    let below: Vec<&String> = resolution.edges.iter().filter(|(a, _)| a == from).map(|(_, b)| b).collect();
    for (number, name) in below.iter().enumerate() {
        let last = number + 1 == below.len();
        let again = !shown.insert((*name).clone());
        let has_more = resolution.edges.iter().any(|(a, _)| a == *name);
        let mark = if again && has_more { " (above)" } else { "" };
        println!("{indent}{} {}{mark}", if last { "└─" } else { "├─" }, label(resolution, name));
        if !again {
            branch(resolution, name, &format!("{indent}{}", if last { "   " } else { "│  " }), shown);
        }
    }
}

pub(super) fn metadata(call: &Call) -> Result<(), Wrong> {
    call.no_words()?;
    let refresh = call.given.has("update").then(Vec::new);
    let writes = call.given.has("update") || call.given.has("vendor");
    let _held = if writes { super::held(&super::module_root()?) } else { None };
    let (root, resolution) = call.resolve(&Options { refresh, ..call.options()? })?;
    let copies =
        if call.given.has("vendor") { kcl_fetch::vendor(&root, &store()?, &resolution)? } else { Vec::new() };
    if writes {
        write_lock(&root, &resolution)?;
    }
    let entry = |kept: &Kept| {
        let name = kept.locked.name.clone();
        let copy = copies.iter().find(|(known, _)| *known == name).map(|(_, folder)| folder);
        let folder = copy.unwrap_or(&kept.folder).display().to_string();
        (name.clone(), serde_json::json!({"name": name, "manifest_path": folder}))
    };
    let packages: serde_json::Map<String, serde_json::Value> =
        resolution.packages.iter().map(entry).collect();
    println!("{}", serde_json::json!({ "packages": packages }));
    Ok(())
}

/// The files themselves are summed, whatever a seal says; what is wrong is told, not mended.
pub(super) fn verify(call: &Call) -> Result<(), Wrong> {
    call.no_words()?;
    let root = super::module_root()?;
    let store = super::store()?;
    let mut count = 0;
    for locked in kcl_fetch::read_lock(&root)?.entries {
        if matches!(locked.source, LockedSource::Path(_)) {
            continue;
        }
        let sum = locked.sum.as_deref().unwrap_or_default();
        let kept = store.place(sum).ok_or_else(|| unproven(&locked))?;
        let copy = root.join("vendor").join(locked.full_name());
        for folder in [kept, copy].iter().filter(|folder| folder.exists()) {
            kcl_fetch::compare(folder, sum).map_err(|trouble| named(&locked.name, trouble))?;
        }
        count += 1;
    }
    call.resolve(&Options { locked: true, ..call.options()? })?;
    match count {
        1 => println!("1 package is what kcl.mod.lock says"),
        _ => println!("{count} packages are what kcl.mod.lock says"),
    }
    Ok(())
}

fn unproven(locked: &Locked) -> Wrong {
    let name = &locked.name;
    let what = match &locked.sum {
        None => "kcl.mod.lock has no sum for it".to_owned(),
        Some(sum) => format!("`{sum}` in kcl.mod.lock is not a sum of ours: nothing can be compared with it"),
    };
    Wrong::with_help(
        format!("package `{name}`: {what}"),
        format!("`kcl mod update {name}` writes the sum of what is there now"),
    )
}

fn named(name: &str, trouble: kcl_fetch::Trouble) -> Wrong {
    Wrong::from(kcl_fetch::Trouble { what: format!("package `{name}`: {}", trouble.what), ..trouble })
}

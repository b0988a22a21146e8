//! Commands that change a module: nothing is written before everything is there.

use std::path::Path;

use kcl_fetch::{Options, Resolution};
use kcl_mod::{LockedSource, Pin, Requirement, Source};

use super::{Call, held, module_root, resolved, store, write_lock};
use crate::wrong::Wrong;

pub(super) fn init(call: &Call) -> Result<(), Wrong> {
    let here = std::env::current_dir().map_err(|e| format!("cannot tell the folder here: {e}"))?;
    let (folder, name) = match call.words.as_slice() {
        [] => (here.clone(), here.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        [name] => (here.join(name), name.clone()),
        [_, word, ..] => return Err(Wrong::from(format!("`{word}` is one word too many"))),
    };
    let manifest = kcl_mod::new_manifest(&name, call.given.last("version").unwrap_or("0.1.0"));
    let table = manifest.parse().map_err(|_| format!("`{name}` is not a name of a module"))?;
    kcl_mod::package(&table).map_err(|_| {
        Wrong::with_help(format!("`{name}` is not a name of a module"), "use letters, digits, `-` and `_`")
    })?;
    if folder.join("kcl.mod").exists() {
        return Err(Wrong::from(format!("{} is a module already", folder.display())));
    }
    std::fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    for (file, text) in [
        ("kcl.mod", manifest.as_str()),
        ("kcl.mod.lock", "[dependencies]\n"),
        ("main.k", "hello = \"world\"\n"),
    ] {
        if !folder.join(file).exists() {
            kcl_fetch::replace(&folder.join(file), text.as_bytes())?;
        }
    }
    println!("made the module `{name}` in {}; `kcl run` runs it", folder.display());
    Ok(())
}

pub(super) fn add(call: &Call) -> Result<(), Wrong> {
    let mut need = asked(call)?;
    let root = module_root()?;
    let _held = held(&root);
    let path = root.join("kcl.mod");
    let old = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let manifest = Some(kcl_mod::add(&old, &need)?);
    // What is asked for now is looked for now, whatever the lock says about an earlier wish.
    let refresh = (!call.given.has("offline")).then(|| vec![need.import_name()]);
    let resolution = resolved(&root, &Options { manifest, refresh, ..call.options()? })?;
    pin_newest(&mut need, &resolution);
    write_both(&root, &kcl_mod::add(&old, &need)?, &resolution)?;
    let kept = resolution.packages.iter().find(|kept| kept.locked.name == need.import_name());
    let version = kept.map_or("", |kept| kept.locked.version.as_str());
    println!("added {} {version}: `import {}`", need.key, need.import_name());
    Ok(())
}

/// "The newest" is written down as the version that it was.
fn pin_newest(need: &mut Requirement, resolution: &Resolution) {
    let name = need.import_name();
    let Some(kept) = resolution.packages.iter().find(|kept| kept.locked.name == name) else { return };
    match (&mut need.source, &kept.locked.source) {
        (Source::Git { pin, .. }, LockedSource::Git { pin: taken, .. }) if *pin == Pin::Greatest => {
            *pin = taken.clone()
        }
        (Source::Registry | Source::Oci(_), LockedSource::Oci { tag, .. }) if need.version.is_none() => {
            need.version = Some(tag.clone());
        }
        _ => {}
    }
}

fn write_both(root: &Path, manifest: &str, resolution: &Resolution) -> Result<(), Wrong> {
    write_lock(root, resolution)?;
    kcl_fetch::replace(&root.join("kcl.mod"), manifest.as_bytes())?;
    Ok(())
}

/// What the flags ask for; checked by the same reader as kcl.mod.
pub(super) fn asked(call: &Call) -> Result<Requirement, Wrong> {
    let flag = |name: &str| call.given.last(name).map(str::to_owned);
    let (mut git, mut oci, mut tag) = (flag("git"), flag("oci"), flag("tag"));
    let (mut name, mut version) = (None, None);
    match call.words.as_slice() {
        [] => {}
        [word] if word.starts_with("oci://") => oci = Some(word.clone()),
        [word] if word.starts_with("git://") => git = Some(word.clone()),
        [word] => match word.split_once([':', '@']) {
            Some((package, wanted)) => (name, version) = (Some(package.to_owned()), Some(wanted.to_owned())),
            None => name = Some(word.clone()),
        },
        [_, word, ..] => return Err(Wrong::from(format!("`{word}` is one word too many"))),
    }
    if let Some((address, wanted)) = oci.as_deref().and_then(split_tag) {
        tag.get_or_insert(wanted);
        oci = Some(address);
    }
    let named = [&flag("package"), &name].into_iter().flatten().next().cloned();
    let package = named.or_else(|| {
        [&git, &oci, &flag("path")].into_iter().flatten().next().and_then(|from| last_part(from))
    });
    let package = package
        .ok_or_else(|| Wrong::with_help("name a package", "kcl mod add NAME, or --git, --oci, --path"))?;
    let key = flag("rename").unwrap_or_else(|| package.clone());
    let rows = [
        ("git", git),
        ("oci", oci),
        ("path", flag("path")),
        ("tag", tag),
        ("commit", flag("commit")),
        ("branch", flag("branch")),
    ];
    let mut table: toml::Table =
        rows.into_iter().filter_map(|(k, v)| Some((k.to_owned(), v?.into()))).collect();
    if key != package || flag("package").is_some() {
        table.insert("package".to_owned(), package.into());
    }
    table.extend(version.map(|version| ("version".to_owned(), version.into())));
    let mut dependencies = toml::Table::new();
    dependencies.insert(key, table.into());
    let mut manifest = toml::Table::new();
    manifest.insert("dependencies".to_owned(), dependencies.into());
    let (needs, problems) = kcl_mod::requirements(&manifest);
    let problem = || problems.first().cloned().unwrap_or_default();
    needs.into_iter().next().ok_or_else(|| Wrong::from(problem().trim_start_matches("kcl.mod: ").to_owned()))
}

/// `oci://HOST:5000/PATH:TAG`: the colon behind the last slash.
pub(crate) fn split_tag(address: &str) -> Option<(String, String)> {
    let (path, tag) = address.rsplit_once(':')?;
    (!tag.contains('/')).then(|| (path.to_owned(), tag.to_owned()))
}

/// The name of a repository, from its address.
pub(crate) fn last_part(from: &str) -> Option<String> {
    let last = from.trim_end_matches('/').trim_end_matches("/.git").rsplit('/').next()?;
    Some(last.strip_suffix(".git").unwrap_or(last).to_owned()).filter(|name| !name.is_empty() && name != "..")
}

pub(super) fn remove(call: &Call) -> Result<(), Wrong> {
    if call.words.is_empty() {
        return Err(Wrong::from("name the packages to remove".to_owned()));
    }
    let root = module_root()?;
    let _held = held(&root);
    let path = root.join("kcl.mod");
    let mut text =
        std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    for name in &call.words {
        let removed = kcl_mod::remove(&text, name)?;
        text = removed.ok_or_else(|| {
            Wrong::with_help(format!("kcl.mod has no dependency `{name}`"), "`kcl mod tree` lists them")
        })?;
    }
    let manifest = Some(text.clone());
    let resolution = resolved(&root, &Options { manifest, ..call.options()? })?;
    write_both(&root, &text, &resolution)?;
    println!("removed {}", call.words.join(", "));
    Ok(())
}

pub(super) fn update(call: &Call) -> Result<(), Wrong> {
    let names: Vec<String> = call.words.iter().map(|name| name.replace('-', "_")).collect();
    // Under --locked and --offline nothing may be newer: it is a check and a fetch of what the lock says.
    let refresh = (!call.given.has("locked") && !call.given.has("offline")).then(|| names.clone());
    let _held = held(&module_root()?);
    let (root, resolution) = call.resolve(&Options { refresh, ..call.options()? })?;
    if let Some(name) = names.iter().find(|name| resolution.lock.get(name).is_none()) {
        return Err(Wrong::with_help(
            format!("this module needs no package `{name}`"),
            "`kcl mod tree` lists them",
        ));
    }
    let changed = !call.given.has("locked") && write_lock(&root, &resolution)?;
    let count = counted(resolution.packages.len());
    println!("{count}; kcl.mod.lock {}", if changed { "is new" } else { "is as it was" });
    Ok(())
}

pub(super) fn vendor(call: &Call) -> Result<(), Wrong> {
    call.no_words()?;
    let _held = held(&module_root()?);
    let (root, resolution) = call.resolve(&call.options()?)?;
    let copies = kcl_fetch::vendor(&root, &store()?, &resolution)?;
    if !call.given.has("locked") {
        write_lock(&root, &resolution)?;
    }
    println!("{} in {}", counted(copies.len()), root.join("vendor").display());
    Ok(())
}

fn counted(packages: usize) -> String {
    if packages == 1 { "1 package".to_owned() } else { format!("{packages} packages") }
}

//! `kusion provider install|list|lock|mirror|schema|call`: the Terraform providers of a stack, on this machine.

use std::path::{Path, PathBuf};

use kusion::{LockFile, NeededProvider, needed_providers};
use serde_json::{Value, json};
use tf_install::{Address, Constraints, Installed, Kind, OPENTOFU, Platform};

use crate::commands::{provider_call, provider_schema};
use crate::input::chosen::{here, open_named};
use crate::input::flags::{Arg, Given, flag};
use crate::input::planned::wanted;
use crate::input::providers::{Teller, installer, platforms};
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_data, print_json};
use crate::views::style::Style;
use crate::views::table::table;

const VERBS: &str = "install, list, lock, mirror, schema or call";

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("provider", None, "NAME[@VERSION]", "this provider instead of a stack's; may be repeated"),
        flag("kcl", None, "", "`schema`: typed models in KCL (the default)"),
        flag("json", None, "", "`schema`: the document that `tofu providers schema -json` prints"),
        flag("output", Some('o'), "FORMAT", "text or json"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let Some((verb, words)) = given.rest.split_first() else {
        return Err(Failure::usage("kusion provider needs a verb").next(VERBS));
    };
    match (verb.as_str(), words) {
        ("install", words) => install(given, &Wish::read(given, words)?, &[Platform::here()]),
        ("lock", words) => install(given, &Wish::read(given, words)?, &platforms(given)?),
        ("list" | "ls", words) => list(given, &Wish::read(given, words)?),
        ("mirror", []) => Err(Failure::usage("where to?").next("kusion provider mirror FOLDER [STACK]")),
        ("mirror", [folder, words @ ..]) => mirror(given, &here()?.join(folder), &Wish::read(given, words)?),
        ("schema", [name]) => schema(given, name),
        ("schema", _) => {
            Err(Failure::usage("which provider?").next("kusion provider schema hashicorp/random"))
        }
        ("call", [name, function, words @ ..]) => call(given, name, (function.as_str(), words)),
        ("call", _) => Err(Failure::usage("which function of which provider?")
            .next("kusion provider call hashicorp/time rfc3339_parse 2023-07-25T23:43:16Z")),
        (other, _) => Err(Failure::usage(format!("there is no `kusion provider {other}`")).next(VERBS)),
    }
}

/// Which providers are meant, and the folder of their lock file.
struct Wish {
    providers: Vec<(Address, Constraints, usize)>,
    project: PathBuf,
    /// How it is said again: a stack, or the providers.
    said: String,
}

impl Wish {
    fn read(given: &Given, words: &[String]) -> Result<Wish, Failure> {
        if words.len() > 1 {
            return Err(Failure::usage("one stack at a time").next("call it once for each"));
        }
        let named = given.all("provider");
        if !named.is_empty() {
            let providers: Result<_, String> = named.iter().map(|text| named_provider(text)).collect();
            let providers =
                providers.map_err(|e| Failure::usage(e).next("--provider hashicorp/random@3.9.0"))?;
            let said = named.iter().map(|text| format!("--provider {text}")).collect::<Vec<_>>().join(" ");
            return Ok(Wish { providers, project: here()?, said });
        }
        let name = words.first().cloned().or_else(|| given.last("workdir"));
        let chosen = open_named(given, name.as_deref())?;
        let needed = needed_providers(&wanted(given, &chosen)?)?;
        let row = |needed: NeededProvider| {
            (needed.address, Constraints::exactly(&needed.version), needed.users.len())
        };
        Ok(Wish {
            providers: needed.into_iter().map(row).collect(),
            project: chosen.target.project_dir.clone(),
            said: chosen.target.called.there(),
        })
    }
}

/// `NAME[@CONSTRAINT]`.
fn named_provider(text: &str) -> Result<(Address, Constraints, usize), String> {
    let (name, version) = text.split_once('@').unwrap_or((text, ""));
    Ok((Address::parse(name, OPENTOFU)?, Constraints::parse(version)?, 0))
}

/// A provider that is named for one question; if it is not there, it is installed first, and pinned nowhere.
struct Asked {
    address: Address,
    found: Installed,
    cache: PathBuf,
}

impl Asked {
    fn named(given: &Given, name: &str, example: &str) -> Result<Asked, Failure> {
        let (address, constraints, _) = named_provider(name).map_err(|e| Failure::usage(e).next(example))?;
        let (installer, teller) = (installer(given, &here()?, Platform::here())?, Teller::new());
        // A version that this folder's lock names is the one that is meant.
        let mut lock = LockFile::open(&here()?)?.lock;
        let found = installer.install(&address, &constraints, &mut lock, &|p| teller.hear(p))?;
        Ok(Asked { address, found, cache: installer.cache_folder().to_owned() })
    }
}

/// Calls a function of a provider.
fn call(given: &Given, name: &str, what: (&str, &[String])) -> Result<(), Failure> {
    let Asked { address, found, cache } =
        Asked::named(given, name, "kusion provider call hashicorp/time@0.14.0 FUNCTION ARGUMENT…")?;
    print_data(&provider_call::call(&address, &found, &cache, what)?)
}

/// Asks a provider what it can make.
fn schema(given: &Given, name: &str) -> Result<(), Failure> {
    let (kcl, json) = (given.has("kcl"), given.has("json") || format_of(given)? == Format::Json);
    if kcl && json {
        return Err(Failure::usage("--kcl or --json, not both"));
    }
    let Asked { address, found, cache } =
        Asked::named(given, name, "kusion provider schema hashicorp/random@3.9.0")?;
    let document = provider_schema::ask(&address, &found, &cache)?;
    if json {
        return print_json(&document);
    }
    print_data(&provider_schema::models(&address.to_string(), &document)?)
}

fn install(given: &Given, wish: &Wish, platforms: &[Platform]) -> Result<(), Failure> {
    let mut file = LockFile::open(&wish.project)?;
    let teller = Teller::new();
    let mut rows = Vec::new();
    for platform in platforms {
        let installer = installer(given, &wish.project, platform.clone())?;
        for (address, constraints, _) in &wish.providers {
            let found = installer.install(address, constraints, &mut file.lock, &|p| teller.hear(p));
            let found = found.map_err(|trouble| {
                let is_locked = trouble.kind == Kind::Locked;
                let failure = Failure::from(trouble);
                if !is_locked {
                    return failure;
                }
                let next = format!("if the change is meant: kusion provider lock {} --upgrade", wish.said);
                failure.place(file.path().display().to_string()).next(next)
            })?;
            rows.push((address.clone(), platform.clone(), found));
        }
    }
    let written = file.save()?;
    if format_of(given)? == Format::Json {
        let providers: Vec<Value> = rows.iter().map(|(a, p, found)| installed_json(a, p, found)).collect();
        let lock = file.path().display().to_string();
        let out = json!({"schema": "kusion.io/providers/v1", "lock": lock, "written": written, "providers": providers});
        return print_json(&out);
    }
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(address, platform, found)| {
            let version =
                found.version.as_ref().map_or_else(|| "in development".to_owned(), ToString::to_string);
            let signed = found.key.clone().unwrap_or_else(|| "-".to_owned());
            vec![
                address.to_string(),
                version,
                platform.to_string(),
                signed,
                found.folder.display().to_string(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return print("The stack needs no provider.\n");
    }
    let lines = table(&["PROVIDER", "VERSION", "PLATFORM", "SIGNED BY", "FOLDER"], &rows, &Style::stdout());
    let lock = if written { format!("\nwrote {}\n", file.path().display()) } else { String::new() };
    print(&format!("{lines}{lock}"))
}

fn installed_json(address: &Address, platform: &Platform, found: &Installed) -> Value {
    json!({
        "provider": address.to_string(), "version": found.version.as_ref().map(ToString::to_string),
        "platform": platform.to_string(), "folder": found.folder, "executable": found.executable,
        "hashes": found.hashes, "key": found.key,
    })
}

/// What is needed beside what is locked and there. Nothing is fetched or written.
fn list(given: &Given, wish: &Wish) -> Result<(), Failure> {
    let file = LockFile::open(&wish.project)?;
    let installer = installer(given, &wish.project, Platform::here())?;
    let mut rows = Vec::new();
    for (address, constraints, users) in &wish.providers {
        let locked = file.lock.get(address).map(|locked| locked.version.to_string());
        let there = match installer.find(address, constraints, &file.lock) {
            Ok(Some(found)) => ("installed".to_owned(), Some(found.folder)),
            Ok(None) => ("missing".to_owned(), None),
            Err(trouble) => (format!("refused: {trouble}"), None),
        };
        rows.push((address.to_string(), constraints.to_string(), locked, there, *users));
    }
    if format_of(given)? == Format::Json {
        let providers: Vec<Value> = rows
            .iter()
            .map(|(address, wanted, locked, (state, folder), users)| {
                json!({"provider": address, "wanted": wanted, "locked": locked, "state": state, "folder": folder, "resources": users})
            })
            .collect();
        return print_json(&json!({
            "schema": "kusion.io/providers/v1", "lock": file.path().display().to_string(), "providers": providers,
        }));
    }
    if rows.is_empty() {
        return print("The stack needs no provider.\n");
    }
    let dash = || "-".to_owned();
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(address, wanted, locked, (state, _), users)| {
            vec![address, wanted, locked.unwrap_or_else(dash), users.to_string(), state]
        })
        .collect();
    print(&table(&["PROVIDER", "WANTED", "LOCKED", "RESOURCES", "STATE"], &rows, &Style::stdout()))
}

/// Fills a folder from which other machines install, also behind HTTPS.
fn mirror(given: &Given, folder: &Path, wish: &Wish) -> Result<(), Failure> {
    let mut file = LockFile::open(&wish.project)?;
    let teller = Teller::new();
    let mut made = Vec::new();
    for platform in platforms(given)? {
        let installer = installer(given, &wish.project, platform)?;
        for (address, constraints, _) in &wish.providers {
            let path = installer.mirror(address, constraints, &mut file.lock, folder, &|p| teller.hear(p))?;
            made.push(path);
        }
    }
    if format_of(given)? == Format::Json {
        return print_json(&json!({"schema": "kusion.io/providers/v1", "mirror": folder, "packages": made}));
    }
    if made.is_empty() {
        return Err(Failure::new(Exit::Usage, "there is nothing to put into a mirror")
            .cause("the stack needs no provider"));
    }
    print_data(&made.iter().map(|path| format!("{}\n", path.display())).collect::<String>())
}

//! Where state is kept: which of flag, variable, files of stack, project and workspace, and configuration says so, and why.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kcl::Disk;
use kusion_generate::{StackFolder, read_workspace};
use kusion_media::{Address, Patience, Signal, Surroundings, login_source};
use kusion_model::BackendSetting;
use kusion_store::{Backend, LocalFolder, Store};
use serde_json::Value;

use crate::input::chosen::{here, home_at, note};
use crate::input::flags::{Arg, Given, flag, variable_name};
use crate::views::failure::Failure;

/// Flags of every command that touches state.
pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag(
            "backend",
            None,
            "ADDRESS",
            "where state is kept: s3://…, gs://…, az://…, postgres://…, kubernetes://…, file://…, or a name",
        ),
        flag(
            "backend-timeout",
            None,
            "TIME",
            "how long a backend that does not answer is waited for (default 60s)",
        ),
        flag("keep-releases", None, "N", "how many releases can be returned to, at least (default 50)"),
    ]
}

/// One place that says where state is kept.
#[derive(Clone)]
struct Saying {
    /// The place, for people.
    from: String,
    says: BackendSetting,
    /// Others read the file: a password does not belong there.
    shared: bool,
}

/// Where state is kept.
pub(crate) struct Chosen {
    /// `None`: the folder.
    address: Option<Address>,
    folder: PathBuf,
    /// Who says so.
    pub(crate) from: String,
    /// Who says otherwise and is weaker: place and address.
    pub(crate) over: Vec<(String, String)>,
}

/// Chooses the backend of a stack, or of no stack in particular.
pub(crate) fn choose(given: &Given, stack: Option<&StackFolder>, from: &Path) -> Result<Chosen, Failure> {
    let folder = home_at(given, from)?;
    let on_line = given.all("home").last().is_some();
    if on_line && given.all("backend").last().is_some() {
        return Err(Failure::usage("--home and --backend name two places").next("keep one of them"));
    }
    let mut found: Vec<(String, Option<Address>)> = Vec::new();
    if on_line {
        found.push(("--home".to_owned(), None));
    }
    for saying in sayings(given, stack, &folder)? {
        let address = meant(given, &saying)?;
        found.push((saying.from, address));
    }
    let default = if std::env::var_os("KUSION_HOME").is_some() { "KUSION_HOME" } else { "default" };
    found.push((default.to_owned(), None));
    let show = |address: &Option<Address>| {
        address.as_ref().map_or_else(|| format!("file://{}", folder.display()), ToString::to_string)
    };
    let over = found[1..].iter().map(|(from, address)| (from.clone(), show(address))).collect();
    let (from, address) = found.swap_remove(0);
    Ok(Chosen { address, folder, from, over })
}

/// Everything that says where state is kept, the strongest first.
fn sayings(given: &Given, stack: Option<&StackFolder>, home: &Path) -> Result<Vec<Saying>, Failure> {
    let named =
        |from: String, text: String| Saying { from, says: BackendSetting::Named(text), shared: false };
    let mut all = Vec::new();
    all.extend(given.all("backend").last().map(|text| named("--backend".to_owned(), (*text).to_owned())));
    let variable = variable_name("backend");
    let set = std::env::var(&variable).ok().filter(|text| !text.is_empty());
    all.extend(set.map(|text| named(variable, text)));
    if let Some(folder) = stack {
        let files = [
            (&folder.stack_dir, "stack.yaml", &folder.stack.backend),
            (&folder.project_dir, "project.yaml", &folder.project.backend),
        ];
        for (dir, file, says) in files {
            let from = dir.join(file).display().to_string();
            all.extend(says.clone().map(|says| Saying { from, says, shared: true }));
        }
    }
    all.extend(of_workspace(given, home, all.is_empty())?);
    all.extend(given.file.get("backend").map(|text| named("config.yaml".to_owned(), text.clone())));
    let current = backends(given).get("current").and_then(Value::as_str).map(str::to_owned);
    all.extend(current.map(|name| named("config.yaml: backends.current".to_owned(), name)));
    Ok(all)
}

/// What the file of the workspace says. One that cannot be read is told only where nothing stronger has spoken.
fn of_workspace(given: &Given, home: &Path, needed: bool) -> Result<Option<Saying>, Failure> {
    let workspace = given.last("workspace").unwrap_or_else(|| "default".to_owned());
    // What is not used in it is told by who opens the stack.
    let file = match read_workspace(&Disk, home, &workspace) {
        Ok((file, _)) => file,
        Err(_) if !needed => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let from = format!("workspace {workspace}");
    Ok(file.backend.map(|says| Saying { from, says, shared: true }))
}

/// The named backends of the user's configuration, in upstream's shape.
fn backends(given: &Given) -> serde_json::Map<String, Value> {
    let text = given.file.get("backends").map_or("", String::as_str);
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => map,
        _ => serde_json::Map::new(),
    }
}

/// The address that somebody means; `None` for the folder of this machine.
fn meant(given: &Given, saying: &Saying) -> Result<Option<Address>, Failure> {
    let address = match &saying.says {
        BackendSetting::Named(text) if text.contains("://") => Some(parsed(text, &saying.from)?),
        BackendSetting::Named(name) => by_name(given, name, &saying.from)?,
        BackendSetting::Settings { kind, configs } => of_settings(kind, configs, &saying.from)?,
    };
    // What a name stands for is in the user's own file.
    let by_name = matches!(&saying.says, BackendSetting::Named(text) if !text.contains("://"));
    if saying.shared && !by_name && address.as_ref().is_some_and(Address::has_password) {
        return Err(Failure::usage("a password stands in a file that others read")
            .cause("where state is kept may stand there; what opens it may not")
            .place(saying.from.clone())
            .next(
                "take it out; the environment and the files of the service are looked at: docs/backends.md",
            ));
    }
    Ok(address)
}

pub(crate) fn parsed(text: &str, from: &str) -> Result<Address, Failure> {
    Address::parse(text).map_err(|error| {
        Failure::usage("this is no address of a backend").cause(error.why).place(from).next(error.next)
    })
}

fn by_name(given: &Given, name: &str, from: &str) -> Result<Option<Address>, Failure> {
    let known = backends(given);
    let from = format!("{from} ({name})");
    match known.get(name).filter(|_| name != "current") {
        Some(Value::String(text)) => parsed(text, &from).map(Some),
        Some(value) => match serde_json::from_value(value.clone()) {
            Ok(BackendSetting::Settings { kind, configs }) => of_settings(&kind, &configs, &from),
            _ => Err(Failure::usage(format!("the backend `{name}` cannot be read"))
                .place(from)
                .next("let it be an address, or `type` and `configs`")),
        },
        None if name == "default" => Ok(None),
        None => {
            let names: Vec<&str> =
                known.keys().map(String::as_str).filter(|name| *name != "current").collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(Failure::usage(format!("there is no backend `{name}`"))
                .place(from)
                .next(format!("an address, as s3://bucket/prefix; or a name under `backends:` of config.yaml, which has {names}")))
        }
    }
}

fn of_settings(
    kind: &str,
    configs: &std::collections::BTreeMap<String, Value>,
    from: &str,
) -> Result<Option<Address>, Failure> {
    let configs = BackendSetting::texts(configs);
    if kind == "local" && configs.get("path").is_none_or(String::is_empty) {
        return Ok(None);
    }
    let told = |error: kusion_media::AddressError| {
        Failure::usage("this backend cannot be used").cause(error.why).place(from).next(error.next)
    };
    Address::of_settings(kind, &configs).map(Some).map_err(told)
}

/// What the process may look at, patient for as long as the flags say, with a word about every long pause.
pub(crate) fn surroundings(given: &Given, place: &str) -> Result<Surroundings, Failure> {
    let at_most = match given.last("backend-timeout") {
        Some(text) => time(&text)?,
        None => Duration::from_secs(60),
    };
    let place = place.to_owned();
    let tell = move |signal: Signal<'_>| match signal {
        Signal::Waiting { why, at_most } => note(&format!(
            "the state at {place} cannot be reached; waiting for it, at most {} s ({why})",
            at_most.as_secs()
        )),
        Signal::Back => note("the state can be reached again; going on"),
    };
    Ok(Surroundings::of_process(Patience { at_most, tell: Arc::new(tell), ..Patience::default() }))
}

/// How many releases can be returned to, where somebody says so.
pub(crate) fn retained(given: &Given, stores: Store) -> Result<Store, Failure> {
    let Some(text) = given.last("keep-releases") else { return Ok(stores) };
    match text.parse() {
        Ok(releases @ 1..) => Ok(stores.with_retention(releases)),
        _ => Err(Failure::usage(format!("--keep-releases cannot be `{text}`")).next("a number from 1 on")),
    }
}

fn time(text: &str) -> Result<Duration, Failure> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.strip_suffix('s').unwrap_or(text), 1),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Failure::usage(format!("--backend-timeout cannot be `{text}`")).next("a time: 90, 90s or 5m")
    })
}

impl Chosen {
    /// Opens it; nothing is asked yet.
    pub(crate) fn open(&self, given: &Given) -> Result<Arc<dyn Backend>, Failure> {
        match &self.address {
            None => Ok(Arc::new(LocalFolder::new(self.folder.clone()))),
            Some(address) => open_address(given, address),
        }
    }

    /// The address, without a password.
    pub(crate) fn shown(&self) -> String {
        self.address.as_ref().map_or_else(|| format!("file://{}", self.folder.display()), ToString::to_string)
    }

    /// Where the credentials come from, in words.
    pub(crate) fn login(&self, given: &Given) -> Result<Option<String>, Failure> {
        let Some(address) = &self.address else { return Ok(None) };
        Ok(login_source(address, &surroundings(given, &self.shown())?))
    }
}

/// Opens a backend by its address; a folder is meant from where the user stands.
pub(crate) fn open_address(given: &Given, address: &Address) -> Result<Arc<dyn Backend>, Failure> {
    if let Some(folder) = address.folder() {
        return Ok(Arc::new(LocalFolder::new(here()?.join(folder))));
    }
    let around = surroundings(given, &address.to_string())?;
    kusion_media::open(address, &around).map_err(|error| {
        Failure::usage("the state cannot be opened")
            .cause(error.why)
            .place(error.place)
            .next("`kusion config explain` shows where the address and its credentials come from")
    })
}

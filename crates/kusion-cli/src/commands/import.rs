//! `kusion import`: takes objects over that exist, as they are, and writes the KCL that asks for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kusion::{DryRun, Engine, LockFile, Sites, TfSite, plan_failed, remote_failed, take_over};
use kusion_model::{Attr, ReleaseNo, Resource, ResourceId, ResourceKey, ResourceRecord, ResourceType, Spec};
use kusion_runtime::RuntimeError;
use kusion_runtime_tf::{Configuration, Found, Takeover, TfRuntime, Told, found_in};
use serde_json::{Map, Value, json};
use tf_install::{Address, Lock, OPENTOFU};
use tf_schema::state::State as TfState;

use crate::commands::apply::apply_ask;
use crate::commands::import_cluster;
use crate::input::chosen::{ChosenStack, Intent, here, note, open_named_for};
use crate::input::cluster::{connect, tokio};
use crate::input::consent;
use crate::input::flags::{Arg, Given, flag};
use crate::input::text::read_text;
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_data, print_json};
use crate::views::plan_view::count;

/// The extension that has the configuration of a provider.
const META: &str = "providerMeta";
/// Where the KCL goes if nobody says otherwise.
const FILE: &str = "imported.k";

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("from-tfstate", None, "FILE", "take over what a state of Terraform or OpenTofu has (version 4)"),
        flag(
            "write",
            None,
            "FILE",
            "where the KCL goes (default: imported.k in the stack's folder); - prints it",
        ),
        flag("provider", None, "NAME@VERSION", "which version of a provider is used; may be repeated"),
        flag(
            "provider-config",
            None,
            "NAME[.ALIAS]=FILE",
            "what is in a provider configuration of the state, as a JSON object; may be repeated",
        ),
        flag("yes", Some('y'), "", "do not ask"),
        flag("lock-timeout", None, "TIME", "how long to wait for a locked stack"),
        flag("message", Some('m'), "TEXT", "a word about this release"),
        flag("output", Some('o'), "FORMAT", "text or json"),
    ]
}

/// What is taken over.
enum Wish {
    State(PathBuf),
    One { resource: ResourceKey, id: Option<String> },
}

/// A resource as its KCL says it.
pub(crate) struct Written {
    attributes: Attr,
    extensions: Map<String, Value>,
}

/// Objects to be recorded, with what a person should know about them.
pub(crate) struct Taken {
    pub(crate) records: Vec<ResourceRecord>,
    /// What the KCL says where that is not what is recorded: references, where values are secret.
    pub(crate) written: BTreeMap<ResourceKey, Written>,
    /// What each was called before, by its key.
    pub(crate) names: BTreeMap<ResourceKey, String>,
    pub(crate) notes: Vec<String>,
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let (stack, wish) = read(given)?;
    let chosen = open_named_for(given, stack.as_deref(), Intent::Record)?;
    let spec = chosen.generate(&given.last("context").unwrap_or_default(), false)?.spec;
    let tokio = tokio()?;
    let (engine, taken) = tokio.block_on(take(given, &chosen, &spec, wish))?;
    let file = file_for(given, &chosen, &spec, &taken)?;
    if !given.has("yes") {
        show(&taken)?;
        let what =
            format!("Take over {} into {}", count(taken.records.len(), "resource"), chosen.target.scope);
        consent::ask(given, &what)?;
    }
    let ask = apply_ask(given, &chosen)?;
    let text = kcl(&taken, &spec, file.as_deref())?;
    let records = taken.records.clone();
    let release = tokio.block_on(take_over(&engine, &chosen.target, records, &ask))?;
    write(given, &chosen, &taken, file.as_deref(), &text)?;
    tell(&chosen, &taken, file.as_deref(), release, format)
}

/// `[STACK] RESOURCE [ID]`, or `[STACK] --from-tfstate FILE`: a resource has a colon in it, a stack has none.
fn read(given: &Given) -> Result<(Option<String>, Wish), Failure> {
    let form = "kusion import [STACK] RESOURCE [ID], or kusion import [STACK] --from-tfstate FILE";
    let (stack, rest) = match given.rest.split_first() {
        Some((first, rest)) if !first.contains(':') => (Some(first.clone()), rest),
        _ => (given.last("workdir"), given.rest.as_slice()),
    };
    let wish = match (given.last("from-tfstate"), rest) {
        (Some(file), []) => Wish::State(here()?.join(file)),
        (None, [resource, id @ ..]) if id.len() < 2 => {
            let parsed = ResourceId::parse(resource).map_err(|e| Failure::usage(e.to_string()).next(form))?;
            Wish::One { resource: ResourceKey::new(parsed), id: id.first().cloned() }
        }
        _ => return Err(Failure::usage("what is to be taken over?").next(form)),
    };
    Ok((stack, wish))
}

/// Whether an id is one of a Kubernetes object: its API has a group, or is v1.
fn is_kubernetes(key: &ResourceKey) -> bool {
    let first = key.id.parts().into_iter().next().unwrap_or_default();
    first.contains('/') || first == "v1"
}

async fn take(
    given: &Given,
    chosen: &ChosenStack,
    spec: &Spec,
    wish: Wish,
) -> Result<(Engine, Taken), Failure> {
    let in_cluster = matches!(&wish, Wish::One { resource, .. } if is_kubernetes(resource));
    let names = if in_cluster { [String::new()].into() } else { Default::default() };
    let connection = connect(given, chosen, &names).await?;
    let sites = connection.engine.sites(&chosen.target, DryRun::All);
    let failed = |error: RuntimeError| remote_failed(&error, &connection.server);
    if let (Wish::One { resource, id }, true) = (&wish, in_cluster) {
        if id.is_some() {
            return Err(Failure::usage("an object of a cluster is named by its id alone")
                .next(format!("kusion import {} {resource}", chosen.target.called.there())));
        }
        let taken = import_cluster::take(&sites, resource, &chosen.target).await?;
        return Ok((connection.engine, taken));
    }
    let Some(TfSite { runtime, .. }) = sites.of("") else {
        return Err(Failure::new(Exit::Bug, "nobody asks providers"));
    };
    let taken = match wish {
        Wish::State(file) => from_state(given, chosen, &sites, runtime, &file).await,
        Wish::One { resource, id } => {
            let settled = settled(&sites, chosen, spec, &resource).await?;
            one(given, chosen, &settled, runtime, resource, id).await.map_err(|e| match e {
                Trouble::Ours(failure) => failure,
                Trouble::Theirs(error) => failed(error),
            })
        }
    };
    runtime.close().await;
    Ok((connection.engine, taken?))
}

enum Trouble {
    Ours(Failure),
    Theirs(RuntimeError),
}

/// The Spec, with everything in it that the configuration of a resource's provider may refer to.
async fn settled(
    sites: &Sites,
    chosen: &ChosenStack,
    spec: &Spec,
    key: &ResourceKey,
) -> Result<Spec, Failure> {
    let is_configured =
        |resource: &&Resource| resource.key() == *key && resource.extensions.contains_key(META);
    if !spec.resources.iter().any(|resource| is_configured(&resource)) {
        return Ok(spec.clone());
    }
    let settled = sites.settled(&chosen.target, spec.clone()).await;
    settled.map_err(|failure| plan_failed(failure, &chosen.target, ""))
}

/// One object, found by its provider.
async fn one(
    given: &Given,
    chosen: &ChosenStack,
    spec: &Spec,
    runtime: &TfRuntime,
    key: ResourceKey,
    id: Option<String>,
) -> Result<Taken, Trouble> {
    let parts = key.id.parts();
    let [namespace, provider, ..] = &parts[..] else {
        let failure = Failure::usage(format!("`{}` is no id of a resource", key.id));
        return Err(Trouble::Ours(
            failure.next("namespace:provider:type:name, as in hashicorp:random:random_pet:p"),
        ));
    };
    let id = id.ok_or_else(|| {
        let next = format!("kusion import {} {key} ID", chosen.target.called.there());
        Trouble::Ours(Failure::usage("by which id does the provider know it?").next(next))
    })?;
    let wanted = spec.resources.iter().find(|resource| resource.key() == key);
    let extensions = match wanted {
        Some(resource) => resource.extensions.clone(),
        None => {
            let address = Address::parse(&format!("{namespace}/{provider}"), OPENTOFU);
            let address = address.map_err(|e| Trouble::Ours(Failure::usage(e)))?;
            let version = Versions::new(given, chosen, None).map_err(Trouble::Ours)?.of(&address.to_string());
            let version = version.map_err(|cause| Trouble::Ours(unversioned(&cause)))?;
            json!({"provider": format!("{address}/{version}")}).as_object().cloned().unwrap_or_default()
        }
    };
    let taken = runtime.import(&key, extensions, &id, spec).await.map_err(Trouble::Theirs)?;
    let notes = doubt(&taken).into_iter().chain(taken.notes.iter().cloned()).collect();
    let names = BTreeMap::from([(key.clone(), id)]);
    let as_written = Written { attributes: taken.written.clone(), extensions: taken.extensions.clone() };
    let written = BTreeMap::from([(key, as_written)]);
    Ok(Taken { records: vec![record(taken)], written, names, notes })
}

/// Everything that a state file has.
async fn from_state(
    given: &Given,
    chosen: &ChosenStack,
    sites: &Sites,
    runtime: &TfRuntime,
    file: &Path,
) -> Result<Taken, Failure> {
    let place = file.display().to_string();
    let unusable = |cause: String| {
        Failure::usage("the state of the other tool cannot be used").cause(cause).place(place.clone())
    };
    let text = read_text(&place)?;
    let state = TfState::parse(text.as_bytes()).map_err(|error| unusable(error.to_string()))?;
    let versions = Versions::new(given, chosen, file.parent())?;
    let configs = Configs::read(given, &state)?;
    let told = Told {
        version_of: &|address: &str| versions.of(address),
        config_of: &|one: &Configuration| configs.0.get(one).cloned(),
    };
    let (found, mut notes) = found_in(&state, &told).map_err(unusable)?;
    let names = found.iter().map(|one| (one.key.clone(), one.address.clone())).collect();
    let wanted = wanted(sites, chosen, &found).await?;
    runtime.want(&wanted);
    let (mut records, mut written) = (Vec::new(), BTreeMap::new());
    for taken in runtime.take_over(found).await {
        let mut taken = taken.map_err(|error| remote_failed(&error, ""))?;
        notes.extend(doubt(&taken).into_iter().chain(taken.notes.iter().cloned()));
        let as_written = Written { attributes: taken.written.clone(), extensions: taken.extensions.clone() };
        written.insert(taken.key.clone(), as_written);
        // A configuration with references is kept as the provider gets it, sealed beside the object.
        let settled = wanted.resources.iter().find(|resource| resource.key() == taken.key);
        if settled.is_some_and(|resource| !resource.extensions.contains_key(META)) {
            taken.extensions.remove(META);
        }
        records.push(record(taken));
    }
    if records.is_empty() {
        let cause = [vec!["it has no resource that could be taken over".to_owned()], notes].concat();
        return Err(unusable(cause.join("\n")));
    }
    Ok(Taken { records, written, names, notes })
}

/// The resources of a state without their attributes, with everything that the configurations of their providers refer to.
async fn wanted(sites: &Sites, chosen: &ChosenStack, found: &[Found]) -> Result<Spec, Failure> {
    let rows: Vec<Value> = found
        .iter()
        .map(|one| {
            json!({"id": one.key.id, "type": ResourceType::terraform(), "attributes": {}, "extensions": one.extensions})
        })
        .collect();
    let is_plain = !found.iter().any(|one| one.extensions.contains_key(META));
    let spec = Spec::from_value(json!({"resources": rows}), &kusion::platforms(), &chosen.target.key);
    let spec =
        spec.map_err(|e| Failure::usage("the state of the other tool cannot be used").cause(e.to_string()))?;
    if is_plain {
        return Ok(spec);
    }
    let settled = sites.settled(&chosen.target, spec).await;
    settled.map_err(|failure| plan_failed(failure, &chosen.target, ""))
}

/// What is in the configurations of providers that a state names.
struct Configs(BTreeMap<Configuration, Value>);

impl Configs {
    fn read(given: &Given, state: &TfState) -> Result<Configs, Failure> {
        let (all, mut configs) = (Configuration::all(state), BTreeMap::new());
        for text in given.all("provider-config") {
            let form = "--provider-config 'acme/lab.us=us.json'";
            let Some((name, file)) = text.rsplit_once('=') else {
                return Err(Failure::usage(format!("--provider-config {text} names no file")).next(form));
            };
            let Some(known) = all.iter().find(|one| one.is_called(name)) else {
                let names: Vec<String> = all.iter().map(ToString::to_string).collect();
                return Err(Failure::usage(format!("the state has no provider configuration `{name}`"))
                    .next(format!("one of {}", names.join(", "))));
            };
            let path = if file == "-" { file.to_owned() } else { here()?.join(file).display().to_string() };
            let read = serde_json::from_str::<Value>(&read_text(&path)?);
            let config = read.ok().filter(Value::is_object).ok_or_else(|| {
                Failure::usage("the configuration of a provider is a JSON object").place(path.clone())
            })?;
            configs.insert(known.clone(), config);
        }
        Ok(Configs(configs))
    }
}

pub(crate) fn doubt(taken: &Takeover) -> Option<String> {
    let doubt = taken.doubt.as_ref()?;
    Some(format!("{}: a preview may show a change: {doubt}", taken.key))
}

pub(crate) fn record(taken: Takeover) -> ResourceRecord {
    let Takeover { key, attributes, extensions, depends_on, kept, deposed, .. } = taken;
    let (kind, kept) = (ResourceType::terraform(), Some(kept));
    ResourceRecord {
        key,
        kind,
        attributes,
        depends_on,
        references: Vec::new(),
        extensions,
        uid: None,
        release: ReleaseNo(0),
        imported: true,
        kept,
        deposed,
    }
}

/// Which version of a provider is meant: the command line says it, or the lock file of the project, or that of the other tool.
struct Versions {
    named: Vec<(String, String)>,
    locks: Vec<Lock>,
}

impl Versions {
    fn new(given: &Given, chosen: &ChosenStack, beside: Option<&Path>) -> Result<Versions, Failure> {
        let read = |text: &&str| {
            let (name, version) = text.split_once('@')?;
            Some((Address::parse(name, OPENTOFU).ok()?.to_string(), version.to_owned()))
        };
        let wrong = |text: &str| {
            Failure::usage(format!("--provider {text} names no version"))
                .next("--provider hashicorp/random@3.9.0")
        };
        let named = given.all("provider");
        let named =
            named.iter().map(|text| read(text).ok_or_else(|| wrong(text))).collect::<Result<_, _>>()?;
        let mut locks = vec![LockFile::open(&chosen.target.project_dir)?.lock];
        if let Some(folder) = beside {
            locks.push(LockFile::open(folder)?.lock);
        }
        Ok(Versions { named, locks })
    }

    fn of(&self, address: &str) -> Result<String, String> {
        let address = Address::parse(address, OPENTOFU)?;
        // The two public registries have the same providers.
        let same = |name: &str| {
            let tail = |text: &str| text.split_once('/').map(|(_, tail)| tail.to_owned());
            name == address.to_string() || tail(name) == tail(&address.to_string())
        };
        let named = self.named.iter().find(|(name, _)| same(name)).map(|(_, version)| version.clone());
        let locked = || {
            let all = self.locks.iter().flat_map(Lock::iter);
            all.into_iter()
                .find(|(name, _)| same(&name.to_string()))
                .map(|(_, locked)| locked.version.to_string())
        };
        named.or_else(locked).ok_or_else(|| {
            format!("nobody says which version of {address} is used: --provider {address}@VERSION, or kusion provider lock")
        })
    }
}

fn unversioned(cause: &str) -> Failure {
    Failure::usage("the version of a provider is not known").cause(cause).next("--provider NAME@VERSION")
}

/// The file that the KCL goes to; none if the configuration has everything already, or it is printed.
fn file_for(
    given: &Given,
    chosen: &ChosenStack,
    spec: &Spec,
    taken: &Taken,
) -> Result<Option<PathBuf>, Failure> {
    let known = |record: &ResourceRecord| spec.resources.iter().any(|resource| resource.key() == record.key);
    if taken.records.iter().all(known) || given.last("write").as_deref() == Some("-") {
        return Ok(None);
    }
    let file = match given.last("write") {
        Some(file) => here()?.join(file),
        None => chosen.folder.stack_dir.join(FILE),
    };
    if file.exists() {
        return Err(Failure::usage("the file for the KCL is there already")
            .place(file.display().to_string())
            .next("--write OTHER.k, or --write - to print it"));
    }
    Ok(Some(file))
}

/// The KCL for what the configuration does not have.
fn kcl(taken: &Taken, spec: &Spec, file: Option<&Path>) -> Result<String, Failure> {
    let known = |record: &ResourceRecord| spec.resources.iter().any(|resource| resource.key() == record.key);
    let row = |record: &ResourceRecord| document(record, taken.written.get(&record.key));
    let rows: Vec<Value> = taken.records.iter().filter(|record| !known(record)).map(row).collect();
    let stem = file.and_then(Path::file_stem).map_or("imported".into(), |stem| stem.to_string_lossy());
    let name: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    let load = |path: &str| Err(format!("there is no {path}"));
    let text = json!({name.as_str(): rows}).to_string();
    let input = kcl_import::Input { name: "kusion import".to_owned(), text, load: &load };
    let made = kcl_import::import(&input, kcl_import::Mode::Json, "");
    let made = made.map_err(|e| Failure::usage("what was taken over cannot be said in KCL").cause(e))?;
    let text: String = made.files.into_iter().map(|(_, text)| text).collect();
    // It is a beginning, not a copy that is made again: the note of the writer says otherwise.
    let body = text.find(&format!("{name} = ")).map_or(text.as_str(), |at| &text[at..]);
    Ok(format!("# Taken over by `kusion import`; from here on it is yours.\n{body}"))
}

/// A resource as a Spec has it: an object of a cluster is its own document.
fn document(record: &ResourceRecord, written: Option<&Written>) -> Value {
    let attributes = written.map_or(&record.attributes, |written| &written.attributes).to_shown();
    if record.kind == ResourceType::kubernetes() {
        return attributes;
    }
    let mut row = json!({"id": record.key.id, "type": record.kind, "attributes": attributes});
    if !record.depends_on.is_empty() {
        row["dependsOn"] = record.depends_on.iter().map(|on| json!(on.id)).collect();
    }
    let extensions = written.map_or(&record.extensions, |written| &written.extensions);
    row["extensions"] = Value::Object(extensions.clone());
    row
}

fn show(taken: &Taken) -> Result<(), Failure> {
    let mut out = String::new();
    for record in &taken.records {
        let name = taken.names.get(&record.key).map(|name| format!("  ({name})")).unwrap_or_default();
        out.push_str(&format!("  {}{name}\n", record.key));
    }
    print(&out)
}

/// Writes the KCL, and sees that the stack's program has it now.
fn write(
    given: &Given,
    chosen: &ChosenStack,
    taken: &Taken,
    file: Option<&Path>,
    text: &str,
) -> Result<(), Failure> {
    let Some(file) = file else {
        return if given.last("write").as_deref() == Some("-") { print_data(text) } else { Ok(()) };
    };
    base_file::replace(file, text.as_bytes(), base_file::How::Durable).map_err(|e| {
        Failure::usage("the state has them, but their KCL cannot be written")
            .cause(e.to_string())
            .place(file.display().to_string())
            .next("nothing is deleted without it: imported objects are only released")
    })?;
    let spec = chosen.generate(&given.last("context").unwrap_or_default(), false)?.spec;
    let missing = |record: &&ResourceRecord| !spec.resources.iter().any(|one| one.key() == record.key);
    if taken.records.iter().any(|record| missing(&record)) {
        note(&format!("{} is not part of the stack's program yet: name it in kcl.yaml", file.display()));
    }
    Ok(())
}

fn tell(
    chosen: &ChosenStack,
    taken: &Taken,
    file: Option<&Path>,
    release: ReleaseNo,
    format: Format,
) -> Result<(), Failure> {
    let scope = &chosen.target.scope;
    if format == Format::Json {
        let rows: Vec<Value> = taken
            .records
            .iter()
            .map(|record| json!({"id": record.key.to_string(), "was": taken.names.get(&record.key)}))
            .collect();
        return print_json(&json!({
            "schema": "kusion.io/import/v1", "stack": scope, "release": release, "resources": rows,
            "notes": taken.notes, "file": file.map(|file| file.display().to_string()),
        }));
    }
    taken.notes.iter().for_each(|text| note(text));
    let n = count(taken.records.len(), "resource");
    let file = file.map(|file| format!("; their KCL: {}", file.display())).unwrap_or_default();
    print(&format!(
        "Took over {n} into {scope}, release {release}{file}\nNothing was touched. See: kusion preview {}\n",
        chosen.target.called.there()
    ))
}

//! `kusion state import`: what upstream's Kusion has recorded becomes the state of a stack. Files and its HTTP protocol are
//! sources only; nothing there is changed.

use std::path::Path;

use kusion::{DryRun, TfSite, remote_failed};
use kusion_model::{Resource, ResourceKey, ResourceRecord, ResourceType, Spec};
use kusion_runtime_tf::Found;
use kusion_store::{Outcome, State, UpstreamState, wait};
use serde_json::{Value, json};

use super::edit::{edit, told};
use crate::commands::import::{doubt, record as taken_record};
use crate::input::chosen::{ChosenStack, note};
use crate::input::cluster::{connect, tokio};
use crate::input::consent;
use crate::input::flags::Given;
use crate::input::text::read_text;
use crate::views::failure::{Exit, Failure};
use crate::views::output::format_of;
use crate::views::plan_view::count;

pub(super) fn import(given: &Given, chosen: &ChosenStack, source: Option<&String>) -> Result<(), Failure> {
    let Some(source) = source else {
        return Err(Failure::usage("import needs a source")
            .next("kusion state import STACK FILE (a state or a release of upstream), a folder of releases, or http://…"));
    };
    let format = format_of(given)?;
    let (text, shown) = read(given, chosen, source)?;
    let wrong = |cause: String| {
        Failure::usage("this is no state of upstream's Kusion")
            .cause(cause)
            .place(shown.clone())
            .next("kusion_state.json, kusion_state.yaml, state.yaml or <revision>.yaml of upstream")
    };
    let documents = kusion_generate::read_documents(&text)
        .map_err(|e| wrong(format!("line {}: {}", e.line, e.message)))?;
    let document = documents.into_iter().next().ok_or_else(|| wrong("it is empty".to_owned()))?;
    let found = UpstreamState::read(document).map_err(|error| wrong(error.to_string()))?;
    fits(chosen, &found, &shown)?;
    let Sorted { mut records, provided, left } = sorted(chosen, &found, &shown)?;
    if !provided.is_empty() {
        records.extend(tokio()?.block_on(asked(given, chosen, provided))?);
    }
    let state = wait(chosen.target.store.read())?;
    let changes = recorded(&state, &records)?;
    for id in &left {
        note(&format!(
            "{id} is not taken over: only resources of Kubernetes and of Terraform providers are known"
        ));
    }
    if !given.has("yes") {
        let question =
            format!("Record {} of {shown} as made by {}", count(changes.len(), "resource"), state.scope);
        consent::ask(given, &question)?;
    }
    let lines: Vec<_> = changes.iter().map(|change| (change.key().to_string(), "recorded")).collect();
    edit(chosen, "kusion state import", |state| recorded(state, &records))?;
    let text = format!(
        "{} recorded from {shown} (number {}). Nothing was changed on the cluster; look at `kusion preview {}` before you apply.\n",
        count(lines.len(), "resource"),
        found.number,
        chosen.target.called.there(),
    );
    told(format, chosen, "import", &lines, &text)
}

/// The text of a source, and what it is called.
fn read(given: &Given, chosen: &ChosenStack, source: &str) -> Result<(String, String), Failure> {
    if source.starts_with("http://") || source.starts_with("https://") {
        return fetch(given, chosen, source);
    }
    let path = Path::new(source);
    if path.is_dir() {
        let newest = newest(path).ok_or_else(|| {
            Failure::usage("there is no release in this folder")
                .place(source.to_owned())
                .next("releases/<project>/<workspace> holds <revision>.yaml")
        })?;
        let shown = newest.display().to_string();
        return Ok((read_text(&shown)?, shown));
    }
    Ok((read_text(source)?, source.to_owned()))
}

/// The release with the highest revision in a folder of upstream's.
fn newest(folder: &Path) -> Option<std::path::PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let revision = |path: &std::path::PathBuf| {
        let yaml = path.extension().is_some_and(|end| end == "yaml");
        path.file_stem()?.to_str()?.parse::<u64>().ok().filter(|_| yaml)
    };
    files.filter_map(|path| Some((revision(&path)?, path))).max().map(|(_, path)| path)
}

/// Asks upstream's HTTP backend: `%s` stands for tenant, project, stack and cluster, in this order.
fn fetch(given: &Given, chosen: &ChosenStack, source: &str) -> Result<(String, String), Failure> {
    let scope = &chosen.target.scope;
    let words = [
        given.last("tenant").unwrap_or_default(),
        scope.project.clone(),
        scope.stack.clone(),
        given.last("cluster").unwrap_or_default(),
    ];
    let address = words.iter().fold(source.to_owned(), |text, word| text.replacen("%s", word, 1));
    let failed = |why: String| {
        Failure::new(Exit::Remote, "upstream\'s state cannot be fetched").cause(why).place(address.clone())
    };
    match kusion_media::fetch(&address).map_err(|error| failed(error.to_string()))? {
        Some(text) => Ok((text, address)),
        None => Err(failed("it has no state of this stack (404)".to_owned())
            .next("is the address right? --tenant and --cluster fill its first and last %s")),
    }
}

/// A state of another project or stack is somebody else's.
fn fits(chosen: &ChosenStack, found: &UpstreamState, shown: &str) -> Result<(), Failure> {
    let scope = &chosen.target.scope;
    let other = |theirs: &str, ours: &str| !theirs.is_empty() && theirs != ours;
    if other(&found.project, &scope.project) || other(&found.stack, &scope.stack) {
        return Err(Failure::new(Exit::Conflict, "this is the state of another stack")
            .cause(format!("it is of {}/{}, and the stack is {scope}", found.project, found.stack))
            .place(shown.to_owned())
            .next("name the stack it belongs to"));
    }
    if !found.is_finished() {
        let phase = found.phase.clone().unwrap_or_default();
        note(&format!("the release was never finished (phase {phase}): it may have made more than it knows"));
    }
    Ok(())
}

/// What upstream has recorded, by who knows it.
struct Sorted {
    /// Of a cluster, as they are recorded.
    records: Vec<ResourceRecord>,
    /// Of providers, which have to be asked.
    provided: Vec<Found>,
    /// The ids of those that nobody knows.
    left: Vec<String>,
}

fn sorted(chosen: &ChosenStack, found: &UpstreamState, shown: &str) -> Result<Sorted, Failure> {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of = |kind: &[&str]| -> Vec<Value> {
        let is_one = |value: &&Value| kind.contains(&text(value, "type").as_str());
        found.resources.iter().filter(is_one).cloned().collect()
    };
    let unknown = |value: &&Value| !["", "Kubernetes", "Terraform"].contains(&text(value, "type").as_str());
    let left: Vec<String> = found.resources.iter().filter(unknown).map(|value| text(value, "id")).collect();
    let wrong = |cause: String| Failure::usage(cause).place(shown.to_owned());
    let read = |values: Vec<Value>| {
        Spec::from_value(Value::Array(values), &kusion::platforms(), &chosen.target.key)
            .map_err(|error| wrong(error.to_string()))
    };
    let needs = |resource: &Resource| -> Vec<ResourceKey> {
        let known = resource.depends_on.iter().filter(|id| !left.contains(&id.as_str().to_owned()));
        known.map(|id| ResourceKey { id: id.clone(), ..resource.key() }).collect()
    };
    let records =
        read(of(&["", "Kubernetes"]))?.resources.iter().map(|one| record(one, needs(one))).collect();
    let mut provided = Vec::new();
    for mut value in of(&["Terraform"]) {
        // What the provider has told, sensitive values in clear: it goes to the provider and nowhere else.
        let attributes = std::mem::replace(&mut value["attributes"], json!({}));
        for resource in read(vec![value])?.resources {
            let (key, needs) = (resource.key(), needs(&resource));
            let one = Found::of_attributes(key, resource.extensions, &attributes, needs);
            provided.push(one.map_err(|error| wrong(format!("{}: {}", resource.id, error.message)))?);
        }
    }
    Ok(Sorted { records, provided, left })
}

fn record(resource: &Resource, depends_on: Vec<ResourceKey>) -> ResourceRecord {
    ResourceRecord {
        key: resource.key(),
        kind: ResourceType::kubernetes(),
        attributes: resource.attributes.clone(),
        depends_on,
        references: Vec::new(),
        extensions: resource.extensions.clone(),
        uid: None,
        release: kusion_model::ReleaseNo(0),
        imported: false,
        kept: None,
        deposed: Vec::new(),
    }
}

/// Has providers read what upstream has kept of their objects: what must not be read by others is sealed.
async fn asked(
    given: &Given,
    chosen: &ChosenStack,
    found: Vec<Found>,
) -> Result<Vec<ResourceRecord>, Failure> {
    let connection = connect(given, chosen, &Default::default()).await?;
    let sites = connection.engine.sites(&chosen.target, DryRun::All);
    let Some(TfSite { runtime, .. }) = sites.of("") else {
        return Err(Failure::new(Exit::Bug, "nobody asks providers"));
    };
    let taken = runtime.take_over(found).await;
    runtime.close().await;
    let mut records = Vec::new();
    for taken in taken {
        let taken = taken.map_err(|error| remote_failed(&error, &connection.server))?;
        if let Some(doubt) = doubt(&taken) {
            note(&doubt);
        }
        // Upstream has made it for this stack; how its provider is reached is what is wanted today.
        let mut record = ResourceRecord { imported: false, ..taken_record(taken) };
        record.extensions.remove("providerMeta");
        records.push(record);
    }
    Ok(records)
}

/// What must be recorded; what the stack knows already is not overwritten.
fn recorded(state: &State, records: &[ResourceRecord]) -> Result<Vec<Outcome>, Failure> {
    if let Some(record) = records.iter().find(|record| state.records.contains_key(&record.key)) {
        return Err(Failure::new(Exit::Conflict, format!("`{}` is recorded already", record.key))
            .cause("what this engine has recorded is newer than upstream\'s file; nothing was changed")
            .next("import into a stack that has made nothing yet"));
    }
    let release = state.next_release();
    let own =
        |record: &ResourceRecord| Outcome::Recorded(Box::new(ResourceRecord { release, ..record.clone() }));
    Ok(records.iter().map(own).collect())
}

//! `kusion ls`: the stacks below a folder with their latest release; `kusion ls STACK`: what a stack has made.

use kcl::Disk;
use kusion_generate::{StackFolder, locate, stacks_below};
use kusion_store::{State, wait};
use serde_json::{Value, json};

use crate::input::chosen::{here, open_named, stores, tell_broken};
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::plan_view::ago;
use crate::views::style::Style;
use crate::views::table::table;

pub(crate) fn flags() -> Vec<Arg> {
    vec![flag("output", Some('o'), "FORMAT", "text or json")]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let word = given.rest.first().cloned().or_else(|| given.last("workdir"));
    let here = here()?;
    let folder = word.as_ref().map_or_else(|| here.clone(), |word| here.join(word));
    // A word that means a stack shows its resources; a folder of stacks shows the stacks.
    match &word {
        Some(word) if !folder.is_dir() || locate(&Disk, &here, Some(word)).is_ok() => resources(given, word),
        _ => {
            let (found, broken) = stacks_below(&Disk, &folder);
            tell_broken(&broken);
            match (found.is_empty(), broken.into_iter().next()) {
                (true, Some(problem)) => Err(problem.into()),
                _ => stacks(given, &found),
            }
        }
    }
}

fn stacks(given: &Given, found: &[StackFolder]) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    for folder in found {
        let state =
            wait(stores(given, Some(folder), &folder.stack_dir)?.stack(&folder.scope("default")).read())?;
        let name = state.scope.to_string();
        values.push(json!({
            "project": folder.project.name, "stack": folder.stack.name, "path": folder.stack_dir,
            "release": state.latest(), "resources": state.records.len(),
        }));
        rows.push(vec![name, latest(&state), state.records.len().to_string(), shown(folder)]);
    }
    if format_of(given)? == Format::Json {
        return print_json(&json!({"schema": "kusion.io/stacks/v1", "stacks": values}));
    }
    if rows.is_empty() {
        return Err(Failure::usage("there is no stack here or below")
            .cause("no folder has a stack.yaml under a project.yaml")
            .next("make a project: kusion init NAME"));
    }
    print(&table(&["STACK", "RELEASE", "RESOURCES", "FOLDER"], &rows, &Style::stdout()))
}

fn shown(folder: &StackFolder) -> String {
    let here = here().unwrap_or_default();
    let below = folder.stack_dir.strip_prefix(&here).unwrap_or(&folder.stack_dir).display().to_string();
    if below.is_empty() { ".".to_owned() } else { below }
}

fn latest(state: &State) -> String {
    match state.latest() {
        None => "none".to_owned(),
        Some(release) => {
            format!("{} {}, {}", release.no, release.word(), ago(release.ended.unwrap_or(release.started)))
        }
    }
}

/// What is shown without asking a cluster: a state that is gone looks like one that never was.
pub(crate) fn as_recorded(state: &State) -> String {
    match state.head() {
        Some(_) => String::new(),
        None => format!(" that is recorded here (`kusion status {}` asks the cluster, too)", state.scope),
    }
}

fn resources(given: &Given, word: &str) -> Result<(), Failure> {
    let chosen = open_named(given, Some(word))?;
    let state = wait(chosen.target.store.read())?;
    if format_of(given)? == Format::Json {
        let records: Vec<_> = state.records.values().collect();
        return print_json(
            &json!({"schema": "kusion.io/resources/v1", "stack": state.scope, "resources": records}),
        );
    }
    if state.records.is_empty() {
        return print(&format!("Stack {} has made nothing yet{}.\n", state.scope, as_recorded(&state)));
    }
    let rows: Vec<Vec<String>> = state
        .records
        .iter()
        .map(|(key, record)| vec![key.to_string(), format!("release {}", record.release)])
        .collect();
    print(&table(&["RESOURCE", "SINCE"], &rows, &Style::stdout()))
}

//! `kusion state list` and `show`: what is recorded, and where.

use std::path::Path;

use kusion::recorded;
use kusion_model::{ResourceKey, ResourceRecord};
use kusion_store::{State, wait};
use serde_json::{Value, json};

use crate::input::backend;
use crate::input::chosen::{ChosenStack, here, liveness, read_known, stores};
use crate::input::flags::Given;
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_data, print_json};
use crate::views::plan_view::{ago, count};
use crate::views::style::Style;
use crate::views::table::table;
use crate::views::yaml;

/// The stacks that have a state on the backend.
pub(super) fn stacks(given: &Given) -> Result<(), Failure> {
    let here = here()?;
    let folder = kusion_generate::locate(&kcl::Disk, &here, None).ok();
    let from = folder.as_ref().map_or(here.as_path(), |folder| folder.stack_dir.as_path());
    let place = backend::choose(given, folder.as_ref(), from)?.shown();
    let scopes = wait(stores(given, folder.as_ref(), from)?.list())?;
    if format_of(given)? == Format::Json {
        return print_json(&json!({"schema": "kusion.io/states/v1", "backend": place, "stacks": scopes}));
    }
    if scopes.is_empty() {
        return print(&format!("There is no state in {place}.\n"));
    }
    scopes.iter().try_for_each(|scope| print(&format!("{scope}\n")))
}

/// Everything that is recorded of a stack.
pub(super) fn list(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let state = wait(chosen.target.store.read())?;
    let word = |record: &ResourceRecord| if record.imported { "imported" } else { "made" };
    if format_of(given)? == Format::Json {
        let row = |(key, record): (&ResourceKey, &ResourceRecord)| {
            json!({"id": key.to_string(), "type": record.kind, "release": record.release,
                   "imported": record.imported, "uid": record.uid})
        };
        let rows: Vec<Value> = state.records.iter().map(row).collect();
        let unsure: Vec<String> = state.intents.keys().map(ToString::to_string).collect();
        return print_json(&json!({
            "schema": "kusion.io/state-list/v1", "stack": state.scope, "serial": state.serial,
            "resources": rows, "perhapsMade": unsure,
        }));
    }
    if state.records.is_empty() && state.intents.is_empty() {
        return print(&format!("Nothing is recorded of {}.\n", state.scope));
    }
    let made = state.records.iter().map(|(key, record)| {
        vec![key.to_string(), word(record).to_owned(), format!("release {}", record.release)]
    });
    let unsure = state.intents.iter().map(|(key, record)| {
        vec![key.to_string(), "perhaps made".to_owned(), format!("release {}", record.release)]
    });
    let rows: Vec<Vec<String>> = made.chain(unsure).collect();
    print(&table(&["RESOURCE", "HOW", "SINCE"], &rows, &Style::stdout()))
}

/// One resource as it is recorded, or the state as a whole.
pub(super) fn show(given: &Given, chosen: &ChosenStack, id: Option<&String>) -> Result<(), Failure> {
    let state = read_known(chosen)?;
    match id {
        Some(id) => {
            let record = recorded(&state, id)?;
            let value = serde_json::to_value(record).unwrap_or_default();
            if format_of(given)? == Format::Json {
                return print_json(&json!({
                    "schema": "kusion.io/state-record/v1", "stack": state.scope, "resource": value,
                }));
            }
            print_data(&yaml::text(&value))
        }
        None => summary(given, chosen, &state),
    }
}

fn summary(given: &Given, chosen: &ChosenStack, state: &State) -> Result<(), Failure> {
    let (store, scope) = (&chosen.target.store, &chosen.target.scope);
    let holder = wait(store.holder(&liveness))?;
    let choice = backend::choose(given, Some(&chosen.folder), Path::new(&chosen.folder.stack_dir))?;
    if format_of(given)? == Format::Json {
        return print_json(&json!({
            "schema": "kusion.io/state-summary/v1", "stack": scope, "backend": choice.shown(),
            "chosenBy": choice.from, "place": store.place(), "lineage": state.lineage,
            "serial": state.serial, "release": state.latest().map(|release| release.no),
            "releases": state.releases.len(), "resources": state.records.len(),
            "perhapsMade": state.intents.len(), "lock": holder,
        }));
    }
    let latest = state.latest().map_or("none".to_owned(), |release| {
        format!("{} {}, {}", release.no, release.word(), ago(release.ended.unwrap_or(release.started)))
    });
    let lock = holder.map_or("free".to_owned(), |holder| format!("held by {holder}"));
    let lineage = if state.lineage.is_empty() { "none yet" } else { &state.lineage };
    print(&format!(
        "State of {scope}\n  backend    {} (from {})\n  place      {}\n  history    {lineage}, serial {}\n  \
         release    {latest}\n  resources  {}\n  lock       {lock}\n",
        choice.shown(),
        choice.from,
        store.place().display(),
        state.serial,
        count(state.records.len(), "resource"),
    ))
}

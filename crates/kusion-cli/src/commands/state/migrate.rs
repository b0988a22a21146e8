//! `kusion state migrate`: the state goes to another backend; the old place is closed and points to the new one.

use kusion_store::{Migrated, Places, Store, wait};
use serde_json::json;

use super::claim;
use crate::input::backend;
use crate::input::chosen::ChosenStack;
use crate::input::consent;
use crate::input::flags::Given;
use crate::input::locks::{lock, new_lock};
use crate::input::meter::told;
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::plan_view::count;

pub(super) fn migrate(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let format = format_of(given)?;
    let Some(to) = given.last("to") else {
        return Err(Failure::usage("where should the state go?").next(
            "kusion state migrate STACK --to s3://bucket/prefix (or gs, az, postgres, kubernetes, file)",
        ));
    };
    let scope = &chosen.target.scope;
    let from = backend::choose(given, Some(&chosen.folder), &chosen.folder.stack_dir)?;
    let address = backend::parsed(&to, "--to")?;
    let places = Places { from: from.shown(), to: address.to_string() };
    if places.from == places.to {
        return Err(Failure::usage("the state is there already")
            .place(places.to)
            .next("choose another place"));
    }
    let lock = match new_lock(given)? {
        Some(lock) => lock,
        None => lock(given)?,
    };
    let by = lock.word();
    let there = Store::new(told(backend::open_address(given, &address)?)).with_lock(lock).stack(scope);
    if !given.has("yes") {
        let question = format!(
            "Bring the state of {scope} from {} to {}, locked by {by}, and close the old place",
            places.from, places.to
        );
        consent::ask(given, &question)?;
    }
    let done = wait(chosen.target.store.migrate(&there, &claim("kusion state migrate"), &places))?;
    if format == Format::Json {
        let (entries, serial) = match done {
            Migrated::Done { entries, serial } => (Some(entries), Some(serial)),
            Migrated::Before => (None, None),
        };
        return print_json(&json!({
            "schema": "kusion.io/state-migrate/v1", "stack": scope, "from": places.from, "to": places.to,
            "lockedBy": by, "entries": entries, "serial": serial, "before": done == Migrated::Before,
        }));
    }
    let what = match done {
        Migrated::Done { entries, .. } => {
            format!("The state of {scope} ({}) is kept at", count(entries, "record"))
        }
        Migrated::Before => format!("The state of {scope} has been brought before: it is kept at"),
    };
    print(&format!(
        "{what} {} now, locked by {by}.\nThe old place is closed and says where it went. From now on: --backend '{}', or `backend:` in stack.yaml, or\n  kusion config set backend '{}'\n",
        places.to, places.to, places.to
    ))
}

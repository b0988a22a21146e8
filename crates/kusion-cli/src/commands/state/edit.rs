//! `kusion state pull`, `push`, `mv`, `rm`: what is recorded, changed by hand (`by_hand.rs` of `kusion` does it).

use kusion::{Hand, forgotten, platforms, recorded, renamed};
use kusion_model::{Platforms, ResourceId, ResourceKey, ResourceRecord, StackOutput};
use kusion_store::{Outcome, Snapshot, State, StoreError, wait};
use serde_json::json;

use super::claim;
use crate::input::chosen::{ChosenStack, liveness, now, owner, subject};
use crate::input::consent;
use crate::input::flags::Given;
use crate::input::text::read_text;
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::plan_view::count;

/// Prints the state as a document.
pub(super) fn pull(chosen: &ChosenStack) -> Result<(), Failure> {
    let state = wait(chosen.target.store.read())?;
    if !state.is_written() {
        return Err(StoreError::NoState { place: chosen.target.store.place() }.into());
    }
    print_json(&serde_json::to_value(Snapshot::of(&state)).unwrap_or_default())
}

/// Makes a document the state, if nobody has written since it was pulled.
pub(super) fn push(given: &Given, chosen: &ChosenStack, file: Option<&String>) -> Result<(), Failure> {
    let Some(file) = file else {
        return Err(Failure::usage("push needs a file")
            .next("kusion state push STACK FILE; `-` reads standard input"));
    };
    let format = format_of(given)?;
    let snapshot: Snapshot = serde_json::from_str(&read_text(file)?).map_err(|error| {
        Failure::usage("this is no state that can be pushed")
            .cause(error.to_string())
            .place(file.clone())
            .next("push takes what `kusion state pull` printed; files of upstream: `kusion state import`")
    })?;
    let store = &chosen.target.store;
    let state = wait(store.read())?;
    let refused = |error: kusion_store::Unfit| {
        Failure::new(Exit::Conflict, "this state is not pushed")
            .cause(error.to_string())
            .place(file.clone())
            .next("pull the state as it is now, make the change there, and push that; nothing was changed")
    };
    snapshot.fits(&state).map_err(refused)?;
    let changes = snapshot.changes(&state);
    if state.is_written() && snapshot.serial == state.serial && changes.is_empty() {
        return told(format, chosen, "push", &[], "The state is as the file says; nothing was changed.\n");
    }
    let (recorded, forgotten) = tally(&changes);
    if !given.has("yes") {
        let question =
            format!("Record {} and forget {forgotten} of {}", count(recorded, "resource"), state.scope);
        consent::ask(given, &question)?;
    }
    let lines = lines(&changes);
    if state.is_written() && snapshot.serial == state.serial {
        edit(chosen, "kusion state push", |state| {
            snapshot.fits(state).map_err(refused)?;
            Ok(snapshot.changes(state))
        })?;
    } else {
        wait(store.restore(&claim("kusion state push"), &snapshot))?;
    }
    let text = format!(
        "The state of {} is what the file says: {} recorded, {forgotten} forgotten. Nothing was changed on the cluster: look at `kusion preview`.\n",
        state.scope,
        count(recorded, "resource"),
    );
    told(format, chosen, "push", &lines, &text)
}

/// Gives a recorded resource another id.
pub(super) fn mv(given: &Given, chosen: &ChosenStack, words: &[String]) -> Result<(), Failure> {
    let [from, to] = words else {
        return Err(Failure::usage("mv needs two ids").next("kusion state mv STACK FROM TO"));
    };
    let format = format_of(given)?;
    let to = ResourceId::parse(to)
        .map_err(|error| Failure::usage(format!("`{to}` is no id")).cause(error.to_string()))?;
    let state = wait(chosen.target.store.read())?;
    let platforms = platforms();
    let plan = renamed(&state, from, &to, &platforms)?;
    let left = left_behind(recorded(&state, from)?, &to, &platforms);
    if !given.has("yes") {
        consent::ask(given, &format!("Record {from} as {to}. {left} Do it"))?;
    }
    let lines = lines(&plan);
    edit(chosen, "kusion state mv", |state| renamed(state, from, &to, &platforms))?;
    told(format, chosen, "mv", &lines, &format!("{from} is recorded as {to}. {left}\n"))
}

fn left_behind(record: &ResourceRecord, to: &ResourceId, platforms: &Platforms) -> String {
    let id = &record.key.id;
    match platforms.lives_in_cluster(&record.kind) {
        true => format!("The object stays as it is; the configuration must call it {to} from now on."),
        false => format!(
            "What it stands for stays as it is; a configuration that still says {id} makes another one, and one that does not say {to} deletes this."
        ),
    }
}

/// Forgets resources; what they stand for stays.
pub(super) fn rm(given: &Given, chosen: &ChosenStack, ids: &[String]) -> Result<(), Failure> {
    if ids.is_empty() {
        return Err(Failure::usage("rm needs an id").next("kusion state rm STACK ID ..."));
    }
    let format = format_of(given)?;
    let state = wait(chosen.target.store.read())?;
    let plan = forgotten(&state, ids)?;
    let keys: Vec<&ResourceKey> = plan.iter().map(Outcome::key).collect();
    let mut left: Vec<String> = Vec::new();
    for key in &keys {
        left.push(format!("{key} stays where it is, and nobody deletes it any more"));
        let needs = state
            .records
            .values()
            .filter(|other| other.depends_on.contains(key) && !keys.contains(&&other.key));
        left.extend(needs.map(|other| format!("{} depends on {key} and stays recorded", other.key)));
    }
    left.extend(used_elsewhere(chosen, &keys)?);
    let text = format!(
        "{}.\nWhat the configuration still names is imported by the next apply; else remove it by hand.\n",
        left.join(".\n")
    );
    if !given.has("yes") {
        consent::ask(given, &format!("{text}Forget {}", count(keys.len(), "resource")))?;
    }
    edit(chosen, "kusion state rm", |state| forgotten(state, ids))?;
    let lines = lines(&plan);
    let text = format!("{} of {} forgotten.\n{text}", count(keys.len(), "resource"), state.scope);
    told(format, chosen, "rm", &lines, &text)
}

/// Which other stacks use outputs of resources: they keep what they have, and get nothing new.
fn used_elsewhere(chosen: &ChosenStack, keys: &[&ResourceKey]) -> Result<Vec<String>, Failure> {
    let mut told = Vec::new();
    for user in wait(kusion::users(&chosen.target))? {
        if let Some(why) = &user.unreadable {
            told.push(format!("nobody can tell what {} uses ({why})", user.stack));
        }
        let of_them = |text: &&String| {
            StackOutput::parse(text).is_ok_and(|used| keys.iter().any(|key| key.id == used.id))
        };
        let used = user.outputs.iter().filter(of_them);
        told.extend(used.map(|output| format!("{} uses {output}, and finds it no more", user.stack)));
    }
    Ok(told)
}

/// Changes the record of a stack; what is changed is made from the state as it is under the lock.
pub(super) fn edit(
    chosen: &ChosenStack,
    command: &str,
    change: impl FnOnce(&State) -> Result<Vec<Outcome>, Failure>,
) -> Result<(), Failure> {
    wait(hand(command).edit(&chosen.target, change))
}

pub(super) fn hand(command: &str) -> Hand<'_> {
    Hand { owner: owner(command), by: subject(), command, alive: &liveness, now: &now }
}

fn tally(changes: &[Outcome]) -> (usize, usize) {
    let forgotten = changes.iter().filter(|change| matches!(change, Outcome::Forgotten(_))).count();
    (changes.len() - forgotten, forgotten)
}

pub(super) fn lines(changes: &[Outcome]) -> Vec<(String, &'static str)> {
    let line = |change: &Outcome| {
        let word = if matches!(change, Outcome::Forgotten(_)) { "forgotten" } else { "recorded" };
        (change.key().to_string(), word)
    };
    changes.iter().map(line).collect()
}

pub(super) fn told(
    format: Format,
    chosen: &ChosenStack,
    verb: &str,
    changes: &[(String, &'static str)],
    text: &str,
) -> Result<(), Failure> {
    if format == Format::Text {
        return print(text);
    }
    let changes: Vec<_> = changes.iter().map(|(id, done)| json!({"id": id, "done": done})).collect();
    print_json(&json!({
        "schema": "kusion.io/state-edit/v1", "stack": chosen.target.scope, "verb": verb, "changes": changes,
        "message": text.trim_end(),
    }))
}

//! `kusion output [STACK]`: what a stack gives to others, since when, and who uses it.

use kusion::{Dependent, users};
use kusion_model::{Attr, StackOutput};
use kusion_store::wait;
use serde_json::{Value, json};

use crate::input::chosen::{ChosenStack, note, open};
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::style::Style;
use crate::views::table::table;

pub(crate) fn flags() -> Vec<Arg> {
    vec![flag("output", Some('o'), "FORMAT", "text or json")]
}

/// One output as it is shown.
struct Row {
    text: String,
    kind: &'static str,
    version: Option<u64>,
    value: Option<Value>,
    users: Vec<String>,
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let chosen = open(given)?;
    let (rows, users) = rows(&chosen)?;
    let scope = &chosen.target.scope;
    if format_of(given)? == Format::Json {
        let outputs: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({"output": row.text, "type": row.kind, "version": row.version, "value": row.value, "usedBy": row.users})
            })
            .collect();
        return print_json(&json!({"schema": "kusion.io/outputs/v1", "stack": scope, "outputs": outputs}));
    }
    for user in users.iter().filter(|user| user.unreadable.is_some()) {
        note(&format!("nobody can tell what {} uses: its state cannot be read", user.stack));
    }
    if rows.is_empty() {
        return print(&format!(
            "Stack {scope} gives nothing to others: `outputs:` in its stack.yaml is empty.\n"
        ));
    }
    let cells = rows.iter().map(|row| {
        let since = row.version.map_or_else(|| "not applied yet".to_owned(), |no| format!("release {no}"));
        let value = row.value.as_ref().map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let users = if row.users.is_empty() { "-".to_owned() } else { row.users.join(", ") };
        vec![row.text.clone(), row.kind.to_owned(), since, short(value.unwrap_or_default()), users]
    });
    let cells: Vec<Vec<String>> = cells.collect();
    print(&table(&["OUTPUT", "TYPE", "SINCE", "VALUE", "USED BY"], &cells, &Style::stdout()))
}

fn rows(chosen: &ChosenStack) -> Result<(Vec<Row>, Vec<Dependent>), Failure> {
    let target = &chosen.target;
    let state = wait(target.store.read())?;
    let users = wait(users(target))?;
    let named: Vec<&StackOutput> = target.outputs.iter().collect();
    let recorded: Vec<StackOutput> =
        state.outputs.keys().filter_map(|text| StackOutput::parse(text).ok()).collect();
    let gone = recorded.iter().filter(|old| named.iter().all(|new| new.to_string() != old.to_string()));
    let rows = named.iter().copied().chain(gone).map(|output| {
        let text = output.to_string();
        let uses = |user: &&Dependent| {
            user.outputs.iter().any(|used| StackOutput::parse(used).is_ok_and(|used| output.covers(&used)))
        };
        Row {
            kind: output.kind.word(),
            version: state.output_version(&text).map(|no| no.0),
            value: state.outputs.get(&text).map(shown),
            users: users.iter().filter(uses).map(|user| user.stack.clone()).collect(),
            text,
        }
    });
    Ok((rows.collect(), users))
}

/// A value as JSON; secrets are their digests.
fn shown(value: &Attr) -> Value {
    value.to_shown()
}

fn short(text: String) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

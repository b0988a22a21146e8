//! `kusion diff`: two Spec or manifest files, or a stack's configuration beside its last release. No cluster is asked, unless a
//! secret that the stack refers to is kept in it.

use std::collections::BTreeMap;

use kusion_generate::read_spec;
use kusion_model::{Attr, FieldChange, ResourceKey, Spec, seal_like};
use kusion_plan::three_way;
use kusion_store::StackStore;
use serde_json::{Value, json};

use crate::input::chosen::{open, read_known};
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::plan_view::fields;
use crate::views::style::Style;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("exit-code", None, "", "leave with 2 if there are differences"),
    ]
}

type Side = BTreeMap<ResourceKey, Attr>;

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let (title, before, after, places) = match given.rest.as_slice() {
        [from, to] => {
            // Both sides are read with one key, and nothing is kept.
            let key = StackStore::passing_key()?;
            let read = |file: &str| -> Result<Spec, Failure> {
                Ok(read_spec(&crate::input::text::read_text(file)?, file, &kusion::platforms(), &key)?)
            };
            let (from_spec, to_spec) = (read(from)?, read(to)?);
            (format!("From {from} to {to}"), side(&from_spec), side(&to_spec), Spec::default())
        }
        _ => {
            let chosen = open(given)?;
            let state = read_known(&chosen)?;
            let spec = chosen.generate(&given.last("context").unwrap_or_default(), true)?.spec;
            let spec = crate::commands::secret::resolved(given, &chosen, spec)?;
            let title = match state.latest() {
                Some(release) => {
                    format!("From release {} of {} to the configuration", release.no, state.scope)
                }
                None => format!("From nothing to the configuration of {}", state.scope),
            };
            let before: Side =
                state.records.iter().map(|(key, record)| (key.clone(), record.attributes.clone())).collect();
            let mut after = side(&spec);
            // What is sensitive is said by schemas that are not asked here; the record knows it.
            for (key, new) in &mut after {
                if let Some(old) = before.get(key) {
                    seal_like(new, old, &chosen.target.key);
                }
            }
            (title, before, after, spec)
        }
    };
    let rows = compare(&before, &after, &places);
    if format_of(given)? == Format::Json {
        let values: Vec<Value> = rows
            .iter()
            .map(
                |(key, word, changes)| json!({"id": key.to_string(), "difference": word, "changes": changes}),
            )
            .collect();
        print_json(&json!({"schema": "kusion.io/diff/v1", "differences": values}))?;
    } else {
        print(&draw(&title, &rows))?;
    }
    if given.has("exit-code") && !rows.is_empty() { Err(Failure::told(Exit::Pending)) } else { Ok(()) }
}

fn side(spec: &Spec) -> Side {
    spec.resources.iter().map(|resource| (resource.key(), resource.attributes.clone())).collect()
}

type Row = (ResourceKey, &'static str, Vec<FieldChange>);

fn compare(before: &Side, after: &Side, places: &Spec) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (key, new) in after {
        match before.get(key) {
            None => rows.push((key.clone(), "added", Vec::new())),
            Some(old) if old != new => {
                let mut changes = three_way(Some(old), new, old);
                let resource = places.resources.iter().find(|resource| resource.key() == *key);
                for change in &mut changes {
                    change.source = resource.and_then(|resource| resource.place_of(&change.path)).cloned();
                }
                if !changes.is_empty() {
                    rows.push((key.clone(), "changed", changes));
                }
            }
            Some(_) => {}
        }
    }
    let gone = before.keys().filter(|key| !after.contains_key(key));
    rows.extend(gone.map(|key| (key.clone(), "removed", Vec::new())));
    rows
}

fn draw(title: &str, rows: &[Row]) -> String {
    let style = Style::stdout();
    let mut out = format!("{title}:\n");
    for (key, word, changes) in rows {
        let glyph = match *word {
            "added" => style.green("+"),
            "removed" => style.red("-"),
            _ => style.yellow("~"),
        };
        out.push_str(&format!("  {glyph} {}\n", style.cyan(&key.to_string())));
        out.push_str(&fields(changes, &style));
    }
    if rows.is_empty() {
        out.push_str("  no difference\n");
    }
    out
}

//! `kusion why STACK ID PATH`: which lines made a field what it is, newest first.

use base_diag::nearest;
use kcl::{OriginKind, WhyStep};
use kusion_model::{Attr, FieldPath, Resource, Segment};
use serde_json::{Value, json};

use crate::input::flags::{Flag, Given, flag};
use crate::input::place::{Place, open_named};
use crate::views::blame::{Author, author};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::plan_view::ago;
use crate::views::style::Style;
use crate::views::table::table;

pub(crate) const FLAGS: &[Flag] = &[flag("output", Some('o'), "FORMAT", "text or json")];

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let (stack, id, path) = match given.rest.as_slice() {
        [id, path] => (given.last("workdir"), id, path),
        [stack, id, path] => (Some(stack.clone()), id, path),
        _ => {
            return Err(Failure::usage("kusion why takes a stack, a resource and a field")
                .next("kusion why dev apps/v1:Deployment:shop-dev:web spec.replicas"));
        }
    };
    let place = open_named(given, stack.as_deref())?;
    let generated = place.generate(&given.last("context").unwrap_or_default(), true)?;
    let resources = &generated.spec.resources;
    let at = resources.iter().position(|resource| matches(resource, id));
    let at = at.ok_or_else(|| unknown_resource(&place, resources, id))?;
    let resource = &resources[at];
    let field = FieldPath::parse(path).map_err(|e| Failure::usage(format!("`{path}` is no field: {e}")))?;
    let (value, text) = walk(&resource.attributes, &field).ok_or_else(|| unknown_field(resource, path))?;
    let prefix = generated.paths.get(at).cloned().unwrap_or_default();
    let full = format!("{prefix}{}{text}", if text.starts_with('[') || prefix.is_empty() { "" } else { "." });
    let steps = generated.why.as_ref().and_then(|why| why.get(&full)).unwrap_or_default();
    let steps: Vec<&WhyStep> = steps.iter().filter(|step| !step.file.ends_with("kusion_render.k")).collect();
    let shown = if value.is_secret() { "(secret)".to_owned() } else { short(value) };
    let place_of = |step: &WhyStep| format!("{}:{}", place.shown(&step.file), step.line);
    let authors: Vec<Option<Author>> =
        steps.iter().map(|step| author(&place.folder.stack_dir.join(&step.file), step.line)).collect();
    if format == Format::Json {
        let rows: Vec<Value> = steps
            .iter()
            .zip(&authors)
            .map(|(step, author)| {
                json!({
                    "where": place_of(step), "text": line(step, value), "step": step.kind.words(),
                    "author": author.as_ref().map(|author| &author.name),
                    "authored": author.as_ref().and_then(|author| author.at).map(|at| at.to_string()),
                })
            })
            .collect();
        return print_json(&json!({
            "schema": "kusion.io/why/v1", "id": resource.id, "path": path, "value": shown, "steps": rows,
        }));
    }
    if steps.is_empty() {
        return print(&format!("{shown}\n  the program does not say where this comes from\n"));
    }
    let known = authors.iter().any(Option::is_some);
    let mut told: Vec<(&WhyStep, &Option<Author>)> = steps.iter().copied().zip(&authors).collect();
    for_people(&mut told);
    let rows: Vec<Vec<String>> = told
        .into_iter()
        .map(|(step, author)| {
            let mut row = vec![place_of(step), cut(&line(step, value)), step.kind.words().to_owned()];
            if known {
                row.push(author.as_ref().map_or(String::new(), by));
            }
            row
        })
        .collect();
    let head: &[&str] = if known { &["WHERE", "LINE", "STEP", "BY"] } else { &["WHERE", "LINE", "STEP"] };
    print(&format!("{} {path} = {shown}\n\n{}", resource.id, table(head, &rows, &Style::stdout())))
}

/// The stack's own lines before those of the models; where something is merely used is told only when nobody wrote it here.
fn for_people(steps: &mut Vec<(&WhyStep, &Option<Author>)>) {
    let own = |step: &WhyStep| step.package == "__main__";
    let used = |step: &WhyStep| step.kind == OriginKind::Used;
    let written = steps.iter().any(|(step, _)| own(step) && !used(step));
    steps.retain(|(step, _)| !used(step) || (own(step) && !written));
    steps.sort_by_key(|(step, _)| !own(step));
}

/// A long line of a model says no more than its beginning.
fn cut(line: &str) -> String {
    const LONGEST: usize = 60;
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    line.chars().take(LONGEST).collect::<String>() + "..."
}

/// `wang, 3 weeks ago`.
fn by(author: &Author) -> String {
    match author.at {
        Some(at) => format!("{}, {}", author.name, ago(at)),
        None => author.name.clone(),
    }
}

/// The source line, unless it may hold a secret.
fn line(step: &WhyStep, value: &Attr) -> String {
    if value.is_secret() { "(secret)".to_owned() } else { step.text.clone() }
}

/// By id, or by `Kind/name`.
fn matches(resource: &Resource, word: &str) -> bool {
    if resource.id.as_str() == word || resource.key().to_string() == word {
        return true;
    }
    let Ok(id) = resource.id.to_kubernetes() else { return false };
    word.split_once('/').is_some_and(|(kind, name)| id.kind.eq_ignore_ascii_case(kind) && id.name == name)
}

fn unknown_resource(place: &Place, resources: &[Resource], word: &str) -> Failure {
    let failure = Failure::usage(format!("stack {} has no resource `{word}`", place.target.scope));
    let names: Vec<&str> = resources.iter().map(|resource| resource.id.as_str()).collect();
    let short: Vec<String> = resources
        .iter()
        .filter_map(|resource| resource.id.to_kubernetes().ok())
        .map(|id| format!("{}/{}", id.kind, id.name))
        .collect();
    match nearest(names.iter().copied().chain(short.iter().map(String::as_str)), word) {
        Some(near) => failure.next(format!("did you mean `{near}`?")),
        None => {
            failure.next(format!("it has:\n{}", names.into_iter().take(20).collect::<Vec<_>>().join("\n")))
        }
    }
}

fn unknown_field(resource: &Resource, path: &str) -> Failure {
    let mut known: Vec<_> =
        resource.attributes.as_map().map(|map| map.keys().cloned().collect()).unwrap_or_default();
    // Deepest part that exists: name what is there.
    if let Ok(field) = FieldPath::parse(path) {
        for n in (1..=field.0.len()).rev() {
            if let Some((Attr::Map(map), _)) = walk(&resource.attributes, &FieldPath(field.0[..n].to_vec())) {
                known = map.keys().cloned().collect::<Vec<_>>();
                break;
            }
        }
    }
    Failure::usage(format!("{} has no field `{path}`", resource.id))
        .next(format!("there is: {}", known.join(", ")))
}

/// Follows a path; returns the value and the path as the evaluator writes it (list items by number).
fn walk<'v>(root: &'v Attr, path: &FieldPath) -> Option<(&'v Attr, String)> {
    let (mut at, mut text) = (root, String::new());
    for (n, segment) in path.0.iter().enumerate() {
        let parent = at;
        at = FieldPath(path.0[n..=n].to_vec()).get(parent)?;
        match segment {
            Segment::Key(key) => {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(key);
            }
            _ => {
                let index = parent.as_list()?.iter().position(|item| std::ptr::eq(item, at))?;
                text.push_str(&format!("[{index}]"));
            }
        }
    }
    Some((at, text))
}

fn short(value: &Attr) -> String {
    let text = match value {
        Attr::Text(text) => text.to_string(),
        other => other.to_string(),
    };
    if text.chars().count() > 100 { text.chars().take(100).collect::<String>() + "..." } else { text }
}

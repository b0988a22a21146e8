//! `kusion why STACK ID PATH`: which lines made a field what it is, newest first.

use std::collections::BTreeSet;

use base_diag::nearest;
use kcl::{Disk, OriginKind, WhyAt, WhyStep};
use kube_meaning::id::KubeId;
use kusion::{DryRun, platforms};
use kusion_generate::locate;
use kusion_model::{Attr, FieldPath, Resource, Segment};
use serde_json::{Value, json};

use crate::input::chosen::{ChosenStack, here, open_named, read_known};
use crate::input::cluster::{connect, tokio};
use crate::input::flags::{Arg, Given, flag};
use crate::input::sight::names;
use crate::views::blame::{Author, author};
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::plan_view::ago;
use crate::views::style::Style;
use crate::views::table::table;

/// How many fields are offered to who names none.
const SHOWN: usize = 12;

pub(crate) fn flags() -> Vec<Arg> {
    vec![flag("output", Some('o'), "FORMAT", "text or json")]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let (stack, id, path) = match given.rest.as_slice() {
        [stack, id] if given.last("workdir").is_none() && locate(&Disk, &here()?, Some(stack)).is_ok() => {
            return Err(no_field(given, stack, id)?);
        }
        [id, path] => (given.last("workdir"), id, path),
        [stack, id, path] => (Some(stack.clone()), id, path),
        _ => {
            return Err(Failure::usage("kusion why takes a stack, a resource and a field")
                .next("kusion why dev apps/v1:Deployment:shop-dev:web spec.replicas"));
        }
    };
    let chosen = open_named(given, stack.as_deref())?;
    let generated = chosen.generate(&given.last("context").unwrap_or_default(), true)?;
    let resources = &generated.spec.resources;
    let at = meant(&chosen, resources, id, path)?;
    let resource = &resources[at];
    let Some((value, way)) = field(resource, path)? else {
        return provided(&chosen, resource, path, format);
    };
    let prefix = generated.paths.get(at).cloned().unwrap_or_default();
    let asked = |way: &[Way]| {
        let why = generated.why.as_ref()?;
        let top = if prefix.is_empty() { Some(why.top()) } else { why.at(&prefix) };
        let found = way.iter().try_fold(top?, |at, step| match step {
            Way::Key(key) => at.key(key),
            Way::Item(index) => at.index(*index),
        });
        found.map(WhyAt::steps).filter(|steps| !steps.is_empty())
    };
    let steps = asked(&way).or_else(|| asked(&in_clear(&way)?)).unwrap_or_default();
    let steps: Vec<&WhyStep> = steps.iter().filter(|step| !step.file.ends_with("kusion_render.k")).collect();
    let hidden = value.is_secret() || is_sensitive(given, &chosen, resource, path)?;
    let shown = if hidden { "(secret)".to_owned() } else { short(value) };
    let place_of = |step: &WhyStep| format!("{}:{}", chosen.shown(&step.file), step.line);
    let authors: Vec<Option<Author>> =
        steps.iter().map(|step| author(&chosen.folder.stack_dir.join(&step.file), step.line)).collect();
    if format == Format::Json {
        let rows: Vec<Value> = steps
            .iter()
            .zip(&authors)
            .map(|(step, author)| {
                json!({
                    "where": place_of(step), "text": line(step, hidden), "step": step.kind.words(),
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
            let mut row = vec![place_of(step), cut(&line(step, hidden)), step.kind.words().to_owned()];
            if known {
                row.push(author.as_ref().map_or(String::new(), by));
            }
            row
        })
        .collect();
    let head: &[&str] = if known { &["WHERE", "LINE", "STEP", "BY"] } else { &["WHERE", "LINE", "STEP"] };
    print(&format!("{} {path} = {shown}\n\n{}", resource.id, table(head, &rows, &Style::stdout())))
}

/// A stack and a resource, and no field of it: which ones there are.
fn no_field(given: &Given, stack: &str, id: &str) -> Result<Failure, Failure> {
    let chosen = open_named(given, Some(stack))?;
    let generated = chosen.generate(&given.last("context").unwrap_or_default(), false)?;
    let resources = &generated.spec.resources;
    let Some(resource) = resources.iter().find(|resource| names(&resource.key(), id)) else {
        return Ok(unknown_resource(&chosen, resources, id));
    };
    let mut fields = Vec::new();
    resource.attributes.for_each_leaf(&mut |path, _| fields.push(format!("kusion why {stack} {id} {path}")));
    let more = fields.len().saturating_sub(SHOWN);
    fields.truncate(SHOWN);
    fields.extend((more > 0).then(|| format!("and {more} more: kusion generate {stack}")));
    Ok(Failure::usage(format!("which field of `{id}`?")).next(fields.join("\n")))
}

/// Whether a field is sensitive although nothing in the configuration says so: the schema of its provider does. Without that
/// nothing is shown.
fn is_sensitive(
    given: &Given,
    chosen: &ChosenStack,
    resource: &Resource,
    path: &str,
) -> Result<bool, Failure> {
    let Ok(field) = FieldPath::parse(path) else { return Ok(false) };
    if platforms().lives_in_cluster(&resource.kind) {
        return Ok(false);
    }
    let sensitive = tokio()?.block_on(async {
        let connection = connect(given, chosen, &BTreeSet::new()).await?;
        let sites = connection.engine.sites(&chosen.target, DryRun::All);
        sites.sensitive(resource).await.map_err(|error| {
            Failure::new(Exit::Remote, format!("whether `{path}` is sensitive is not known"))
                .cause(error.message)
                .next("its value is shown when its provider can be asked: kusion provider install")
        })
    })?;
    Ok(sensitive.iter().any(|secret| secret.covers(&field) || field.covers(secret)))
}

/// A field that no line sets: its provider has, and the state says what.
fn provided(chosen: &ChosenStack, resource: &Resource, path: &str, format: Format) -> Result<(), Failure> {
    let field = FieldPath::parse(path).map_err(|e| Failure::usage(format!("`{path}` is no field: {e}")))?;
    let state = read_known(chosen)?;
    let record =
        state.records.get(&resource.key()).filter(|record| !platforms().lives_in_cluster(&record.kind));
    let kept = record.and_then(|record| Some((record, record.kept.as_ref()?)));
    let found = kept.and_then(|(record, kept)| Some((record, field.get(&kept.state)?)));
    let (record, value) = found.ok_or_else(|| unknown_field(resource, path))?;
    let shown = if value.has_secret() { "(secret)".to_owned() } else { short(value) };
    let provider = resource.extensions.get("provider").and_then(Value::as_str).unwrap_or("built in");
    if format == Format::Json {
        let step = json!({"where": provider, "text": "", "step": "set by the provider", "author": null, "authored": null});
        return print_json(&json!({
            "schema": "kusion.io/why/v1", "id": resource.id, "path": path, "value": shown, "steps": [step],
        }));
    }
    let release = record.release;
    print(&format!(
        "{} {path} = {shown}\n\nno line sets it: its provider sets it ({provider}), recorded by release {release}\n",
        resource.id
    ))
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
fn line(step: &WhyStep, hidden: bool) -> String {
    if hidden { "(secret)".to_owned() } else { step.text.clone() }
}

/// The resource that a word names; of several, the one that has the field.
fn meant(chosen: &ChosenStack, resources: &[Resource], word: &str, path: &str) -> Result<usize, Failure> {
    let named = |at: &usize| names(&resources[*at].key(), word);
    let mut found: Vec<usize> = (0..resources.len()).filter(named).collect();
    if found.len() > 1 {
        let has = |at: &usize| matches!(field(&resources[*at], path), Ok(Some(_)));
        let with_it: Vec<usize> = found.iter().copied().filter(has).collect();
        if with_it.is_empty() {
            let kinds: Vec<String> = found.iter().map(|&at| resources[at].id.to_string()).collect();
            return Err(Failure::usage(format!("nothing called `{word}` sets `{path}`"))
                .cause(format!("these have that name:\n{}", kinds.join("\n")))
                .next(format!("kusion generate {} shows what they set", chosen.target.called.evaluated())));
        }
        found = with_it;
    }
    match found.as_slice() {
        [] => Err(unknown_resource(chosen, resources, word)),
        [one] => Ok(*one),
        several => {
            let scope = chosen.target.called.evaluated();
            let lines: Vec<String> =
                several.iter().map(|&at| format!("kusion why {scope} {} {path}", resources[at].id)).collect();
            let what = format!("`{word}` is the name of {} resources that have this field", several.len());
            Err(Failure::usage(what).next(format!("say which one:\n{}", lines.join("\n"))))
        }
    }
}

/// A field of a resource, and the way to it.
fn field<'r>(resource: &'r Resource, path: &str) -> Result<Option<(&'r Attr, Vec<Way>)>, Failure> {
    let field = FieldPath::parse(path).map_err(|e| Failure::usage(format!("`{path}` is no field: {e}")))?;
    let root = &resource.attributes;
    let plain = || {
        let mut clear = field.clone();
        let Some(Segment::Key(first)) = clear.0.first_mut() else { return None };
        // A Secret's text is asked for by either name, whichever it was written under.
        *first = match first.as_str() {
            "stringData" => "data".into(),
            "data" => "stringData".into(),
            _ => return None,
        };
        walk(root, &clear)
    };
    Ok(walk(root, &field).or_else(plain).or_else(|| walk(root, &joined(root, &field)?)))
}

/// The same path where keys have dots in them: at each step the longest key that is there.
fn joined(root: &Attr, path: &FieldPath) -> Option<FieldPath> {
    let (mut at, mut done, mut rest) = (root, Vec::new(), path.0.as_slice());
    while !rest.is_empty() {
        let keys = rest.iter().take_while(|segment| matches!(segment, Segment::Key(_))).count();
        let texts = |n: usize| {
            let texts = rest[..n].iter().filter_map(|segment| match segment {
                Segment::Key(key) => Some(key.as_str()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join(".")
        };
        let there = |n: &usize| at.as_map().is_some_and(|map| map.contains_key(texts(*n).as_str()));
        let (n, segment) = match (1..=keys).rev().find(there) {
            Some(n) => (n, Segment::Key(texts(n))),
            None => (1, rest[0].clone()),
        };
        at = FieldPath(vec![segment.clone()]).get(at)?;
        done.push(segment);
        rest = &rest[n..];
    }
    Some(FieldPath(done))
}

fn unknown_resource(chosen: &ChosenStack, resources: &[Resource], word: &str) -> Failure {
    let failure = Failure::usage(format!("stack {} has no resource `{word}`", chosen.target.scope));
    let names: Vec<&str> = resources.iter().map(|resource| resource.id.as_str()).collect();
    let short: Vec<String> = resources
        .iter()
        .filter_map(|resource| KubeId::from_parts(resource.id.parts()).ok())
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

/// A step from a value to one in it.
enum Way {
    Key(String),
    Item(usize),
}

/// The texts of a Secret may have been written in clear, under another name.
fn in_clear(way: &[Way]) -> Option<Vec<Way>> {
    match way {
        [Way::Key(data), Way::Key(key)] if data == "data" => {
            Some(vec![Way::Key("stringData".to_owned()), Way::Key(key.clone())])
        }
        _ => None,
    }
}

/// Follows a path; returns the value and the way to it (list items by number).
fn walk<'v>(root: &'v Attr, path: &FieldPath) -> Option<(&'v Attr, Vec<Way>)> {
    let (mut at, mut way) = (root, Vec::new());
    for (n, segment) in path.0.iter().enumerate() {
        let parent = at;
        at = FieldPath(path.0[n..=n].to_vec()).get(parent)?;
        match segment {
            Segment::Key(key) => way.push(Way::Key(key.to_string())),
            _ => {
                let index = parent.as_list()?.iter().position(|item| std::ptr::eq(item, at))?;
                way.push(Way::Item(index));
            }
        }
    }
    Some((at, way))
}

fn short(value: &Attr) -> String {
    let text = match value {
        Attr::Text(text) => text.to_string(),
        other => other.to_string(),
    };
    if text.chars().count() > 100 { text.chars().take(100).collect::<String>() + "..." } else { text }
}

//! `kusion release list|show|diff|verify|export|key|unlock`: what happened to a stack, by whom, and with what result.

use kusion::Advice;
use kusion_model::{INTERRUPTED, Records, Release, ReleaseNo, ResourceKey, ResourceRecord, diff_releases};
use kusion_plan::three_way;
use kusion_store::{State, wait};
use serde_json::{Value, json};

use crate::commands::apply::release_number;
use crate::commands::ls::as_recorded;
use crate::commands::release_proof::{export, key, verify, verify_file};
use crate::commands::state;
use crate::input::chosen::{ChosenStack, open_named};
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::plan_view::{ago, count, done, fields};
use crate::views::style::Style;
use crate::views::table::table;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("revision", None, "N", "the release to show (default: the latest)"),
        flag("to", None, "DIR", "`export`: the folder to write to (default: here)"),
        flag("public-key", None, "FILE", "`verify`: the key that you trust, as PEM"),
        flag("yes", Some('y'), "", "do not ask"),
    ]
}

const VERBS: &str = "list, show, diff, verify, export, key or unlock";

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let Some((verb, words)) = given.rest.split_first() else {
        return Err(Failure::usage("kusion release needs a verb").next(VERBS));
    };
    if let (true, Some(file)) = (verb == "verify", words.iter().find(|word| word.ends_with(".json"))) {
        let stack = words.iter().find(|word| *word != file).cloned().or_else(|| given.last("workdir"));
        let chosen = stack.map(|name| open_named(given, Some(&name))).transpose()?;
        return verify_file(given, file, chosen.as_ref());
    }
    let (numbers, names): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.chars().all(|c| c.is_ascii_digit()));
    if names.len() > 1 {
        return Err(Failure::usage(format!("there is no release called `{}`", names[1]))
            .advise(Advice::new("releases are numbers: ", "release list").after(" shows them")));
    }
    let name = names.first().map(|name| name.as_str()).map(str::to_owned).or_else(|| given.last("workdir"));
    let mut numbers: Vec<ReleaseNo> =
        numbers.into_iter().map(|text| release_number(text)).collect::<Result<_, _>>()?;
    if let Some(text) = given.last("revision") {
        numbers.push(release_number(&text)?);
    }
    let chosen = open_named(given, name.as_deref())?;
    match verb.as_str() {
        "list" => list(given, &chosen),
        "show" => show(given, &chosen, numbers.first().copied()),
        "diff" => diff(given, &chosen, &numbers),
        "verify" => verify(given, &chosen, numbers.first().copied()),
        "export" => export(given, &chosen, numbers.first().copied()),
        "key" => key(given, &chosen),
        "unlock" => state::unlock(given, &chosen.target.store, &chosen.target.scope),
        other => {
            let failure = Failure::usage(format!("there is no `kusion release {other}`"));
            Err(failure.next(VERBS))
        }
    }
}

fn list(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let state = wait(chosen.target.store.read())?;
    if format_of(given)? == Format::Json {
        let releases: Vec<&Release> = state.releases.values().collect();
        return print_json(
            &json!({"schema": "kusion.io/releases/v1", "stack": state.scope, "releases": releases}),
        );
    }
    if state.releases.is_empty() {
        return print(&format!("Stack {} has no release yet{}.\n", state.scope, as_recorded(&state)));
    }
    let rows: Vec<Vec<String>> = state.releases.values().rev().map(row).collect();
    print(&table(&["RELEASE", "RESULT", "WHEN", "BY", "COMMIT", "WHAT", "WHY"], &rows, &Style::stdout()))
}

fn row(release: &Release) -> Vec<String> {
    let mut what = done(&release.tally);
    if let Some(to) = release.rollback_to {
        what = format!("rollback to {to}: {what}");
    }
    vec![
        release.no.to_string(),
        release.word(),
        ago(release.ended.unwrap_or(release.started)),
        release.by.to_string(),
        release.commit.clone().unwrap_or_else(|| "-".to_owned()),
        what,
        why(release),
    ]
}

/// What its author said, and why it did not succeed; in one line.
fn why(release: &Release) -> String {
    let cause = release.cause.as_deref().filter(|cause| *cause != INTERRUPTED);
    let parts: Vec<&str> = [release.message.as_deref(), cause].into_iter().flatten().collect();
    let text = parts.join(": ").replace('\n', " ");
    match text.char_indices().nth(72) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None if text.is_empty() => "-".to_owned(),
        None => text,
    }
}

/// The release that is meant, or which ones there are.
pub(crate) fn find(state: &State, no: Option<ReleaseNo>) -> Result<&Release, Failure> {
    let wanted = match no {
        Some(no) => state.releases.get(&no),
        None => state.latest(),
    };
    wanted.ok_or_else(|| missing(state, no))
}

fn missing(state: &State, no: Option<ReleaseNo>) -> Failure {
    let known: Vec<String> = state.releases.keys().map(ToString::to_string).collect();
    match (no, known.first(), known.last()) {
        (Some(no), Some(first), Some(last)) => {
            Failure::usage(format!("stack {} has no release {no}", state.scope))
                .cause(match first == last {
                    true => format!("it has only release {first}"),
                    false => format!("it has the releases {first} to {last}"),
                })
                .next(format!("kusion release list {}", state.scope))
        }
        _ => Failure::usage(format!("stack {} has no release yet", state.scope))
            .next(format!("kusion apply {}", state.scope)),
    }
}

fn show(given: &Given, chosen: &ChosenStack, no: Option<ReleaseNo>) -> Result<(), Failure> {
    let state = wait(chosen.target.store.read())?;
    let release = find(&state, no)?;
    let records = wait(chosen.target.store.state_at(release.no))?;
    if format_of(given)? == Format::Json {
        let records: Vec<&ResourceRecord> = records.values().collect();
        return print_json(&json!({
            "schema": "kusion.io/release/v1", "stack": state.scope, "release": release, "resources": records,
        }));
    }
    let style = Style::stdout();
    let mut out = format!("Release {} of {}: {}\n", release.no, state.scope, release.word());
    let inputs: Vec<String> =
        release.inputs.iter().map(|(name, seal)| format!("{name}={}", shortened(seal))).collect();
    let facts = provenance(release);
    let rows = [
        ("started", Some(release.started.to_string())),
        ("ended", release.ended.map(|at| at.to_string())),
        ("by", Some(release.by.to_string())),
        ("commit", release.commit.clone()),
        ("folder", release.folder.clone()),
        ("cluster", release.cluster.clone()),
        ("inputs", (!inputs.is_empty()).then(|| inputs.join(" "))),
        ("plan", Some(release.plan_hash.chars().take(12).collect())),
        ("engine", Some(release.engine.clone())),
        ("result", Some(done(&release.tally))),
        ("message", release.message.clone()),
        ("cause", release.cause.clone()),
        ("rollback", release.rollback_to.map(|to| format!("to release {to}"))),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            out.push_str(&format!("  {name:<9} {value}\n"));
        }
    }
    for (name, value) in facts {
        out.push_str(&format!("  {name:<9} {value}\n"));
    }
    out.push_str(&format!("\n{} after it:\n", count(records.len(), "resource")));
    for (key, record) in records.iter() {
        out.push_str(&format!(
            "  {}  {}\n",
            style.cyan(&key.to_string()),
            style.dim(&since(record, release.no))
        ));
    }
    print(&out)
}

/// Where it comes from and who stands for it.
fn provenance(release: &Release) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    rows.extend(release.by.identity.as_ref().map(|identity| ("identity", identity.to_string())));
    if let Some(source) = &release.source {
        let tree = if source.clean { "clean" } else { "with files that were changed beside it" };
        let parts = [Some(source.commit.clone()), source.branch.clone(), source.remote.clone()];
        let known: Vec<String> = parts.into_iter().flatten().collect();
        rows.push(("source", format!("{}, {tree}", known.join(" "))));
    }
    let digest = |text: &String| text.chars().take(19).collect::<String>();
    rows.extend(release.models.iter().map(|(name, sum)| ("model", format!("{name} {}", digest(sum)))));
    rows.extend(
        release.approvals.iter().map(|it| ("approved", format!("{} {} at {}", it.by, it.how, it.at))),
    );
    let uses = release.uses.iter().flat_map(|(stack, uses)| uses.iter().map(move |it| (stack, it)));
    rows.extend(
        uses.map(|(stack, it)| ("uses", format!("{} of {stack}, its release {}", it.output, it.version))),
    );
    rows.extend(release.outputs.iter().map(|(text, no)| ("gives", format!("{text}, since release {no}"))));
    let kusion_model::Timings { plan, consent, lock } = release.timings;
    if plan + consent + lock > 0 {
        rows.push(("took", format!("{plan} ms to plan, {consent} ms to consent, {lock} ms to lock")));
    }
    rows
}

/// `(secret)#1f2e3d4c`: enough to see whether two releases had the same value.
fn shortened(seal: &str) -> &str {
    seal.char_indices().nth(17).map_or(seal, |(at, _)| &seal[..at])
}

fn since(record: &ResourceRecord, now: ReleaseNo) -> String {
    let verb = if record.imported { "imported" } else { "written" };
    if record.release == now {
        format!("{verb} by this release")
    } else {
        format!("since release {}", record.release)
    }
}

fn diff(given: &Given, chosen: &ChosenStack, numbers: &[ReleaseNo]) -> Result<(), Failure> {
    let state = wait(chosen.target.store.read())?;
    let latest = find(&state, None)?.no;
    let (from, to) = match numbers {
        [] => (ReleaseNo(latest.0.saturating_sub(1)), latest),
        [from] => (*from, latest),
        [from, to] => (*from, *to),
        _ => return Err(Failure::usage("two releases at most").next("kusion release diff 3 5")),
    };
    let records = |no: ReleaseNo| -> Result<Records, Failure> {
        if no.0 == 0 {
            return Ok(Records::default());
        }
        find(&state, Some(no))?;
        Ok(wait(chosen.target.store.state_at(no))?)
    };
    let (before, after) = (records(from)?, records(to)?);
    let found = diff_releases(&before, &after);
    if format_of(given)? == Format::Json {
        let changes: Vec<Value> = found
            .changed
            .iter()
            .map(|key| {
                let changes = three_way(None, &after[key].attributes, &before[key].attributes);
                json!({"id": key.to_string(), "changes": changes})
            })
            .collect();
        let ids = |keys: &[ResourceKey]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        return print_json(&json!({
            "schema": "kusion.io/release-diff/v1", "stack": state.scope, "from": from, "to": to,
            "added": ids(&found.added), "removed": ids(&found.removed), "changed": changes,
        }));
    }
    let style = Style::stdout();
    let mut out = format!("From release {from} to release {to} of {}:\n", state.scope);
    found.added.iter().for_each(|key| out.push_str(&format!("  {} {key}\n", style.green("+"))));
    for key in &found.changed {
        out.push_str(&format!("  {} {key}\n", style.yellow("~")));
        out.push_str(&fields(&three_way(None, &after[key].attributes, &before[key].attributes), &style));
    }
    found.removed.iter().for_each(|key| out.push_str(&format!("  {} {key}\n", style.red("-"))));
    if found.added.is_empty() && found.changed.is_empty() && found.removed.is_empty() {
        out.push_str("  no resource differs\n");
    }
    print(&out)
}

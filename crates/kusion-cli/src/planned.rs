//! From the flags to a plan: what preview, apply, destroy, rollback and drift share.

use std::collections::BTreeSet;

use kusion::{DryRun, PlanFailure, Ready, SecretProblem, Target};
use kusion_model::{ConflictPolicy, ConflictRule, FieldPath, ImportedPolicy, Spec};
use kusion_plan::{Problem, conflicts, strangers};
use kusion_runtime::ErrorKind;
use kusion_secrets::Refusal;

use crate::cluster::{World, choice, patiently, remote, world};
use crate::failure::{Failure, exit};
use crate::flags::{Flag, Given, flag};
use crate::moved;
use crate::namesake::kin;
use crate::output::tell;
use crate::place::{Place, here, home_at, note};
use crate::style::Style;

pub(crate) const CONFLICT: &[Flag] = &[flag(
    "conflict",
    None,
    "RULE",
    "KIND:FIELD=refuse, take-over or leave, for fields that others own; before those of stack.yaml",
)];

pub(crate) const OWNERS: &[Flag] =
    &[flag("take-over", None, "", "take objects over that belong to other stacks"), IMPORTED[0]];

pub(crate) const IMPORTED: &[Flag] = &[flag(
    "delete-imported",
    None,
    "",
    "delete imported objects that leave the stack, instead of leaving them in place",
)];

/// The conflict rules of the command line: `Deployment:spec.replicas=leave`.
fn rules(given: &Given) -> Result<Vec<ConflictRule>, Failure> {
    let read = |text: &str| {
        let (place, policy) = text.rsplit_once('=')?;
        let (kind, path) = place.split_once(':')?;
        let policy = match policy {
            "refuse" => ConflictPolicy::Refuse,
            "take-over" => ConflictPolicy::TakeOver,
            "leave" => ConflictPolicy::Leave,
            _ => return None,
        };
        Some(ConflictRule { kind: kind.to_owned(), path: FieldPath::parse(path).ok()?, policy })
    };
    let rule = |text: &str| {
        read(text).ok_or_else(|| {
            Failure::usage(format!("--conflict {text} is no rule"))
                .next("--conflict Deployment:spec.replicas=leave (or refuse, take-over)")
        })
    };
    given.all("conflict").into_iter().map(rule).collect()
}

pub(crate) const MOVE: &[Flag] = &[flag(
    "move-cluster",
    None,
    "",
    "work on another cluster than before: what was made on the old one stays there and is forgotten",
)];

pub(crate) const SPEC: &[Flag] = &[flag(
    "spec-file",
    None,
    "FILE",
    "use this Spec instead of the stack's program; `-` reads standard input",
)];

/// What the stack wants: its program's output, or a Spec file.
pub(crate) fn wanted(given: &Given, place: &Place) -> Result<Spec, Failure> {
    match given.last("spec-file") {
        Some(file) => {
            let text = crate::health::read_text(&file)?;
            Ok(kusion_generate::read_spec(&text, &file, &kusion::platforms(), &place.target.key)?)
        }
        None => Ok(place.generate(&given.last("context").unwrap_or_default(), true)?.spec),
    }
}

/// The stack with the conflict rules of the command line before its own.
pub(crate) fn ruled(given: &Given, place: &Place) -> Result<Target, Failure> {
    let mut target = place.target.clone();
    target.rules.splice(0..0, rules(given)?);
    if given.has("take-over") {
        target.owners.take_over.push("*".to_owned());
    }
    if given.has("delete-imported") {
        target.owners.imported = ImportedPolicy::Delete;
    }
    Ok(target)
}

/// Plans a Spec against the state and the clusters.
pub(crate) async fn ready(
    given: &Given,
    place: &Place,
    spec: Spec,
    dry_run: DryRun,
) -> Result<(Ready, World), Failure> {
    let mut names: BTreeSet<String> = spec.resources.iter().map(|r| r.key().cluster.to_string()).collect();
    let state = place.target.store.read().await?;
    names.extend(state.records.keys().chain(state.intents.keys()).map(|key| key.cluster.to_string()));
    let world = world(given, place, &names).await?;
    let target = ruled(given, place)?;
    kin(&state, place).note(&state).iter().for_each(|text| note(text));
    let asked = format!("the cluster {} at {}", world.context, world.server);
    let planned = patiently(&asked, world.engine.plan_from(&target, state, spec, dry_run)).await;
    let ready = planned.map_err(|failure| {
        let away = matches!(&failure, PlanFailure::Remote(error) if error.kind == ErrorKind::Unreachable);
        let told = failed(failure, place, &world.server);
        if away && world.context.contains("sandbox") { sandbox_down(given, place, told) } else { told }
    })?;
    moved::notes(&ready.recognised, &ready.state).iter().for_each(|text| note(text));
    ready.warnings.iter().for_each(|text| warn(text));
    Ok((ready, world))
}

/// Says something that changes nothing.
pub(crate) fn warn(text: &str) {
    tell(&format!("{} {text}\n", Style::stderr().yellow("warning:")));
}

/// The sandbox keeps its objects while it is down; it has only to be started.
fn sandbox_down(given: &Given, place: &Place, told: Failure) -> Failure {
    let file = choice(given, Some(place)).ok().and_then(|(file, _)| file);
    let folder = file.and_then(|file| Some(file.parent()?.to_owned()));
    let folder = folder.and_then(|folder| folder.canonicalize().ok());
    let default = here().and_then(|here| home_at(given, &here)).ok().map(|home| home.join("sandbox"));
    let command = match folder {
        Some(folder) if Some(&folder) != default.and_then(|d| d.canonicalize().ok()).as_ref() => {
            format!("kusion sandbox start --folder {}", folder.display())
        }
        _ => "kusion sandbox start".to_owned(),
    };
    Failure { what: "the sandbox is not running".to_owned(), ..told.next(format!("start it: {command}")) }
}

/// Everything wrong with a Spec, and the next step for the first.
pub(crate) fn spec_problems(problems: &[Problem], place: &Place) -> Failure {
    let mut texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.dedup();
    let failure = Failure::usage("the configuration cannot be planned")
        .cause(texts.join("\n"))
        .place(place.folder.stack_dir.display().to_string());
    match problems.first() {
        Some(Problem::DuplicateId { .. }) => failure.next("give one of them another name"),
        Some(Problem::SameObject { .. }) => {
            failure.next("keep one of them; both would write the same object")
        }
        Some(Problem::Cycle { .. }) => failure.next("remove one of these edges"),
        Some(Problem::UnknownDependency { .. }) => failure.next("add the resource, or remove the reference"),
        Some(Problem::AmbiguousDependency { .. }) => failure.next("name the cluster: extensions.cluster"),
        Some(Problem::Reference { .. }) => {
            failure.next("write `$kusion_path.<id>.<path>` or `$kusion_path[\"<id>\"].<path>`")
        }
        Some(Problem::Identity(_)) => {
            failure.next("let the id be apiVersion:Kind:[namespace:]name of the manifest")
        }
        Some(Problem::NotAnOutput { stack, .. }) => failure.next(format!(
            "list it under `outputs:` in the stack.yaml of {stack}, then `kusion apply {stack}`"
        )),
        None => failure,
    }
}

/// Why there is no plan, in the words of a user.
pub(crate) fn failed(failure: PlanFailure, place: &Place, server: &str) -> Failure {
    match failure {
        PlanFailure::Spec(problems) => spec_problems(&problems, place),
        PlanFailure::Secrets(problems) => no_secrets(&problems),
        PlanFailure::Store(error) => Failure::from(error),
        PlanFailure::NoRuntime(error) => Failure::usage(error.to_string()),
        PlanFailure::OtherCluster(other) => moved::refused(&other, place),
        PlanFailure::Plan(error) => Failure::usage("the plan contradicts itself").cause(error.to_string()),
        PlanFailure::Remote(error) => {
            let failure = remote(&error, server);
            let away = matches!(error.kind, ErrorKind::Unreachable | ErrorKind::Timeout | ErrorKind::Broken);
            let known = format!(
                "without the cluster: `kusion diff {}`, against the last release",
                place.target.scope
            );
            match (away, failure.next.clone()) {
                (true, Some(next)) => failure.next(format!("{next}\n{known}")),
                _ => failure,
            }
        }
        PlanFailure::Refused(list) => {
            let texts: Vec<String> =
                list.iter().map(|(key, error)| format!("{key}: {}", error.message)).collect();
            let first = list.first().map(|(_, error)| remote(error, server));
            let mut failure = first.unwrap_or_else(|| Failure::new(exit::REMOTE, "the cluster refuses it"));
            failure.cause = Some(texts.join("\n"));
            failure
        }
    }
}

/// Secrets that are not to be had: all of them, and what to do about the first.
fn no_secrets(problems: &[SecretProblem]) -> Failure {
    let code = match problems.iter().any(|problem| problem.error.kind == Refusal::Unavailable) {
        true => exit::REMOTE,
        false => exit::USAGE,
    };
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let next = problems.iter().find_map(|problem| problem.error.next.clone());
    let what = match problems.len() {
        1 => "a secret is not to be had; nothing was changed".to_owned(),
        n => format!("{n} secrets are not to be had; nothing was changed"),
    };
    let failure = Failure::new(code, what).cause(texts.join("\n"));
    failure.next(next.unwrap_or_else(|| "look at them alone: `kusion secret check`".to_owned()))
}

/// A plan that wants objects of other stacks must not be applied.
fn refuse_strangers(ready: &Ready) -> Result<(), Failure> {
    let found = strangers(&ready.planned.plan);
    let Some((_, owner)) = found.first() else { return Ok(()) };
    let texts: Vec<String> =
        found.iter().map(|(step, owner)| format!("{} belongs to {owner}", step.key)).collect();
    Err(Failure::new(exit::CONFLICT, "objects of this plan belong to other stacks")
        .cause(texts.join("\n"))
        .next(format!(
            "take them out of this stack, or take them over: --take-over, or for good in stack.yaml:\ntakeOver: [{owner}]"
        )))
}

/// A plan that other stacks or managers stand in the way of must not be applied.
pub(crate) fn refuse_conflicts(ready: &Ready) -> Result<(), Failure> {
    refuse_strangers(ready)?;
    let found = conflicts(&ready.planned.plan);
    let Some((step, change)) = found.first() else { return Ok(()) };
    let texts: Vec<String> = found
        .iter()
        .map(|(step, change)| {
            let manager = change.manager.as_deref().unwrap_or("another manager");
            format!("{} {} is owned by {manager}", step.key, change.path)
        })
        .collect();
    let kind = step.key.id.to_kubernetes().map(|id| id.kind).unwrap_or_else(|_| "*".to_owned());
    let rule = format!("- {{kind: {kind}, path: {}, policy: take-over}}", change.path);
    Err(Failure::new(exit::CONFLICT, "other managers own fields of this plan")
        .cause(texts.join("\n"))
        .next(format!(
            "take them over: --conflict {kind}:{}=take-over (or leave), or for good in stack.yaml:\nconflicts:\n{rule}",
            change.path
        )))
}

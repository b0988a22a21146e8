//! From the flags to a plan: what preview, apply, destroy, rollback and drift share.

use std::collections::BTreeMap;

use kusion::{PlanFailure, RoadError};
use kusion_model::{ConflictPolicy, ConflictRule, FieldPath, ImportedPolicy, Spec};
use kusion_runtime::ErrorKind;

use crate::input::chosen::{ChosenStack, here, home_at};
use crate::input::cluster::{Connection, choice};
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::tell;
use crate::views::style::Style;

pub(crate) fn conflict() -> Vec<Arg> {
    vec![flag(
        "conflict",
        None,
        "RULE",
        "KIND:FIELD=refuse, take-over or leave, for fields that others own; before those of stack.yaml",
    )]
}

pub(crate) fn owners() -> Vec<Arg> {
    vec![flag("take-over", None, "", "take objects over that belong to other stacks")]
}

pub(crate) fn imported() -> Vec<Arg> {
    vec![flag(
        "delete-imported",
        None,
        "",
        "delete imported objects that leave the stack, instead of leaving them in place",
    )]
}

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

pub(crate) fn moving() -> Vec<Arg> {
    vec![flag(
        "move-cluster",
        None,
        "",
        "work on another cluster than before: what was made on the old one stays there and is forgotten",
    )]
}

pub(crate) fn spec_file() -> Vec<Arg> {
    vec![flag(
        "spec-file",
        None,
        "FILE",
        "use this Spec instead of the stack's program; `-` reads standard input",
    )]
}

/// What the stack wants: its program's output, or a Spec file.
pub(crate) fn wanted(given: &Given, chosen: &ChosenStack) -> Result<Spec, Failure> {
    sources(given, chosen).map(|(spec, _)| spec)
}

/// The same, with the digests of what it was made from.
pub(crate) fn sources(
    given: &Given,
    chosen: &ChosenStack,
) -> Result<(Spec, BTreeMap<String, String>), Failure> {
    match given.last("spec-file") {
        Some(file) => {
            let text = crate::input::text::read_text(&file)?;
            let digest = format!("sha256:{}", kusion_model::sha256_hex(text.as_bytes()));
            let spec = kusion_generate::read_spec(&text, &file, &kusion::platforms(), &chosen.target.key)?;
            Ok((spec, BTreeMap::from([(file, digest)])))
        }
        None => {
            let generated = chosen.generate(&given.last("context").unwrap_or_default(), true)?;
            Ok((generated.spec, generated.models))
        }
    }
}

/// The stack with the rules of the command line before its own.
pub(crate) fn ruled(given: &Given, mut chosen: ChosenStack) -> Result<ChosenStack, Failure> {
    let target = &mut chosen.target;
    target.rules.splice(0..0, rules(given)?);
    if given.has("take-over") {
        target.owners.take_over.push("*".to_owned());
    }
    if given.has("delete-imported") {
        target.owners.imported = ImportedPolicy::Delete;
    }
    Ok(chosen)
}

/// Says something that changes nothing.
pub(crate) fn warn(text: &str) {
    tell(&format!("{} {text}\n", Style::stderr().yellow("warning:")));
}

/// Why a road ended early, in the words of a user; a sandbox that is down has only to be started.
pub(crate) fn ended(
    given: &Given,
    chosen: &ChosenStack,
    connection: &Connection,
    error: RoadError,
) -> Failure {
    let away = matches!(&error, RoadError::Plan(PlanFailure::Remote(e)) if e.kind == ErrorKind::Unreachable);
    let told = error.told(&chosen.target, &connection.server);
    if !away || !connection.context.contains("sandbox") {
        return told;
    }
    let next = format!("start it: {}", sandbox_start(given, chosen));
    let mut failure = told.next(next);
    failure.what = "the sandbox is not running".to_owned();
    failure
}

/// The command that starts the sandbox of a kubeconfig.
fn sandbox_start(given: &Given, chosen: &ChosenStack) -> String {
    let file = choice(given, Some(chosen)).ok().and_then(|(file, _)| file);
    let folder = file.and_then(|file| Some(file.parent()?.to_owned()));
    let folder = folder.and_then(|folder| folder.canonicalize().ok());
    let default = here().and_then(|here| home_at(given, &here)).ok().map(|home| home.join("sandbox"));
    match folder {
        Some(folder) if Some(&folder) != default.and_then(|d| d.canonicalize().ok()).as_ref() => {
            format!("kusion sandbox start --folder {}", folder.display())
        }
        _ => "kusion sandbox start".to_owned(),
    }
}

//! `kusion secret ls|check|show|rotate`: which secrets of stores a stack uses, whether they are to be had, one of them, and a
//! new value for one.

use std::collections::BTreeMap;

use kusion::{DryRun, PlanFailure, SecretUse, Sites, open_stores, plan_failed, resolve_secrets, secret_uses};
use kusion_model::{Attr, Provider, Secret, SecretRef, Spec};
use kusion_secrets::{Refusal, SecretError, Stores};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::input::chosen::{ChosenStack, open_named};
use crate::input::cluster::{connect, tokio};
use crate::input::consent;
use crate::input::flags::{Arg, Given, flag};
use crate::input::planned::wanted;
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_as_is, print_json};
use crate::views::plan_view::count;
use crate::views::style::Style;
use crate::views::table::table;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("reveal", None, "", "`show`: print the value itself"),
        flag("length", None, "N", "`rotate`: how many characters the new value has (default 32)"),
        flag("yes", Some('y'), "", "do not ask"),
    ]
}

const VERBS: &str = "ls, check, show or rotate";

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let Some((verb, words)) = given.rest.split_first() else {
        return Err(Failure::usage("kusion secret needs a verb").next(VERBS));
    };
    let (references, names): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.starts_with("ref://"));
    if names.len() > 1 {
        return Err(Failure::usage("one stack at a time").next("call it once for each"));
    }
    let name = names.first().map(|name| name.as_str()).map(str::to_owned).or_else(|| given.last("workdir"));
    match (verb.as_str(), references.as_slice()) {
        ("ls" | "list", []) => list(given, &open_named(given, name.as_deref())?),
        ("check", []) => check(given, &open_named(given, name.as_deref())?),
        ("show", [reference]) => show(given, &open_named(given, name.as_deref())?, reference),
        ("rotate", [reference]) => rotate(given, &open_named(given, name.as_deref())?, reference),
        ("rotate", _) => {
            Err(Failure::usage("which secret?").next("kusion secret rotate ref://NAME/PROPERTY"))
        }
        ("show", _) => Err(Failure::usage("which secret?").next("kusion secret show ref://NAME/PROPERTY")),
        ("ls" | "list" | "check", _) => {
            Err(Failure::usage(format!("`kusion secret {verb}` is about a whole stack"))
                .next("for one secret: kusion secret show ref://NAME/PROPERTY"))
        }
        (other, _) => Err(Failure::usage(format!("there is no `kusion secret {other}`")).next(VERBS)),
    }
}

/// The uses of each secret, by reference.
fn uses(given: &Given, chosen: &ChosenStack) -> Result<BTreeMap<SecretRef, Vec<SecretUse>>, Failure> {
    let mut all: BTreeMap<SecretRef, Vec<SecretUse>> = BTreeMap::new();
    for use_ in secret_uses(&wanted(given, chosen)?) {
        all.entry(use_.reference.clone()).or_default().push(use_);
    }
    Ok(all)
}

/// The stores of the stack. A cluster is looked for only if one of them is in it.
///
/// A client of a cluster lives as long as the runtime that it was made on: whoever asks the stores asks on the same one.
fn stores(given: &Given, chosen: &ChosenStack, on: &Runtime) -> Result<Stores, Failure> {
    let target = &chosen.target;
    let in_cluster = target.secret_stores.values().any(|s| matches!(s.provider, Provider::Kubernetes { .. }));
    let sites = match in_cluster {
        false => Sites::default(),
        true => {
            let connection = on.block_on(connect(given, chosen, &[String::new()].into()))?;
            connection.engine.sites(target, DryRun::default())
        }
    };
    open_stores(&target.secret_stores, &target.project_dir, &sites).map_err(|error| refused(&error))
}

/// The Spec with the secrets of stores in it: beside a release it must hold what a plan would hold, or every secret would look changed.
pub(crate) fn resolved(given: &Given, chosen: &ChosenStack, spec: Spec) -> Result<Spec, Failure> {
    if secret_uses(&spec).is_empty() {
        return Ok(spec);
    }
    let tokio = tokio()?;
    let (stores, platforms) = (stores(given, chosen, &tokio)?, kusion::platforms());
    let found = tokio.block_on(resolve_secrets(&spec, &stores, &platforms, &chosen.target.key));
    let found = found.map_err(|problems| plan_failed(PlanFailure::Secrets(problems), &chosen.target, ""))?;
    Ok(found.unwrap_or(spec))
}

fn refused(error: &SecretError) -> Failure {
    let exit = if error.kind == Refusal::Unavailable { Exit::Remote } else { Exit::Usage };
    let failure = Failure::new(exit, "the secret is not to be had").cause(error.message.clone());
    match &error.next {
        Some(next) => failure.next(next.clone()),
        None => failure,
    }
}

fn store_of(stores: &Stores, reference: &SecretRef) -> String {
    stores.of(reference).map_or_else(|error| error.message, |store| store.describe())
}

fn use_json(chosen: &ChosenStack, use_: &SecretUse) -> Value {
    let line = use_.place.as_ref().map(|at| format!("{}:{}", chosen.shown(&at.file), at.line));
    json!({"resource": use_.key.to_string(), "field": use_.field.to_string(), "where": line})
}

fn list(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let (uses, tokio) = (uses(given, chosen)?, tokio()?);
    let stores = stores(given, chosen, &tokio)?;
    if format_of(given)? == Format::Json {
        let secrets: Vec<Value> = uses.iter().map(|(reference, uses)| {
            let uses: Vec<Value> = uses.iter().map(|use_| use_json(chosen, use_)).collect();
            json!({"reference": reference.to_string(), "store": store_of(&stores, reference), "uses": uses})
        }).collect();
        let scope = &chosen.target.scope;
        return print_json(&json!({"schema": "kusion.io/secrets/v1", "stack": scope, "secrets": secrets}));
    }
    if uses.is_empty() {
        return print(&format!("Stack {} refers to no secret of a store.\n", chosen.target.scope));
    }
    let mut rows = Vec::new();
    for (reference, uses) in &uses {
        for use_ in uses {
            let line = use_.place.as_ref().map(|at| format!("{}:{}", chosen.shown(&at.file), at.line));
            rows.push(vec![
                reference.to_string(),
                store_of(&stores, reference),
                format!("{} {}", use_.key, use_.field),
                line.unwrap_or_default(),
            ]);
        }
    }
    print(&table(&["SECRET", "STORE", "USED BY", "WHERE"], &rows, &Style::stdout()))
}

fn check(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let (uses, tokio) = (uses(given, chosen)?, tokio()?);
    let stores = stores(given, chosen, &tokio)?;
    let references: Vec<&SecretRef> = uses.keys().collect();
    let answers: Vec<Option<SecretError>> =
        references.iter().map(|reference| tokio.block_on(stores.get(reference)).err()).collect();
    let checked = || references.iter().zip(&answers);
    if format_of(given)? == Format::Json {
        let secrets: Vec<Value> = checked().map(|(reference, error)| {
            json!({
                "reference": reference.to_string(), "store": store_of(&stores, reference), "ok": error.is_none(),
                "reason": error.as_ref().map(|error| error.kind.word()),
                "error": error.as_ref().map(|error| error.message.clone()),
                "next": error.as_ref().and_then(|error| error.next.clone()),
            })
        }).collect();
        let scope = &chosen.target.scope;
        print_json(&json!({"schema": "kusion.io/secret-check/v1", "stack": scope, "secrets": secrets}))?;
    } else {
        let style = Style::stdout();
        let mut out = String::new();
        for (reference, error) in checked() {
            out.push_str(&match error {
                None => format!("{} {reference}\n", style.green(style.glyph("✔", "ok"))),
                Some(error) => {
                    let next =
                        error.next.as_ref().map(|next| format!("\n      next  {next}")).unwrap_or_default();
                    format!("{} {reference}  {}{next}\n", style.red(style.glyph("✘", "no")), error.message)
                }
            });
        }
        let bad = answers.iter().flatten().count();
        let all = count(references.len(), "secret");
        out.push_str(&match bad {
            _ if references.is_empty() => "The stack uses no secrets of stores.\n".to_owned(),
            0 => format!("{all}: all can be read.\n"),
            bad => format!("{all}: {bad} cannot be read.\n"),
        });
        print(&out)?;
    }
    let worst = answers.iter().flatten().map(|error| error.kind);
    match worst.reduce(|a, b| if a == Refusal::Unavailable { a } else { b }) {
        None => Ok(()),
        Some(Refusal::Unavailable) => Err(Failure::told(Exit::Remote)),
        Some(_) => Err(Failure::told(Exit::Usage)),
    }
}

fn reference(text: &str) -> Result<SecretRef, Failure> {
    match SecretRef::parse(text) {
        Some(Ok(reference)) => Ok(reference),
        Some(Err(error)) => Err(Failure::usage(error.to_string())),
        None => Err(Failure::usage(format!("`{text}` is no reference")).next("ref://NAME/PROPERTY")),
    }
}

/// Puts a new value, which nobody has seen, into the store.
fn rotate(given: &Given, chosen: &ChosenStack, text: &str) -> Result<(), Failure> {
    let reference = reference(text)?;
    let wrong = |text: String| {
        Failure::usage(format!("--length {text} is no usable length")).next("a number from 16 to 1024")
    };
    let length = given.last("length").map_or(Ok(32), |text| {
        text.parse().ok().filter(|n| (16..=1024).contains(n)).ok_or_else(|| wrong(text))
    })?;
    let tokio = tokio()?;
    let stores = stores(given, chosen, &tokio)?;
    let store = store_of(&stores, &reference);
    if !given.has("yes") {
        consent::ask(given, &format!("Put a new value into {reference} ({store})"))?;
    }
    let value = kusion_secrets::generate(length).map_err(|error| refused(&error))?;
    tokio.block_on(stores.set(&reference, &value)).map_err(|error| refused(&error))?;
    let digest = value.expose_text().map(|text| Secret::new(&Attr::text(text), &chosen.target.key));
    let digest = digest.map(|secret| secret.stored().to_string());
    let scope = &chosen.target.scope;
    if format_of(given)? == Format::Json {
        return print_json(&json!({
            "schema": "kusion.io/secret-rotate/v1", "stack": scope, "reference": reference.to_string(), "store": store,
            "value": digest,
        }));
    }
    print(&format!(
        "{reference} has a new value of {length} characters in {store}. To bring it to the cluster: kusion apply {}\n",
        chosen.target.called.there()
    ))
}

fn show(given: &Given, chosen: &ChosenStack, text: &str) -> Result<(), Failure> {
    let reference = reference(text)?;
    let tokio = tokio()?;
    let stores = stores(given, chosen, &tokio)?;
    let value = tokio.block_on(stores.get(&reference)).map_err(|error| refused(&error))?;
    if given.has("reveal") {
        // What the user asks for, byte for byte as a script can take it.
        let text = value.expose_text().ok_or_else(|| Failure::usage("the value is no text"))?;
        return print_as_is(&format!("{text}\n"));
    }
    let digest = value
        .expose_text()
        .map(|text| Secret::new(&Attr::text(text), &chosen.target.key).stored().to_string());
    let store = store_of(&stores, &reference);
    if format_of(given)? == Format::Json {
        return print_json(&json!({
            "schema": "kusion.io/secret/v1", "reference": reference.to_string(), "store": store, "value": digest,
        }));
    }
    let digest = digest.unwrap_or_else(|| "(secret), no text".to_owned());
    print(&format!(
        "{reference}\n  store  {store}\n  value  {digest}\n\n`--reveal` prints the value itself.\n"
    ))
}

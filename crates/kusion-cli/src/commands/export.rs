//! `kusion export`: what a stack has made with providers, as a state of Terraform and OpenTofu.

use kusion::{DryRun, Exit, TfSite, remote_failed};
use kusion_store::wait;
use serde_json::json;

use crate::input::chosen::{here, note, open};
use crate::input::cluster::{connect, tokio};
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_data, print_json};
use crate::views::plan_view::count;

/// So many fields are named one by one.
const NAMED: usize = 10;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag(
            "tfstate",
            None,
            "FILE",
            "where the state goes (version 4, only its owner may read it); - prints it",
        ),
        flag("with-secrets", None, "", "also if sensitive values stand in it in clear"),
        flag("output", Some('o'), "FORMAT", "text or json"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let chosen = open(given)?;
    let Some(file) = given.last("tfstate") else {
        return Err(Failure::usage("where to, and as what?")
            .next(format!("kusion export {} --tfstate terraform.tfstate", chosen.target.called.word)));
    };
    let state = wait(chosen.target.store.read())?;
    let exported = tokio()?.block_on(async {
        let connection = connect(given, &chosen, &Default::default()).await?;
        let sites = connection.engine.sites(&chosen.target, DryRun::All);
        let Some(TfSite { runtime, .. }) = sites.of("") else {
            return Err(Failure::new(Exit::Bug, "nobody asks providers"));
        };
        let exported = runtime.export(&state.records, &state.lineage, state.serial).await;
        runtime.close().await;
        exported.map_err(|error| remote_failed(&error.of_provider(), ""))
    })?;
    let n = exported.state.resources.len();
    if !exported.clear.is_empty() && !given.has("with-secrets") {
        let mut places: Vec<String> = exported.clear.iter().take(NAMED).cloned().collect();
        places.extend(
            (exported.clear.len() > NAMED).then(|| format!("and {} more", exported.clear.len() - NAMED)),
        );
        return Err(Failure::new(Exit::Denied, "sensitive values would stand in clear in the state")
            .cause(places.join("\n"))
            .next("--with-secrets, and keep the file as you keep a password"));
    }
    let text = exported.state.to_text();
    if file == "-" {
        if !exported.clear.is_empty() {
            return Err(Failure::usage("a state with secrets goes to a file, not to a terminal or a pipe")
                .next("--tfstate terraform.tfstate --with-secrets"));
        }
        return print_data(&text);
    }
    let path = here()?.join(&file);
    base_file::replace(&path, text.as_bytes(), base_file::How::Private).map_err(|e| {
        Failure::usage("the state cannot be written").cause(e.to_string()).place(path.display().to_string())
    })?;
    let platforms = kusion::platforms();
    let left = state.records.values().filter(|record| platforms.lives_in_cluster(&record.kind)).count();
    if format == Format::Json {
        return print_json(&json!({
            "schema": "kusion.io/export/v1", "stack": chosen.target.scope, "file": path.display().to_string(),
            "resources": n, "leftOut": left, "inClear": exported.clear, "notes": exported.notes,
        }));
    }
    exported.notes.iter().for_each(|text| note(text));
    if left > 0 {
        note(&format!(
            "{} of clusters are left out: such a state has no place for them",
            count(left, "object")
        ));
    }
    print(&format!("Wrote {} to {}\n", count(n, "resource"), path.display()))
}

//! `kusion drift`: what others have changed since the last release. Compares what was recorded with what is live; the
//! configuration is not read.

use kusion::{Denied, DryRun, PlanFailure, Ready, clusters_of, drifted, plan_failed, unfinished};
use kusion_model::{Records, ResourceKey, ResourceType, Spec, Step};
use kusion_plan::recorded_spec;
use kusion_runtime::ErrorKind;
use kusion_store::{State, wait};
use serde_json::json;

use crate::input::chosen::{ChosenStack, open};
use crate::input::cluster::{Connection, connect, tokio};
use crate::input::flags::{Arg, Given, flag};
use crate::input::planned::warn;
use crate::input::recall::{is_unknown, look_back};
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::plan_view::{self, Detail, count};
use crate::views::refused::Refused;
use crate::views::style::Style;

pub(crate) fn flags() -> Vec<Arg> {
    vec![flag("output", Some('o'), "FORMAT", "text or json")]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let chosen = open(given)?;
    let state = wait(chosen.target.store.read())?;
    let spec = recorded_spec(&comparable(&state));
    let tokio = tokio()?;
    // A record has no value of a secret: where the live one differs, that it differs is all that can be said.
    let (ready, connection, secrets) = tokio.block_on(compare(given, &chosen, &state, spec))?;
    let plan = ready.plan();
    let found = Found { steps: drifted(plan), unfinished: unfinished(plan), secrets };
    match format {
        Format::Json => print_json(&json!({
            "schema": "kusion.io/drift/v1", "stack": plan.scope, "cluster": plan_view::named(&connection.context),
            "release": state.latest().map(|release| release.no), "drift": found.steps,
            "unfinished": found.unfinished,
            "refused": Refused::of(&ready).map(|refused| refused.json(&chosen)),
            "secrets": found.secrets.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))?,
        Format::Text => {
            let style = Style::stdout();
            let header = plan_view::header(&ready.state, &connection.context, &style);
            let refused = Refused::of(&ready).map(|refused| refused.text(&chosen));
            let last = match found.is_empty() {
                true if state.latest().is_none() => "This stack has made nothing.\n".to_owned(),
                true => "No drift: everything is as the last release left it.\n".to_owned(),
                false => found.summary(refused, &chosen.target.called.there()),
            };
            print(&format!("{header}\n{}{last}", found.rows(&style)))?;
        }
    }
    if found.is_empty() { Ok(()) } else { Err(Failure::told(Exit::Pending)) }
}

/// What is not as the last release wanted it.
struct Found<'p> {
    steps: Vec<&'p Step>,
    /// What the last release has left half done.
    unfinished: Vec<&'p Step>,
    /// Resources whose secrets are not the recorded ones.
    secrets: Vec<ResourceKey>,
}

impl Found<'_> {
    fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.unfinished.is_empty() && self.secrets.is_empty()
    }

    fn rows(&self, style: &Style) -> String {
        let mut out = plan_view::steps(&self.steps, Detail::Fields, style);
        for key in &self.secrets {
            let what = style.yellow("drift: a secret was changed or is gone");
            out.push_str(&format!("  {} {}  {what}\n", style.yellow("!"), style.cyan(&key.to_string())));
        }
        out + &plan_view::steps(&self.unfinished, Detail::Fields, style)
    }

    /// How many have drifted or are only half made, and what to do about it.
    fn summary(&self, refused: Option<String>, stack: &str) -> String {
        let (have, are) =
            (|n: usize| if n == 1 { "has" } else { "have" }, |n| if n == 1 { "is" } else { "are" });
        let (n, left) = (self.steps.len() + self.secrets.len(), self.unfinished.len());
        let drifted = (n > 0).then(|| format!("{} {} drifted. ", count(n, "resource"), have(n)));
        let half = (left > 0).then(|| {
            format!(
                "{} {} not as the last release wanted: it did not come to its end. ",
                count(left, "resource"),
                are(left)
            )
        });
        let next = refused.unwrap_or_else(|| {
            let (bring, end) = (if n == 1 { "it" } else { "them" }, if left == 1 { "it" } else { "them" });
            let does = match (n, left) {
                (0, _) => format!("puts {end} right"),
                (_, 0) => format!("brings {bring} back"),
                _ => "puts everything right".to_owned(),
            };
            format!("`kusion apply {stack}` {does}.\n")
        });
        format!("\n{}{}{next}", drifted.unwrap_or_default(), half.unwrap_or_default())
    }
}

/// What is recorded, as it can be planned. A cluster is asked about digests; a provider wants the values of its arguments, also
/// of those that stand in no object.
fn comparable(state: &State) -> Records {
    let (mut records, known) = (state.records.clone(), state.records_with_secrets());
    let terraform = ResourceType::terraform();
    for (key, record) in known.iter().filter(|(_, record)| record.kind == terraform) {
        std::sync::Arc::make_mut(&mut records).insert(key.clone(), record.clone());
    }
    records
}

/// Plans the recorded state; resources whose secrets are not the recorded ones come apart.
async fn compare(
    given: &Given,
    chosen: &ChosenStack,
    state: &State,
    mut spec: Spec,
) -> Result<(Ready, Connection, Vec<ResourceKey>), Failure> {
    if is_unknown(state) {
        look_back(given, chosen, state).await?;
    }
    let connection = connect(given, chosen, &clusters_of(&spec, state)).await?;
    let mut secrets = Vec::new();
    // Each round takes out what was refused for its secrets; what is left can be planned.
    loop {
        match connection.engine.plan(&chosen.target, spec.clone(), DryRun::All).await {
            Ok(ready) => {
                ready.sites.give_back().await.iter().for_each(|text| warn(text));
                return Ok((ready, connection, secrets));
            }
            Err(PlanFailure::Refused(list)) if list.iter().any(is_unknown_secret) => {
                let keys = list.into_iter().filter(is_unknown_secret).map(|denied| denied.key);
                let keys: Vec<ResourceKey> = keys.collect();
                spec.resources.retain(|resource| !keys.contains(&resource.key()));
                for resource in &mut spec.resources {
                    resource.depends_on.retain(|on| !keys.iter().any(|key| key.id == *on));
                }
                secrets.extend(keys);
            }
            Err(failure) => return Err(plan_failed(failure, &chosen.target, &connection.server)),
        }
    }
}

fn is_unknown_secret(denied: &Denied) -> bool {
    denied.error.kind == ErrorKind::UnknownSecret
}

//! `kusion drift`: what others have changed since the last release. Compares what was recorded with what is live; the
//! configuration is not read.

use kusion::{DryRun, drifted};
use kusion_plan::rollback_spec;
use serde_json::json;

use crate::cluster::tokio;
use crate::failure::{Failure, exit};
use crate::flags::{Flag, Given, flag};
use crate::output::{Format, format_of, print, print_json};
use crate::place::open;
use crate::plan_view::{self, Detail};
use crate::planned::ready;
use crate::style::Style;

pub(crate) const FLAGS: &[Flag] = &[flag("output", Some('o'), "FORMAT", "text or json")];

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let place = open(given)?;
    let state = place.target.store.read()?;
    let spec = rollback_spec(&state.records);
    let (ready, world) = tokio()?.block_on(ready(given, &place, spec, DryRun::All))?;
    let mut plan = ready.planned.plan.clone();
    let steps: Vec<_> = drifted(&plan).into_iter().cloned().collect();
    plan.steps = steps;
    match format {
        Format::Json => print_json(&json!({
            "schema": "kusion.io/drift/v1", "stack": plan.scope, "cluster": world.context,
            "release": state.latest().map(|release| release.no), "drift": plan.steps,
        }))?,
        Format::Text => {
            let style = Style::stdout();
            let mut out = plan_view::header(&ready.state, &world.context, &style) + "\n";
            out.push_str(&plan_view::steps(&plan, Detail::Fields, &style));
            out.push_str(&match plan.steps.len() {
                0 => "No drift: everything is as the last release left it.\n".to_owned(),
                1 => format!("\n1 resource has drifted. `kusion apply {}` brings it back.\n", plan.scope),
                n => {
                    format!("\n{n} resources have drifted. `kusion apply {}` brings them back.\n", plan.scope)
                }
            });
            print(&out)?;
        }
    }
    if plan.steps.is_empty() { Ok(()) } else { Err(Failure::told(exit::PENDING)) }
}

//! `kusion preview`: what an apply would do, and why.

use std::path::Path;

use kusion::{DryRun, Ready};
use kusion_model::upstream_view;
use kusion_store::wait;
use serde_json::json;

use crate::cluster::tokio;
use crate::failure::{Failure, exit};
use crate::flags::{Flag, Given, flag};
use crate::output::{Format, format_of, print, print_json};
use crate::place::open;
use crate::plan_view::{self, Detail};
use crate::planned::{ready, wanted};
use crate::private;
use crate::style::Style;

pub(crate) const FLAGS: &[Flag] = &[
    flag("output", Some('o'), "FORMAT", "text or json"),
    flag("detail", None, "all", "show everything, also what does not change"),
    flag("exit-code", None, "", "leave with 2 if changes are pending"),
    flag("plan", None, "FILE", "save the plan, for `kusion apply --plan FILE`"),
];

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let place = open(given)?;
    let spec = wanted(given, &place)?;
    let (ready, world) = tokio()?.block_on(ready(given, &place, spec, DryRun::All))?;
    show(&ready, &world.context, format, detail_of(given)?)?;
    let plan = &ready.planned.plan;
    if let Some(file) = given.last("plan") {
        let sealed = wait(place.target.store.seal("plan", &plan.to_json()))?;
        private::write(Path::new(&file), &format!("{sealed}\n")).map_err(|e| {
            Failure::usage("the plan cannot be saved").cause(e.to_string()).place(file.clone())
        })?;
    }
    let pending = given.has("exit-code") && !plan.is_empty();
    // The process ends: giving the memory of thousands of objects back piece by piece would cost more than the plan.
    std::mem::forget(ready);
    if pending { Err(Failure::told(exit::PENDING)) } else { Ok(()) }
}

pub(crate) fn detail_of(given: &Given) -> Result<Detail, Failure> {
    match given.last("detail").as_deref() {
        None | Some("fields") => Ok(Detail::Fields),
        Some("all") => Ok(Detail::All),
        Some(other) => Err(Failure::usage(format!("--detail {other} is not known")).next("--detail all")),
    }
}

pub(crate) fn show(ready: &Ready, context: &str, format: Format, detail: Detail) -> Result<(), Failure> {
    let plan = &ready.planned.plan;
    let style = Style::stdout();
    match format {
        Format::Text => {
            let header = plan_view::header(&ready.state, context, &style);
            print(&format!("{header}\n{}", plan_view::plan(plan, detail, &style)))
        }
        Format::Json => {
            let view = upstream_view(plan);
            print_json(&json!({
                "schema": "kusion.io/preview/v1",
                "stack": plan.scope,
                "cluster": context,
                "release": ready.state.latest(),
                "tally": plan.tally(),
                "plan": plan,
                "stepKeys": view["stepKeys"],
                "changeSteps": view["changeSteps"],
            }))
        }
    }
}

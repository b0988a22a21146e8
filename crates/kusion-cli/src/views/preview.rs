//! A plan with its heading, as text or JSON.

use kusion::Ready;
use kusion_model::upstream_view;
use serde_json::{Value, json};

use crate::input::flags::Given;
use crate::views::failure::Failure;
use crate::views::output::{Format, print, print_json};
use crate::views::plan_view::{self, Detail};
use crate::views::style::Style;

pub(crate) fn detail_of(given: &Given) -> Result<Detail, Failure> {
    match given.last("detail").as_deref() {
        None | Some("fields") => Ok(Detail::Fields),
        Some("all") => Ok(Detail::All),
        Some(other) => Err(Failure::usage(format!("--detail {other} is not known")).next("--detail all")),
    }
}

/// Shows a plan; a preview also says whether an apply would refuse it.
pub(crate) fn show(
    ready: &Ready,
    context: &str,
    format: Format,
    detail: Detail,
    refused: Option<Value>,
) -> Result<(), Failure> {
    let plan = ready.plan();
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
                "cluster": plan_view::named(context),
                "release": ready.state.latest(),
                "tally": plan.tally(),
                "refused": refused,
                "plan": plan,
                "stepKeys": view["stepKeys"],
                "changeSteps": view["changeSteps"],
            }))
        }
    }
}

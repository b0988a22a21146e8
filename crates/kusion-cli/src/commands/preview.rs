//! `kusion preview`: what an apply would do, and why.

use std::path::Path;
use std::sync::Arc;

use base_file::How;
use kusion::{DryRun, Purpose, Ready, Road, RoadError, SavedPlan, Wanted, want};
use kusion_store::wait;

use crate::commands::apply::apply_ask;
use crate::input::chosen::{ChosenStack, Intent, now, open_for};
use crate::input::cluster::{Connection, tokio};
use crate::input::flags::{Arg, Given, flag};
use crate::input::planned::{ended, ruled, wanted, warn};
use crate::input::recall::connection_for;
use crate::input::who::acting;
use crate::views::company::Company;
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print};
use crate::views::preview::{detail_of, show};
use crate::views::refused::Refused;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("detail", None, "all", "show everything, also what does not change"),
        flag("exit-code", None, "", "leave with 2 if changes are pending"),
        flag("plan", None, "FILE", "save the plan, for `kusion apply --plan FILE`"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    // A plan that is saved is sealed by the key of its stack.
    let intent = if given.has("plan") { Intent::Record } else { Intent::Look };
    let chosen = ruled(given, open_for(given, intent)?)?;
    let purpose = Purpose::Apply(wanted(given, &chosen)?);
    let wanted = wait(want(&chosen.target, purpose)).map_err(|error| error.told(&chosen.target, ""))?;
    let tokio = tokio()?;
    let connection = tokio.block_on(connection_for(given, &chosen, &wanted))?;
    let chosen = Arc::new(chosen);
    let ready = tokio.block_on(plan(given, &chosen, &connection, wanted))?;
    let refused = (format == Format::Json).then(|| Refused::of(&ready).map(|refused| refused.json(&chosen)));
    show(&ready, &connection.context, format, detail_of(given)?, refused.flatten())?;
    if let Some(refused) = Refused::of(&ready).filter(|_| format == Format::Text) {
        print(&format!("\n{}", refused.text(&chosen)))?;
    }
    let plan = ready.plan();
    if let Some(file) = given.last("plan") {
        let saved = SavedPlan::of(&ready, acting(&chosen)?, now());
        let sealed = wait(chosen.target.store.seal("plan", &saved.to_text()))?;
        let written = base_file::replace(Path::new(&file), format!("{sealed}\n").as_bytes(), How::Private);
        written.map_err(|e| {
            Failure::usage("the plan cannot be saved")
                .cause(e.to_string())
                .place(file.clone())
                .next("name a file in a folder that exists and can be written")
        })?;
    }
    let pending = given.has("exit-code") && !plan.is_empty();
    // The process ends: giving the memory of thousands of objects back piece by piece would cost more than the plan.
    std::mem::forget(ready);
    if pending { Err(Failure::told(Exit::Pending)) } else { Ok(()) }
}

/// Plans, and says what is waited for if it takes long.
async fn plan(
    given: &Given,
    chosen: &Arc<ChosenStack>,
    connection: &Connection,
    wanted: Wanted,
) -> Result<Ready, Failure> {
    let mut ask = apply_ask(given, chosen)?;
    let company = Company::new(given, Arc::clone(chosen), connection, &ask)?;
    ask.observer = company.observer();
    let road = Road { engine: &connection.engine, target: &chosen.target };
    let planned = tokio::select! {
        planned = road.plan(wanted, DryRun::All, &ask) => planned,
        () = company.keep_drawing() => Err(RoadError::Interrupted),
    };
    let ready = planned.map_err(|error| ended(given, chosen, connection, error))?;
    ready.sites.give_back().await.iter().for_each(|text| warn(text));
    Ok(ready)
}

//! What the clusters know of a stack of which nothing is recorded here: it may be new, or its state is gone.

use std::collections::BTreeSet;
use std::time::Duration;

use kusion::{Aim, DryRun, Wanted, clusters_of};
use kusion_model::Spec;
use kusion_store::State;

use crate::input::chosen::ChosenStack;
use crate::input::cluster::{Connection, connect};
use crate::input::flags::Given;
use crate::input::planned::warn;
use crate::views::failure::Failure;

/// How long a look waits for a cluster that it could do without.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects to the clusters that a plan works on; where nothing is recorded, to those that the configuration names: the state may
/// be gone, and they know it.
///
/// # Errors
/// A cluster that cannot be named, or one that knows the state that is gone.
pub(crate) async fn connection_for(
    given: &Given,
    chosen: &ChosenStack,
    wanted: &Wanted,
) -> Result<Connection, Failure> {
    let mut names = wanted.clusters();
    if names.is_empty() && wanted.spec.resources.is_empty() {
        let configured = if wanted.aim == Aim::Apply { None } else { configured(given, chosen) };
        match configured {
            // What is there of other platforms goes away without the cluster, too.
            Some(spec) if !spec.resources.is_empty() && wanted.state.records.is_empty() => {
                names = clusters_of(&spec, &wanted.state);
            }
            _ => look_back(given, chosen, &wanted.state).await?,
        }
    }
    connect(given, chosen, &names).await
}

/// Whether nothing of the stack is recorded in any cluster.
pub(crate) fn is_unknown(state: &State) -> bool {
    clusters_of(&Spec::default(), state).is_empty()
}

/// Asks the clusters whether they know a later state than the one that is here. One that cannot be asked is a warning: what is
/// recorded can be looked at without it.
///
/// # Errors
/// A state that is gone, older than what a cluster knows, or another.
pub(crate) async fn look_back(given: &Given, chosen: &ChosenStack, state: &State) -> Result<(), Failure> {
    let spec = configured(given, chosen).unwrap_or_default();
    let names = match spec.resources.is_empty() {
        // Nobody can tell where its objects would be: where everything goes that says nothing.
        true => BTreeSet::from([String::new()]),
        false => clusters_of(&spec, state),
    };
    if names.is_empty() {
        return Ok(());
    }
    let not_asked =
        |why: &str| warn(&format!("the cluster was not asked what it knows about this stack: {why}"));
    let connection = match connect(given, chosen, &names).await {
        Ok(connection) => connection,
        Err(failure) => {
            not_asked(&failure.what);
            return Ok(());
        }
    };
    let sites = connection.engine.sites(&chosen.target, DryRun::All);
    let asked = connection.engine.recall(&chosen.target, &spec, state, &sites);
    match tokio::time::timeout(PATIENCE, asked).await {
        Err(_) => not_asked("it does not answer"),
        Ok(known) => known?.1.iter().for_each(|text| warn(text)),
    }
    Ok(())
}

/// What the configuration says; `None` if it cannot be evaluated. It is not looked at for mistakes here.
fn configured(given: &Given, chosen: &ChosenStack) -> Option<Spec> {
    let cluster = given.last("context").unwrap_or_default();
    chosen.evaluate(&cluster, false).ok().map(|generated| generated.spec)
}

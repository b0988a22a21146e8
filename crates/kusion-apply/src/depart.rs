//! Replacements that delete first: what uses an object goes before the object does, and everything comes back in the order of
//! the plan. No platform lets go of what something else still uses.

use futures::future::{BoxFuture, FutureExt as _, Shared, join_all};
use kusion_model::{Action, Attr, Step, Wait};
use kusion_runtime::RuntimeError;

use crate::executor::ApplyInput;
use crate::step::{Done, delete_old, run_step};

/// The delete of a replaced object, after those of its replaced users. It runs once, for whoever asks first, and not before
/// somebody asks: when nothing but this stands before the first of the new objects.
pub(crate) type Departure<'i> = Shared<BoxFuture<'i, Result<(), RuntimeError>>>;

/// The departures of a plan, by place in `steps`; `users` are those who wait for each.
pub(crate) fn departures<'i>(
    input: &'i ApplyInput<'i>,
    steps: &[&'i Step],
    users: &[Vec<(usize, Wait)>],
) -> Vec<Option<Departure<'i>>> {
    let mut all: Vec<Option<Departure<'i>>> = vec![None; steps.len()];
    let deletes = |step: &Step| step.action == Action::Replace && !step.create_first;
    // Users stand behind what they use.
    for at in (0..steps.len()).rev().filter(|&at| deletes(steps[at])) {
        let step = steps[at];
        let before: Vec<Departure<'i>> =
            users[at].iter().filter_map(|(user, _)| all[*user].clone()).collect();
        let departure = async move {
            join_all(before).await.into_iter().collect::<Result<Vec<()>, RuntimeError>>()?;
            delete_old(input, step).await
        };
        all[at] = Some(departure.boxed().shared());
    }
    all
}

/// Carries one step out; what it replaces goes first, unless the plan says otherwise.
pub(crate) async fn carry_out<'i>(
    input: &'i ApplyInput<'i>,
    step: &'i Step,
    attributes: Attr,
    departure: Option<Departure<'i>>,
) -> Done {
    match departure {
        Some(departure) => match departure.await {
            Ok(()) => run_step(input, step, attributes).await,
            Err(error) => Done::failed(error),
        },
        None => run_step(input, step, attributes).await,
    }
}

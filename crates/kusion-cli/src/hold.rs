//! Winning the lock, and planning again if the state moved meanwhile.
//!
//! A plan that was consented to is either still the plan, or shown again and consented to again; `-y` goes on with the new one.
//! A saved plan is applied exactly or not at all. While a person thinks the lock is free for others.

use std::sync::Arc;

use kusion::{ApplyAsk, DryRun, Happening, Ready};
use kusion_plan::moved_since;
use kusion_store::Session;

use crate::apply::{interrupt, say_destroyed};
use crate::cluster::{World, seconds};
use crate::consent::consent;
use crate::failure::{Failure, exit};
use crate::flags::Given;
use crate::output::{Format, tell};
use crate::place::{Place, liveness, now, owner};
use crate::plan_view::Detail;
use crate::planned::{failed, refuse_conflicts, ruled};
use crate::preview::show;
use crate::style::Style;

/// How a plan came to be applied.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) verb: &'static str,
    /// A person was asked.
    pub(crate) asks: bool,
    /// A saved plan: no other will do.
    pub(crate) exact: bool,
    pub(crate) dry_run: DryRun,
    pub(crate) format: Format,
    pub(crate) detail: Detail,
}

/// Takes the lock. The plan that comes back is of the state as it is under the lock; it may have become empty.
pub(crate) async fn hold(
    given: &Given,
    place: &Place,
    world: &World,
    mut ready: Ready,
    way: Way,
) -> Result<(Session, Ready), Failure> {
    let ask = lock_ask(given)?;
    let target = ruled(given, place)?;
    loop {
        let session = tokio::select! {
            session = world.engine.lock(&target, &ready.state, &ask) => session?,
            () = interrupt() => return Err(Failure::told(exit::INTERRUPTED)),
        };
        if way.exact {
            return Ok((session, ready));
        }
        let again = world.engine.plan_again(&session, &target, &ready, way.dry_run).await;
        let mut again = match again {
            Ok(None) => return Ok((session, ready)),
            Ok(Some(again)) => again,
            Err(failure) => {
                session.close(now()).await?;
                return Err(failed(failure, place, &world.server));
            }
        };
        if way.verb == "destroy" {
            say_destroyed(&mut again.planned.plan);
        }
        let moved = !moved_since(&ready.planned.plan, &again.planned.plan).is_empty();
        ready = again;
        if !moved || ready.planned.plan.is_empty() {
            return Ok((session, ready));
        }
        if way.format == Format::Text {
            let text = "another release was made meanwhile, so the plan is made again";
            tell(&format!("{} {text}\n", Style::stderr().yellow("note:")));
            show(&ready, &world.context, way.format, way.detail)?;
        }
        if let Err(refused) = refuse_conflicts(&ready) {
            session.close(now()).await?;
            return Err(refused);
        }
        if !way.asks {
            return Ok((session, ready));
        }
        session.close(now()).await?;
        consent(way.verb, &ready.planned.plan, &world.context)?;
    }
}

/// Who wants the lock, and for how long.
pub(crate) fn lock_ask(given: &Given) -> Result<ApplyAsk, Failure> {
    let mut ask = ApplyAsk::new(kusion::ReleaseDraft::default());
    ask.owner = owner(&given.without_values());
    ask.alive = liveness;
    ask.lock_timeout = seconds(given, "lock-timeout")?.unwrap_or_default();
    ask.observer = Arc::new(|happening| {
        if let Happening::Waiting(holder) = happening {
            tell(&format!("waiting for the lock: held by {holder}\n"));
        }
    });
    Ok(ask)
}

//! Taking objects over that exist: they are recorded as they are, and nothing is done to them.

use kusion_model::{Phase, ReleaseNo, ResourceKey, ResourceRecord, Tally};
use kusion_plan::plan_take_over;
use kusion_store::{Outcome, ReleaseEnd, StoreError};

use crate::{ApplyAsk, ENGINE, Engine, Exit, Failure, Target};

/// Records objects as a release of their own, under the stack's lock. Those that the stack has already are refused.
///
/// # Errors
/// Objects that are recorded, a lock that somebody holds, or a state that cannot be written.
pub async fn take_over(
    engine: &Engine,
    target: &Target,
    records: Vec<ResourceRecord>,
    ask: &ApplyAsk,
) -> Result<ReleaseNo, Failure> {
    let known = target.store.read().await?;
    let mut session = engine.lock(target, &known, ask).await?;
    let prior = session.state().prior();
    let has = |record: &&ResourceRecord| prior.records.contains_key(&record.key);
    let twice: Vec<&ResourceKey> = records.iter().filter(has).map(|record| &record.key).collect();
    if !twice.is_empty() {
        session.close(engine.now()).await?;
        let names: Vec<String> = twice.iter().map(ToString::to_string).collect();
        return Err(Failure::new(Exit::Conflict, format!("{} has these already", target.scope))
            .cause(names.join("\n"))
            .next("give them other names, or leave them out"));
    }
    let written = write(engine, target, &mut session, records, ask).await;
    session.close(engine.now()).await?;
    written
}

async fn write(
    engine: &Engine,
    target: &Target,
    session: &mut kusion_store::Session,
    records: Vec<ResourceRecord>,
    ask: &ApplyAsk,
) -> Result<ReleaseNo, Failure> {
    let plan = plan_take_over(&target.scope, ENGINE, &session.state().prior(), &records)
        .map_err(|error| Failure::usage("two of these are one object").cause(error.to_string()))?;
    let tally = Tally { import: records.len(), ..Tally::default() };
    let outputs = session.state().outputs.clone();
    let written: Result<ReleaseNo, StoreError> = async {
        let no = session.begin(&plan, ask.draft.clone(), engine.now()).await?;
        let outcome = |record| Outcome::Recorded(Box::new(ResourceRecord { release: no, ..record }));
        let outcomes = records.into_iter().map(outcome).collect();
        let end = ReleaseEnd { phase: Phase::Succeeded, ended: engine.now(), tally, message: None, outputs };
        session.end(no, outcomes, end).await?;
        Ok(no)
    }
    .await;
    Ok(written?)
}

//! Carrying out one step, with retries.

use std::future::Future;
use std::time::Duration;

use kusion_model::{Action, Attr, Deposed, Observed, Reason, ReleaseNo, ResourceRecord, Step};
use kusion_runtime::{Applied, DeleteAsk, Deleted, ErrorKind, Runtime, RuntimeError, WriteAsk};

use crate::executor::ApplyInput;
use crate::{Event, EventKind};

/// What came of the calls for one step.
pub(crate) enum Done {
    Applied {
        observed: Box<Observed>,
        attributes: Attr,
        warnings: Vec<String>,
        /// It failed, and what it left behind is recorded.
        trouble: Option<String>,
    },
    /// Ours is not there any more.
    Gone {
        warnings: Vec<String>,
    },
    Failed {
        message: String,
        kind: Option<ErrorKind>,
        uncertain: bool,
    },
}

impl Done {
    /// The state could not be written, so nothing was asked for.
    pub(crate) fn never_tried() -> Done {
        let message = "it was not tried, because the state cannot be written".to_owned();
        Done::Failed { message, kind: None, uncertain: false }
    }
}

/// How the object that a step is about came to its end.
enum End {
    Gone,
    /// Somebody made another one under its name.
    MadeAnew,
}

const MADE_ANEW: &str = "somebody made another object of this name meanwhile; it is left alone";

impl End {
    fn warnings(&self) -> Vec<String> {
        match self {
            End::Gone => Vec::new(),
            End::MadeAnew => vec![MADE_ANEW.to_owned()],
        }
    }

    /// What is to take the name must not take another's object with it.
    fn name_is_free(self) -> Result<(), RuntimeError> {
        match self {
            End::Gone => Ok(()),
            End::MadeAnew => Err(RuntimeError::new(ErrorKind::Owned, MADE_ANEW)),
        }
    }
}

/// Carries one step out. `attributes` are free of references.
pub(crate) async fn run_step(input: &ApplyInput<'_>, step: &Step, attributes: Attr) -> Done {
    let runtime = match input.runtimes.get(&step.kind, &step.key) {
        Ok(runtime) => runtime.as_ref(),
        Err(error) => return Done::Failed { message: error.to_string(), kind: None, uncertain: false },
    };
    let result = match step.action {
        Action::Delete => {
            delete_all(input, runtime, step).await.map(|end| Done::Gone { warnings: end.warnings() })
        }
        // An object that is on its way out has to be gone before another can take its name.
        Action::Create if step.live_uid.is_some() => {
            let gone = wait_gone(input, runtime, step, delete_ask(input, step)).await;
            match gone.and_then(End::name_is_free) {
                Ok(()) => write(input, runtime, step, &attributes).await,
                Err(error) => Err(error),
            }
        }
        // The old object of a replacement is a part of its own.
        Action::Create | Action::Update | Action::Replace | Action::Import | Action::Read => {
            write(input, runtime, step, &attributes).await
        }
        Action::Release => release(input, runtime, step).await.map(|()| Done::Gone { warnings: Vec::new() }),
        // Only the record goes.
        Action::NoOp => Ok(Done::Gone { warnings: Vec::new() }),
    };
    match result {
        Ok(Done::Applied { observed, warnings, trouble, .. }) => {
            Done::Applied { observed, attributes, warnings, trouble }
        }
        Ok(done) => done,
        Err(error) => {
            Done::Failed { uncertain: error.is_uncertain(), kind: Some(error.kind), message: error.message }
        }
    }
}

async fn write(
    input: &ApplyInput<'_>,
    runtime: &dyn Runtime,
    step: &Step,
    attributes: &Attr,
) -> Result<Done, RuntimeError> {
    let record = input.prior.get(&step.key);
    let ask = WriteAsk {
        key: &step.key,
        action: step.action,
        uid: step.live_uid.as_deref().filter(|_| matches!(step.action, Action::Update | Action::Import)),
        imported: step.adopts() || record.is_some_and(|record| record.imported),
        attributes,
        prior: record.filter(|_| !step.create_first),
        planned: step.planned.as_ref(),
        blob: step.blob.as_ref(),
        rules: &input.plan.rules,
        extensions: &step.extensions,
    };
    let Applied { observed, warnings, trouble } =
        retrying(input, step, || runtime.apply(ask.clone())).await?;
    let trouble = trouble.map(|error| error.message);
    Ok(Done::Applied { observed: Box::new(observed), attributes: Attr::Null, warnings, trouble })
}

/// Deletes an object, and what it has replaced and left behind.
async fn delete_all(input: &ApplyInput<'_>, runtime: &dyn Runtime, step: &Step) -> Result<End, RuntimeError> {
    let end = delete(input, runtime, step).await?;
    for deposed in &step.deposed {
        delete_deposed(input, step, deposed).await?;
    }
    Ok(end)
}

/// Deletes the old object of a replacement, and what that has replaced and left behind, so that the new one can take its name.
pub(crate) async fn delete_old(input: &ApplyInput<'_>, step: &Step) -> Result<(), RuntimeError> {
    let end = delete_all(input, runtime_of(input, step)?, step).await?;
    end.name_is_free()
}

/// Deletes objects that another one has replaced.
pub(crate) async fn delete_left(
    input: &ApplyInput<'_>,
    step: &Step,
    left: Vec<Deposed>,
) -> Result<(), RuntimeError> {
    for deposed in &left {
        delete_deposed(input, step, deposed).await?;
    }
    Ok(())
}

fn runtime_of<'a>(input: &'a ApplyInput<'_>, step: &Step) -> Result<&'a dyn Runtime, RuntimeError> {
    let found = input.runtimes.get(&step.kind, &step.key);
    found.map(|runtime| runtime.as_ref()).map_err(|e| RuntimeError::new(ErrorKind::Unexpected, e.to_string()))
}

/// Gives an object up that somebody else made. What another stack has taken, or somebody made anew, is not even touched.
async fn release(input: &ApplyInput<'_>, runtime: &dyn Runtime, step: &Step) -> Result<(), RuntimeError> {
    match step.reason {
        Reason::OwnedBy(_) => Ok(()),
        Reason::MadeAnew => prove_gone(input, runtime, step).await.map(|_| ()),
        _ => {
            let ask = delete_ask(input, step);
            retrying(input, step, || runtime.release(ask.clone())).await
        }
    }
}

/// Proves that the recorded object is gone, whatever has its name now.
async fn prove_gone(input: &ApplyInput<'_>, runtime: &dyn Runtime, step: &Step) -> Result<End, RuntimeError> {
    let uid = input.prior.get(&step.key).and_then(|record| record.uid.as_deref());
    let ask = DeleteAsk { uid, ..delete_ask(input, step) };
    let proved = retrying(input, step, || runtime.prove_gone(ask.clone())).await?;
    Ok(if proved == Deleted::MadeAnew { End::MadeAnew } else { End::Gone })
}

async fn delete(input: &ApplyInput<'_>, runtime: &dyn Runtime, step: &Step) -> Result<End, RuntimeError> {
    if step.reason == Reason::AlreadyGone {
        return prove_gone(input, runtime, step).await;
    }
    delete_with(input, runtime, step, delete_ask(input, step)).await
}

async fn delete_with(
    input: &ApplyInput<'_>,
    runtime: &dyn Runtime,
    step: &Step,
    ask: DeleteAsk<'_>,
) -> Result<End, RuntimeError> {
    match retrying(input, step, || runtime.delete(ask.clone())).await? {
        Deleted::Gone => Ok(End::Gone),
        Deleted::MadeAnew => Ok(End::MadeAnew),
        Deleted::Leaving { .. } => wait_gone(input, runtime, step, ask).await,
    }
}

fn delete_ask<'a>(input: &'a ApplyInput<'_>, step: &'a Step) -> DeleteAsk<'a> {
    let prior = input.prior.get(&step.key);
    let (uid, version) = (step.live_uid.as_deref(), step.live_version.as_deref());
    DeleteAsk { key: &step.key, uid, version, prior, extensions: &step.extensions }
}

async fn delete_deposed(input: &ApplyInput<'_>, step: &Step, deposed: &Deposed) -> Result<(), RuntimeError> {
    let runtime = runtime_of(input, step)?;
    let (uid, record) = (deposed.uid.as_deref(), record_of(input, step, deposed));
    let prior = Some(&record);
    let ask = DeleteAsk { key: &step.key, uid, version: None, prior, extensions: &step.extensions };
    delete_with(input, runtime, step, ask).await.map(|_| ())
}

/// The record of an object that another one has replaced: that of its resource, with what the platform kept of this object.
fn record_of(input: &ApplyInput<'_>, step: &Step, deposed: &Deposed) -> ResourceRecord {
    let known = input.prior.get(&step.key).cloned().unwrap_or_else(|| ResourceRecord {
        key: step.key.clone(),
        kind: step.kind.clone(),
        attributes: Attr::default(),
        depends_on: step.depends_on.clone(),
        extensions: step.extensions.clone(),
        uid: None,
        references: Vec::new(),
        release: ReleaseNo(0),
        imported: false,
        kept: None,
        deposed: Vec::new(),
    });
    ResourceRecord { uid: deposed.uid.clone(), kept: deposed.kept.clone(), deposed: Vec::new(), ..known }
}

async fn wait_gone(
    input: &ApplyInput<'_>,
    runtime: &dyn Runtime,
    step: &Step,
    ask: DeleteAsk<'_>,
) -> Result<End, RuntimeError> {
    let limit = input.options.gone_limit;
    match retrying(input, step, || runtime.wait_gone(ask.clone(), limit)).await? {
        Deleted::Gone => Ok(End::Gone),
        Deleted::MadeAnew => Ok(End::MadeAnew),
        Deleted::Leaving { held_by, message } => {
            let held =
                if held_by.is_empty() { String::new() } else { format!(", held by {}", held_by.join(", ")) };
            let message = message.map_or(String::new(), |message| format!(": {message}"));
            let text = format!("still being deleted after {} s{held}{message}", limit.as_secs());
            Err(RuntimeError::new(ErrorKind::Timeout, text))
        }
    }
}

async fn retrying<T, F>(
    input: &ApplyInput<'_>,
    step: &Step,
    mut call: impl FnMut() -> F,
) -> Result<T, RuntimeError>
where
    F: Future<Output = Result<T, RuntimeError>>,
{
    let mut attempt = 1;
    loop {
        let error = match call().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        // A drain ends the waiting: what failed so far has failed.
        let delay = input.options.retry.delay(&error, attempt, &step.key);
        let Some(delay) = delay.filter(|_| !input.cancel.is_cancelled()) else { return Err(error) };
        emit_retry(input, step, attempt, &error, delay);
        input.clock.sleep(delay).await;
        attempt += 1;
    }
}

fn emit_retry(input: &ApplyInput<'_>, step: &Step, attempt: u32, error: &RuntimeError, delay: Duration) {
    let kind = EventKind::Retrying {
        key: step.key.clone(),
        attempt,
        message: error.message.clone(),
        after_millis: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
    };
    (input.events)(Event { at: input.clock.now(), kind });
}

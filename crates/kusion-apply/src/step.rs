//! Carrying out one step, with retries.

use std::future::Future;
use std::time::Duration;

use kusion_model::{Action, Observed, Reason, SecretBag, Step};
use kusion_runtime::{Applied, ApplyAsk, DeleteAsk, Deleted, ErrorKind, Runtime, RuntimeError};
use serde_json::Value;

use crate::executor::ApplyInput;
use crate::{Event, EventKind};

/// What came of the calls for one step.
pub(crate) enum Done {
    Applied {
        observed: Box<Observed>,
        attributes: Value,
        warnings: Vec<String>,
    },
    /// Ours is not there any more.
    Gone {
        warnings: Vec<String>,
    },
    Failed {
        message: String,
        uncertain: bool,
    },
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

/// Carries one step out. `attributes` are sealed and free of references.
pub(crate) async fn run_step(
    input: &ApplyInput<'_>,
    step: &Step,
    attributes: Value,
    secrets: SecretBag,
) -> Done {
    let runtime = match input.runtimes.get(&step.kind, &step.key) {
        Ok(runtime) => runtime.as_ref(),
        Err(error) => return Done::Failed { message: error.to_string(), uncertain: false },
    };
    let result = match step.action {
        Action::Delete => {
            delete(input, runtime, step).await.map(|end| Done::Gone { warnings: end.warnings() })
        }
        Action::Replace => match delete(input, runtime, step).await.and_then(End::name_is_free) {
            Ok(()) => write(input, runtime, step, &attributes, &secrets).await,
            Err(error) => Err(error),
        },
        // An object that is on its way out has to be gone before another can take its name.
        Action::Create if step.live_uid.is_some() => {
            match wait_gone(input, runtime, step).await.and_then(End::name_is_free) {
                Ok(()) => write(input, runtime, step, &attributes, &secrets).await,
                Err(error) => Err(error),
            }
        }
        Action::Create | Action::Update | Action::Import => {
            write(input, runtime, step, &attributes, &secrets).await
        }
        Action::Release => release(input, runtime, step).await.map(|()| Done::Gone { warnings: Vec::new() }),
        // Only the record goes.
        Action::NoOp => Ok(Done::Gone { warnings: Vec::new() }),
    };
    match result {
        Ok(Done::Applied { observed, warnings, .. }) => Done::Applied { observed, attributes, warnings },
        Ok(done) => done,
        Err(error) => Done::Failed { uncertain: error.is_uncertain(), message: error.message },
    }
}

async fn write(
    input: &ApplyInput<'_>,
    runtime: &dyn Runtime,
    step: &Step,
    attributes: &Value,
    secrets: &SecretBag,
) -> Result<Done, RuntimeError> {
    let record = input.prior.get(&step.key);
    let ask = ApplyAsk {
        key: &step.key,
        action: step.action,
        imported: step.adopts() || record.is_some_and(|record| record.imported),
        attributes,
        secrets,
        prior: record.map(|record| &record.attributes),
        rules: &input.plan.rules,
        extensions: &step.extensions,
    };
    let Applied { observed, warnings } = retrying(input, step, || runtime.apply(ask.clone())).await?;
    Ok(Done::Applied { observed: Box::new(observed), attributes: Value::Null, warnings })
}

/// Gives an object up that somebody else made. What another stack has taken, or somebody made anew, is not even touched.
async fn release(input: &ApplyInput<'_>, runtime: &dyn Runtime, step: &Step) -> Result<(), RuntimeError> {
    if matches!(step.reason, Reason::OwnedBy(_) | Reason::MadeAnew) {
        return Ok(());
    }
    let ask = delete_ask(step);
    retrying(input, step, || runtime.release(ask.clone())).await
}

fn delete_ask(step: &Step) -> DeleteAsk<'_> {
    let (uid, version) = (step.live_uid.as_deref(), step.live_version.as_deref());
    DeleteAsk { key: &step.key, uid, version, extensions: &step.extensions }
}

async fn delete(input: &ApplyInput<'_>, runtime: &dyn Runtime, step: &Step) -> Result<End, RuntimeError> {
    if step.reason == Reason::AlreadyGone {
        return Ok(End::Gone);
    }
    let ask = delete_ask(step);
    match retrying(input, step, || runtime.delete(ask.clone())).await? {
        Deleted::Gone => Ok(End::Gone),
        Deleted::MadeAnew => Ok(End::MadeAnew),
        Deleted::Leaving { .. } => wait_gone(input, runtime, step).await,
    }
}

async fn wait_gone(input: &ApplyInput<'_>, runtime: &dyn Runtime, step: &Step) -> Result<End, RuntimeError> {
    let ask = delete_ask(step);
    let limit = input.options.gone_limit;
    match retrying(input, step, || runtime.wait_gone(ask.clone(), limit)).await? {
        Deleted::Gone => Ok(End::Gone),
        Deleted::MadeAnew => Ok(End::MadeAnew),
        Deleted::Leaving { finalizers, message } => {
            let held = if finalizers.is_empty() {
                String::new()
            } else {
                format!(", held by {}", finalizers.join(", "))
            };
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

//! Planning one object: what the host believes, what the provider answers, what that means.

use kusion_runtime::{ErrorKind, RuntimeError};
use tf_host::{Deferral, Diagnostic, PlanAsk, Planned, Resource, errors};
use tf_schema::{Action, Facts, Problem, action, check_plan, ignore_changes, proposed_new, replace_paths};
use tf_value::{Path, Value};

use crate::backend::Backend;
use crate::runtime::Seen;
use crate::settings::{Settings, invalid};

/// A change as its provider plans it.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) action: Action,
    /// What the plan starts from: null for an object that will be new.
    pub(crate) prior: Value,
    pub(crate) config: Value,
    pub(crate) planned: Value,
    pub(crate) private: Vec<u8>,
    pub(crate) identity: Option<Value>,
    pub(crate) replace: Vec<Path>,
    pub(crate) legacy: bool,
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn told(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

pub(crate) fn warnings(said: &[Diagnostic]) -> Vec<String> {
    said.iter().filter(|one| !one.is_error()).map(ToString::to_string).collect()
}

/// Plans a change of an object, or a new one; the inner error is why the provider puts it off.
pub(crate) async fn draft(
    backend: &Backend,
    of: &Resource,
    settings: &Settings,
    config: Value,
    seen: Option<&Seen>,
) -> Result<Result<Draft, Deferral>, RuntimeError> {
    let block = &of.schema.block;
    let tainted = seen.is_some_and(|seen| seen.held.tainted);
    let whole = seen.filter(|_| !tainted);
    let prior = whole.map_or(Value::Null, |seen| seen.state.clone());
    let private = whole.map_or(&[][..], |seen| &seen.held.private);
    let identity = whole.and_then(|seen| seen.identity.as_ref());
    let ignored = settings.lifecycle.ignored(&of.ty)?.filter(|_| !prior.is_null());
    let asked = match &ignored {
        Some(ignore) => {
            ignore_changes(&of.schema, &prior, &config, ignore).map_err(|p| invalid(p.to_string()))?
        }
        None => config.clone(),
    };
    let first = match plan(backend, of, &prior, &asked, private, identity).await? {
        Ok(first) => first,
        Err(why) => return Ok(Err(why)),
    };
    let state = first.state.clone().unwrap_or_default();
    let replace = replace_paths(block, &prior, &state, &first.requires_replace)
        .map_err(|p| bad_plan(&p.to_string()))?;
    let decided = action(block, &prior, &state, &replace, Facts { tainted, ..Facts::default() });
    let mut said = warnings(&first.said);
    let answer = match decided {
        Action::Replace(_) if !tainted => {
            let second = match plan(backend, of, &Value::Null, &config, &first.private, None).await? {
                Ok(second) => second,
                Err(why) => return Ok(Err(why)),
            };
            said.extend(warnings(&second.said));
            second
        }
        _ => first,
    };
    said.sort();
    said.dedup();
    let planned = answer.state.unwrap_or_default();
    let (private, identity, legacy) = (answer.private, answer.identity, answer.legacy);
    let warnings = said;
    Ok(Ok(Draft { action: decided, prior, config, planned, private, identity, replace, legacy, warnings }))
}

async fn plan(
    backend: &Backend,
    of: &Resource,
    prior: &Value,
    config: &Value,
    private: &[u8],
    identity: Option<&Value>,
) -> Result<Result<Planned, Deferral>, RuntimeError> {
    let block = &of.schema.block;
    let proposed = proposed_new(block, prior, config);
    let ask = PlanAsk { prior, proposed: &proposed, config, private, identity, meta: None };
    let answer = backend.plan(of, ask).await?;
    if let Some(what) = errors(&answer.said) {
        return Err(invalid(what));
    }
    if let Some(why) = answer.deferred {
        return Ok(Err(why));
    }
    let Some(state) = &answer.state else { return Err(bad_plan("there is none")) };
    let problems = if answer.legacy { Vec::new() } else { check_plan(block, prior, config, state) };
    if problems.is_empty() { Ok(Ok(answer)) } else { Err(bad_plan(&told(&problems))) }
}

fn bad_plan(what: &str) -> RuntimeError {
    let text =
        format!("the provider made a plan that breaks the rules, which is a bug of the provider: {what}");
    RuntimeError::new(ErrorKind::Invalid, text)
}

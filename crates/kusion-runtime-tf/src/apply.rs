//! Carrying out the change of one resource. What a provider answers is the state, also beside an error.

use std::sync::Arc;

use kusion_model::{Action, Live, Observed};
use kusion_runtime::{Applied, DeleteAsk, Deleted, ErrorKind, RuntimeError, WriteAsk};
use tf_host::{ApplyAsk, Deferral, PlanAsk, Resource, errors};
use tf_schema::{check_applied, configure, fill_blocks};
use tf_value::{Path, Value};

use crate::Held;
use crate::attr::{loose_resource, seal_known, sealed, secrets_of};
use crate::backend::Backend;
use crate::draft::{Draft, draft, told, warnings};
use crate::observe::{identity_text, identity_version};
use crate::runtime::{Seen, TfRuntime};
use crate::settings::{FORBIDS_DELETE, Role, Settings, invalid, refused};

impl TfRuntime {
    pub(crate) async fn apply_one(&self, ask: WriteAsk<'_>) -> Result<Applied, RuntimeError> {
        let settings = Settings::read(ask.key, ask.extensions)?;
        let provider_config = self.config_of(&settings, Some(ask.attributes), None);
        let backend = self.backend(&settings, &provider_config).await?;
        match settings.role {
            Role::Managed => {}
            Role::Data => return self.apply_data(&ask, &settings, &backend).await,
            Role::Ephemeral => return self.apply_ephemeral(&ask, &settings, &backend).await,
        }
        let of = backend.resource(&settings.type_name)?;
        let config =
            configure(&of.schema.block, &loose_resource(ask.attributes)?).map_err(|p| refused(told(&p)))?;
        if !config.is_wholly_known() {
            return Err(invalid("something in its configuration is still not known"));
        }
        let seen = self.seen_for(&ask, &backend, &of).await?;
        let draft = self.final_draft(&ask, &backend, &of, &settings, config, seen.as_deref()).await?;
        if let (tf_schema::Action::NoOp, Some(seen)) = (&draft.action, &seen) {
            return Ok(Applied {
                observed: self.observed(Arc::clone(seen), None)?,
                warnings: draft.warnings,
                trouble: None,
            });
        }
        let made = backend.apply(&of, draft.ask()).await.map_err(|error| maybe_made(error, &draft))?;
        let state = made.state.filter(|state| !state.is_null());
        let mut wrong = errors(&made.said);
        let Some(state) = state else {
            return Err(invalid(
                wrong.unwrap_or_else(|| "the provider says nothing about what it made".to_owned()),
            ));
        };
        let state = known(&fill_blocks(&of.schema.block, &state), &mut wrong);
        if wrong.is_none() && !made.legacy && !draft.legacy {
            let problems = check_applied(&of.schema.block, &draft.planned, &state);
            let bug = || {
                format!(
                    "the provider made something else than it planned, which is a bug of the provider: {}",
                    told(&problems)
                )
            };
            wrong = (!problems.is_empty()).then(bug);
        }
        let before = seen.as_ref().map(|seen| seen.held.secrets.clone()).unwrap_or_default();
        let held = Held {
            private: made.private,
            identity: identity_text(&of, made.identity.as_ref()),
            identity_version: identity_version(&of),
            // What a failed create left is not whole.
            tainted: wrong.is_some() && draft.prior.is_null(),
            // What was a secret before may be in it still.
            secrets: secrets_of(ask.attributes, &self.key).into_iter().chain(before).collect(),
            passing: self.passing(ask.key).await?,
            ..self.held(&of, &settings.source, &state, &provider_config)?
        };
        let seen = Arc::new(Seen { of, state, identity: made.identity, held, recorded: None });
        self.memory().seen.insert(ask.key.clone(), Arc::clone(&seen));
        let said = warnings(&made.said).into_iter().chain(draft.warnings).collect();
        let trouble = wrong.map(invalid);
        Ok(Applied { observed: self.observed(seen, None)?, warnings: said, trouble })
    }

    /// The object that is changed: none for one that will be new.
    async fn seen_for(
        &self,
        ask: &WriteAsk<'_>,
        backend: &Backend,
        of: &Arc<Resource>,
    ) -> Result<Option<Arc<Seen>>, RuntimeError> {
        if matches!(ask.action, Action::Create | Action::Replace) {
            return Ok(None);
        }
        if let Some(seen) = self.memory().seen.get(ask.key) {
            return Ok(Some(Arc::clone(seen)));
        }
        let Some(kept) = ask.prior.and_then(|record| record.kept.as_ref()) else { return Ok(None) };
        let held = Held::open(kept, &self.key).map_err(invalid)?;
        self.recorded(backend, of, held).await.map(|seen| Some(Arc::new(seen)))
    }

    /// The plan that is carried out: made again now that everything is known, and a completion of the one that was shown.
    async fn final_draft(
        &self,
        ask: &WriteAsk<'_>,
        backend: &Backend,
        of: &Resource,
        settings: &Settings,
        config: Value,
        seen: Option<&Seen>,
    ) -> Result<Draft, RuntimeError> {
        let shown = self.memory().drafts.get(ask.key).cloned();
        // Made a moment ago from the same things: it would be the same.
        if let Some(shown) = &shown
            && ask.action != Action::Replace
            && shown.config == config
            && shown.config.is_wholly_known()
        {
            return Ok(shown.clone());
        }
        let validated = backend.validate(of, &config).await?;
        if let Some(what) = errors(&validated) {
            return Err(invalid(what));
        }
        let made = draft(backend, of, settings, config, seen).await?.map_err(put_off)?;
        // What was consented to may turn out to be nothing, and never to be more.
        if matches!(made.action, tf_schema::Action::Replace(_)) {
            return Err(invalid(format!(
                "the provider wants to replace it now that everything is known, and that is not what was planned ({}); \
                 nothing was done to it: run the same command again",
                ask.action
            )));
        }
        if let Some(shown) = shown.filter(|_| made.action != tf_schema::Action::NoOp) {
            let problems = check_applied(&of.schema.block, &shown.planned, &made.planned);
            if !problems.is_empty() && !made.legacy {
                return Err(invalid(format!(
                    "the provider plans something else than was shown, which is a bug of the provider: {}",
                    told(&problems)
                )));
            }
        }
        Ok(made)
    }

    async fn apply_data(
        &self,
        ask: &WriteAsk<'_>,
        settings: &Settings,
        backend: &Backend,
    ) -> Result<Applied, RuntimeError> {
        let of = backend.data_source(&settings.type_name)?;
        let block = &of.schema.block;
        let config = configure(block, &loose_resource(ask.attributes)?).map_err(|p| refused(told(&p)))?;
        let state = self.read_data(backend, &of, &config).await?.map_err(put_off)?;
        let mut tree = sealed(block, &state, &self.key);
        seal_known(&mut tree, &secrets_of(ask.attributes, &self.key), &self.key);
        let attributes = Live::from(tree);
        let observed = Observed { attributes, ..Observed::default() };
        Ok(Applied { observed, warnings: Vec::new(), trouble: None })
    }

    pub(crate) async fn delete_one(&self, ask: DeleteAsk<'_>) -> Result<Deleted, RuntimeError> {
        let settings = Settings::read(ask.key, ask.extensions)?;
        let kept = ask.prior.and_then(|record| record.kept.as_ref());
        let Some(kept) = kept.filter(|_| settings.role == Role::Managed) else { return Ok(Deleted::Gone) };
        if settings.lifecycle.keep {
            return Err(invalid(FORBIDS_DELETE));
        }
        let held = Held::open(kept, &self.key).map_err(invalid)?;
        let config = self.connection(ask.key, &settings, Some(&held)).await?;
        let backend = self.backend(&settings, &config).await?;
        let of = backend.resource(&settings.type_name)?;
        let seen = self.memory().seen.get(ask.key).filter(|seen| is_same(seen, &held)).cloned();
        let seen = match seen {
            Some(seen) => seen,
            None => Arc::new(self.recorded(&backend, &of, held).await?),
        };
        let (prior, identity, null) = (&seen.state, seen.identity.as_ref(), &Value::Null);
        let mut private = seen.held.private.clone();
        if backend.plans_destroy() {
            let (proposed, config) = (null, null);
            let plan = PlanAsk { prior, proposed, config, private: &private, identity, meta: None };
            let planned = backend.plan(&of, plan).await?;
            if let Some(what) = errors(&planned.said) {
                return Err(invalid(what));
            }
            private = planned.private;
        }
        let apply = ApplyAsk { prior, planned: null, config: null, private: &private, identity, meta: None };
        let done = backend.apply(&of, apply).await?;
        if let Some(what) = errors(&done.said) {
            return Err(invalid(what));
        }
        match done.state.is_none_or(|state| state.is_null()) {
            true => Ok(Deleted::Gone),
            false => Err(invalid("the provider says that it is still there, and does not say why")),
        }
    }
}

/// A provider that could plan it and cannot any more.
pub(crate) fn put_off(why: Deferral) -> RuntimeError {
    invalid(format!("the provider puts it off: {why}; nothing was done to it: run the same command again"))
}

/// Whether an object that was seen is the one that is meant: not the one that replaces it.
fn is_same(seen: &Seen, held: &Held) -> bool {
    seen.recorded.is_some() || (seen.held.state == held.state && seen.held.private == held.private)
}

impl Draft {
    fn ask(&self) -> ApplyAsk<'_> {
        let (prior, planned, config) = (&self.prior, &self.planned, &self.config);
        ApplyAsk {
            prior,
            planned,
            config,
            private: &self.private,
            identity: self.identity.as_ref(),
            meta: None,
        }
    }
}

/// Nobody knows whether a create that was cut off has made something.
fn maybe_made(mut error: RuntimeError, draft: &Draft) -> RuntimeError {
    if error.is_uncertain() {
        error.kind = ErrorKind::Unexpected;
        if draft.prior.is_null() {
            error.message.push_str(
                "\nit may have been made all the same: look for it, and take it over: kusion import STACK RESOURCE ID",
            );
        }
    }
    error
}

/// A state without unknown values: what is left unknown after an apply is an error, and kept as null.
fn known(state: &Value, wrong: &mut Option<String>) -> Value {
    if state.is_wholly_known() {
        return state.clone();
    }
    let mut places = Vec::new();
    state.each_unknown(&mut Path::default(), &mut |path| places.push(path.to_string()));
    let text = format!(
        "the provider left values unknown after the apply, which is a bug of the provider: {}",
        places.join(", ")
    );
    *wrong = Some(wrong.take().map_or(text.clone(), |before| format!("{before}\n{text}")));
    without_unknown(state)
}

fn without_unknown(value: &Value) -> Value {
    match value {
        Value::Unknown(_) => Value::Null,
        Value::List(items) => Value::List(items.iter().map(without_unknown).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(name, value)| (name.clone(), without_unknown(value))).collect())
        }
        Value::Dynamic(dynamic) if dynamic.value.is_unknown() => Value::Null,
        // A set with an unknown element is unknown as a whole.
        Value::Set(items) if items.iter().any(|item| !item.is_wholly_known()) => Value::Null,
        other => other.clone(),
    }
}

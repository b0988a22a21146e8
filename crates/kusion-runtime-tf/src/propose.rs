//! What applying would do to one resource.

use kusion_model::{Attr, FieldPath, Proposal, Proposed, seal_like};
use kusion_runtime::{ProposeAsk, RuntimeError};
use tf_host::errors;
use tf_schema::{Action, configure, proposed_read};
use tf_value::Value;

use crate::attr::{field_path, loose_resource, seal_known, sealed, secrets_of};
use crate::changes::changes;
use crate::draft::{draft, told, warnings};
use crate::runtime::{Object, TfRuntime};
use crate::settings::{Settings, invalid};

impl TfRuntime {
    pub(crate) async fn propose_one(&self, ask: &ProposeAsk<'_>) -> Result<Proposal, RuntimeError> {
        let desired = ask.desired;
        let settings = Settings::read(&desired.key, desired.extensions)?;
        let config = self.config_of(&settings, Some(&desired.attributes), None);
        let backend = self.backend(&settings, &config).await?;
        if settings.is_data {
            return self.propose_data(ask, &settings, &backend).await;
        }
        let of = backend.resource(&settings.type_name)?;
        let block = &of.schema.block;
        let config =
            configure(block, &loose_resource(&desired.attributes)?).map_err(|p| invalid(told(&p)))?;
        let said = backend.validate(&of, &config).await?;
        if let Some(what) = errors(&said) {
            return Err(invalid(what));
        }
        let live = ask.live.and_then(|live| live.attributes.native::<Object>());
        let draft = draft(&backend, &of, &settings, config, live.map(|live| &*live.seen)).await?;
        let mut planned = sealed(block, &draft.planned, &self.key);
        seal_like(&mut planned, &desired.attributes, &self.key);
        seal_known(&mut planned, &secrets_of(&desired.attributes), &self.key);
        let before = ask.live.map(|live| live.attributes.tree()).unwrap_or(&Attr::Null);
        let recorded = || {
            let moved = live?.seen.recorded.as_ref()?;
            let mut tree = sealed(block, moved, &self.key);
            seal_like(&mut tree, before, &self.key);
            Some(tree)
        };
        let what = match &draft.action {
            Action::NoOp => Proposed::Same,
            Action::Create => Proposed::Create,
            Action::Update => Proposed::Update,
            Action::Replace(_) if settings.lifecycle.keep => {
                return Err(invalid(
                    "it has to be replaced, and its `lifecycle.preventDestroy` forbids that",
                ));
            }
            Action::Replace(_) => Proposed::Replace {
                because: draft.replace.iter().map(field_path).collect::<Vec<FieldPath>>(),
                lost: None,
                create_first: settings.lifecycle.create_first,
            },
        };
        let mut proposal = Proposal::of(what);
        if matches!(draft.action, Action::Update | Action::Replace(_)) {
            proposal.changes = changes(before, &planned, recorded().as_ref());
        }
        proposal.warnings = warnings(&said).into_iter().chain(draft.warnings.iter().cloned()).collect();
        if ask.live.is_none() && ask.prior.is_some_and(|record| record.kept.is_none()) {
            proposal.warnings.push(MAY_EXIST.to_owned());
        }
        proposal.planned = Some(planned);
        let mut memory = self.memory();
        if draft.action != Action::NoOp {
            memory.changing.insert(desired.key.clone());
        }
        memory.drafts.insert(desired.key.clone(), draft);
        Ok(proposal)
    }

    /// A data source is read now if everything that it depends on is as it will be.
    async fn propose_data(
        &self,
        ask: &ProposeAsk<'_>,
        settings: &Settings,
        backend: &crate::backend::Backend,
    ) -> Result<Proposal, RuntimeError> {
        let of = backend.data_source(&settings.type_name)?;
        let block = &of.schema.block;
        let attributes = &ask.desired.attributes;
        let config = configure(block, &loose_resource(attributes)?).map_err(|p| invalid(told(&p)))?;
        let said = backend.validate_data(&of, &config).await?;
        if let Some(what) = errors(&said) {
            return Err(invalid(what));
        }
        let waits = ask.pending || !config.is_wholly_known();
        let (what, state) = match waits {
            true => (Proposed::Read, proposed_read(block, &config)),
            false => (Proposed::Same, self.read_data(backend, &of, &config).await?),
        };
        let mut planned = sealed(block, &state, &self.key);
        seal_like(&mut planned, attributes, &self.key);
        seal_known(&mut planned, &secrets_of(attributes), &self.key);
        Ok(Proposal { planned: Some(planned), warnings: warnings(&said), ..Proposal::of(what) })
    }

    pub(crate) async fn read_data(
        &self,
        backend: &crate::backend::Backend,
        of: &tf_host::DataSource,
        config: &Value,
    ) -> Result<Value, RuntimeError> {
        let (state, said) = backend.read_data(of, config).await?;
        if let Some(what) = errors(&said) {
            return Err(invalid(what));
        }
        let state = state.filter(|state| !state.is_null() && state.is_wholly_known());
        state.ok_or_else(|| invalid("the provider answered with an object that is not whole"))
    }
}

const MAY_EXIST: &str = "a release that was interrupted may have made it already; if it exists, import it instead: \
    extension `kusionstack.io/import-id`";

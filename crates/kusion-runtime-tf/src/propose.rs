//! What applying would do to one resource.

use std::sync::Arc;

use kusion_model::{Attr, FieldPath, Proposal, Proposed, ResourceKey, seal_like};
use kusion_runtime::{ProposeAsk, RuntimeError};
use tf_host::{DataRead, Deferral, MoveAsk, Moved, Resource, errors};
use tf_schema::{Action, configure, fill_blocks, proposed_read};
use tf_value::Value;

use crate::attr::{field_path, loose_resource, seal_known, sealed, secrets_of};
use crate::backend::Backend;
use crate::changes::changes;
use crate::connection::has_lost;
use crate::draft::{draft, told, warnings};
use crate::observe::{identity_text, identity_version};
use crate::runtime::{Object, Seen, TfRuntime};
use crate::settings::{Role, Settings, invalid, refused};
use crate::{Held, Source};

impl TfRuntime {
    pub(crate) async fn propose_one(&self, ask: &ProposeAsk<'_>) -> Result<Proposal, RuntimeError> {
        let desired = ask.desired;
        let settings = Settings::read(&desired.key, desired.extensions)?;
        let mut config = self.config_of(&settings, Some(&desired.attributes), None);
        if has_lost(&config) {
            let kept = ask.prior.and_then(|record| record.kept.as_ref());
            let held = kept.map(|kept| Held::open(kept, &self.key).map_err(invalid)).transpose()?;
            config = self.connection(&desired.key, &settings, held.as_ref()).await?;
        }
        let backend = self.backend(&settings, &config).await?;
        match settings.role {
            Role::Managed => {}
            Role::Data => return self.propose_data(ask, &settings, &backend).await,
            Role::Ephemeral => return self.propose_ephemeral(ask, &settings, &backend).await,
        }
        let of = backend.resource(&settings.type_name)?;
        let block = &of.schema.block;
        let config =
            configure(block, &loose_resource(&desired.attributes)?).map_err(|p| refused(told(&p)))?;
        let said = backend.validate(&of, &config).await?;
        if let Some(what) = errors(&said) {
            return Err(invalid(what));
        }
        let live = ask.live.and_then(|live| live.attributes.native::<Object>());
        let was_other_type = live.is_some_and(|live| live.seen.of.name != of.name);
        let live = match live {
            Some(live) => Some(self.arrived(&desired.key, &backend, &of, &live.seen).await?),
            None => None,
        };
        let draft = match draft(&backend, &of, &settings, config, live.as_deref()).await? {
            Ok(draft) => draft,
            Err(why) => return Ok(Proposal::of(Proposed::PutOff(why.to_string()))),
        };
        let mut planned = sealed(block, &draft.planned, &self.key);
        seal_like(&mut planned, &desired.attributes, &self.key);
        let mut secrets = secrets_of(&desired.attributes, &self.key);
        secrets.extend(live.iter().flat_map(|seen| seen.held.secrets.iter().cloned()));
        seal_known(&mut planned, &secrets, &self.key);
        let before = ask.live.map(|live| live.attributes.tree()).unwrap_or(&Attr::Null);
        let recorded = || {
            let moved = live.as_ref()?.recorded.as_ref()?;
            let mut tree = sealed(block, moved, &self.key);
            seal_like(&mut tree, before, &self.key);
            Some(tree)
        };
        let what = match &draft.action {
            // Only the record changes: it is of another type now.
            Action::NoOp if was_other_type => Proposed::Update,
            Action::NoOp => Proposed::Same,
            Action::Create => Proposed::Create,
            Action::Update => Proposed::Update,
            Action::Replace(_) if settings.lifecycle.keep => {
                return Err(invalid(
                    "extension `lifecycle`: `preventDestroy` forbids to replace it, which this change needs",
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
        proposal.planned = Some(planned);
        // What the host makes itself is made nowhere else.
        proposal.once = !settings.source.is_builtin();
        let mut memory = self.memory();
        if draft.action != Action::NoOp {
            memory.changing.insert(desired.key.clone());
        }
        memory.drafts.insert(desired.key.clone(), draft);
        Ok(proposal)
    }

    /// The object under the key that it has now: one of another type becomes one of this, if the provider knows how.
    async fn arrived(
        &self,
        key: &ResourceKey,
        backend: &Backend,
        of: &Arc<Resource>,
        seen: &Arc<Seen>,
    ) -> Result<Arc<Seen>, RuntimeError> {
        let seen = match seen.of.name == of.name {
            true => Arc::clone(seen),
            false => Arc::new(self.of_other_type(backend, of, seen).await?),
        };
        self.memory().seen.insert(key.clone(), Arc::clone(&seen));
        Ok(seen)
    }

    async fn of_other_type(
        &self,
        backend: &Backend,
        of: &Arc<Resource>,
        seen: &Seen,
    ) -> Result<Seen, RuntimeError> {
        let held = &seen.held;
        let (from, to) = (&held.type_name, &of.name);
        if !backend.moves() {
            return Err(invalid(format!("it was a {from}, and its provider makes no {to} of that")));
        }
        let ask = MoveAsk {
            provider_address: &held.provider,
            type_name: from,
            schema_version: i64::try_from(held.schema_version).unwrap_or(i64::MAX),
            state_json: held.state.as_bytes(),
            private: &held.private,
            identity: held
                .identity
                .as_ref()
                .map(|json| (json.as_bytes(), i64::try_from(held.identity_version).unwrap_or(i64::MAX))),
        };
        let Moved { state, private, identity, said } = backend.move_state(of, ask).await?;
        if let Some(what) = errors(&said) {
            return Err(invalid(format!("a {from} does not become a {to}: {what}")));
        }
        let state = state.filter(|state| !state.is_null());
        let state = state.ok_or_else(|| invalid(format!("its provider makes no {to} of a {from}")))?;
        let state = fill_blocks(&of.schema.block, &state);
        let source = Source { address: held.provider.clone(), version: None };
        let fresh = self.held(of, &source, &state, &Attr::Null)?;
        let (secrets, config, tainted) = (held.secrets.clone(), held.config.clone(), held.tainted);
        let passing = held.passing.clone();
        let (text, version) = (identity_text(of, identity.as_ref()), identity_version(of));
        let held = Held { private, identity: text, identity_version: version, secrets, tainted, ..fresh };
        let held = Held { config, passing, ..held };
        Ok(Seen { of: Arc::clone(of), state, identity, held, recorded: None })
    }

    /// A data source is read now if everything that it depends on is as it will be.
    async fn propose_data(
        &self,
        ask: &ProposeAsk<'_>,
        settings: &Settings,
        backend: &Backend,
    ) -> Result<Proposal, RuntimeError> {
        let of = backend.data_source(&settings.type_name)?;
        let block = &of.schema.block;
        let attributes = &ask.desired.attributes;
        let config = configure(block, &loose_resource(attributes)?).map_err(|p| refused(told(&p)))?;
        let said = backend.validate_data(&of, &config).await?;
        if let Some(what) = errors(&said) {
            return Err(invalid(what));
        }
        let waits = ask.pending || !config.is_wholly_known();
        let (what, state) = match waits {
            true => (Proposed::Read, proposed_read(block, &config)),
            false => match self.read_data(backend, &of, &config).await? {
                Ok(state) => (Proposed::Same, state),
                Err(why) => return Ok(Proposal::of(Proposed::PutOff(why.to_string()))),
            },
        };
        let mut planned = sealed(block, &state, &self.key);
        seal_like(&mut planned, attributes, &self.key);
        seal_known(&mut planned, &secrets_of(attributes, &self.key), &self.key);
        Ok(Proposal { planned: Some(planned), warnings: warnings(&said), ..Proposal::of(what) })
    }

    /// The inner error is why the provider puts it off.
    pub(crate) async fn read_data(
        &self,
        backend: &Backend,
        of: &tf_host::DataSource,
        config: &Value,
    ) -> Result<Result<Value, Deferral>, RuntimeError> {
        let DataRead { state, deferred, said } = backend.read_data(of, config).await?;
        if let Some(what) = errors(&said) {
            return Err(invalid(what));
        }
        if let Some(why) = deferred {
            return Ok(Err(why));
        }
        let state = state.filter(|state| !state.is_null() && state.is_wholly_known());
        state.map(Ok).ok_or_else(|| invalid("the provider answered with an object that is not whole"))
    }
}

//! The witness of a stack: where it is, what it is asked and told.
//!
//! One place per stack: where its first resource is. What cannot be asked or told is a warning, never a failure: a witness is a
//! second look, and a team may not be allowed to write there.

use std::sync::Arc;

use kusion_model::{Head, ResourceKey, Scope, Spec};
use kusion_runtime::{ErrorKind, RuntimeError, RuntimeKey, Witness};
use kusion_store::State;

use crate::Sites;

/// The places of a stack's witness: where it is kept from now on, and where it may have been kept before.
#[derive(Default)]
pub struct Stand {
    places: Vec<Arc<dyn Witness>>,
}

impl Stand {
    /// Finds the places of a stack: as configured, and as recorded.
    #[must_use]
    pub fn of(scope: &Scope, spec: &Spec, state: &State, sites: &Sites) -> Stand {
        let keys: Vec<ResourceKey> = spec.resources.iter().map(kusion_model::Resource::key).collect();
        let wanted = spec.resources.iter().zip(&keys).map(|(resource, key)| (&resource.kind, key));
        let recorded = state.records.values().chain(state.intents.values());
        let recorded = recorded.map(|record| (&record.kind, &record.key));
        let mut places: Vec<(RuntimeKey, Arc<dyn Witness>)> = Vec::new();
        for (at, witness) in
            [sites.witness(scope, wanted), sites.witness(scope, recorded)].into_iter().flatten()
        {
            if !places.iter().any(|(on, known)| *on == at && known.place() == witness.place()) {
                places.push((at, witness));
            }
        }
        Stand { places: places.into_iter().map(|(_, witness)| witness).collect() }
    }

    /// Asks what is known; of several answers the furthest. The warnings say who could not be asked.
    pub async fn recall(&self) -> (Option<Head>, Vec<String>) {
        let (mut known, mut warnings) = (None::<Head>, Vec::new());
        for witness in &self.places {
            match witness.recall().await {
                Ok(Some(head)) if known.as_ref().is_none_or(|known| known.serial < head.serial) => {
                    known = Some(head);
                }
                Ok(_) => {}
                Err(error) => warnings.push(warning("read", &**witness, &error)),
            }
        }
        (known, warnings)
    }

    /// Tells the head of the log. A stack that has made nothing is forgotten. Returns warnings.
    pub async fn tell(&self, head: &Head, is_empty: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        for (number, witness) in self.places.iter().enumerate() {
            let (verb, done) = if is_empty || number > 0 {
                ("removed", witness.forget().await)
            } else {
                ("written", witness.remember(head).await.map(|_| ()))
            };
            warnings.extend(done.err().map(|error| warning(verb, &**witness, &error)));
        }
        warnings
    }
}

fn warning(verb: &str, witness: &dyn Witness, error: &RuntimeError) -> String {
    let cause = match error.kind {
        ErrorKind::Forbidden => "the cluster does not allow it",
        _ => error.message.as_str(),
    };
    format!("the witness of the state ({}) could not be {verb}: {cause}", witness.place())
}

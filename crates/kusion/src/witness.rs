//! The witness of a stack: where it is, what it is asked and told.
//!
//! One place per stack: where its first resource is. That place moves with the configuration, and a state that is gone knows
//! none: where nothing is known at the place that is expected, all namespaces are looked through. What cannot be asked or told is
//! a warning, never a failure: a witness is a second look, and a team may not be allowed to write there.

use std::sync::Arc;

use kusion_model::{Head, ResourceKey, Scope, Spec};
use kusion_runtime::{ErrorKind, RuntimeError, RuntimeKey, Witness};
use kusion_store::{Damage, State};

use crate::Sites;

/// The places of a stack's witness: where it is kept from now on, and where it may have been kept before.
#[derive(Clone, Default)]
pub struct Stand {
    places: Vec<Arc<dyn Witness>>,
    /// Where it is kept from now on is among the places: the first of them.
    is_wanted: bool,
    /// Whose witness it is, and where it can be looked for.
    whole: Option<(Scope, Sites)>,
    /// The history of the state; `None` if there is no state.
    lineage: Option<String>,
    /// What is known is taken over: a witness of another history is told, because it is not followed.
    is_taken: bool,
    /// Where the last answer was.
    told_by: Option<String>,
}

/// A head, and where it is remembered.
type Known = (Head, String);

impl Stand {
    /// Finds the places of a stack: as configured, and as recorded.
    #[must_use]
    pub fn of(scope: &Scope, spec: &Spec, state: &State, sites: &Sites) -> Stand {
        let keys: Vec<ResourceKey> = spec.resources.iter().map(kusion_model::Resource::key).collect();
        let wanted = spec.resources.iter().zip(&keys).map(|(resource, key)| (&resource.kind, key, None));
        let recorded = state.records.values().chain(state.intents.values());
        let recorded = recorded.map(|record| (&record.kind, &record.key, Some(record)));
        let mut places: Vec<(RuntimeKey, Arc<dyn Witness>)> = Vec::new();
        for (at, witness) in
            [sites.witness(scope, wanted), sites.witness(scope, recorded)].into_iter().flatten()
        {
            if !places.iter().any(|(on, known)| *on == at && known.place() == witness.place()) {
                places.push((at, witness));
            }
        }
        let places: Vec<Arc<dyn Witness>> = places.into_iter().map(|(_, witness)| witness).collect();
        let lineage = state.head().map(|head| head.lineage);
        let whole = Some((scope.clone(), sites.clone()));
        Stand { is_wanted: !places.is_empty(), places, whole, lineage, is_taken: false, told_by: None }
    }

    /// The same, for who takes over what is known, as a repair does: outside of the expected places only a witness of this history
    /// counts, because every other one may be a namesake's. An empty one is none.
    #[must_use]
    pub fn of_history(self, lineage: &str) -> Stand {
        Stand { lineage: Some(lineage.to_owned()), is_taken: true, ..self }
    }

    /// The same damage, with the place of the witness that told it.
    pub(crate) fn placed(&self, damage: Damage) -> Damage {
        match damage {
            Damage::Lost { witness, release, .. } => {
                Damage::Lost { witness, release, at: self.told_by.clone() }
            }
            other => other,
        }
    }

    /// Asks what is known; of several answers the furthest. The warnings say who could not be asked.
    pub async fn recall(&mut self) -> (Option<Head>, Vec<String>) {
        let (known, warnings) = self.known().await;
        let (head, place) = known.unzip();
        self.told_by = place;
        (head, warnings)
    }

    async fn known(&mut self) -> (Option<Known>, Vec<String>) {
        let (mut known, mut warnings) = (None, Vec::new());
        for witness in &self.places {
            match witness.recall().await {
                Ok(Some(head)) => known = further(known, (head, witness.place())),
                Ok(None) => {}
                Err(error) => warnings.push(warning("read", &**witness, &error)),
            }
        }
        if known.is_none() && warnings.is_empty() {
            return self.search().await;
        }
        (known, warnings)
    }

    /// Looks for witnesses where nobody expects them; their places are among those of the stack from now on. Of a state that is
    /// there only its own history counts: another one is that of a namesake.
    async fn search(&mut self) -> (Option<Known>, Vec<String>) {
        let Some((scope, sites)) = &self.whole else { return (None, Vec::new()) };
        let (found, errors) = sites.witnesses(scope).await;
        let mut known = None;
        // Who may not look everywhere knows what is at the expected places, as asked above.
        let errors = errors.iter().filter(|error| error.kind != ErrorKind::Forbidden);
        let mut warnings: Vec<String> = errors
            .map(|error| format!("the witness of the state could not be looked for: {}", error.message))
            .collect();
        for witness in found {
            match witness.recall().await {
                Ok(Some(head)) if self.lineage.as_ref().is_none_or(|own| *own == head.lineage) => {
                    known = further(known, (head, witness.place()));
                    self.places.push(witness);
                }
                Ok(Some(_)) if self.is_taken => warnings.push(not_followed(&*witness)),
                Ok(_) => {}
                Err(error) => warnings.push(warning("read", &*witness, &error)),
            }
        }
        (known, warnings)
    }

    /// Whether the clusters were asked and know nothing of a state whose resources are where a witness would be.
    pub(crate) fn is_forgotten(&self, warnings: &[String]) -> bool {
        warnings.is_empty() && self.told_by.is_none() && !self.places.is_empty()
    }

    /// Tells the head of the log. A stack that has made nothing is forgotten. Returns warnings.
    pub async fn tell(&self, head: &Head, is_empty: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        for (number, witness) in self.places.iter().enumerate() {
            let (verb, done) = if is_empty || number > 0 || !self.is_wanted {
                ("removed", witness.forget().await)
            } else {
                ("written", witness.remember(head).await.map(|_| ()))
            };
            warnings.extend(done.err().map(|error| warning(verb, &**witness, &error)));
        }
        warnings
    }
}

/// The further of two heads.
fn further(known: Option<Known>, found: Known) -> Option<Known> {
    Some(known.filter(|(known, _)| known.serial >= found.0.serial).unwrap_or(found))
}

fn not_followed(witness: &dyn Witness) -> String {
    format!(
        "{} knows a stack of this name that may be another one, and is not followed: if it is this one, name its namespace in the \
         configuration first; if that stack is gone, delete what it remembers; otherwise give this project another name in project.yaml",
        witness.place()
    )
}

fn warning(verb: &str, witness: &dyn Witness, error: &RuntimeError) -> String {
    let cause = match error.kind {
        ErrorKind::Forbidden => "the cluster does not allow it",
        _ => error.message.as_str(),
    };
    format!("the witness of the state ({}) could not be {verb}: {cause}", witness.place())
}

//! A plan that is kept for later: the plan as it was sealed, and the clusters that it was made for.
//!
//! A plan of creates looks the same on every empty cluster, so the steps alone do not tell that it is carried out elsewhere.

use std::collections::BTreeMap;

use kusion_model::{ClusterIdentity, Plan, PlanError, SameCluster};
use serde::{Deserialize, Serialize};

use crate::{OtherCluster, Ready};

const SCHEMA: &str = "kusion.io/saved-plan/v1";

/// The first line of the text; the plan follows it.
#[derive(Serialize, Deserialize)]
struct Head {
    schema: String,
    clusters: BTreeMap<String, ClusterIdentity>,
}

/// A plan for later.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedPlan {
    pub plan: Plan,
    /// By the name that resources use; the default one has none.
    pub clusters: BTreeMap<String, ClusterIdentity>,
}

impl SavedPlan {
    /// Takes a plan as it stands.
    #[must_use]
    pub fn of(ready: &Ready) -> Self {
        SavedPlan { plan: ready.plan().clone(), clusters: ready.recognised.found.clone() }
    }

    /// Writes it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let head = Head { schema: SCHEMA.to_owned(), clusters: self.clusters.clone() };
        format!("{}\n{}", serde_json::to_string(&head).unwrap_or_default(), self.plan.to_json())
    }

    /// Reads it. A plan without a first line of its own was saved before clusters were kept with it.
    ///
    /// # Errors
    /// A plan that cannot be read or was changed.
    pub fn from_text(text: &str) -> Result<Self, PlanError> {
        let head = text.split_once('\n').and_then(|(line, rest)| {
            let head: Head = serde_json::from_str(line).ok()?;
            (head.schema == SCHEMA).then_some((head.clusters, rest))
        });
        let (clusters, plan) = head.unwrap_or_else(|| (BTreeMap::new(), text));
        Ok(SavedPlan { plan: Plan::from_json(plan)?, clusters })
    }

    /// Whether these are the clusters that it was made for.
    ///
    /// # Errors
    /// One is another.
    pub fn is_for(&self, found: &BTreeMap<String, ClusterIdentity>) -> Result<(), Box<OtherCluster>> {
        for (name, before) in &self.clusters {
            let Some(now) = found.get(name) else { continue };
            if before.compare(now) == SameCluster::No {
                return Err(Box::new(OtherCluster { before: before.clone(), found: now.clone() }));
            }
        }
        Ok(())
    }
}

//! A plan that is kept for later: the plan as it was sealed, and the clusters that it was made for.
//!
//! A plan of creates looks the same on every empty cluster, so the steps alone do not tell that it is carried out elsewhere.

use std::collections::BTreeMap;

use kusion_model::{ClusterIdentity, Plan, PlanError, SameCluster, Subject, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{OtherCluster, Ready};

const SCHEMA: &str = "kusion.io/saved-plan/v1";

/// The first line of the text; the plan follows it.
#[derive(Serialize, Deserialize)]
struct Head {
    schema: String,
    clusters: BTreeMap<String, ClusterIdentity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Subject>,
    #[serde(default)]
    at: Timestamp,
}

/// A plan for later.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedPlan {
    pub plan: Plan,
    /// By the name that resources use; the default one has none.
    pub clusters: BTreeMap<String, ClusterIdentity>,
    /// Who saved it, and when.
    pub by: Option<Subject>,
    pub at: Timestamp,
}

impl SavedPlan {
    /// Takes a plan as it stands; who saves it looked at it.
    #[must_use]
    pub fn of(ready: &Ready, by: Subject, at: Timestamp) -> Self {
        let clusters = ready.recognised.found.clone();
        SavedPlan { plan: ready.plan().clone(), clusters, by: Some(by), at }
    }

    /// Writes it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let (clusters, by) = (self.clusters.clone(), self.by.clone());
        let head = Head { schema: SCHEMA.to_owned(), clusters, by, at: self.at };
        format!("{}\n{}", serde_json::to_string(&head).unwrap_or_default(), self.plan.to_json())
    }

    /// Reads it. A plan without a first line of its own was saved before clusters were kept with it.
    ///
    /// # Errors
    /// A plan that cannot be read or was changed.
    pub fn from_text(text: &str) -> Result<Self, PlanError> {
        let head = text.split_once('\n').and_then(|(line, rest)| {
            let head: Head = serde_json::from_str(line).ok()?;
            (head.schema == SCHEMA).then_some((head, rest))
        });
        let Some((Head { clusters, by, at, .. }, plan)) = head else {
            let at = Timestamp::default();
            return Ok(SavedPlan { plan: Plan::from_json(text)?, clusters: BTreeMap::new(), by: None, at });
        };
        Ok(SavedPlan { plan: Plan::from_json(plan)?, clusters, by, at })
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

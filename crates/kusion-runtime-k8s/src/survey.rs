//! Health of many objects from one look, without waiting: what is surely well, and what is not.
//!
//! The object itself says whether it is well; what lies around it (pods, events) only says why it is not. So a list per kind is
//! enough, and objects that cannot be unhealthy need not even that.

use std::collections::BTreeMap;

use kusion_apply::{Doubt, HealthOutcome, HealthTarget, HealthVerdict};
use kusion_health::{Profile, Rules, Snapshot, Verdict, judge_absent, judge_with};
use kusion_model::{Observed, ResourceKey};
use kusion_runtime::{ObserveAsk, RuntimeError};
use serde_json::{Map, Value};

use crate::health::KubeHealth;
use crate::runtime::object_of;

/// Judges objects as they were seen, and gives back those that are not well. The verdict is that of `kusion status`.
#[must_use]
pub fn unwell<'o>(
    seen: &[(&'o ResourceKey, &'o Observed)],
    profile: &Profile,
    rules: Option<&Rules>,
) -> Vec<(&'o ResourceKey, Verdict)> {
    let objects: Vec<_> = seen.iter().map(|(_, observed)| object_of(observed)).collect();
    let around = surroundings(objects.iter().map(AsRef::as_ref));
    let judged = seen
        .iter()
        .zip(&objects)
        .map(|((key, _), object)| (*key, judge_with(object, &around, profile, rules, None)));
    judged.filter(|(_, verdict)| !verdict.verdict.is_good()).collect()
}

/// The objects by which others are judged: definitions, classes, the services of webhooks. Workloads and their configuration are
/// evidence for nobody, and they are nearly everything there is.
fn surroundings<'o>(objects: impl Iterator<Item = &'o Value>) -> Snapshot {
    const ALONE: [&str; 6] =
        ["Deployment", "StatefulSet", "DaemonSet", "ConfigMap", "Secret", "ServiceAccount"];
    let kind = |object: &Value| object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    Snapshot::of(objects.filter(|object| !ALONE.contains(&kind(object).as_str())).cloned())
}

impl KubeHealth {
    /// Looks again at what can have changed since it was seen.
    pub(crate) async fn survey(&self, targets: Vec<HealthTarget>) -> Vec<Doubt> {
        let objects: Vec<_> = targets.iter().map(|target| object_of(&target.observed)).collect();
        let around = surroundings(objects.iter().map(AsRef::as_ref));
        drop(objects);
        let lasting = |target: &HealthTarget| {
            let object = object_of(&target.observed);
            let verdict = judge_with(&object, &around, &self.profile, self.rules.as_ref(), None);
            verdict.verdict.is_good() && verdict.is_lasting()
        };
        let open: Vec<HealthTarget> = targets.into_iter().filter(|target| !lasting(target)).collect();
        let ask = |target: &HealthTarget| ObserveAsk {
            key: target.key.clone(),
            kind: target.kind.clone(),
            prior: None,
            extensions: Map::new(),
            wanted: None,
        };
        let asks: Vec<ObserveAsk<'_>> = open.iter().map(ask).collect();
        match self.runtime.observe_all(&asks).await {
            Ok(seen) => self.doubtful(open, seen),
            Err(error) => open.into_iter().map(|target| unread(target, &error)).collect(),
        }
    }

    fn doubtful(&self, open: Vec<HealthTarget>, seen: BTreeMap<ResourceKey, Observed>) -> Vec<Doubt> {
        let list: Vec<(&ResourceKey, &Observed)> = seen.iter().collect();
        let bad: Vec<ResourceKey> = unwell(&list, &self.profile, self.rules.as_ref())
            .into_iter()
            .map(|(key, _)| key.clone())
            .collect();
        let doubt = |target: HealthTarget| match seen.get(&target.key) {
            None => Some(self.gone(target)),
            Some(observed) if bad.contains(&target.key) => {
                let target = HealthTarget { observed: observed.clone(), ..target };
                Some(Doubt { target, outcome: None })
            }
            Some(_) => None,
        };
        open.into_iter().filter_map(doubt).collect()
    }

    /// It was there when the plan was made.
    fn gone(&self, target: HealthTarget) -> Doubt {
        let last = object_of(&target.observed).into_owned();
        let judged = judge_absent(Some(&last), &Snapshot::new(), &self.profile, None);
        let verdict = if judged.verdict.is_good() { HealthVerdict::Healthy } else { HealthVerdict::Failed };
        let message = judged.full_message();
        let outcome =
            HealthOutcome { verdict, message, cause: judged.cause, next: judged.next, observed: None };
        Doubt { target, outcome: Some(outcome) }
    }
}

/// Nobody could look: that is no proof of health.
fn unread(target: HealthTarget, error: &RuntimeError) -> Doubt {
    let outcome = HealthOutcome {
        verdict: HealthVerdict::TimedOut,
        message: "its health could not be read".to_owned(),
        cause: Some(format!("its health could not be read: {}", error.message)),
        next: Some("apply again when the cluster answers".to_owned()),
        observed: None,
    };
    Doubt { target, outcome: Some(outcome) }
}

//! Sizes of sets: one set to a size, and all sets in proportion when the Deployment itself is scaled.

use serde_json::json;

use super::*;

/// Scales a set, with the Event; nothing when it has that size and the annotations are right.
pub(crate) fn to(rollout: &Rollout<'_>, set: &Value, size: i64) -> Vec<Change> {
    let (desired, max) = (rollout.wanted().to_string(), (rollout.wanted() + rollout.bounds().0).to_string());
    let now = replicas(set);
    let told = annotation(set, DESIRED) == desired && annotation(set, MAX) == max;
    if now == size && (told || size == 0) {
        return Vec::new();
    }
    let change =
        json!({"metadata": {"annotations": {DESIRED: desired, MAX: max}}, "spec": {"replicas": size}});
    let mut changes = vec![patch("apps", "replicasets", set, "", change)];
    if now != size {
        let way = if size > now { "up" } else { "down" };
        let message =
            format!("Scaled {way} replica set {} from {now} to {size}", text(set, "/metadata/name"));
        changes.push(Change::Note(normal(rollout.deployment, COMPONENT, "ScalingReplicaSet", message)));
    }
    changes
}

/// Whether the Deployment's size changed since its sets were told.
pub(crate) fn is_scaling(rollout: &Rollout<'_>) -> bool {
    let mut active = rollout.all().filter(|set| replicas(set) > 0);
    active.any(|set| {
        let told = annotation(set, DESIRED).parse::<i64>();
        told.is_ok_and(|told| told != rollout.wanted())
    })
}

/// Brings the sets to the Deployment's size.
pub(crate) fn rescale(rollout: &Rollout<'_>) -> Vec<Change> {
    let active: Vec<&Value> = rollout.all().filter(|set| replicas(set) > 0).collect();
    let newest = rollout.new.or(rollout.old.last().copied());
    match (active.as_slice(), newest) {
        (&[only], _) => return to(rollout, only, rollout.wanted()),
        ([], Some(only)) => return to(rollout, only, rollout.wanted()),
        ([], None) => return Vec::new(),
        _ => {}
    }
    if let Some(new) = rollout.new
        && is_saturated(rollout, new)
    {
        let old = rollout.old.iter().filter(|set| replicas(set) > 0);
        return old.flat_map(|set| to(rollout, set, 0)).collect();
    }
    if rollout.is_rolling() { in_proportion(rollout, active) } else { Vec::new() }
}

fn is_saturated(rollout: &Rollout<'_>, set: &Value) -> bool {
    let wanted = rollout.wanted();
    let told: i64 = annotation(set, DESIRED).parse().unwrap_or(-1);
    replicas(set) == wanted && told == wanted && int(set, "/status/availableReplicas") == wanted
}

/// Spreads the difference over the sets by their share; larger ones first, the rest goes to the first.
fn in_proportion(rollout: &Rollout<'_>, mut sets: Vec<&Value>) -> Vec<Change> {
    let total: i64 = sets.iter().map(|set| replicas(set)).sum();
    let allowed = if rollout.wanted() > 0 { rollout.wanted() + rollout.bounds().0 } else { 0 };
    let to_add = allowed - total;
    // When growing, the newest of equals first; when shrinking, the oldest.
    sets.sort_by_key(|set| {
        let born = time(set, "/metadata/creationTimestamp").map_or(0, crate::time::Time::millis);
        (-replicas(set), if to_add > 0 { -born } else { born })
    });
    let mut added = 0;
    let mut sizes = Vec::new();
    for set in &sets {
        let share = if to_add == 0 { 0 } else { share(rollout, set, allowed) };
        let left = to_add - added;
        let share = if to_add > 0 { share.min(left).max(0) } else { share.max(left).min(0) };
        added += share;
        sizes.push(replicas(set) + share);
    }
    if let Some(first) = sizes.first_mut() {
        *first = (*first + to_add - added).max(0);
    }
    sets.iter().zip(sizes).flat_map(|(set, size)| to(rollout, set, size)).collect()
}

fn share(rollout: &Rollout<'_>, set: &Value, allowed: i64) -> i64 {
    if rollout.wanted() == 0 {
        return -replicas(set);
    }
    let before: i64 = annotation(set, MAX).parse().ok().filter(|max| *max > 0).unwrap_or(rollout.wanted());
    // Rounded to the nearest whole.
    (2 * replicas(set) * allowed + before).div_euclid(2 * before.max(1)) - replicas(set)
}

//! How far the new set grows and the old ones shrink.

use super::*;

fn total<'w>(sets: impl Iterator<Item = &'w Value>) -> i64 {
    sets.map(replicas).sum()
}

/// The size the new set may have now, when it has `size`.
pub(crate) fn new_size(rollout: &Rollout<'_>, size: i64) -> i64 {
    let wanted = rollout.wanted();
    if !rollout.is_rolling() {
        return wanted;
    }
    let most = wanted + rollout.bounds().0;
    let room = most - total(rollout.all());
    if room <= 0 { size } else { size + room.min(wanted - size) }
}

/// Brings the new set closer to what is wanted.
pub(crate) fn grow_new(rollout: &Rollout<'_>) -> Vec<Change> {
    let Some(set) = rollout.new else { return Vec::new() };
    let (size, wanted) = (replicas(set), rollout.wanted());
    let to = if size > wanted { wanted } else { new_size(rollout, size) };
    scale::to(rollout, set, to)
}

/// Takes pods from the old sets: first those that serve nobody, then as many as the bound allows.
pub(crate) fn shrink_old(rollout: &Rollout<'_>) -> Vec<Change> {
    let Some(new) = rollout.new else { return Vec::new() };
    if total(rollout.old.iter().copied()) == 0 {
        return Vec::new();
    }
    let least = rollout.wanted() - rollout.bounds().1;
    let missing = replicas(new) - int(new, "/status/availableReplicas");
    let may = total(rollout.all()) - least - missing;
    if may <= 0 {
        return Vec::new();
    }
    let mut sizes: Vec<i64> = rollout.old.iter().map(|set| replicas(set)).collect();
    let mut cleaned = 0;
    for (set, size) in rollout.old.iter().zip(&mut sizes) {
        let dead = (*size - int(set, "/status/availableReplicas")).max(0).min(may - cleaned);
        *size -= dead;
        cleaned += dead;
    }
    let serving: i64 = rollout.all().map(|set| int(set, "/status/availableReplicas")).sum();
    let mut spare = (serving - least).max(0);
    for size in &mut sizes {
        let less = spare.min(*size);
        *size -= less;
        spare -= less;
    }
    rollout.old.iter().zip(sizes).flat_map(|(set, size)| scale::to(rollout, set, size)).collect()
}

//! PodDisruptionBudget: insufficient pods is the budget doing its work.

use crate::condition::Conditions;
use crate::verdict::Verdict;
use crate::view::View;

pub(crate) fn judge(object: View<'_>) -> Verdict {
    if !crate::envelope::observed(object) {
        return Verdict::progressing("NotObserved", "the controller has not seen it yet");
    }
    let conditions = Conditions::of(object);
    let bad = conditions.list.iter().find(|condition| {
        condition.is_false() && !condition.reason.is_empty() && condition.reason != "InsufficientPods"
    });
    if let Some(bad) = bad {
        return Verdict::failed(bad.reason, bad.says()).because(bad.says());
    }
    let allowed = object.num("/status/disruptionsAllowed");
    let verdict = Verdict::healthy("Observed", format!("{allowed} disruptions allowed"));
    if allowed == 0 && object.num("/status/expectedPods") > 0 {
        verdict.warn("blocks drains")
    } else {
        verdict
    }
}

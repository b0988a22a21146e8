//! Node: ready, cordoned on purpose, or silent.

use crate::condition::{Conditions, Tri};
use crate::verdict::Verdict;
use crate::view::View;

const NOT_READY_GRACE: i64 = 300_000;

pub(crate) fn judge(object: View<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    let mut verdict = match conditions.get("Ready") {
        Some(ready) if ready.status == Tri::False => {
            Verdict::progressing("NotReady", ready.says()).because(ready.says()).fails_after(NOT_READY_GRACE)
        }
        Some(ready) if ready.status == Tri::Unknown => Verdict::unknown("KubeletSilent", ready.says())
            .because(format!("the kubelet of {} is silent", object.name()))
            .naming(object.name()),
        _ if object.flag("/spec/unschedulable") => {
            Verdict::suspended("Cordoned", "no new pods are placed on it")
        }
        Some(_) => Verdict::healthy("Ready", "the node is ready"),
        None => Verdict::progressing("NotObserved", "the kubelet has not reported yet"),
    };
    for pressure in ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"] {
        if let Some(condition) = conditions.truly(pressure) {
            verdict = verdict.warn(format!("{pressure}: {}", condition.says()));
        }
    }
    verdict
}

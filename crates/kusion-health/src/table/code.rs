//! The kinds of the table that need a function: comparing commits over environments, counting executors.

use crate::condition::Conditions;
use crate::verdict::Verdict;
use crate::view::View;

pub(crate) fn judge(object: View<'_>) -> Option<Verdict> {
    match (object.group(), object.kind()) {
        ("promoter.argoproj.io", "PromotionStrategy") => Some(promotion(object)),
        ("sparkoperator.k8s.io", "SparkApplication") => spark(object),
        _ => None,
    }
}

/// Promoted when every environment runs the commit it should.
fn promotion(object: View<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    if let Some(bad) = conditions.falsely("Ready") {
        return Verdict::failed(bad.reason_or("NotReady"), bad.says()).because(bad.says());
    }
    let environments: Vec<View<'_>> = object.items("/status/environments").take(256).collect();
    if environments.is_empty() {
        return Verdict::progressing("NotObserved", "no environment has been looked at yet");
    }
    for environment in &environments {
        let active = environment.str("/active/dry/sha");
        let proposed = environment.str("/proposed/dry/sha");
        if active.is_empty() || proposed.is_empty() || active != proposed {
            let branch = environment.str("/branch");
            return Verdict::progressing(
                "Promoting",
                format!("environment {branch} runs {active}, {proposed} is proposed"),
            );
        }
    }
    let first = environments.first().map_or("", |environment| environment.str("/active/dry/sha"));
    if environments.iter().any(|environment| environment.str("/active/dry/sha") != first) {
        return Verdict::progressing("Promoting", "environments run different commits");
    }
    match conditions.get("Ready") {
        Some(ready) if !ready.is_true() => Verdict::progressing(ready.reason_or("NotReady"), ready.message),
        _ => Verdict::healthy("Promoted", "every environment runs the same commit"),
    }
}

/// A running application needs as many executors as asked for; everything else is in the row.
fn spark(object: View<'_>) -> Option<Verdict> {
    if object.str("/status/applicationState/state") != "RUNNING" {
        return None;
    }
    let states = object.get("/status/executorState")?.as_object()?;
    let good = |state: &&serde_json::Value| matches!(state.as_str(), Some("RUNNING" | "COMPLETED"));
    let running = states.values().filter(good).count() as i64;
    let dynamic = object.flag("/spec/dynamicAllocation/enabled");
    let wanted = if dynamic {
        object.num("/spec/dynamicAllocation/minExecutors")
    } else {
        object.int("/spec/executor/instances").unwrap_or(0)
    };
    let verdict = format!("{running} executors run, {wanted} are wanted");
    if running < wanted { Some(Verdict::progressing("ExecutorsMissing", verdict)) } else { None }
}

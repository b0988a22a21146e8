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
        return match conditions.is_true("Ready") {
            true => {
                Verdict::failed("NoEnvironments", "it has no environments").because("it has no environments")
            }
            false => Verdict::progressing("NotObserved", "no environment has been looked at yet"),
        };
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
        Some(ready) if ready.is_true() => {
            Verdict::healthy("Promoted", "every environment runs the same commit")
        }
        Some(ready) => Verdict::progressing(ready.reason_or("NotReady"), ready.message),
        None => Verdict::progressing("NotReady", "not ready yet"),
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
    let wanted = match least_executors(object) {
        Some(least) => least,
        None => object.int("/spec/executor/instances").unwrap_or(0),
    };
    let verdict = format!("{running} executors run, {wanted} are wanted");
    if running < wanted { Some(Verdict::progressing("ExecutorsMissing", verdict)) } else { None }
}

/// The lower bound of dynamic allocation, whichever of its three ways switches it on.
fn least_executors(object: View<'_>) -> Option<i64> {
    if object.flag("/spec/dynamicAllocation/enabled") {
        return Some(object.num("/spec/dynamicAllocation/minExecutors"));
    }
    let settings = object.get("/spec/sparkConf")?;
    let text =
        |key: &str| settings.get(key).map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
    let families = ["spark.dynamicAllocation", "spark.streaming.dynamicAllocation"];
    let on = families.iter().find(|family| text(&format!("{family}.enabled")).as_deref() == Some("true"))?;
    Some(text(&format!("{on}.minExecutors")).and_then(|least| least.parse().ok()).unwrap_or(0))
}

//! Pod: ready, done, or the reason of the container that stands in the way.

use crate::cause::container::Role;
use crate::cause::{self, Cause, pod as pod_cause};
use crate::condition::{Conditions, Tri};
use crate::context::Context;
use crate::time;
use crate::verdict::{Grade, Verdict};
use crate::view::View;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let restarts = pod_cause::restarts(object);
    Verdict { restarts, ..by_phase(object, context) }
}

fn by_phase(object: View<'_>, context: &Context<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    let ready = conditions.get("Ready");
    match object.str("/status/phase") {
        "" => return Verdict::progressing("NotObserved", "no node or scheduler has reported on it yet"),
        "Succeeded" => return Verdict::healthy("Completed", "all containers have ended well"),
        "Failed" => return failed(object, context),
        "Unknown" => return silent(object),
        _ => {}
    }
    if ready.is_some_and(|ready| ready.status != Tri::True && ready.reason == "NodeStatusUnknown") {
        return silent(object);
    }
    let running = object.str("/status/phase") == "Running";
    if running && conditions.is_true("Ready") {
        return healthy(object, context);
    }
    waiting(object, &conditions, context)
}

fn silent(object: View<'_>) -> Verdict {
    let node = object.str("/spec/nodeName");
    let place = if node.is_empty() { "its node".to_owned() } else { format!("node {node}") };
    Verdict::unknown("NodeSilent", format!("{place} does not report; the pod may still run"))
        .because(format!("{place} does not answer"))
        .then("look at the node")
}

fn healthy(object: View<'_>, context: &Context<'_>) -> Verdict {
    let verdict = match cause::volume::from_node(object, context) {
        Some(node) => Verdict::unknown("NodeSilent", "ready by its last report, but its node is silent")
            .because(node.sentence),
        None => Verdict::healthy("Ready", "all containers ready"),
    };
    let restarts = pod_cause::restarts(object);
    if restarts > 0 && recently(object, context) {
        return verdict.warn(format!("restarted {restarts} times"));
    }
    verdict
}

/// Did a container end in the last ten minutes? Without a clock every restart is worth a word.
fn recently(object: View<'_>, context: &Context<'_>) -> bool {
    let Some(now) = context.now else { return true };
    let ends = pod_cause::containers(object);
    let mut times = ends.iter().filter_map(|c| time::parse(c.status.str("/lastState/terminated/finishedAt")));
    times.any(|at| now - at <= 600_000)
}

fn failed(object: View<'_>, context: &Context<'_>) -> Verdict {
    let causes = pod_cause::causes(object, context);
    let own = object.str("/status/reason");
    let reason = if !own.is_empty() {
        own.to_owned()
    } else {
        causes.first().map_or_else(|| "Failed".to_owned(), |cause| cause.reason.clone())
    };
    let message = object.text("/status/message").unwrap_or("the pod has failed");
    cause::explain(Verdict::failed(reason, message), causes, context)
}

fn waiting(object: View<'_>, conditions: &Conditions<'_>, context: &Context<'_>) -> Verdict {
    let causes = pod_cause::causes(object, context);
    let pending = object.str("/status/phase") == "Pending";
    let unplaced = conditions.falsely("PodScheduled").filter(|_| pending);
    let verdict = match unplaced.map(|condition| (condition.reason, condition)) {
        Some(("SchedulingGated", _)) => {
            Verdict::progressing("SchedulingGated", "held back by a scheduling gate")
        }
        Some(("Unschedulable" | "SchedulerError", condition)) => {
            Verdict::progressing("Unschedulable", condition.says())
        }
        _ => by_containers(object, conditions, &causes, context),
    };
    cause::explain(verdict, causes, context)
}

/// Rows 8 to 13: container states, then what the conditions say.
fn by_containers(
    object: View<'_>,
    conditions: &Conditions<'_>,
    causes: &[Cause],
    context: &Context<'_>,
) -> Verdict {
    let from_state = |cause: &&Cause| matches!(cause.rank, 9..=21 | 35);
    let mut states: Vec<Cause> = causes.iter().filter(from_state).cloned().collect();
    cause::rank(&mut states, context);
    if let Some(state) = states.first() {
        let verdict = Verdict::progressing(state.reason.clone(), state.sentence.clone());
        return if state.fails(context) { Verdict { verdict: Grade::Failed, ..verdict } } else { verdict };
    }
    if conditions.is_false("Initialized") {
        return Verdict::progressing("Initializing", initializing(object));
    }
    if object.str("/status/phase") == "Pending" {
        return Verdict::progressing("Starting", starting(object, context));
    }
    let gated = conditions.falsely("Ready").is_some_and(|ready| ready.reason == "ReadinessGatesNotReady");
    if conditions.is_true("ContainersReady") && gated {
        let gates = pod_cause::open_gates(object, conditions).join(", ");
        return Verdict::progressing("ReadinessGate", format!("readiness gate {gates} is not true"));
    }
    not_ready(object, conditions)
}

fn initializing(object: View<'_>) -> String {
    let all = pod_cause::containers(object);
    let current = all.iter().find_map(|container| match container.role {
        Role::Init { index, total } if container.status.int("/state/terminated/exitCode") != Some(0) => {
            Some(format!("init container {} of {total}: {}", index + 1, container.name()))
        }
        Role::Sidecar if !container.status.flag("/started") => {
            Some(format!("sidecar {} is starting", container.name()))
        }
        _ => None,
    });
    current.unwrap_or_else(|| "init containers have not run yet".to_owned())
}

fn starting(object: View<'_>, context: &Context<'_>) -> String {
    let event = context
        .events(object)
        .into_iter()
        .find(|event| matches!(event.reason, "Pulling" | "Pulled" | "Created"));
    match event {
        Some(event) => event.message.to_owned(),
        None if object.str("/spec/nodeName").is_empty() => "waiting for a node".to_owned(),
        None => "its containers are being created".to_owned(),
    }
}

fn not_ready(object: View<'_>, conditions: &Conditions<'_>) -> Verdict {
    let all = pod_cause::containers(object);
    let waiting = all.iter().filter(|c| !c.ready() && !matches!(c.role, Role::Init { .. }));
    let names: Vec<&str> = waiting.map(|container| container.name()).collect();
    let message = match conditions.get("Ready").map(|ready| ready.says()) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => format!("containers not ready: {}", names.join(", ")),
    };
    let verdict = Verdict::progressing("NotReady", message);
    if names.is_empty() { verdict } else { verdict.because(format!("not ready: {}", names.join(", "))) }
}

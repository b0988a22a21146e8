//! What the state of one container tells: rows 9 to 22, 33 and 35 of the priority table.
//!
//! In: a container status with its spec, role and the pod's events. Out: at most one cause. Invariant: `PodInitializing` and
//! `ContainerCreating` are never a cause, and `lastState` of a ready container is history.

use super::{Cause, Weight, image, shorten};
use crate::context::Context;
use crate::snapshot::Event;
use crate::time;
use crate::verdict::Subject;
use crate::view::View;

/// Where a container stands in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Init { index: usize, total: usize },
    Sidecar,
    App,
}

pub(crate) struct Container<'a> {
    pub pod: View<'a>,
    pub spec: Option<View<'a>>,
    pub status: View<'a>,
    pub role: Role,
}

impl<'a> Container<'a> {
    pub(crate) fn name(&self) -> &'a str {
        self.status.str("/name")
    }

    pub(crate) fn restarts(&self) -> i64 {
        self.status.num("/restartCount")
    }

    pub(crate) fn ready(&self) -> bool {
        self.status.flag("/ready")
    }

    fn image(&self) -> &'a str {
        let asked = self.spec.map_or("", |spec| spec.str("/image"));
        if asked.is_empty() { self.status.str("/image") } else { asked }
    }

    /// `Always`, `OnFailure` or `Never`; a container may override its pod.
    fn restart_policy(&self) -> &'a str {
        let own = self.spec.map_or("", |spec| spec.str("/restartPolicy"));
        let pod = self.pod.text("/spec/restartPolicy").unwrap_or("Always");
        if own.is_empty() { pod } else { own }
    }

    /// How sentences call it.
    fn title(&self) -> String {
        match self.role {
            Role::Init { index, total } => {
                format!("init container `{}` ({} of {total})", self.name(), index + 1)
            }
            Role::Sidecar => format!("sidecar `{}`", self.name()),
            Role::App => format!("container `{}`", self.name()),
        }
    }

    /// The last time it ended: now, or before the present wait.
    fn ended(&self) -> Option<View<'a>> {
        self.status.at("/state/terminated").or_else(|| self.status.at("/lastState/terminated"))
    }
}

/// The cause this container gives, if any.
pub(crate) fn cause(container: &Container<'_>, events: &[Event<'_>], context: &Context<'_>) -> Option<Cause> {
    let status = container.status;
    let found = if let Some(waiting) = status.at("/state/waiting") {
        waiting_cause(container, waiting, events, context)
    } else if let Some(ended) = status.at("/state/terminated") {
        ended_cause(container, ended, events, context)
    } else if status.at("/state/running").is_some() && !container.ready() {
        running_cause(container, events, context)
    } else {
        None
    };
    found.map(|cause| finish(cause, container))
}

fn finish(mut cause: Cause, container: &Container<'_>) -> Cause {
    let pod = container.pod;
    cause.subject = Some(Subject {
        kind: "Pod".to_owned(),
        namespace: pod.namespace().to_owned(),
        name: pod.name().to_owned(),
        container: Some(container.name().to_owned()),
    });
    if let (Role::Init { .. }, false) = (container.role, cause.tells_container) {
        cause.sentence = format!("{}: {}", container.title(), cause.sentence);
    }
    cause
}

fn waiting_cause(
    container: &Container<'_>,
    waiting: View<'_>,
    events: &[Event<'_>],
    context: &Context<'_>,
) -> Option<Cause> {
    let reason = waiting.str("/reason");
    let message = waiting.str("/message");
    if image::is_image_reason(reason) {
        return Some(pull_cause(container, reason, message, events, context));
    }
    match reason {
        "ContainerCreating" | "PodInitializing" => None,
        "" if container.restarts() >= 2 && container.ended().is_some() => {
            Some(crash(container, events, context, "CrashLoopBackOff"))
        }
        "" => None,
        "CrashLoopBackOff" => Some(crash(container, events, context, reason)),
        "CreateContainerConfigError" => Some(config_error(container, message, context)),
        "PostStartHookError" => {
            let text = hook_text(events, message);
            let sentence =
                format!("the postStart hook of {} failed: {}", container.title(), shorten(text, 200));
            Some(
                Cause::new(35, reason, sentence, crash_weight(container, context))
                    .of_container()
                    .next("fix the hook's command"),
            )
        }
        _ if is_start_error(reason) => Some(start_error(container, reason, message, context)),
        _ => None,
    }
}

/// Reasons of failed starts, the ones of the future included.
fn is_start_error(reason: &str) -> bool {
    let known = ["CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun"];
    known.contains(&reason)
        || reason.starts_with("Err")
        || reason.ends_with("Error")
        || reason.ends_with("BackOff")
}

fn pull_cause(
    container: &Container<'_>,
    reason: &str,
    message: &str,
    events: &[Event<'_>],
    context: &Context<'_>,
) -> Cause {
    let mut texts = vec![message];
    let about = |event: &&Event<'_>| event.container.is_none_or(|name| name == container.name());
    let pulls = events.iter().filter(|event| {
        matches!(event.reason, "Failed" | "InspectFailed" | "FailedToRetrieveImagePullSecret")
    });
    texts.extend(pulls.filter(about).map(|event| event.message));
    let secrets: Vec<&str> =
        container.pod.items("/spec/imagePullSecrets").map(|secret| secret.str("/name")).collect();
    let pull = image::Pull {
        reason,
        image: container.image(),
        node: container.pod.str("/spec/nodeName"),
        container: container.name(),
        secrets: secrets.join(", "),
        texts,
    };
    image::read(&pull, context.profile)
}

fn config_error(container: &Container<'_>, message: &str, context: &Context<'_>) -> Cause {
    let lower = message.to_lowercase();
    let title = container.title();
    if lower.contains("runasnonroot") || lower.contains("will run as root") {
        let sentence = format!("{title} must not run as root, but image {} does", container.image());
        return Cause::new(16, "CreateContainerConfigError", sentence, Weight::Terminal)
            .of_container()
            .next("set runAsUser or change the image");
    }
    let weight =
        Weight::Grace { grace: context.profile.missing_config_grace, armed: true, snapshot_fails: true };
    let sentence = match missing_config(message) {
        Some(thing) => format!("{title} needs {thing}, which does not exist"),
        None => format!("{title} cannot be configured: {}", shorten(message, 200)),
    };
    let cause = Cause::new(15, "CreateContainerConfigError", sentence, weight).of_container();
    let cause = cause.key(format!("config:{}:{}", container.name(), shorten(message, 80)));
    if missing_config(message).is_some() {
        cause.next("create it, or mark the reference optional")
    } else {
        cause
    }
}

/// `configmap "a" not found`, `couldn't find key k in Secret ns/a` → the missing thing.
pub(crate) fn missing_config(message: &str) -> Option<String> {
    if let Some((_, rest)) = message.split_once("couldn't find key ") {
        let mut words = rest.split_whitespace();
        let key = words.next()?;
        let kind = words.nth(1).unwrap_or("ConfigMap");
        let name = words.next().unwrap_or("").rsplit('/').next().unwrap_or("");
        return Some(format!("key {key} of {kind} {name}"));
    }
    if let Some((_, rest)) = message.split_once("references non-existent ") {
        return Some(format!("the {}", shorten(rest, 80)));
    }
    if !message.contains("not found") {
        return None;
    }
    for (word, kind) in [("configmap \"", "ConfigMap"), ("secret \"", "Secret")] {
        if let Some(name) = super::between(message, word, "\"") {
            return Some(format!("{kind} {name}"));
        }
    }
    // the mount manager writes the namespaced form: object "ns"/"name" not registered is another story
    None
}

fn start_error(container: &Container<'_>, reason: &str, message: &str, context: &Context<'_>) -> Cause {
    let weight = Weight::Grace { grace: context.profile.start_grace, armed: true, snapshot_fails: true };
    let text = start_text(message);
    let sentence = if text.is_empty() {
        format!("{} cannot be started ({reason})", container.title())
    } else {
        format!("{} cannot be started: {text}", container.title())
    };
    Cause::new(17, reason, sentence, weight)
        .of_container()
        .next("fix command, args or mounts")
        .key(format!("start:{}", container.name()))
}

/// The telling end of a runtime error.
fn start_text(message: &str) -> String {
    if let Some(command) = super::between(message, "exec: \"", "\"") {
        if message.contains("not found") || message.contains("no such file") {
            return format!("command \"{command}\" is not in the image");
        }
        if message.contains("permission denied") {
            return format!("command \"{command}\" is not executable");
        }
    }
    shorten(message.rsplit("desc = ").next().unwrap_or(message), 200)
}

fn ended_cause(
    container: &Container<'_>,
    ended: View<'_>,
    events: &[Event<'_>],
    context: &Context<'_>,
) -> Option<Cause> {
    let code = ended.num("/exitCode");
    let reason = ended.str("/reason");
    let policy = container.restart_policy();
    if matches!(reason, "StartError" | "ContainerCannotRun") {
        return Some(start_error(container, reason, ended.str("/message"), context));
    }
    if code == 0 && reason != "OOMKilled" {
        let expected = policy != "Always" || container.role != Role::App || container.restarts() < 2;
        return (!expected).then(|| crash(container, events, context, "CrashLoopBackOff"));
    }
    if policy == "Never" {
        let mut cause = crash(container, events, context, if reason.is_empty() { "Error" } else { reason });
        cause.weight = Weight::Terminal;
        return Some(cause);
    }
    let mut cause = crash(
        container,
        events,
        context,
        if container.restarts() >= 2 { "CrashLoopBackOff" } else { "Error" },
    );
    if container.restarts() < 2 && reason != "OOMKilled" {
        // one early end of a slow starter is no crash loop yet
        cause.weight = soft(cause.weight);
    }
    Some(cause)
}

/// The same clock, but no failure without one.
fn soft(weight: Weight) -> Weight {
    match weight {
        Weight::Grace { grace, armed, .. } => Weight::Grace { grace, armed, snapshot_fails: false },
        other => other,
    }
}

fn running_cause(container: &Container<'_>, events: &[Event<'_>], context: &Context<'_>) -> Option<Cause> {
    if let Role::Init { .. } = container.role {
        let again = container.restarts() >= 2 && container.status.at("/lastState/terminated").is_some();
        return again.then(|| softly(crash(container, events, context, "CrashLoopBackOff")));
    }
    if let Some(probe) = killing_probe(container, events) {
        let mut cause = probe_cause(container, &probe, context);
        if container.restarts() < context.profile.crash_restarts {
            cause.weight = soft(cause.weight);
        }
        return Some(cause);
    }
    if container.restarts() >= 2 && container.status.at("/lastState/terminated").is_some() {
        return Some(softly(crash(container, events, context, "CrashLoopBackOff")));
    }
    let unready = events.iter().find(|event| {
        event.reason == "Unhealthy"
            && event.container.is_none_or(|name| name == container.name())
            && event.message.starts_with("Readiness probe")
    })?;
    let text = unready.message.split_once(": ").map_or(unready.message, |(_, rest)| rest);
    let ago = match (context.now, unready.at) {
        (Some(now), Some(at)) => format!(", last {} ago", time::span(now - at)),
        _ => String::new(),
    };
    let sentence = format!(
        "{} runs but its readiness probe fails: {} ({} times{ago})",
        container.title(),
        shorten(text, 200),
        unready.count
    );
    let cause = Cause::new(33, "Unhealthy", sentence, Weight::Recover).of_container().at(unready.at);
    Some(cause.next("fix the probe's port or path, or what the program waits for (read its log)"))
}

fn softly(mut cause: Cause) -> Cause {
    cause.weight = soft(cause.weight);
    cause
}

struct Probe<'a> {
    name: &'static str,
    text: &'a str,
}

/// A liveness or startup probe that gets the container killed.
fn killing_probe<'a>(container: &Container<'_>, events: &[Event<'a>]) -> Option<Probe<'a>> {
    let mine = |event: &&Event<'a>| event.container.is_none_or(|name| name == container.name());
    for event in events.iter().filter(mine) {
        if event.reason != "Unhealthy" {
            continue;
        }
        for (name, prefix) in [("liveness", "Liveness probe"), ("startup", "Startup probe")] {
            if event.message.starts_with(prefix) {
                let text = event.message.split_once(": ").map_or("", |(_, rest)| rest);
                return Some(Probe { name, text });
            }
        }
    }
    None
}

fn probe_cause(container: &Container<'_>, probe: &Probe<'_>, context: &Context<'_>) -> Cause {
    let restarts = container.restarts();
    let verb = if restarts > 0 {
        format!("is restarted ({restarts} times)")
    } else {
        "will be restarted".to_owned()
    };
    let sentence = format!(
        "{} {verb} because its {} probe fails: {}",
        container.title(),
        probe.name,
        shorten(probe.text, 200)
    );
    Cause::new(21, "CrashLoopBackOff", sentence, crash_weight(container, context))
        .of_container()
        .key(format!("crash:{}", container.name()))
        .next("fix the probe's path, port or delay, or the program's start time")
}

fn crash_weight(container: &Container<'_>, context: &Context<'_>) -> Weight {
    let profile = context.profile;
    let armed = container.restarts() >= profile.crash_restarts;
    Weight::Grace { grace: profile.crash_grace, armed, snapshot_fails: true }
}

/// A crash with its evidence; out of memory and killing probes are told apart.
fn crash(container: &Container<'_>, events: &[Event<'_>], context: &Context<'_>, reason: &str) -> Cause {
    let Some(ended) = container.ended() else {
        let sentence =
            format!("{} ends again and again, {} restarts", container.title(), container.restarts());
        return Cause::new(20, reason, sentence, crash_weight(container, context))
            .of_container()
            .key(format!("crash:{}", container.name()))
            .next("read the container's log");
    };
    let code = ended.num("/exitCode");
    let at = time::parse(ended.str("/finishedAt"));
    let message = ended.str("/message").trim();
    let mut cause = if ended.str("/reason") == "OOMKilled" {
        out_of_memory(container, context)
    } else if matches!(ended.str("/reason"), "StartError" | "ContainerCannotRun") {
        start_error(container, ended.str("/reason"), ended.str("/message"), context)
    } else if let (Some(probe), 137 | 143) = (killing_probe(container, events), code) {
        Cause { rank: 20, ..probe_cause(container, &probe, context) }
    } else if message.contains("exec format error") || code == 255 && message.contains("format") {
        let sentence = format!("image {} has no build for this node's platform", container.image());
        Cause::new(13, reason, sentence, Weight::Terminal)
            .next("build for that platform or select other nodes")
    } else {
        plain_crash(container, ended, context, reason)
    };
    if !message.is_empty() {
        cause.evidence.push(shorten(message, 2048));
    }
    cause.at(at)
}

fn plain_crash(container: &Container<'_>, ended: View<'_>, context: &Context<'_>, reason: &str) -> Cause {
    let code = ended.num("/exitCode");
    let seconds = match (time::parse(ended.str("/startedAt")), time::parse(ended.str("/finishedAt"))) {
        (Some(start), Some(end)) if end >= start => format!(" after {}", time::span(end - start)),
        _ => String::new(),
    };
    let meaning = exit_meaning(code, ended.num("/signal"));
    let restarts = match container.restarts() {
        0 => String::new(),
        1 => ", 1 restart".to_owned(),
        count => format!(", {count} restarts"),
    };
    let message = ended.str("/message").trim();
    let said = message.lines().rev().find(|line| !line.trim().is_empty()).map_or("", str::trim);
    let said = if said.is_empty() { String::new() } else { format!(": {}", shorten(said, 200)) };
    let sentence =
        format!("{} ends with exit code {code}{meaning}{seconds}{restarts}{said}", container.title());
    Cause::new(20, reason, sentence, crash_weight(container, context))
        .of_container()
        .key(format!("crash:{}", container.name()))
        .next("read the log of the previous run; fix the program or its configuration")
}

fn out_of_memory(container: &Container<'_>, context: &Context<'_>) -> Cause {
    let limit = container.spec.map_or("", |spec| spec.str("/resources/limits/memory"));
    let limit = if limit.is_empty() { String::new() } else { format!(" {limit}") };
    let times = match container.restarts() {
        0 | 1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let sentence = format!(
        "{} was killed for using more than its memory limit{limit} ({times}): out of memory",
        container.title()
    );
    Cause::new(19, "OOMKilled", sentence, crash_weight(container, context))
        .of_container()
        .key(format!("crash:{}", container.name()))
        .next("raise the memory limit or lower the program's use")
}

/// What exit codes mean to people.
fn exit_meaning(code: i64, signal: i64) -> String {
    match (code, signal) {
        (0, _) => " (it ends at once, but a server was expected)".to_owned(),
        (126, _) => " (not executable)".to_owned(),
        (127, _) => " (command not found)".to_owned(),
        (134, _) => " (aborted)".to_owned(),
        (137, _) => " (killed)".to_owned(),
        (139, _) => " (segmentation fault)".to_owned(),
        (143, _) => " (terminated)".to_owned(),
        (_, signal) if signal > 0 => format!(" (signal {signal})"),
        (129..=192, _) => format!(" (signal {})", code - 128),
        _ => String::new(),
    }
}

fn hook_text<'a>(events: &[Event<'a>], message: &'a str) -> &'a str {
    let event = events.iter().find(|event| event.reason == "FailedPostStartHook");
    event.map_or(message, |event| event.message)
}

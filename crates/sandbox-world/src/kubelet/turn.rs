//! One look of a kubelet at a pod: its containers go on from where they were, as far as the clock allows.
//!
//! In: the pod, what the kubelet remembers, the time. Out: the new memory, Events, and when to look again. Pure.

use std::time::Duration;

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::run::{ContainerState, Ended, PodRun};
use super::script::{Script, is_sidecar, script};
use super::{config, image};
use crate::change::Note;
use crate::controllers::read::{int, int_or, is_deleting, items, object_ref, text, time};
use crate::time::Time;
use crate::view::View;

/// How long a state that only passes through is shown.
const SHOWN: Duration = Duration::from_millis(100);
/// A container that ran so long starts its back-off anew.
const STEADY: Duration = Duration::from_secs(600);

pub(crate) struct Turn<'w> {
    pub(crate) view: View<'w>,
    pub(crate) pod: &'w Value,
    pub(crate) run: PodRun,
    pub(crate) notes: Vec<Note>,
    pub(crate) again: Option<Time>,
}

/// Lets a pod go on.
pub(crate) fn turn<'w>(view: View<'w>, pod: &'w Value, run: PodRun) -> Turn<'w> {
    let mut turn = Turn { view, pod, run, notes: Vec::new(), again: None };
    // Each container takes a handful of steps at one moment.
    for _ in 0..16 * (turn.run.containers.len() + 1) {
        turn.again = None;
        if !turn.progress() {
            break;
        }
    }
    turn
}

impl<'w> Turn<'w> {
    fn wait(&mut self, at: Time) {
        self.again = Some(self.again.map_or(at, |known| known.min(at)));
    }

    fn due(&mut self, at: Time) -> bool {
        let due = self.view.now >= at;
        if !due {
            self.wait(at);
        }
        due
    }

    pub(crate) fn spec(&self, at: usize) -> &'w Value {
        let inits = items(self.pod, "/spec/initContainers");
        let all = inits.iter().chain(items(self.pod, "/spec/containers"));
        all.into_iter().nth(at).unwrap_or(&Value::Null)
    }

    fn script(&self, at: usize) -> Script {
        script(self.pod, self.spec(at), self.run.containers[at].init, self.view.pace)
    }

    fn note(&mut self, at: Option<usize>, warning: bool, reason: &'static str, message: String) {
        let mut about = object_ref(self.pod);
        if let Some(at) = at {
            let container = &self.run.containers[at];
            let list = if container.init { "initContainers" } else { "containers" };
            about["fieldPath"] = json!(format!("spec.{list}{{{}}}", container.name));
        }
        let host = self.run.node.clone();
        self.notes.push(Note { about, warning, reason, message, component: "kubelet", host });
    }

    fn progress(&mut self) -> bool {
        if is_deleting(self.pod) {
            return self.stop();
        }
        if self.run.overdue || self.is_overdue() {
            return false;
        }
        if self.run.address.is_empty() {
            return self.sandbox();
        }
        let mut moved = false;
        for at in 0..self.run.containers.len() {
            if self.may_run(at) {
                moved |= self.go_on(at);
            }
        }
        moved
    }

    fn is_overdue(&mut self) -> bool {
        let seconds = int(self.pod, "/spec/activeDeadlineSeconds");
        let start = time(self.pod, "/status/startTime").unwrap_or(self.run.accepted);
        let deadline = start + Duration::from_secs(seconds.unsigned_abs());
        if seconds <= 0 || !self.due(deadline) {
            return false;
        }
        self.run.overdue = true;
        self.end_all(137, "Error");
        let message = "Pod was active on the node longer than the specified deadline";
        self.note(None, false, "DeadlineExceeded", message.to_owned());
        true
    }

    fn sandbox(&mut self) -> bool {
        if !self.due(self.run.sandbox_at) {
            return false;
        }
        let namespace = text(self.pod, "/metadata/namespace");
        if let Some((volume, problem)) = config::missing_in_volumes(self.view, namespace, self.pod) {
            let message = format!("MountVolume.SetUp failed for volume \"{volume}\" : {problem}");
            self.note(None, true, "FailedMount", message);
            self.run.sandbox_at = self.view.now + self.view.pace.config_retry;
            self.wait(self.run.sandbox_at);
            return false;
        }
        self.run.address = self.view.runtime.next_address().into();
        true
    }

    /// Init containers go one after the other, the others when all those are done.
    fn may_run(&self, at: usize) -> bool {
        let before = self.run.containers[..at].iter().enumerate().filter(|(_, container)| container.init);
        before.into_iter().all(|(other, container)| match &container.state {
            ContainerState::Ended(ended) => ended.exit == 0,
            ContainerState::Running { .. } => is_sidecar(self.spec(other)) && container.started,
            _ => false,
        })
    }

    fn go_on(&mut self, at: usize) -> bool {
        match self.run.containers[at].state.clone() {
            ContainerState::Waiting => self.begin(at),
            ContainerState::Pulling { until } => self.due(until) && self.pulled(at),
            ContainerState::Stuck { reason, message, until } => {
                self.due(until) && self.retry(at, reason, message)
            }
            ContainerState::Running { since } => self.running(at, since),
            ContainerState::Ended(ended) => self.ended(at, ended),
            ContainerState::Backoff { until, .. } => {
                if !self.due(until) {
                    return false;
                }
                self.run.containers[at].restarts += 1;
                self.begin(at)
            }
        }
    }

    /// The image first.
    fn begin(&mut self, at: usize) -> bool {
        let now = self.view.now;
        let image = text(self.spec(at), "/image");
        if !image::is_valid(image) {
            let message = format!(
                "Failed to apply default image tag \"{image}\": couldn't parse image name \"{image}\": invalid reference format"
            );
            self.note(Some(at), true, "InspectFailed", message.clone());
            self.note(Some(at), true, "Failed", "Error: InvalidImageName".to_owned());
            let until = now + self.view.pace.pull_limit.min(Duration::from_secs(12));
            self.run.containers[at].state =
                ContainerState::Stuck { reason: "InvalidImageName", message, until };
            return true;
        }
        let here = self.run.pulled.contains(image) || self.view.runtime.has_image(&self.run.node, image);
        match text(self.spec(at), "/imagePullPolicy") {
            "Never" if !here => {
                let message = format!("Container image \"{image}\" is not present with pull policy of Never");
                self.note(Some(at), true, "ErrImageNeverPull", message.clone());
                self.note(Some(at), true, "Failed", "Error: ErrImageNeverPull".to_owned());
                let until = now + Duration::from_secs(12);
                self.run.containers[at].state =
                    ContainerState::Stuck { reason: "ErrImageNeverPull", message, until };
            }
            policy if here && policy != "Always" => {
                let message = format!("Container image \"{image}\" already present on machine");
                self.note(Some(at), false, "Pulled", message);
                self.start(at);
            }
            _ => {
                self.note(Some(at), false, "Pulling", format!("Pulling image \"{image}\""));
                // What is here already only takes a look at the registry.
                let span = if here { SHOWN } else { image::pull_time(image, self.view.pace) };
                self.run.containers[at].state = ContainerState::Pulling { until: now + span };
            }
        }
        true
    }

    fn pulled(&mut self, at: usize) -> bool {
        let image = text(self.spec(at), "/image");
        if let Some(error) = image::pull_error(image) {
            self.note(
                Some(at),
                true,
                "Failed",
                format!("Failed to pull image \"{image}\": {}", error.message),
            );
            self.note(Some(at), true, "Failed", format!("Error: {}", error.reason));
            let until = self.view.now + SHOWN;
            let container = &mut self.run.containers[at];
            container.shown = Some((error.reason, error.message.clone()));
            container.state = ContainerState::Stuck { reason: error.reason, message: error.message, until };
            return true;
        }
        let span = image::pull_time(image, self.view.pace).as_millis();
        let span = format!("{}.{}s", span / 1000, span % 1000 / 100);
        let message = format!(
            "Successfully pulled image \"{image}\" in {span} ({span} including waiting). Image size: {} bytes.",
            image::size(image)
        );
        self.note(Some(at), false, "Pulled", message);
        self.run.pulled.insert(image.into());
        self.start(at);
        true
    }

    /// Something could not be had: what comes after the wait.
    fn retry(&mut self, at: usize, reason: &'static str, message: String) -> bool {
        if matches!(reason, "ErrImagePull" | "RegistryUnavailable" | "SignatureValidationFailed") {
            let image = text(self.spec(at), "/image");
            self.note(Some(at), false, "BackOff", format!("Back-off pulling image \"{image}\""));
            self.note(Some(at), true, "Failed", "Error: ImagePullBackOff".to_owned());
            let pace = self.view.pace;
            let container = &mut self.run.containers[at];
            container.pull_wait = match container.pull_wait {
                Duration::ZERO => pace.pull_backoff,
                wait => (wait * 2).min(pace.pull_limit),
            };
            let message = format!("Back-off pulling image \"{image}\": {reason}: {message}");
            container.shown = Some(("ImagePullBackOff", message.clone()));
            let until = self.view.now + container.pull_wait;
            container.state = ContainerState::Stuck { reason: "ImagePullBackOff", message, until };
            return true;
        }
        self.begin(at)
    }

    fn start(&mut self, at: usize) {
        let now = self.view.now;
        let namespace = text(self.pod, "/metadata/namespace");
        if let Some(problem) = config::missing_in_env(self.view, namespace, self.spec(at)) {
            self.note(Some(at), true, "Failed", format!("Error: {problem}"));
            let until = now + self.view.pace.config_retry;
            let state =
                ContainerState::Stuck { reason: "CreateContainerConfigError", message: problem, until };
            self.run.containers[at].state = state;
            return;
        }
        self.note(Some(at), false, "Created", "Container created".to_owned());
        let script = self.script(at);
        let has_startup = self.spec(at).get("startupProbe").is_some() || script.startup_fails;
        let image = text(self.spec(at), "/image");
        let container = &mut self.run.containers[at];
        container.shown = None;
        container.pull_wait = Duration::ZERO;
        container.probed = 0;
        container.ready = false;
        if let Some(problem) = script.start_error {
            let message = format!(
                "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: {problem}"
            );
            container.started = false;
            container.state = ContainerState::Ended(Ended {
                exit: 128,
                reason: "StartError".into(),
                message: message.clone(),
                started: now,
                finished: now,
            });
            self.note(Some(at), true, "Failed", format!("Error: {message}"));
            return;
        }
        container.started = !has_startup;
        container.previous = std::mem::take(&mut container.logs);
        container.state = ContainerState::Running { since: now };
        let said = match script.log.as_str() {
            "" => format!("sandbox: {} of image {image} is simulated and has started", container.name),
            log => log.to_owned(),
        };
        container.log(now, &said);
        self.note(Some(at), false, "Started", "Container started".to_owned());
    }

    fn running(&mut self, at: usize, since: Time) -> bool {
        let script = self.script(at);
        if let Some(exit) = &script.exit
            && self.due(since + exit.after)
        {
            self.end(at, exit.code, exit.reason, &exit.message);
            return true;
        }
        if script.startup_fails {
            let from = since + probe_delay(self.spec(at), "startupProbe");
            return self.fails(at, from, "Startup");
        }
        if let Some(after) = script.liveness_after
            && (self.view.now >= since + after || !self.due(since + after))
            && self.view.now >= since + after
        {
            return self.fails(at, since + after, "Liveness");
        }
        if self.run.containers[at].ready {
            return false;
        }
        let from = since + probe_delay(self.spec(at), "readinessProbe");
        let Some(after) = script.ready_after else { return self.not_ready(at, from) };
        if !self.due(from + after) {
            return false;
        }
        let container = &mut self.run.containers[at];
        container.ready = true;
        container.started = true;
        true
    }

    /// A readiness probe that never succeeds says so every period.
    fn not_ready(&mut self, at: usize, from: Time) -> bool {
        let period = Duration::from_secs(
            int_or(self.spec(at), "/readinessProbe/periodSeconds", 10).unsigned_abs().max(1),
        );
        let next = from + period * self.run.containers[at].probed;
        if !self.due(next) {
            return false;
        }
        self.run.containers[at].probed += 1;
        self.run.containers[at].started = true;
        let message = probe_message(self.spec(at), "readinessProbe", "Readiness", &self.run.address, 503);
        self.note(Some(at), true, "Unhealthy", message);
        true
    }

    /// A probe that fails until the container is killed.
    fn fails(&mut self, at: usize, from: Time, which: &str) -> bool {
        let probe = if which == "Startup" { "startupProbe" } else { "livenessProbe" };
        let setting =
            |key: &str, other| int_or(self.spec(at), &format!("/{probe}/{key}"), other).unsigned_abs().max(1);
        let period = Duration::from_secs(setting("periodSeconds", 1));
        let threshold = u32::try_from(setting("failureThreshold", 3)).unwrap_or(3);
        let next = from + period * self.run.containers[at].probed;
        if !self.due(next) {
            return false;
        }
        self.run.containers[at].probed += 1;
        let message = probe_message(self.spec(at), probe, which, &self.run.address, 500);
        self.note(Some(at), true, "Unhealthy", message);
        if self.run.containers[at].probed >= threshold {
            let name = self.run.containers[at].name.clone();
            let which = which.to_lowercase();
            let message = format!("Container {name} failed {which} probe, will be restarted");
            self.note(Some(at), false, "Killing", message);
            self.end(at, 137, "Error", "");
        }
        true
    }

    fn end(&mut self, at: usize, exit: i64, reason: &str, message: &str) {
        let now = self.view.now;
        let container = &mut self.run.containers[at];
        let ContainerState::Running { since } = container.state else { return };
        container.ready = false;
        container.started = false;
        container.log(now, &format!("sandbox: {} has ended with code {exit}", container.name));
        container.state = ContainerState::Ended(Ended {
            exit,
            reason: reason.into(),
            message: message.to_owned(),
            started: since,
            finished: now,
        });
    }

    fn end_all(&mut self, exit: i64, reason: &str) {
        for at in 0..self.run.containers.len() {
            self.end(at, exit, reason, "");
        }
    }

    fn ended(&mut self, at: usize, ended: Ended) -> bool {
        let container = &self.run.containers[at];
        let policy = match (container.init, is_sidecar(self.spec(at))) {
            (_, true) => "Always",
            (true, false) if text(self.pod, "/spec/restartPolicy") == "Always" => "OnFailure",
            _ => text(self.pod, "/spec/restartPolicy"),
        };
        let again = policy == "Always" || policy == "OnFailure" && ended.exit != 0;
        if !again || !self.due(ended.finished + SHOWN) {
            return false;
        }
        let pace = self.view.pace;
        let (name, uid) = (text(self.pod, "/metadata/name"), &self.run.uid);
        let namespace = text(self.pod, "/metadata/namespace");
        let message = format!(
            "Back-off restarting failed container {} in pod {name}_{namespace}({uid})",
            self.run.containers[at].name
        );
        let container = &mut self.run.containers[at];
        if ended.finished.since(ended.started) > STEADY {
            container.crash_wait = Duration::ZERO;
        }
        let wait = container.crash_wait;
        container.last = Some(ended.clone());
        if wait.is_zero() {
            container.crash_wait = pace.crash_backoff;
            container.restarts += 1;
            return self.begin(at);
        }
        container.crash_wait = (wait * 2).min(pace.crash_limit);
        container.state = ContainerState::Backoff { until: ended.finished + wait, wait };
        self.note(Some(at), true, "BackOff", message);
        true
    }

    /// The pod is to go: containers are told, then ended.
    fn stop(&mut self) -> bool {
        if self.run.stopped {
            return false;
        }
        let Some(stop_at) = self.run.stop_at else {
            let mut stop_at = self.view.now;
            let grace =
                Duration::from_secs(int(self.pod, "/metadata/deletionGracePeriodSeconds").unsigned_abs());
            for at in 0..self.run.containers.len() {
                if !matches!(self.run.containers[at].state, ContainerState::Running { .. }) {
                    continue;
                }
                let span = if self.script(at).deaf { grace } else { self.view.pace.stop.min(grace) };
                stop_at = stop_at.max(self.view.now + span);
                let name = self.run.containers[at].name.clone();
                self.note(Some(at), false, "Killing", format!("Stopping container {name}"));
            }
            self.run.stop_at = Some(stop_at);
            return true;
        };
        if !self.due(stop_at) {
            return false;
        }
        for at in 0..self.run.containers.len() {
            // A service ends well when it is told to; what was to end by itself has not.
            let unfinished = text(self.pod, "/spec/restartPolicy") != "Always";
            let (exit, reason) = match self.script(at).deaf {
                true => (137, "Error"),
                false if unfinished => (143, "Error"),
                false => (0, "Completed"),
            };
            self.end(at, exit, reason, "");
        }
        self.run.stopped = true;
        true
    }
}

fn probe_delay(container: &Value, probe: &str) -> Duration {
    Duration::from_secs(int(container, &format!("/{probe}/initialDelaySeconds")).unsigned_abs())
}

fn probe_message(container: &Value, probe: &str, which: &str, address: &str, code: u16) -> String {
    let probe = container.get(probe).unwrap_or(&Value::Null);
    let port = |way: &str| match probe.at(&format!("/{way}/port")) {
        Some(Value::Number(port)) => port.to_string(),
        Some(Value::String(name)) => {
            let ports = items(container, "/ports").iter();
            let found = ports.into_iter().find(|port| text(port, "/name") == name);
            found.map_or(name.clone(), |port| int(port, "/containerPort").to_string())
        }
        _ => "80".to_owned(),
    };
    if probe.get("tcpSocket").is_some() {
        return format!(
            "{which} probe failed: dial tcp {address}:{}: connect: connection refused",
            port("tcpSocket")
        );
    }
    if probe.get("exec").is_some() {
        return format!("{which} probe failed: command exited with code 1");
    }
    format!("{which} probe failed: HTTP probe failed with statuscode: {code}")
}

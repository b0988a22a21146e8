//! What the kubelets remember: the state of every container, to the millisecond, and what it logged.
//!
//! An API status has whole seconds and no timers; this has both. It can be lost (a restart of the sandbox): then it is read
//! back from the status, and the containers go on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ecow::EcoString;
use kube_meaning::reach::Reach;
use serde_json::Value;

use super::script;
use crate::controllers::read::{int, is, items, text, time};
use crate::pace::Pace;
use crate::store::ObjectKey;
use crate::time::Time;

/// One line of a container's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub at: Time,
    pub text: String,
}

/// Lines kept per container.
const LINES: usize = 1000;

/// All kubelets' memory.
#[derive(Clone, Debug, Default)]
pub struct Containers {
    pods: BTreeMap<ObjectKey, PodRun>,
    /// Images on nodes.
    images: BTreeSet<(EcoString, EcoString)>,
    /// How many addresses were given away.
    addresses: u64,
    /// The certificate that pods are given to know the API by.
    pub(crate) root: Option<std::sync::Arc<str>>,
}

impl Containers {
    pub fn get(&self, key: &ObjectKey) -> Option<&PodRun> {
        self.pods.get(key)
    }

    pub fn has_image(&self, node: &str, image: &str) -> bool {
        self.images.contains(&(node.into(), image.into()))
    }

    /// The next free pod address of a node (`10.244.<node>.<n>`).
    pub fn next_address(&self) -> String {
        let at = self.addresses + 1;
        format!("10.244.{}.{}", at / 250 % 250, 1 + at % 250)
    }

    /// After a restart: no address that a pod has is given away again.
    pub(crate) fn reserve(&mut self, address: &str) {
        let mut parts = address.strip_prefix("10.244.").unwrap_or_default().split('.').map(str::parse::<u64>);
        if let (Some(Ok(high)), Some(Ok(low))) = (parts.next(), parts.next()) {
            self.addresses = self.addresses.max(high * 250 + low);
        }
    }

    pub(crate) fn remember(&mut self, key: &ObjectKey, run: Option<&PodRun>) {
        let Some(run) = run else {
            self.pods.remove(key);
            return;
        };
        let known = self.pods.get(key).is_some_and(|known| known.uid == run.uid && !known.address.is_empty());
        if !known && !run.address.is_empty() {
            self.addresses += 1;
        }
        for image in &run.pulled {
            self.images.insert((run.node.clone(), image.clone()));
        }
        self.pods.insert(key.clone(), run.clone());
    }
}

/// A pod on its node.
#[derive(Clone, Debug, PartialEq)]
pub struct PodRun {
    pub uid: EcoString,
    pub node: EcoString,
    pub accepted: Time,
    /// When the volumes are looked at, and if they are there, the sandbox is made.
    pub sandbox_at: Time,
    /// Empty until there is a sandbox.
    pub address: EcoString,
    /// Init containers first.
    pub containers: Vec<ContainerRun>,
    /// When the containers end, once the pod is to go.
    pub stop_at: Option<Time>,
    pub stopped: bool,
    /// Ended by its active deadline.
    pub overdue: bool,
    /// Images that are on the node by now.
    pub pulled: BTreeSet<EcoString>,
}

/// A container that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub exit: i64,
    pub reason: EcoString,
    pub message: String,
    pub started: Time,
    pub finished: Time,
}

/// Where a container is.
#[derive(Clone, Debug, PartialEq)]
pub enum ContainerState {
    /// Its turn has not come.
    Waiting,
    /// The image is on its way.
    Pulling {
        until: Time,
    },
    /// It cannot start; tried again then.
    Stuck {
        reason: &'static str,
        message: String,
        until: Time,
    },
    Running {
        since: Time,
    },
    Ended(Ended),
    /// Between two starts.
    Backoff {
        until: Time,
        wait: Duration,
    },
}

/// One container.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerRun {
    pub name: EcoString,
    pub init: bool,
    pub state: ContainerState,
    pub last: Option<Ended>,
    pub restarts: i64,
    pub ready: bool,
    pub started: bool,
    /// The wait after the next failed start, or pull.
    pub crash_wait: Duration,
    pub pull_wait: Duration,
    /// How often a probe failed since the start.
    pub probed: u32,
    /// What the status shows while a bad image is pulled again.
    pub shown: Option<(&'static str, String)>,
    pub logs: Vec<LogLine>,
    pub previous: Vec<LogLine>,
}

impl ContainerRun {
    pub fn new(name: &str, init: bool) -> ContainerRun {
        ContainerRun {
            name: name.into(),
            init,
            state: ContainerState::Waiting,
            last: None,
            restarts: 0,
            ready: false,
            started: false,
            crash_wait: Duration::ZERO,
            pull_wait: Duration::ZERO,
            probed: 0,
            shown: None,
            logs: Vec::new(),
            previous: Vec::new(),
        }
    }

    pub fn log(&mut self, at: Time, lines: &str) {
        for text in lines.lines() {
            self.logs.push(LogLine { at, text: text.to_owned() });
        }
        let over = self.logs.len().saturating_sub(LINES);
        self.logs.drain(..over);
    }
}

impl PodRun {
    /// A pod that the kubelet sees for the first time; what its status already says is believed.
    pub fn of(pod: &Value, now: Time, pace: &Pace) -> PodRun {
        let mut containers = Vec::new();
        for (specs, statuses, init) in [
            ("/spec/initContainers", "/status/initContainerStatuses", true),
            ("/spec/containers", "/status/containerStatuses", false),
        ] {
            for spec in items(pod, specs) {
                let name = text(spec, "/name");
                let mut run = ContainerRun::new(name, init);
                let known = items(pod, statuses).iter().find(|status| text(status, "/name") == name);
                if let Some(status) = known {
                    recall(&mut run, status, now, pace.crash_backoff);
                }
                containers.push(run);
            }
        }
        let address = text(pod, "/status/podIP");
        PodRun {
            uid: text(pod, "/metadata/uid").into(),
            node: text(pod, "/spec/nodeName").into(),
            accepted: time(pod, "/status/startTime").unwrap_or(now),
            sandbox_at: now + pace.sandbox,
            address: address.into(),
            containers,
            stop_at: None,
            stopped: false,
            overdue: false,
            pulled: BTreeSet::new(),
        }
    }
}

fn ended(status: &Value, now: Time) -> Ended {
    Ended {
        exit: int(status, "/exitCode"),
        reason: text(status, "/reason").into(),
        message: text(status, "/message").to_owned(),
        started: time(status, "/startedAt").unwrap_or(now),
        finished: time(status, "/finishedAt").unwrap_or(now),
    }
}

fn recall(run: &mut ContainerRun, status: &Value, now: Time, backoff: Duration) {
    run.restarts = int(status, "/restartCount");
    run.ready = is(status, "/ready");
    run.started = is(status, "/started");
    run.last = status.at("/lastState/terminated").map(|last| ended(last, now));
    if status.at("/state/running").is_some() {
        run.state =
            ContainerState::Running { since: time(status, "/state/running/startedAt").unwrap_or(now) };
    } else if let Some(last) = status.at("/state/terminated") {
        run.state = ContainerState::Ended(ended(last, now));
    } else if text(status, "/state/waiting/reason") == "CrashLoopBackOff" {
        // The message says how long it was: `back-off 4s restarting …`.
        let told = text(status, "/state/waiting/message").split(' ').nth(1).and_then(script::span);
        let backoff = told.unwrap_or(backoff);
        run.crash_wait = backoff * 2;
        run.state = ContainerState::Backoff { until: now + backoff, wait: backoff };
    } else if text(status, "/state/waiting/reason") == "ImagePullBackOff" {
        run.shown = Some(("ImagePullBackOff", text(status, "/state/waiting/message").to_owned()));
    }
}

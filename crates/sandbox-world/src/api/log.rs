//! Logs of containers: whole, or followed.

use std::time::Duration;

use kube_meaning::reach::Reach;
use kube_meaning::status::Refusal;
use serde_json::Value;

use super::resource::Ask;
use super::watch::Open;
use super::{Answer, Polled, Response};
use crate::kubelet::LogLine;
use crate::store::{ObjectKey, ResourceKey};
use crate::time::Time;
use crate::world::World;
use crate::write::not_found;

const TEXT: &str = "text/plain";

/// A log that is followed.
#[derive(Clone, Debug)]
pub(crate) struct Follow {
    pod: ObjectKey,
    container: String,
    stamped: bool,
    /// Lines before this moment were said, and so many of this moment.
    from: Time,
    said: usize,
}

impl Follow {
    /// Breaks it off: it ends at the next poll.
    pub(crate) fn forget(&mut self) {
        self.pod = ObjectKey::default();
    }
}

impl World {
    pub(crate) fn log(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let key = ObjectKey::new(ask.namespace, ask.name);
        let Some(found) = self.store.get(&ask.served.key(), &key) else {
            return Err(not_found(&ask.served, ask.name));
        };
        let pod = found.value.clone();
        let container = chosen_container(ask, &pod)?;
        let node = pod.at("/spec/nodeName").and_then(Value::as_str).unwrap_or_default();
        if node.is_empty() {
            return Ok(Response { status: 204, ..Response::default() }.into());
        }
        if let Some(reason) = waiting(&pod, &container) {
            let message =
                format!("container {container:?} in pod {:?} is waiting to start: {reason}", ask.name);
            return Err(Refusal::bad_request(message));
        }
        let previous = ask.query.flag("previous")?.unwrap_or(false);
        let lines = self.logs(ask.namespace, ask.name, &container, previous).unwrap_or_default();
        let since = match ask.query.number("sinceSeconds")? {
            Some(seconds) => self.now - Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
            None => ask.query.get("sinceTime").and_then(Time::parse).unwrap_or(Time::from_millis(i64::MIN)),
        };
        let mut lines: Vec<&LogLine> = lines.iter().filter(|line| line.at >= since).collect();
        if let Some(tail) = ask.query.number("tailLines")?.and_then(|tail| usize::try_from(tail).ok()) {
            lines.drain(..lines.len().saturating_sub(tail));
        }
        let stamped = ask.query.flag("timestamps")?.unwrap_or(false);
        if ask.query.flag("follow")?.unwrap_or(false) && !previous {
            // The first poll begins with the first of these lines.
            let from = lines.first().map_or(self.now, |line| line.at);
            let follow = Follow { pod: key, container, stamped, from, said: 0 };
            let id = self.api.streams.open(Open::Log(follow));
            return Ok(Answer::Stream { id, headers: vec![("content-type", TEXT.to_owned())] });
        }
        let mut text = String::new();
        lines.iter().for_each(|line| push(&mut text, line, stamped));
        if let Some(limit) = ask.query.number("limitBytes")?.and_then(|limit| usize::try_from(limit).ok()) {
            let end = (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        Ok(Response::of(200, TEXT, text.into_bytes()).into())
    }

    /// What a followed log has to say now; it ends with its container.
    pub(crate) fn poll_log(&self, follow: &mut Follow) -> Polled {
        let Follow { pod, container, stamped, from, said } = follow;
        let lines = self.logs(&pod.namespace, &pod.name, container, false).unwrap_or_default();
        let start = lines.partition_point(|line| line.at < *from);
        let mut text = String::new();
        for line in lines[start..].iter().skip(*said) {
            push(&mut text, line, *stamped);
            match line.at == *from {
                true => *said += 1,
                false => (*from, *said) = (line.at, 1),
            }
        }
        let found = self.store.get(&ResourceKey::new("", "pods"), pod);
        let ended = found.is_none_or(|found| {
            let phase = found.value.at("/status/phase").and_then(Value::as_str);
            matches!(phase, Some("Succeeded" | "Failed")) || is_over(&found.value, container)
        });
        Polled { bytes: text.into_bytes(), ended, broken: false }
    }
}

fn push(text: &mut String, line: &LogLine, stamped: bool) {
    if stamped {
        text.push_str(&line.at.micro_text());
        text.push(' ');
    }
    text.push_str(&line.text);
    text.push('\n');
}

/// The container that is asked for.
pub(crate) fn chosen_container(ask: &Ask<'_>, pod: &Value) -> Result<String, Refusal> {
    let mut names: Vec<&str> = Vec::new();
    let mut regular = 0;
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let containers = pod["spec"][list].as_array().into_iter().flatten();
        names.extend(containers.filter_map(|container| container["name"].as_str()));
        if list == "containers" {
            regular = names.len();
        }
    }
    match ask.query.get("container") {
        Some(name) if names.contains(&name) => Ok(name.to_owned()),
        Some(name) => {
            Err(Refusal::bad_request(format!("container {name} is not valid for pod {}", ask.name)))
        }
        None if names.len() == 1 && regular == 1 => Ok(names[0].to_owned()),
        None => Err(Refusal::bad_request(format!(
            "a container name must be specified for pod {}, choose one of: [{}]",
            ask.name,
            names[..regular].join(" ")
        ))),
    }
}

fn status_of<'p>(pod: &'p Value, container: &str) -> Option<&'p Value> {
    let lists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
    let mut all = lists.iter().flat_map(|list| pod["status"][*list].as_array().into_iter().flatten());
    all.find(|status| status["name"] == container)
}

fn is_over(pod: &Value, container: &str) -> bool {
    status_of(pod, container).is_some_and(|status| status.at("/state/terminated").is_some())
}

/// Why a container has no log yet.
fn waiting(pod: &Value, container: &str) -> Option<String> {
    let Some(status) = status_of(pod, container) else { return Some("ContainerCreating".to_owned()) };
    let restarted = status.at("/lastState/terminated").is_some();
    let reason = status.at("/state/waiting/reason")?.as_str()?;
    (!restarted).then(|| reason.to_owned())
}

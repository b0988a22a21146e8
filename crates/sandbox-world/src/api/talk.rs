//! Conversations: exec and port-forward. The world says what there is to talk to; the rim has the frames.
//!
//! In: a request that asks for an upgrade to a WebSocket. Out: [`Answer::Upgrade`] with all that the conversation can need
//! (a copy, so that the world is not held), or a refusal before it. What goes wrong later is said on the error channel.

use kube_meaning::status::Refusal;
use serde_json::{Value, json};

use super::Answer;
use super::log::chosen_container;
use super::resource::Ask;
use crate::controllers::read::{items, text};
use crate::kubelet::inside::Inside;
use crate::store::ObjectKey;
use crate::world::World;
use crate::write::not_found;

/// The frames of a conversation: WebSocket sub-protocols.
pub const CHANNELS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
/// SPDY in the messages of a WebSocket, as kubectl forwards ports.
pub const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";

/// What is to be talked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Talk {
    Exec(Exec),
    Forward(Forward),
}

/// A command to run; why it cannot be is said inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    pub inside: Result<Inside, String>,
    pub command: Vec<String>,
    pub stdin: bool,
    pub tty: bool,
    /// Which of the two are wanted.
    pub stdout: bool,
    pub stderr: bool,
}

/// A pod whose ports are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// The ports of the query, in order; the SPDY form names them later.
    pub ports: Vec<u16>,
    /// The ports that the pod's containers say they have, each with the line it answers.
    open: Vec<(u16, String)>,
    pod: String,
}

impl World {
    /// Exec, attach or port-forward.
    pub(crate) fn talk(&self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let Some(found) = self.store.get(&ask.served.key(), &ObjectKey::new(ask.namespace, ask.name)) else {
            return Err(not_found(&ask.served, ask.name));
        };
        let pod = &*found.value;
        let upgrade = ask.request.header("upgrade").unwrap_or_default();
        if !upgrade.eq_ignore_ascii_case("websocket") {
            return Err(Refusal::bad_request("Upgrade request required"));
        }
        let offered: Vec<&str> =
            ask.request.header("sec-websocket-protocol").unwrap_or_default().split(',').collect();
        let offers = |protocol: &&str| offered.iter().any(|offer| offer.trim() == *protocol);
        let (talk, known): (Talk, &[&str]) = match ask.subresource {
            "portforward" => (Talk::Forward(forward(ask, pod)?), &[TUNNEL, CHANNELS[1]]),
            _ => (Talk::Exec(self.exec(ask, pod)?), &CHANNELS),
        };
        let Some(protocol) = known.iter().copied().find(offers) else {
            let message = format!("unable to upgrade: the sandbox speaks {}", known.join(" and "));
            return Err(Refusal::bad_request(message));
        };
        Ok(Answer::Upgrade { protocol, talk })
    }

    fn exec(&self, ask: &Ask<'_>, pod: &Value) -> Result<Exec, Refusal> {
        let name = chosen_container(ask, pod)?;
        let flag = |name: &str| Ok::<bool, Refusal>(ask.query.flag(name)?.unwrap_or(false));
        let containers = ["/spec/containers", "/spec/initContainers", "/spec/ephemeralContainers"];
        let container =
            containers.iter().flat_map(|list| items(pod, list)).find(|known| known["name"] == name.as_str());
        let inside = match (ask.subresource, container, text(pod, "/status/phase")) {
            ("attach", ..) => {
                Err("the sandbox runs no containers: there is nothing to attach to; see logs and exec"
                    .to_owned())
            }
            (_, Some(container), "Running") => Ok(Inside::of(self.view(), pod, container)),
            (_, _, phase) => Err(format!("container not found (\"{name}\"): the pod is {phase}")),
        };
        Ok(Exec {
            inside,
            command: ask.query.all("command").map(str::to_owned).collect(),
            stdin: flag("stdin")?,
            tty: flag("tty")?,
            stdout: flag("stdout")?,
            stderr: flag("stderr")?,
        })
    }
}

fn forward(ask: &Ask<'_>, pod: &Value) -> Result<Forward, Refusal> {
    let phase = text(pod, "/status/phase");
    if phase != "Running" {
        let message = format!("unable to forward port because pod is not running. Current status={phase}");
        return Err(Refusal::new(500, "InternalError", message));
    }
    let read = |text: &str| {
        let bad = || Refusal::bad_request(format!("unable to parse {text:?} as a port"));
        text.parse::<u16>().ok().filter(|port| *port != 0).ok_or_else(bad)
    };
    let ports: Vec<u16> =
        ask.query.all("ports").flat_map(|list| list.split(',')).map(read).collect::<Result<_, _>>()?;
    if ports.len() > 64 {
        return Err(Refusal::bad_request("more than 64 ports"));
    }
    let mut open = Vec::new();
    for container in items(pod, "/spec/containers") {
        for port in items(container, "/ports") {
            let Some(number) = port["containerPort"].as_u64().and_then(|port| u16::try_from(port).ok())
            else {
                continue;
            };
            let line = format!(
                "pod {} in namespace {}, container {} of image {}, port {number}: simulated by the Kusion sandbox\n",
                ask.name,
                ask.namespace,
                text(container, "/name"),
                text(container, "/image")
            );
            open.push((number, line));
        }
    }
    Ok(Forward { ports, open, pod: ask.name.to_owned() })
}

impl Forward {
    /// Someone connects to a port of the pod.
    pub fn connect(&self, port: u16) -> Result<Page, String> {
        let found = self.open.iter().find(|(known, _)| *known == port);
        let refused = || {
            format!(
                "error forwarding port {port} to pod {}: connection refused: none of its containers names this port",
                self.pod
            )
        };
        found.map(|(_, line)| Page { line: line.clone(), head: Vec::new(), skip: 0 }).ok_or_else(refused)
    }
}

/// The page behind a port: HTTP/1.1, the same line for every request.
#[derive(Clone, Debug)]
pub struct Page {
    line: String,
    head: Vec<u8>,
    /// Bytes of a request's body that are still to come.
    skip: usize,
}

/// A client that sends a longer head is hung up on.
const HEAD: usize = 64 * 1024;

impl Page {
    /// Takes bytes of a client; what is answered, and whether it ends there.
    pub fn feed(&mut self, mut bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let Some((first, rest)) = bytes.split_first() else { break };
            bytes = rest;
            self.head.push(*first);
            if self.head.len() > HEAD {
                return (out, true);
            }
            if !self.head.ends_with(b"\r\n\r\n") {
                continue;
            }
            let head = String::from_utf8_lossy(&std::mem::take(&mut self.head)).to_ascii_lowercase();
            let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            self.skip = header("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0);
            let closes = header("connection:") == Some("close") || header("transfer-encoding:").is_some();
            let body = if head.starts_with("head ") { "" } else { &self.line };
            let connection = if closes { "close" } else { "keep-alive" };
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: {connection}\r\n\r\n{body}",
                self.line.len()
            );
            out.extend_from_slice(answer.as_bytes());
            if closes {
                return (out, true);
            }
        }
        (out, false)
    }
}

/// The last message of an exec: a Status.
pub fn exit_status(code: u8) -> Value {
    if code == 0 {
        return json!({"metadata": {}, "status": "Success"});
    }
    json!({"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": format!("command terminated with non-zero exit code: exit status {code}"),
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]}})
}

/// An exec that could not be.
pub fn failed_status(message: &str) -> Value {
    json!({"metadata": {}, "status": "Failure", "reason": "InternalError", "code": 500,
        "message": format!("Internal error occurred: {message}")})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_answers_every_request_of_a_connection_and_ends_when_asked() {
        let mut page = Page { line: "hello\n".into(), head: Vec::new(), skip: 0 };
        let (none, ended) = page.feed(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r");
        assert!(none.is_empty() && !ended);
        let (two, ended) = page.feed(b"\nabcGET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(String::from_utf8(two).unwrap().matches("200 OK").count(), 2);
        assert!(!ended);
        let (last, ended) = page.feed(b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n");
        assert!(ended && last.ends_with(b"close\r\n\r\n"));
        assert!(page.feed(&[b'x'; HEAD + 1]).1);
    }
}

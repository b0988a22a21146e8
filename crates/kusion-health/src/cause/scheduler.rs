//! Reading the scheduler: `0/N nodes are available: k reason, k reason. preemption: …`.
//!
//! In: the message of an unschedulable pod. Out: its fragments, biggest count first, and advice for the first one that is
//! known. Invariant: an unread message is quoted, never dropped.

use super::shorten;

/// What the scheduler says, in the order of importance.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub summary: String,
    pub advice: Option<String>,
}

pub(crate) fn read(message: &str) -> Reading {
    let message = message.trim();
    let Some((head, list)) = message.split_once("nodes are available:") else {
        return Reading { summary: shorten(message, 300), advice: advice(message) };
    };
    let list = cut_tail(list);
    let mut parts: Vec<(i64, String)> = fragments(list);
    if parts.is_empty() {
        return Reading { summary: shorten(message, 300), advice: None };
    }
    parts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let total = head.trim().rsplit('/').next().unwrap_or("").trim().to_owned();
    let texts: Vec<String> = parts.iter().map(|(count, text)| tidy(*count, text)).collect();
    let of = if total.is_empty() { String::new() } else { format!(" (of {total} nodes)") };
    let found = parts.iter().find_map(|(_, text)| advice(text));
    Reading { summary: format!("{}{of}", texts.join(", ")), advice: found }
}

/// Drops the preemption tail, which repeats the same in other words.
fn cut_tail(list: &str) -> &str {
    let mut end = list.len();
    for mark in [" preemption:", " no new claims to deallocate", " Preemption is not helpful"] {
        if let Some(at) = list.find(mark) {
            end = end.min(at);
        }
    }
    list[..end].trim().trim_end_matches(['.', ','])
}

/// Splits at commas followed by a count; a fragment without a count has none.
fn fragments(list: &str) -> Vec<(i64, String)> {
    let mut parts: Vec<(i64, String)> = Vec::new();
    for piece in list.split(", ") {
        let piece = piece.trim().trim_end_matches('.');
        let (first, rest) = piece.split_once(' ').unwrap_or((piece, ""));
        match (first.parse::<i64>(), parts.last_mut()) {
            (Ok(count), _) if !rest.is_empty() => parts.push((count, rest.to_owned())),
            (_, Some(last)) => {
                last.1.push_str(", ");
                last.1.push_str(piece);
            }
            _ if piece.is_empty() => {}
            _ => parts.push((0, piece.to_owned())),
        }
    }
    parts
}

fn tidy(count: i64, text: &str) -> String {
    let text = text.strip_prefix("node(s) ").unwrap_or(text);
    if count > 0 { format!("{count} {text}") } else { text.to_owned() }
}

fn advice(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    if let Some((_, what)) = text.split_once("Insufficient ") {
        let what = what.split([',', '.']).next().unwrap_or(what).trim();
        return Some(format!("lower the {what} request or add nodes"));
    }
    let table: [(&str, &str); 12] = [
        ("not-ready", "wait for the node to become ready; its taint is transient"),
        ("unreachable", "wait for the node to answer again; its taint is transient"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "wait for the cloud to initialise the node"),
        ("untolerated taint", "add a toleration for the taint, or use other nodes"),
        (
            "affinity/selector",
            "no node has the labels that nodeSelector or nodeAffinity ask for: label a node or change them",
        ),
        ("anti-affinity", "fewer replicas, more nodes, or a softer anti-affinity"),
        ("topology spread", "fewer replicas, more zones, or a softer spread constraint"),
        (
            "volume node affinity conflict",
            "the disk lives in another zone: add a node there or make a new volume",
        ),
        ("free ports", "another pod has the hostPort on every node: drop the hostPort or add nodes"),
        ("unbound immediate persistentvolumeclaims", "look at the pod's volume claim"),
        ("too many pods", "add nodes, or raise the pod limit of the node"),
        ("unschedulable", "uncordon a node or add one"),
    ];
    let found =
        table.iter().find(|(phrase, _)| lower.contains(phrase)).map(|(_, advice)| (*advice).to_owned());
    found.or_else(|| lower.contains("no nodes available").then(|| "add a node to the cluster".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_biggest_count_comes_first_and_the_tail_is_dropped() {
        let reading = read(
            "0/5 nodes are available: 1 node(s) had untolerated taint {gpu: true}, 4 Insufficient cpu. preemption: 0/5 nodes are available: 5 No preemption victims found for incoming pod.",
        );
        assert_eq!(reading.summary, "4 Insufficient cpu, 1 had untolerated taint {gpu: true} (of 5 nodes)");
        assert_eq!(reading.advice.as_deref(), Some("lower the cpu request or add nodes"));
    }

    #[test]
    fn the_newer_claims_sentence_is_dropped_too() {
        let reading = read(
            "0/1 nodes are available: 1 Insufficient memory. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        );
        assert_eq!(reading.summary, "1 Insufficient memory (of 1 nodes)");
    }

    #[test]
    fn phrases_without_a_count_and_other_shapes_are_quoted() {
        let reading = read("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
        assert!(reading.summary.starts_with("pod has unbound immediate"));
        assert_eq!(reading.advice.as_deref(), Some("look at the pod's volume claim"));
        assert_eq!(
            read("no nodes available to schedule pods").advice.as_deref(),
            Some("add a node to the cluster")
        );
        assert_eq!(read("").summary, "");
    }

    #[test]
    fn each_known_phrase_has_its_advice() {
        for (phrase, part) in [
            ("2 node(s) didn't match Pod's node affinity/selector", "nodeSelector"),
            ("2 node(s) didn't match pod anti-affinity rules", "anti-affinity"),
            ("2 node(s) didn't match pod topology spread constraints", "spread"),
            ("1 node(s) had volume node affinity conflict", "zone"),
            ("1 node(s) didn't have free ports for the requested pod ports", "hostPort"),
            ("1 Too many pods", "pod limit"),
            ("1 node(s) were unschedulable", "uncordon"),
            ("1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }", "transient"),
            ("1 Insufficient nvidia.com/gpu", "nvidia"),
        ] {
            let reading = read(&format!("0/3 nodes are available: {phrase}. preemption: none."));
            assert!(
                reading.advice.as_deref().is_some_and(|advice| advice.contains(part)),
                "{phrase}: {reading:?}"
            );
        }
    }
}

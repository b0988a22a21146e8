//! The order of steps: edges of the Spec forwards, recorded edges backwards for what goes away.
//!
//! A recorded edge only orders. If it would close a circle with what is wanted now, it is dropped: the new
//! configuration wins.

use std::collections::BTreeMap;

use base_graph::Graph;
use kusion_model::{Edge, Prior, ResourceKey, Wait};

use crate::Prepared;

/// Nodes: the resources of the Spec by index, then the deleted ones.
pub(crate) struct Order {
    /// All nodes, respecting every edge.
    pub(crate) sequence: Vec<usize>,
    graph: Graph,
    waits: BTreeMap<(usize, usize), Wait>,
}

/// Orders wanted resources and deletes. `replaced` tells which wanted ones are deleted on the way.
pub(crate) fn order(
    prepared: &Prepared<'_>,
    deleted: &[ResourceKey],
    replaced: &dyn Fn(usize) -> bool,
    prior: &Prior,
) -> Order {
    let n_wanted = prepared.keys.len();
    let mut graph = Graph::new(n_wanted + deleted.len());
    let mut waits = BTreeMap::new();
    for edge in &prepared.edges {
        graph.add_edge(edge.before, edge.after);
        waits.insert((edge.before, edge.after), edge.wait);
    }
    let goes: BTreeMap<&ResourceKey, usize> = deleted.iter().zip(n_wanted..).collect();
    let recorded = recorded_edges(prepared, &goes, replaced, prior);
    let mut all = graph.clone();
    recorded.iter().for_each(|&(before, after)| {
        all.add_edge(before, after);
    });
    if all.topological_order().is_none() {
        all = graph;
        for &(before, after) in &recorded {
            if before != after && !all.reaches(after, before) {
                all.add_edge(before, after);
            }
        }
    }
    for pair in recorded {
        waits.entry(pair).or_insert(Wait::Ready);
    }
    let sequence = all.topological_order().unwrap_or_default();
    Order { sequence, graph: all, waits }
}

fn recorded_edges(
    prepared: &Prepared<'_>,
    goes: &BTreeMap<&ResourceKey, usize>,
    replaced: &dyn Fn(usize) -> bool,
    prior: &Prior,
) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    if goes.is_empty() {
        return edges;
    }
    for key in prior.keys() {
        let Some(record) = prior.get(key) else { continue };
        let dependent = goes.get(key).copied();
        let survivor = prepared.index.get(key).copied();
        for on in &record.depends_on {
            match (dependent, survivor, goes.get(on), prepared.index.get(on)) {
                // Both go: the dependent goes first.
                (Some(dependent), _, Some(&needed), _) => edges.push((dependent, needed)),
                // The dependent goes, what it needed is made anew: first away with the dependent.
                (Some(dependent), _, None, Some(&needed)) if replaced(needed) => {
                    edges.push((dependent, needed))
                }
                // The dependent stays and has changed its mind: it stops using the thing before the thing goes.
                (None, Some(survivor), Some(&needed), _) => edges.push((survivor, needed)),
                _ => {}
            }
        }
    }
    edges
}

impl Order {
    /// Returns, per node, the changing nodes that have to end before it: no-ops are looked through, and edges that
    /// others imply are left out unless they ask for more than they do.
    pub(crate) fn changing_edges(&self, changes: &dyn Fn(usize) -> bool) -> Vec<BTreeMap<usize, Wait>> {
        let n_nodes = self.graph.len();
        let mut near: Vec<BTreeMap<usize, Wait>> = vec![BTreeMap::new(); n_nodes];
        let mut among = Graph::new(n_nodes);
        for &node in &self.sequence {
            let mut before: BTreeMap<usize, Wait> = BTreeMap::new();
            for previous in self.graph.predecessors(node) {
                if changes(previous) {
                    let wait = self.waits.get(&(previous, node)).copied().unwrap_or(Wait::Applied);
                    let entry = before.entry(previous).or_insert(wait);
                    *entry = wait.max(*entry);
                } else {
                    for &far in near[previous].keys() {
                        before.entry(far).or_insert(Wait::Applied);
                    }
                }
            }
            if changes(node) {
                before.keys().for_each(|&previous| {
                    among.add_edge(previous, node);
                });
            }
            near[node] = before;
        }
        let reduced = among.transitive_reduction().unwrap_or(among);
        for (node, before) in near.iter_mut().enumerate() {
            if !changes(node) {
                before.clear();
                continue;
            }
            before.retain(|&previous, wait| {
                *wait == Wait::Ready || reduced.predecessors(node).any(|kept| kept == previous)
            });
        }
        near
    }
}

/// Turns node numbers back into keys.
pub(crate) fn to_edges(before: &BTreeMap<usize, Wait>, key_of: &dyn Fn(usize) -> ResourceKey) -> Vec<Edge> {
    before.iter().map(|(&node, &wait)| Edge { on: key_of(node), wait }).collect()
}

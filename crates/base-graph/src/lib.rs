//! A small directed graph over dense node numbers: deterministic order, cycles named in full,
//! reachability and transitive reduction.
//!
//! In: a number of nodes and edges `before → after`. Out: orders, cycles, a smaller graph.
//! Invariant: every answer depends only on the edge *set*, never on the order of insertion.
//! What a node means is the caller's business (keep a `Vec` of names beside it).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cycle;
mod reduce;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A directed graph; an edge `a → b` says that `a` comes before `b`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    successors: Vec<BTreeSet<usize>>,
    predecessors: Vec<BTreeSet<usize>>,
}

impl Graph {
    /// Returns a graph of `n_nodes` nodes without edges.
    #[must_use]
    pub fn new(n_nodes: usize) -> Self {
        Graph { successors: vec![BTreeSet::new(); n_nodes], predecessors: vec![BTreeSet::new(); n_nodes] }
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.successors.len()
    }

    /// Returns whether the graph has no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.successors.is_empty()
    }

    /// Adds the edge `before → after`; returns false if it was there or a node does not exist.
    /// An edge from a node to itself is kept: it is a cycle of one, and is reported as such.
    pub fn add_edge(&mut self, before: usize, after: usize) -> bool {
        if before >= self.len() || after >= self.len() {
            return false;
        }
        self.predecessors[after].insert(before);
        self.successors[before].insert(after)
    }

    /// Returns what comes directly after `node`, in ascending order.
    pub fn successors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.successors.get(node).into_iter().flatten().copied()
    }

    /// Returns what comes directly before `node`, in ascending order.
    pub fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.predecessors.get(node).into_iter().flatten().copied()
    }

    /// Returns all edges in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.successors.iter().enumerate().flat_map(|(a, next)| next.iter().map(move |&b| (a, b)))
    }

    /// Returns the one topological order that always takes the smallest ready node, or `None` if there is a cycle.
    #[must_use]
    pub fn topological_order(&self) -> Option<Vec<usize>> {
        let mut missing: Vec<usize> = self.predecessors.iter().map(BTreeSet::len).collect();
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..self.len()).filter(|&n| missing[n] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(Reverse(node)) = ready.pop() {
            order.push(node);
            for &next in &self.successors[node] {
                missing[next] -= 1;
                if missing[next] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        (order.len() == self.len()).then_some(order)
    }

    /// Returns every node from which `start` can be reached by at least one edge, ascending.
    #[must_use]
    pub fn ancestors(&self, start: usize) -> BTreeSet<usize> {
        closure(&self.predecessors, start)
    }

    /// Returns whether a path of at least one edge leads from `from` to `to`.
    #[must_use]
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.len()];
        let mut stack: Vec<usize> = self.successors(from).collect();
        while let Some(node) = stack.pop() {
            if node == to {
                return true;
            }
            if !std::mem::replace(&mut seen[node], true) {
                stack.extend(self.successors(node));
            }
        }
        false
    }
}

fn closure(edges: &[BTreeSet<usize>], start: usize) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut stack: Vec<usize> = edges.get(start).into_iter().flatten().copied().collect();
    while let Some(node) = stack.pop() {
        if seen.insert(node) {
            stack.extend(edges[node].iter().copied());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(n: usize, edges: &[(usize, usize)]) -> Graph {
        let mut graph = Graph::new(n);
        for &(a, b) in edges {
            graph.add_edge(a, b);
        }
        graph
    }

    #[test]
    fn order_takes_the_smallest_ready_node_whatever_the_insertion_order() {
        let forward = graph(5, &[(3, 0), (3, 1), (1, 4), (0, 4)]);
        let backward = graph(5, &[(0, 4), (1, 4), (3, 1), (3, 0)]);
        assert_eq!(forward.topological_order(), Some(vec![2, 3, 0, 1, 4]));
        assert_eq!(forward, backward);
    }

    #[test]
    fn cycle_gives_no_order() {
        assert_eq!(graph(2, &[(0, 1), (1, 0)]).topological_order(), None);
        assert_eq!(graph(1, &[(0, 0)]).topological_order(), None);
    }

    #[test]
    fn closure_excludes_the_start_unless_it_is_on_a_cycle() {
        let line = graph(4, &[(0, 1), (1, 2)]);
        assert_eq!(line.ancestors(2).into_iter().collect::<Vec<_>>(), [0, 1]);
        assert!(line.reaches(0, 2) && !line.reaches(2, 0) && !line.reaches(0, 3));
        assert!(graph(2, &[(0, 1), (1, 0)]).ancestors(0).contains(&0));
    }

    #[test]
    fn edges_to_unknown_nodes_are_refused() {
        let mut graph = Graph::new(1);
        assert!(!graph.add_edge(0, 7));
        assert!(!graph.add_edge(9, 0));
        assert_eq!(graph.edges().count(), 0);
    }
}

//! Finding cycles and naming them in full.
//!
//! One message per knot: cycles are reported so that no two share a node, shortest way round first found
//! by always following the smallest neighbour.

use std::collections::VecDeque;

use crate::Graph;

impl Graph {
    /// Returns cycles that together touch every knot of the graph and share no node.
    /// Each cycle lists its nodes in edge order, starting with its smallest node; the edge back to it is implied.
    #[must_use]
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let mut alive = vec![true; self.len()];
        let mut found = Vec::new();
        loop {
            self.peel(&mut alive);
            let Some(start) = (0..self.len()).find(|&n| alive[n]) else { return found };
            let cycle = self.shortest_cycle_near(start, &alive);
            for &node in &cycle {
                alive[node] = false;
            }
            found.push(cycle);
        }
    }

    /// Takes away nodes that cannot be on a cycle: those without a living predecessor or successor.
    fn peel(&self, alive: &mut [bool]) {
        let living = |set: &std::collections::BTreeSet<usize>, alive: &[bool]| set.iter().any(|&n| alive[n]);
        let mut queue: VecDeque<usize> = (0..self.len()).filter(|&n| alive[n]).collect();
        while let Some(node) = queue.pop_front() {
            if !alive[node]
                || living(&self.successors[node], alive) && living(&self.predecessors[node], alive)
            {
                continue;
            }
            alive[node] = false;
            queue.extend(self.successors[node].iter().chain(&self.predecessors[node]).filter(|&&n| alive[n]));
        }
    }

    /// Walks from `start` to some node on a cycle, then returns a shortest cycle through that node.
    fn shortest_cycle_near(&self, start: usize, alive: &[bool]) -> Vec<usize> {
        let mut seen = vec![false; self.len()];
        let mut node = start;
        while !std::mem::replace(&mut seen[node], true) {
            node = self.successors(node).find(|&n| alive[n]).unwrap_or(node);
        }
        let mut parent = vec![usize::MAX; self.len()];
        let mut queue = VecDeque::from([node]);
        while let Some(at) = queue.pop_front() {
            for next in self.successors(at).filter(|&n| alive[n]) {
                if next == node {
                    return cycle_from(&parent, node, at);
                }
                if parent[next] == usize::MAX {
                    parent[next] = at;
                    queue.push_back(next);
                }
            }
        }
        vec![node]
    }
}

fn cycle_from(parent: &[usize], first: usize, last: usize) -> Vec<usize> {
    let mut cycle = vec![last];
    let mut at = last;
    while at != first {
        at = parent[at];
        cycle.push(at);
    }
    cycle.reverse();
    let smallest = cycle.iter().enumerate().min_by_key(|&(_, n)| *n).map_or(0, |(i, _)| i);
    cycle.rotate_left(smallest);
    cycle
}

#[cfg(test)]
mod tests {
    use crate::Graph;

    fn cycles(n: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let mut graph = Graph::new(n);
        for &(a, b) in edges {
            graph.add_edge(a, b);
        }
        graph.cycles()
    }

    #[test]
    fn whole_cycle_is_named_in_edge_order_from_its_smallest_node() {
        assert_eq!(cycles(5, &[(4, 2), (2, 3), (3, 1), (1, 2)]), [vec![1, 2, 3]]);
    }

    #[test]
    fn separate_knots_are_all_named() {
        assert_eq!(
            cycles(6, &[(0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (5, 5)]),
            [vec![0, 1], vec![2, 3], vec![5]]
        );
    }

    #[test]
    fn shortest_way_round_is_chosen() {
        assert_eq!(cycles(4, &[(0, 1), (1, 2), (2, 3), (3, 0), (1, 0)]), [vec![0, 1]]);
    }

    #[test]
    fn acyclic_graph_has_none() {
        assert!(cycles(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]).is_empty());
    }
}

//! Transitive reduction: the fewest edges with the same reachability.
//!
//! An edge `v → w` is redundant iff another successor of `v` reaches `w`. Reachability is kept as bit rows over a
//! block of columns at a time, so memory stays at a few hundred bytes per node however large the graph is.

use crate::Graph;

const WORDS: usize = 64;
const COLUMNS: usize = WORDS * 64;

impl Graph {
    /// Returns the transitive reduction, or `None` if the graph has a cycle (then it is not unique).
    #[must_use]
    pub fn transitive_reduction(&self) -> Option<Graph> {
        let order = self.topological_order()?;
        let mut reduced = Graph::new(self.len());
        let mut rows = vec![[0u64; WORDS]; self.len()];
        for first in (0..self.len()).step_by(COLUMNS) {
            self.reduce_block(&order, first, &mut rows, &mut reduced);
        }
        Some(reduced)
    }

    /// Decides about all edges that end in columns `first .. first + COLUMNS`.
    fn reduce_block(&self, order: &[usize], first: usize, rows: &mut [[u64; WORDS]], reduced: &mut Graph) {
        let block = first..first + COLUMNS;
        for &node in order.iter().rev() {
            let mut beyond = [0u64; WORDS];
            for next in self.successors(node) {
                for (word, reach) in beyond.iter_mut().zip(&rows[next]) {
                    *word |= reach;
                }
            }
            let mut row = beyond;
            for next in self.successors(node).filter(|n| block.contains(n)) {
                let (word, bit) = ((next - first) / 64, 1u64 << ((next - first) % 64));
                if beyond[word] & bit == 0 {
                    reduced.add_edge(node, next);
                }
                row[word] |= bit;
            }
            rows[node] = row;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Graph;

    /// A reproducible graph without randomness: edges by a multiplicative sequence.
    fn scattered(n: usize, n_edges: usize) -> Graph {
        let mut graph = Graph::new(n);
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..n_edges {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (a, b) = ((seed >> 33) as usize % n, (seed >> 12) as usize % n);
            let (before, after) = (a.min(b), if a == b { (a + 1).min(n - 1) } else { a.max(b) });
            if before != after {
                graph.add_edge(before, after);
            }
        }
        graph
    }

    #[test]
    fn reduction_keeps_reachability_and_no_edge_is_left_over() {
        for n in [2, 7, 40] {
            let graph = scattered(n, n * 3);
            let reduced = graph.transitive_reduction().unwrap();
            for node in 0..n {
                assert_eq!(graph.ancestors(node), reduced.ancestors(node));
            }
            for (a, b) in reduced.edges().collect::<Vec<_>>() {
                let mut without = Graph::new(n);
                for (before, after) in reduced.edges().filter(|edge| *edge != (a, b)) {
                    without.add_edge(before, after);
                }
                assert!(!without.reaches(a, b), "{a} → {b} is redundant");
            }
        }
    }

    #[test]
    fn blocks_of_columns_agree_with_one_block() {
        // 0 → last directly and through the middle: the direct edge lies in another block than the middle.
        let last = super::COLUMNS + 10;
        let mut graph = Graph::new(last + 1);
        graph.add_edge(0, 5);
        graph.add_edge(5, last);
        graph.add_edge(0, last);
        let reduced = graph.transitive_reduction().unwrap();
        assert_eq!(reduced.edges().collect::<Vec<_>>(), [(0, 5), (5, last)]);
    }

    #[test]
    fn cyclic_graph_has_no_reduction() {
        let mut graph = Graph::new(2);
        graph.add_edge(0, 1);
        graph.add_edge(1, 0);
        assert_eq!(graph.transitive_reduction(), None);
    }
}

//! Directed graphs: topological order, full cycles, transitive reduction.

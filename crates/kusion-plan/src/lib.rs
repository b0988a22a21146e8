//! Graph, three-way diff, actions, order: the pure planner.

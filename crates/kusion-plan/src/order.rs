//! The order of steps: edges of the Spec forwards, recorded edges backwards for what goes away.
//!
//! A resource that is replaced is two nodes: what is made of it, and the old object, which goes before (delete first) or after
//! (create first). For every edge "D depends on N":
//!
//! 1. N is made before D is made: the edges of the Spec;
//! 2. the old object of D goes before the old object of N goes: the recorded edges, turned round;
//! 3. whoever used an old object of N has been made or changed before it goes, unless N has to go first itself;
//! 4. nothing is deleted first as long as what it needs may still fail: the old object of D goes when N has been made; if N is
//!    made only after that (2), when what N waits for has been made.
//!
//! What does not change, or has no old object, is looked through: an edge is one of all that hangs together. A recorded edge
//! only orders. If it would close a circle with what is wanted now, it is dropped: the new configuration wins.

use std::collections::{BTreeMap, BTreeSet};

use base_graph::Graph;
use kusion_model::{Edge, Prior, ResourceKey, Wait};

use crate::Prepared;

/// What becomes of the old objects of a wanted resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Old {
    /// It has none.
    None,
    /// They go before anything is made.
    First,
    /// They go afterwards.
    Last,
}

/// The nodes: the wanted resources by index and then those that go; the old objects of the wanted ones; and, for every
/// resource, that all who use it have been made or changed.
#[derive(Clone, Copy)]
struct Layout {
    n_wanted: usize,
    n_all: usize,
}

impl Layout {
    fn old(self, resource: usize) -> usize {
        if resource < self.n_wanted { self.n_all + resource } else { resource }
    }

    fn moved_on(self, resource: usize) -> usize {
        self.n_all + self.n_wanted + resource
    }

    fn n_nodes(self) -> usize {
        2 * self.n_all + self.n_wanted
    }

    /// Whether the node is the end of an object.
    fn is_end(self, node: usize) -> bool {
        (self.n_wanted..self.n_all + self.n_wanted).contains(&node)
    }

    /// The resource whose object the node makes or lets go.
    fn resource(self, node: usize) -> usize {
        if node < self.n_all { node } else { node - self.n_all }
    }
}

pub(crate) struct Order {
    /// The resources, wanted and not, in the order in which they are made or go.
    pub(crate) sequence: Vec<usize>,
    all: Vec<usize>,
    graph: Graph,
    waits: BTreeMap<(usize, usize), Wait>,
    layout: Layout,
}

/// The edges of a step: what comes before it, and before its old object goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edges {
    pub(crate) after: Vec<Edge>,
    pub(crate) old_after: Vec<Edge>,
}

/// Orders what is wanted and what goes away. `old` tells what becomes of the old objects of what is wanted.
pub(crate) fn order(
    prepared: &Prepared<'_>,
    unwanted: &[ResourceKey],
    old: &dyn Fn(usize) -> Old,
    prior: &Prior,
) -> Order {
    let n_wanted = prepared.keys.len();
    let layout = Layout { n_wanted, n_all: n_wanted + unwanted.len() };
    let mut graph = Graph::new(layout.n_nodes());
    let mut waits = BTreeMap::new();
    for edge in &prepared.edges {
        graph.add_edge(edge.before, edge.after);
        waits.insert((edge.before, edge.after), edge.wait);
    }
    let any_goes = !unwanted.is_empty() || (0..n_wanted).any(|at| old(at) != Old::None);
    if any_goes {
        let goes: BTreeMap<&ResourceKey, usize> = unwanted.iter().zip(n_wanted..).collect();
        let place = |key: &ResourceKey| prepared.index.get(key).or_else(|| goes.get(key)).copied();
        let recorded = recorded_edges(prior, &place);
        add_own(&mut graph, &mut waits, layout, old);
        graph = with_recorded(graph, prepared, layout, &recorded);
        spare(&mut graph, &mut waits, layout, prepared, old, &recorded);
    }
    let all = graph.topological_order().unwrap_or_default();
    let sequence = all.iter().copied().filter(|&node| node < layout.n_all).collect();
    Order { sequence, all, graph, waits, layout }
}

/// Who depended on whom, as it was recorded: `(dependent, needed)`.
fn recorded_edges(prior: &Prior, place: &dyn Fn(&ResourceKey) -> Option<usize>) -> BTreeSet<(usize, usize)> {
    let mut edges = BTreeSet::new();
    for key in prior.keys() {
        let (Some(record), Some(dependent)) = (prior.get(key), place(key)) else { continue };
        let left_behind = record.deposed.iter().flat_map(|deposed| &deposed.depends_on);
        let needed = record.depends_on.iter().chain(left_behind).filter_map(place);
        edges.extend(needed.filter(|&needed| needed != dependent).map(|needed| (dependent, needed)));
    }
    edges
}

/// The edges between the nodes of one resource.
fn add_own(
    graph: &mut Graph,
    waits: &mut BTreeMap<(usize, usize), Wait>,
    layout: Layout,
    old: &dyn Fn(usize) -> Old,
) {
    for at in 0..layout.n_all {
        let (end, moved_on) = (layout.old(at), layout.moved_on(at));
        if at >= layout.n_wanted {
            graph.add_edge(moved_on, end);
            continue;
        }
        graph.add_edge(at, moved_on);
        waits.insert((at, moved_on), Wait::Ready);
        match old(at) {
            Old::None => {}
            Old::First => _ = graph.add_edge(end, at),
            Old::Last => _ = graph.add_edge(moved_on, end),
        }
    }
}

/// Adds what was recorded (2 and 3), without the edges that would close a circle.
fn with_recorded(
    graph: Graph,
    prepared: &Prepared<'_>,
    layout: Layout,
    recorded: &BTreeSet<(usize, usize)>,
) -> Graph {
    let ends = recorded.iter().map(|&(dependent, needed)| (layout.old(dependent), layout.old(needed)));
    let wanted = prepared.edges.iter().map(|edge| (edge.after, edge.before));
    let users = wanted.chain(recorded.iter().copied());
    let users = users.map(|(dependent, needed)| (layout.moved_on(dependent), layout.moved_on(needed)));
    let more: Vec<(usize, usize)> = ends.chain(users).collect();
    let mut all = graph.clone();
    more.iter().for_each(|&(before, after)| _ = all.add_edge(before, after));
    if all.topological_order().is_some() {
        return all;
    }
    all = graph;
    for (before, after) in more {
        if !all.reaches(after, before) {
            all.add_edge(before, after);
        }
    }
    all
}

/// Deletes nothing first before it has to be (4). Only what comes after the end of an old object can close a circle here.
fn spare(
    graph: &mut Graph,
    waits: &mut BTreeMap<(usize, usize), Wait>,
    layout: Layout,
    prepared: &Prepared<'_>,
    old: &dyn Fn(usize) -> Old,
    recorded: &BTreeSet<(usize, usize)>,
) {
    let mut late: Vec<bool> = (0..layout.n_wanted).map(|at| old(at) == Old::First).collect();
    for &at in &prepared.order {
        late[at] |= prepared.graph.predecessors(at).any(|before| late[before]);
    }
    let mut edges_of: BTreeMap<usize, Vec<(usize, Wait)>> = BTreeMap::new();
    for edge in prepared.edges.iter().filter(|edge| old(edge.after) == Old::First) {
        edges_of.entry(edge.after).or_default().push((edge.before, edge.wait));
    }
    // What each must wait for before its old object goes, what is needed first: where N itself comes only after that, it is what
    // N waits for.
    let mut needs: BTreeMap<usize, BTreeMap<usize, Wait>> = BTreeMap::new();
    for &at in prepared.order.iter().filter(|&at| edges_of.contains_key(at)) {
        let end = layout.old(at);
        let mut own: BTreeMap<usize, Wait> = BTreeMap::new();
        for &(made, wait) in &edges_of[&at] {
            let circle = late[made] && (recorded.contains(&(at, made)) || graph.reaches(end, made));
            match circle {
                true => own.extend(needs.get(&made).into_iter().flatten()),
                false => _ = own.insert(made, wait),
            }
        }
        for (&made, &wait) in &own {
            if !late[made] || !graph.reaches(end, made) {
                graph.add_edge(made, end);
                waits.insert((made, end), wait);
            }
        }
        needs.insert(at, own);
    }
}

impl Order {
    /// Returns, per resource, the changing ones that have to end before it: no-ops are looked through, and edges that others
    /// imply are left out unless they ask for more than they do. `changes` tells whether a resource changes, `has_old` whether
    /// an old object of it goes beside.
    pub(crate) fn edges(
        &self,
        keys: &[ResourceKey],
        changes: &dyn Fn(usize) -> bool,
        has_old: &dyn Fn(usize) -> bool,
    ) -> Vec<Edges> {
        let is_active = |node: usize| match self.layout.resource(node) {
            _ if node < self.layout.n_all => changes(node),
            resource if self.layout.is_end(node) => has_old(resource),
            _ => false,
        };
        let near = self.near(&is_active);
        let edges_to = |node: usize| {
            let others = near[node]
                .iter()
                .filter(|&(&before, _)| self.layout.resource(before) != self.layout.resource(node));
            let edge = |(&before, &wait): (&usize, &Wait)| Edge {
                on: keys[self.layout.resource(before)].clone(),
                wait,
            };
            others.map(edge).collect::<Vec<Edge>>()
        };
        let edges = |at: usize| match at < self.layout.n_wanted && has_old(at) {
            true => Edges { after: edges_to(at), old_after: edges_to(self.layout.old(at)) },
            false => Edges { after: edges_to(at), old_after: Vec::new() },
        };
        (0..self.layout.n_all).map(edges).collect()
    }

    /// The active nodes before each active node, with what is waited for.
    fn near(&self, is_active: &dyn Fn(usize) -> bool) -> Vec<BTreeMap<usize, Wait>> {
        let n_nodes = self.graph.len();
        let mut near: Vec<BTreeMap<usize, Wait>> = vec![BTreeMap::new(); n_nodes];
        let mut among = Graph::new(n_nodes);
        for &node in &self.all {
            let mut before: BTreeMap<usize, Wait> = BTreeMap::new();
            let mut add = |previous: usize, wait: Wait| {
                let wait = if self.layout.is_end(previous) { Wait::Gone } else { wait };
                let entry = before.entry(previous).or_insert(wait);
                *entry = wait.max(*entry);
            };
            for previous in self.graph.predecessors(node) {
                if is_active(previous) {
                    let wait = self.waits.get(&(previous, node)).copied();
                    add(previous, wait.unwrap_or(Wait::Applied));
                } else {
                    // Behind a resource that does not change nobody waits for health.
                    let is_unchanged = previous < self.layout.n_wanted;
                    for (&far, &wait) in &near[previous] {
                        add(far, if is_unchanged { Wait::Applied } else { wait });
                    }
                }
            }
            if is_active(node) {
                before.keys().for_each(|&previous| _ = among.add_edge(previous, node));
            }
            near[node] = before;
        }
        let reduced = among.transitive_reduction().unwrap_or(among);
        for (node, before) in near.iter_mut().enumerate() {
            if !is_active(node) {
                before.clear();
                continue;
            }
            let kept: BTreeSet<usize> = reduced.predecessors(node).collect();
            before.retain(|previous, wait| *wait == Wait::Ready || kept.contains(previous));
        }
        near
    }
}

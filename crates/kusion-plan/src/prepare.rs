//! The graph of a Spec: explicit, implicit and meaning-based edges, with the reason of each.

use std::collections::BTreeMap;

use base_graph::Graph;
use kusion_model::{
    FieldPath, Platforms, Reference, ReferenceUse, Resource, ResourceId, ResourceKey, Spec, Wait,
    references_in,
};

use crate::{Problem, Via};

/// An edge of the graph between two resources of the Spec, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    pub before: usize,
    pub after: usize,
    pub wait: Wait,
    pub via: Via,
}

/// A Spec that passed the lint.
#[derive(Clone, Debug)]
pub struct Prepared<'a> {
    pub resources: Vec<&'a Resource>,
    pub keys: Vec<ResourceKey>,
    pub index: BTreeMap<ResourceKey, usize>,
    /// The references in each resource.
    pub uses: Vec<Vec<ReferenceUse>>,
    /// Every edge, strongest wait first found, one per pair.
    pub edges: Vec<Dependency>,
    pub graph: Graph,
    /// A topological order of the resources.
    pub order: Vec<usize>,
    /// Which resources are only looked at.
    pub looks: Vec<bool>,
}

/// Builds the graph and checks the Spec; returns everything that is wrong, not only the first.
///
/// # Errors
/// Everything that is wrong with the Spec.
pub fn prepare<'a>(spec: &'a Spec, platforms: &Platforms) -> Result<Prepared<'a>, Vec<Problem>> {
    let mut builder = Builder { problems: Vec::new(), pairs: BTreeMap::new(), by_id: BTreeMap::new() };
    let (keys, index) = builder.index(spec, platforms);
    let uses = builder.scan(spec);
    for (at, resource) in spec.resources.iter().enumerate() {
        builder.explicit(at, resource, &keys);
        builder.implicit(at, &uses[at], &keys);
        builder.fields(spec, at, &uses[at], platforms);
    }
    for edge in platforms.edges(spec) {
        if let (Some(&before), Some(&after)) = (index.get(&edge.before), index.get(&edge.after)) {
            builder.add(before, after, edge.wait, Via::Meaning(edge.why));
        }
    }
    let (graph, edges) = builder.graph(spec.resources.len(), &keys);
    let order = graph.topological_order().unwrap_or_default();
    if !builder.problems.is_empty() {
        return Err(builder.problems);
    }
    let looks = spec.resources.iter().map(|one| platforms.only_looks(&one.kind, &one.extensions)).collect();
    Ok(Prepared { resources: spec.resources.iter().collect(), keys, index, uses, edges, graph, order, looks })
}

struct Builder {
    problems: Vec<Problem>,
    pairs: BTreeMap<(usize, usize), (Wait, Via)>,
    by_id: BTreeMap<ResourceId, Vec<usize>>,
}

impl Builder {
    fn index(
        &mut self,
        spec: &Spec,
        platforms: &Platforms,
    ) -> (Vec<ResourceKey>, BTreeMap<ResourceKey, usize>) {
        let keys: Vec<ResourceKey> = spec.resources.iter().map(Resource::key).collect();
        let mut index = BTreeMap::new();
        for (at, key) in keys.iter().enumerate() {
            let resource = &spec.resources[at];
            if let Some(first) = index.insert(key.clone(), at) {
                let place = |at: usize| spec.resources[at].source.find(&FieldPath::root()).cloned();
                let (first, second) = (place(first), place(at));
                self.problems.push(Problem::DuplicateId { key: key.clone(), first, second });
            }
            self.by_id.entry(resource.id.clone()).or_default().push(at);
            let checked = platforms.get(&resource.kind).map(|platform| platform.check(resource));
            if let Some(Err(error)) = checked {
                self.problems.push(Problem::Identity(error));
            }
        }
        (keys, index)
    }

    fn scan(&mut self, spec: &Spec) -> Vec<Vec<ReferenceUse>> {
        let mut all = Vec::with_capacity(spec.resources.len());
        for resource in &spec.resources {
            for error in resource.broken.iter().cloned() {
                self.problems.push(Problem::Reference { at: resource.key(), error });
            }
            all.push(references_in(&resource.attributes));
        }
        all
    }

    fn explicit(&mut self, at: usize, resource: &Resource, keys: &[ResourceKey]) {
        for id in &resource.depends_on {
            if let Some(before) = self.find(id, at, keys, &Via::Explicit) {
                self.add(before, at, Wait::Ready, Via::Explicit);
            }
        }
    }

    fn implicit(&mut self, at: usize, uses: &[ReferenceUse], keys: &[ResourceKey]) {
        for use_ in uses {
            let here = use_.template.references().filter(|r| r.stack.is_none());
            for Reference { id, .. } in here {
                let via = Via::Reference(use_.at.to_string());
                if let Some(before) = self.find(id, at, keys, &via) {
                    self.add(before, at, Wait::Ready, via);
                }
            }
        }
    }

    /// Fields that the thing referred to does not have.
    fn fields(&mut self, spec: &Spec, at: usize, uses: &[ReferenceUse], platforms: &Platforms) {
        let user = &spec.resources[at];
        for use_ in uses {
            for reference in use_.template.references().filter(|r| r.stack.is_none()) {
                let target = self.by_id.get(&reference.id).and_then(|found| found.first());
                let target = target.map(|&found| &spec.resources[found]);
                let lacks = target.and_then(|target| {
                    platforms.get(&target.kind).and_then(|platform| platform.lacks(target, &reference.path))
                });
                self.problems.extend(lacks.map(|why| Problem::NoSuchField {
                    at: user.key(),
                    field: use_.at.to_string(),
                    reference: reference.to_string(),
                    why,
                    place: user.place_of(&use_.at).cloned().map(Box::new),
                }));
            }
        }
    }

    /// Finds a resource by id: in the same cluster, else in the default one, else the only one there is.
    fn find(&mut self, id: &ResourceId, from: usize, keys: &[ResourceKey], via: &Via) -> Option<usize> {
        let candidates = self.by_id.get(id).map(Vec::as_slice).unwrap_or_default();
        let in_cluster = |cluster: &str| candidates.iter().copied().find(|&at| &*keys[at].cluster == cluster);
        if let Some(found) = in_cluster(&keys[from].cluster).or_else(|| in_cluster("")) {
            return Some(found);
        }
        let (from, to, via) = (keys[from].clone(), id.clone(), via.clone());
        match candidates {
            [only] => return Some(*only),
            [] => self.problems.push(Problem::UnknownDependency { from, to, via }),
            _ => self.problems.push(Problem::AmbiguousDependency { from, to, via }),
        }
        None
    }

    fn add(&mut self, before: usize, after: usize, wait: Wait, via: Via) {
        let entry = self.pairs.entry((before, after)).or_insert_with(|| (wait, via));
        entry.0 = entry.0.max(wait);
    }

    fn graph(&mut self, n_nodes: usize, keys: &[ResourceKey]) -> (Graph, Vec<Dependency>) {
        let mut graph = Graph::new(n_nodes);
        for &(before, after) in self.pairs.keys() {
            graph.add_edge(before, after);
        }
        for cycle in graph.cycles() {
            let next = cycle.iter().cycle().skip(1);
            let edges = cycle.iter().zip(next).map(|(&before, &after)| {
                let via = self.pairs[&(before, after)].1.clone();
                (keys[before].clone(), keys[after].clone(), via)
            });
            self.problems.push(Problem::Cycle { edges: edges.collect() });
        }
        let pairs = std::mem::take(&mut self.pairs);
        let edge = |((before, after), (wait, via))| Dependency { before, after, wait, via };
        (graph, pairs.into_iter().map(edge).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{platforms, platforms_with, spec};
    use kusion_model::{MeaningEdge, SourceRef};
    use serde_json::{Value, json};

    fn config_map(name: &str, depends_on: &[&str], data: Value) -> Value {
        let depends_on: Vec<String> = depends_on.iter().map(|n| format!("v1:ConfigMap:ns:{n}")).collect();
        json!({"id": format!("v1:ConfigMap:ns:{name}"), "type": "Kubernetes", "dependsOn": depends_on,
               "attributes": {"apiVersion": "v1", "kind": "ConfigMap",
                              "metadata": {"name": name, "namespace": "ns"}, "data": data}})
    }

    #[test]
    fn cycle_is_named_with_every_edge_and_its_reason() {
        let spec = spec(json!([
            config_map("a", &["b"], json!({})),
            config_map("b", &[], json!({"k": "$kusion_path.v1:ConfigMap:ns:c.metadata.name"})),
            config_map("c", &["a"], json!({})),
        ]));
        let problems = prepare(&spec, &platforms()).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(
            problems[0].to_string(),
            "resources depend on each other in a circle:\
             \n  v1:ConfigMap:ns:c needs v1:ConfigMap:ns:a (dependsOn)\
             \n  v1:ConfigMap:ns:b needs v1:ConfigMap:ns:c (reference in data.k)\
             \n  v1:ConfigMap:ns:a needs v1:ConfigMap:ns:b (dependsOn)"
        );
    }

    #[test]
    fn duplicate_ids_name_both_places() {
        let mut spec = spec(json!([config_map("a", &[], json!({})), config_map("a", &[], json!({}))]));
        for (at, line) in [(0, 3), (1, 9)] {
            let place = SourceRef { file: "dev/main.k".into(), line, col: 1 };
            spec.resources[at].source.insert(FieldPath::root(), place);
        }
        let problems = prepare(&spec, &platforms()).unwrap_err();
        assert_eq!(
            problems[0].to_string(),
            "two resources have the id `v1:ConfigMap:ns:a`: dev/main.k:3 and dev/main.k:9"
        );
    }

    #[test]
    fn all_problems_come_at_once() {
        let spec = spec(json!([
            config_map("a", &["nowhere"], json!({"x": "$kusion_path.v1:ConfigMap:ns:gone.data.x"})),
            config_map("b", &[], json!({"x": "$kusion_path.v1:ConfigMap:ns:b"})),
        ]));
        let problems = prepare(&spec, &platforms()).unwrap_err();
        let ids: Vec<&str> = problems.iter().map(Problem::id).collect();
        assert_eq!(ids, ["broken-reference", "unknown-dependency", "unknown-dependency"]);
    }

    #[test]
    fn same_id_in_two_clusters_is_fine_and_edges_stay_inside() {
        let in_cluster = |cluster: &str, name: &str, depends_on: &[&str]| {
            let mut map = config_map(name, depends_on, json!({}));
            map["extensions"] = json!({"cluster": cluster});
            map
        };
        let spec = spec(json!([
            in_cluster("west", "a", &[]),
            in_cluster("east", "a", &[]),
            in_cluster("east", "b", &["a"])
        ]));
        let prepared = prepare(&spec, &platforms()).unwrap();
        let edges: Vec<_> = prepared.edges.iter().map(|e| (e.before, e.after)).collect();
        assert_eq!(edges, [(1, 2)]);
    }

    #[test]
    fn meaning_edges_order_and_ignore_what_is_elsewhere() {
        let spec = spec(json!([config_map("a", &[], json!({})), config_map("b", &[], json!({}))]));
        let key =
            |name: &str| ResourceKey::new(ResourceId::parse(&format!("v1:ConfigMap:ns:{name}")).unwrap());
        let edge = |before: &str, after: &str| MeaningEdge {
            before: key(before),
            after: key(after),
            wait: Wait::Applied,
            why: "test".into(),
        };
        let prepared = prepare(&spec, &platforms_with(vec![edge("b", "a"), edge("elsewhere", "a")])).unwrap();
        assert_eq!(prepared.order, [1, 0]);
    }
}

//! How many requests an API server has answered, from its own counters.

use std::collections::BTreeMap;
use testenv::ControlPlane;

/// Counts by verb, of the resources that the bench uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests(BTreeMap<String, i64>);

impl Requests {
    pub(super) fn read(plane: &ControlPlane) -> Result<Requests, String> {
        let answer = plane.http().get("/metrics").map_err(|e| e.to_string())?;
        let mut counts = BTreeMap::new();
        for line in answer.text().lines() {
            let Some(rest) = line.strip_prefix("apiserver_request_total{") else { continue };
            let Some((labels, count)) = rest.rsplit_once("} ") else { continue };
            let label = |name: &str| {
                let start = labels.find(&format!("{name}=\""))? + name.len() + 2;
                labels[start..].split('"').next()
            };
            let ours = ["configmaps", "deployments", "services", "namespaces"];
            if label("resource").is_some_and(|resource| ours.contains(&resource)) {
                let verb = label("verb").unwrap_or_default().to_owned();
                *counts.entry(verb).or_insert(0) += count.parse::<f64>().unwrap_or(0.0) as i64;
            }
        }
        Ok(Requests(counts))
    }

    pub(super) fn since(&self, before: &Requests) -> Requests {
        let less = |(verb, count): (&String, &i64)| (verb.clone(), count - before.count(verb));
        Requests(self.0.iter().map(less).collect())
    }

    fn count(&self, verb: &str) -> i64 {
        self.0.get(verb).copied().unwrap_or(0)
    }

    pub(super) fn lists(&self) -> i64 {
        self.count("LIST")
    }

    pub(super) fn gets(&self) -> i64 {
        self.count("GET")
    }

    /// Dry runs count as writes here: the server's counter has them under the same verb.
    pub(super) fn writes(&self) -> i64 {
        ["POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"]
            .iter()
            .map(|verb| self.count(verb))
            .sum()
    }
}

//! What names an object: API version, kind, namespace and name. How they become one text is the engine's business.

use std::fmt;

use serde_json::Value;

/// The four facts that name an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubeId {
    pub api_version: String,
    pub kind: String,
    /// Absent for kinds of the whole cluster, and where a manifest leaves it out.
    pub namespace: Option<String>,
    pub name: String,
}

/// Parts that do not name an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotKubernetes(Vec<String>);

impl fmt::Display for NotKubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, count) = (self.0.join(":"), self.0.len());
        write!(
            f,
            "resource id `{id}` has {count} parts; a Kubernetes id is `apiVersion:Kind:[namespace:]name`, \
             and a `:` inside a name is written `\\:`"
        )
    }
}

impl std::error::Error for NotKubernetes {}

impl KubeId {
    /// The name of an object; what it does not say is empty.
    #[must_use]
    pub fn of(object: &Value) -> KubeId {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let namespace = text("/metadata/namespace");
        KubeId {
            api_version: text("/apiVersion").to_owned(),
            kind: text("/kind").to_owned(),
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            name: text("/metadata/name").to_owned(),
        }
    }

    /// Reads the parts of an id.
    pub fn from_parts(mut parts: Vec<String>) -> Result<KubeId, NotKubernetes> {
        if !(3..=4).contains(&parts.len()) {
            return Err(NotKubernetes(parts));
        }
        let name = parts.pop().unwrap_or_default();
        let namespace = if parts.len() == 3 { parts.pop() } else { None };
        let kind = parts.pop().unwrap_or_default();
        let api_version = parts.pop().unwrap_or_default();
        Ok(KubeId { api_version, kind, namespace, name })
    }

    /// The parts of an id, in its order.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let namespace = self.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        [self.api_version.as_str(), &self.kind].into_iter().chain(namespace).chain([self.name.as_str()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_back() {
        for text in ["v1 Namespace shop", "apps/v1 Deployment shop web"] {
            let parts: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let id = KubeId::from_parts(parts.clone()).unwrap();
            assert_eq!(id.parts().collect::<Vec<_>>(), parts);
            assert_eq!(id.namespace.is_some(), parts.len() == 4);
        }
        let five = ["rbac/v1", "Role", "ns", "system", "x"].map(str::to_owned).to_vec();
        assert!(KubeId::from_parts(five).unwrap_err().to_string().contains(r"`\:`"));
    }
}

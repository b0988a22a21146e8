//! Resource ids: `apiVersion:Kind:[namespace:]name`, one spelling each.
//!
//! `:` separates parts. Inside a part `\` escapes; `.` is escaped too except in the first part (an API group has
//! dots), so that the plain reference form can find where an id ends. Input may leave dots unescaped, as upstream
//! does; the canonical text has them escaped. RBAC names with a colon are `…:ClusterRole:system\:reader`.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The unique name of a resource inside a Spec; compared by its canonical text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId {
    canonical: Arc<str>,
}

/// What is wrong with the text of an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("a resource id is empty")]
    Empty,
    #[error("resource id `{0}` has an empty part between two `:`")]
    EmptyPart(String),
    #[error("resource id `{0}` ends with a lone `\\`")]
    TrailingEscape(String),
}

impl ResourceId {
    /// Reads an id; accepts dots with and without escape.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.is_empty() {
            return Err(IdError::Empty);
        }
        if is_canonical(text) {
            return Ok(ResourceId { canonical: text.into() });
        }
        let parts = split_parts(text)?;
        if parts.iter().any(String::is_empty) {
            return Err(IdError::EmptyPart(text.to_owned()));
        }
        Ok(Self::from_parts(parts.iter().map(String::as_str)))
    }

    /// Builds an id from unescaped parts.
    pub fn from_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut canonical = String::new();
        for (at, part) in parts.into_iter().enumerate() {
            if at > 0 {
                canonical.push(':');
            }
            for c in part.chars() {
                if c == ':' || c == '\\' || (c == '.' && at > 0) {
                    canonical.push('\\');
                }
                canonical.push(c);
            }
        }
        ResourceId { canonical: canonical.into() }
    }

    /// Returns the canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.canonical
    }

    /// Returns the unescaped parts.
    #[must_use]
    pub fn parts(&self) -> Vec<String> {
        split_parts(&self.canonical).unwrap_or_default()
    }
}

/// Whether a text is its own canonical form, told without taking it apart: nearly every id is.
fn is_canonical(text: &str) -> bool {
    let rest = text.split_once(':').map_or("", |(_, rest)| rest);
    let whole = !text.starts_with(':') && !text.ends_with(':') && !text.contains("::");
    whole && !text.contains('\\') && !rest.contains('.')
}

fn split_parts(text: &str) -> Result<Vec<String>, IdError> {
    if !text.contains('\\') {
        return Ok(text.split(':').map(str::to_owned).collect());
    }
    let mut parts = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ':' => parts.push(String::new()),
            '\\' => {
                let escaped = chars.next().ok_or_else(|| IdError::TrailingEscape(text.to_owned()))?;
                if let Some(part) = parts.last_mut() {
                    part.push(escaped);
                }
            }
            _ => {
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
            }
        }
    }
    Ok(parts)
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.canonical)
    }
}

impl fmt::Debug for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.canonical)
    }
}

impl std::str::FromStr for ResourceId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl Serialize for ResourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.canonical)
    }
}

impl<'de> Deserialize<'de> for ResourceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The key of a resource in state and plan: the same id may exist in several clusters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceKey {
    /// Name of the cluster; empty is the operation's default cluster.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub cluster: Arc<str>,
    pub id: ResourceId,
}

impl ResourceKey {
    /// Returns the key of an id in the default cluster.
    #[must_use]
    pub fn new(id: ResourceId) -> Self {
        ResourceKey { cluster: "".into(), id }
    }

    /// Returns the key of an id in a named cluster.
    #[must_use]
    pub fn in_cluster(cluster: &str, id: ResourceId) -> Self {
        ResourceKey { cluster: cluster.into(), id }
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cluster.is_empty() {
            return self.id.fmt(f);
        }
        f.pad(&format!("{}@{}", self.id, self.cluster))
    }
}

impl fmt::Debug for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rbac_name_with_colons_survives() {
        let parts = ["rbac.authorization.k8s.io/v1", "ClusterRole", "system:node:proxier"];
        let id = ResourceId::from_parts(parts);
        assert_eq!(id.as_str(), r"rbac.authorization.k8s.io/v1:ClusterRole:system\:node\:proxier");
        assert_eq!(ResourceId::parse(id.as_str()).unwrap().parts(), parts);
    }

    #[test]
    fn dotted_name_has_one_spelling() {
        let escaped = ResourceId::parse(r"v1:ConfigMap:kube:root-ca\.crt").unwrap();
        let plain = ResourceId::parse("v1:ConfigMap:kube:root-ca.crt").unwrap();
        assert_eq!(escaped, plain);
        assert_eq!(plain.as_str(), r"v1:ConfigMap:kube:root-ca\.crt");
        assert_eq!(plain.parts().last().unwrap(), "root-ca.crt");
    }

    #[test]
    fn terraform_id_has_four_parts() {
        let id = ResourceId::parse("hashicorp:random:random_password:pw").unwrap();
        assert_eq!(id.parts(), ["hashicorp", "random", "random_password", "pw"]);
        assert_eq!(id.as_str(), "hashicorp:random:random_password:pw");
    }

    #[test]
    fn broken_ids_are_refused_with_the_reason() {
        assert_eq!(ResourceId::parse(""), Err(IdError::Empty));
        assert!(matches!(ResourceId::parse("v1::x"), Err(IdError::EmptyPart(_))));
        assert!(matches!(ResourceId::parse(r"v1:A:x\"), Err(IdError::TrailingEscape(_))));
    }

    #[test]
    fn key_names_its_cluster_only_when_there_is_one() {
        let id = ResourceId::parse("v1:Namespace:shop").unwrap();
        assert_eq!(ResourceKey::new(id.clone()).to_string(), "v1:Namespace:shop");
        assert_eq!(ResourceKey::in_cluster("east", id).to_string(), "v1:Namespace:shop@east");
    }
}

//! Which cluster: more than a name in somebody's configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a cluster is known by, as a release records it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterIdentity {
    /// What people call it; the same cluster may have several names.
    pub context: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// What lives as long as the cluster and is never given to another; absent if it may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// SHA-256 of the authority that the server's certificate comes from; it may be renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
}

/// Whether two identities are of one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameCluster {
    Yes,
    No,
    /// They have nothing in common to compare.
    Unknown,
}

impl ClusterIdentity {
    /// Compares by uid; where one of them has none, by authority.
    #[must_use]
    pub fn compare(&self, other: &ClusterIdentity) -> SameCluster {
        let by = |a: &Option<String>, b: &Option<String>| match (a, b) {
            (Some(a), Some(b)) if a == b => SameCluster::Yes,
            (Some(_), Some(_)) => SameCluster::No,
            _ => SameCluster::Unknown,
        };
        match by(&self.uid, &other.uid) {
            SameCluster::Unknown => by(&self.authority, &other.authority),
            known => known,
        }
    }
}

impl fmt::Display for ClusterIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| text.get(..8).unwrap_or(text).to_owned();
        let known = match (&self.uid, &self.authority) {
            (Some(uid), _) => format!("uid {}", short(uid)),
            (None, Some(authority)) => format!("authority {}", short(authority)),
            (None, None) => "unknown".to_owned(),
        };
        match self.server.as_str() {
            "" => write!(f, "{} ({known})", self.context),
            server => write!(f, "{} ({server}, {known})", self.context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(uid: Option<&str>, authority: Option<&str>) -> ClusterIdentity {
        let own = |text: Option<&str>| text.map(str::to_owned);
        ClusterIdentity { uid: own(uid), authority: own(authority), ..ClusterIdentity::default() }
    }

    #[test]
    fn uid_decides_and_a_renewed_authority_does_not_matter() {
        let a = identity(Some("1"), Some("x"));
        assert_eq!(a.compare(&identity(Some("1"), Some("y"))), SameCluster::Yes);
        assert_eq!(a.compare(&identity(Some("2"), Some("x"))), SameCluster::No);
    }

    #[test]
    fn authority_decides_where_the_uid_cannot_be_read() {
        let a = identity(None, Some("x"));
        assert_eq!(a.compare(&identity(Some("1"), Some("x"))), SameCluster::Yes);
        assert_eq!(a.compare(&identity(Some("1"), Some("y"))), SameCluster::No);
        assert_eq!(a.compare(&identity(Some("1"), None)), SameCluster::Unknown);
    }
}

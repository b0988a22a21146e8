//! The head: how far a log has been written. Kept beside the lease and, as the witness, on the cluster.

use serde::{Deserialize, Serialize};

use crate::ReleaseNo;

/// The last acknowledged entry of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The identity of the history.
    pub lineage: String,
    pub serial: u64,
    /// The hash of that entry, which stands for all before it.
    pub hash: String,
    /// The newest release at that time; 0 before the first.
    #[serde(default)]
    pub release: ReleaseNo,
    /// The mark of the keys that the log is sealed with; none for a log in clear, and not told to the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
}

//! What a platform gives the engine to keep, and gets back with every question: the engine does not look into it.

use std::fmt;
use std::sync::Arc;

use data_encoding::BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Attr, ResourceKey};

/// Bytes that only a platform understands.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob(pub Arc<[u8]>);

impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        Blob(bytes.into())
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} bytes)", self.0.len())
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = BASE64.decode(text.as_bytes()).map_err(serde::de::Error::custom)?;
        Ok(Blob(bytes.into()))
    }
}

/// The state of an object as its platform wants it kept, beside the attributes that were wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// All attributes, those too that the platform itself has set.
    pub state: Attr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<Blob>,
    /// The version of the schema that `state` follows.
    #[serde(default)]
    pub schema_version: u64,
}

/// An object that was replaced by a new one and is still there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deposed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// What it depended on: it has to go before them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ResourceKey>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_back() {
        let state = Attr::map([("id", Attr::text("db-1")), ("tags", Attr::set(vec![1.into()]))]);
        let kept = Kept { state, private: Some(Blob::from(&[0, 255, 7][..])), schema_version: 3 };
        let text = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<Kept>(&text).unwrap(), kept, "{text}");
        assert!(serde_json::from_str::<Blob>("\"?\"").is_err());
    }
}

//! One line of the log, read in one pass.
//!
//! The entries are an enum with the tag inside, which serde can read only through a copy of everything; a flat form with all
//! fields optional reads straight into place. The steps of a release are a parameter: whoever only wants to know which
//! resources it was about does not pay for their attributes.

use std::collections::BTreeMap;
use std::fmt;

use kusion_model::{Attr, Release, ReleaseNo, ResourceKey, ResourceRecord, Scope, Step, Timestamp};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, de};

use crate::entry::{Entry, Outcome, ReleaseEnd, Way};
use crate::vault::Vault;

/// The fields of every kind of entry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "S: Deserialize<'de>"))]
pub(crate) struct Line<S> {
    pub(crate) entry: Tag,
    format: Option<u32>,
    lineage: Option<String>,
    scope: Option<Scope>,
    created: Option<Timestamp>,
    #[serde(default)]
    pub(crate) serial: u64,
    #[serde(default)]
    token: u64,
    #[serde(default)]
    records: Vec<ResourceRecord>,
    #[serde(default)]
    intents: Vec<ResourceRecord>,
    #[serde(default)]
    releases: Vec<Release>,
    #[serde(default)]
    outputs: BTreeMap<String, Attr>,
    release: Option<Which>,
    #[serde(default = "Vec::new")]
    pub(crate) steps: Vec<S>,
    #[serde(default)]
    pub(crate) outcomes: Vec<Outcome>,
    end: Option<ReleaseEnd>,
    pub(crate) folded: Option<String>,
    #[serde(default)]
    last_release: ReleaseNo,
    #[serde(default)]
    secrets: Vault,
    ring: Option<u64>,
    at: Option<Timestamp>,
    way: Option<Way>,
    #[serde(default)]
    tried: Vec<ResourceKey>,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tag {
    Header,
    Base,
    Begin,
    Outcomes,
    End,
    Rotated,
    Moved,
}

/// Which resource a step is about, and nothing else of it.
#[derive(Deserialize)]
pub(crate) struct StepKey {
    pub(crate) key: ResourceKey,
}

/// A beginning names its release in full, everything after it by number.
enum Which {
    New(Box<Release>),
    Known(ReleaseNo),
}

impl<S> Line<S> {
    /// Returns the entry, with these steps in it; `None` if a field is missing.
    pub(crate) fn into_entry(self, steps: impl FnOnce(Vec<S>) -> Vec<Step>) -> Option<Entry> {
        let Line { serial, token, .. } = self;
        let known = |release: Option<Which>| match release? {
            Which::Known(no) => Some(no),
            Which::New(_) => None,
        };
        Some(match self.entry {
            Tag::Header => Entry::Header {
                format: self.format?,
                lineage: self.lineage?,
                scope: self.scope?,
                created: self.created?,
            },
            Tag::Base => {
                let Line {
                    records, intents, releases, outputs, folded, last_release, secrets, tried, ..
                } = self;
                Entry::Base {
                    serial,
                    token,
                    records,
                    intents,
                    releases,
                    outputs,
                    folded,
                    last_release,
                    secrets,
                    tried,
                }
            }
            Tag::Begin => {
                let Some(Which::New(release)) = self.release else { return None };
                Entry::Begin { serial, token, release, steps: steps(self.steps) }
            }
            Tag::Outcomes => {
                let (release, outcomes, secrets) = (known(self.release)?, self.outcomes, self.secrets);
                Entry::Outcomes { serial, token, release, outcomes, secrets }
            }
            Tag::End => Entry::End { serial, token, release: known(self.release)?, end: self.end? },
            Tag::Rotated => Entry::Rotated { serial, token, ring: self.ring?, at: self.at? },
            Tag::Moved => Entry::Moved { serial, token, at: self.at?, way: self.way? },
        })
    }
}

impl<'de> Deserialize<'de> for Which {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Which;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a release or its number")
            }

            fn visit_u64<E: de::Error>(self, no: u64) -> Result<Which, E> {
                Ok(Which::Known(ReleaseNo(no)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Which, A::Error> {
                Release::deserialize(MapAccessDeserializer::new(map)).map(|new| Which::New(Box::new(new)))
            }
        }
        from.deserialize_any(Reader)
    }
}

//! Questions and answers.

use std::fmt;

use kusion_model::{
    Action, Attr, Blob, ConflictRule, Desired, Observed, ResourceKey, ResourceRecord, ResourceType,
};
use serde_json::{Map, Value};

use crate::RuntimeError;

/// What a platform is asked about before anything is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// Creates and updates: what a preview promises.
    #[default]
    All,
    /// Updates only: an apply that nobody looks at first; creates are checked here and then written.
    Updates,
}

/// Which object to read.
#[derive(Clone, Debug, PartialEq)]
pub struct ObserveAsk<'a> {
    pub key: ResourceKey,
    pub kind: ResourceType,
    pub prior: Option<&'a ResourceRecord>,
    pub extensions: Map<String, Value>,
    /// What is wanted of it, with references that are not filled in yet; none for what is only recorded.
    pub wanted: Option<&'a Attr>,
}

/// Which object is meant?
#[derive(Clone, Copy, Debug)]
pub struct IdentifyAsk<'a> {
    pub key: &'a ResourceKey,
    /// The wanted or recorded attributes: a definition among them tells about objects of its kind.
    pub attributes: &'a Attr,
    pub extensions: &'a Map<String, Value>,
    /// What the state has under this very key.
    pub prior: Option<&'a ResourceRecord>,
    /// Which one is asked for where they differ: the object that the configuration wants, or the recorded one.
    pub wanted: bool,
}

/// What would this become?
#[derive(Clone, Debug)]
pub struct ProposeAsk<'a> {
    pub desired: &'a Desired<'a>,
    pub prior: Option<&'a ResourceRecord>,
    pub live: Option<&'a Observed>,
    pub rules: &'a [ConflictRule],
    /// Something that it depends on will change: who only looks at things has to wait.
    pub pending: bool,
}

/// Make it so. The runtime exposes secrets just before the wire.
#[derive(Clone)]
pub struct WriteAsk<'a> {
    pub key: &'a ResourceKey,
    pub action: Action,
    /// The object that is changed, where the platform knows objects by uid; none for one that is made.
    pub uid: Option<&'a str>,
    /// With no reference left in it.
    pub attributes: &'a Attr,
    /// What the last release recorded; absent for the new object of a replacement.
    pub prior: Option<&'a ResourceRecord>,
    /// What the runtime has planned for it, and what it wanted to get back.
    pub planned: Option<&'a Attr>,
    pub blob: Option<&'a Blob>,
    /// Another tool made the object, and it is or was imported: what that tool owns is ours by consent.
    pub imported: bool,
    pub rules: &'a [ConflictRule],
    pub extensions: &'a Map<String, Value>,
}

impl fmt::Debug for WriteAsk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriteAsk({} {})", self.action, self.key)
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object as the platform has it now; references of other resources read from it.
    pub observed: Observed,
    /// What the platform said beside it.
    pub warnings: Vec<String>,
    /// The write failed and left something behind, which is recorded all the same: the step has failed.
    pub trouble: Option<RuntimeError>,
}

/// Away with it.
#[derive(Clone, Debug)]
pub struct DeleteAsk<'a> {
    pub key: &'a ResourceKey,
    /// Only the object with this identity; one made anew under the same name stays.
    pub uid: Option<&'a str>,
    /// The version that was looked at: whoever wrote since may have made it another's.
    pub version: Option<&'a str>,
    /// What the last release recorded of it.
    pub prior: Option<&'a ResourceRecord>,
    pub extensions: &'a Map<String, Value>,
}

/// Where a delete stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// Proved: there is no such object.
    Gone,
    /// The object with this uid is gone, and another one has its name: not ours, and left alone.
    MadeAnew,
    /// Still there; these hold it, as the platform names them.
    Leaving { held_by: Vec<String>, message: Option<String> },
}

//! Everything that can be wrong with a Spec before the world is asked.

use std::fmt;

use kusion_model::{
    FieldPath, Platforms, RefError, Resource, ResourceId, ResourceKey, SourceRef, Spec, SpecError,
};

/// Why one resource comes before another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Via {
    /// `dependsOn`.
    Explicit,
    /// A reference in this field.
    Reference(String),
    /// What the platform means, in words: "lives in the namespace".
    Meaning(String),
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Via::Explicit => f.write_str("dependsOn"),
            Via::Reference(field) => write!(f, "reference in {field}"),
            Via::Meaning(what) => f.write_str(what),
        }
    }
}

/// One thing wrong with a Spec.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    #[error("two resources have the id `{key}`{}", places(first, second))]
    DuplicateId { key: ResourceKey, first: Option<SourceRef>, second: Option<SourceRef> },
    #[error("`{first}` and `{second}` are one object to the cluster{}", places(&places_of.0, &places_of.1))]
    SameObject {
        first: ResourceKey,
        second: ResourceKey,
        places_of: Box<(Option<SourceRef>, Option<SourceRef>)>,
    },
    #[error("`{first}` and `{second}` mean one object now, and each has made its own")]
    TwoObjects { first: ResourceKey, second: ResourceKey },
    #[error("resources depend on each other in a circle:{}", circle(edges))]
    Cycle { edges: Vec<(ResourceKey, ResourceKey, Via)> },
    #[error("`{from}` depends on `{to}` ({via}), which is not in the configuration")]
    UnknownDependency { from: ResourceKey, to: ResourceId, via: Via },
    #[error("`{from}` depends on `{to}` ({via}), which exists in several clusters; name one")]
    AmbiguousDependency { from: ResourceKey, to: ResourceId, via: Via },
    #[error("`{at}`: {error}")]
    Reference { at: ResourceKey, error: RefError },
    #[error(transparent)]
    Identity(SpecError),
    #[error("`{at}`: {what}{}", place_of(place.as_ref()))]
    Extensions { at: ResourceKey, what: String, place: Option<SourceRef> },
    #[error(
        "`{at}` refers to `{reference}`, which stack {stack} does not list under `outputs:` or has not applied"
    )]
    NotAnOutput { at: ResourceKey, reference: String, stack: String },
    #[error("`{at}` {field} refers to `{reference}`: {why}{}", place_of(place.as_deref()))]
    NoSuchField {
        at: ResourceKey,
        field: String,
        reference: String,
        why: String,
        place: Option<Box<SourceRef>>,
    },
}

impl Problem {
    /// Returns the stable name of this kind of problem.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Problem::DuplicateId { .. } => "duplicate-resource-id",
            Problem::SameObject { .. } => "one-object-twice",
            Problem::TwoObjects { .. } => "two-objects-of-one-id",
            Problem::Cycle { .. } => "resource-cycle",
            Problem::UnknownDependency { .. } => "unknown-dependency",
            Problem::AmbiguousDependency { .. } => "ambiguous-dependency",
            Problem::Reference { .. } => "broken-reference",
            Problem::Identity(_) => "id-manifest-mismatch",
            Problem::Extensions { .. } => "wrong-extension",
            Problem::NotAnOutput { .. } => "not-an-output",
            Problem::NoSuchField { .. } => "no-such-field",
        }
    }
}

/// Returns what is wrong with extensions, before anybody acts on them.
#[must_use]
pub fn wrong_extensions(spec: &Spec, platforms: &Platforms) -> Vec<Problem> {
    let problem = |resource: &Resource| {
        let what = platforms.get(&resource.kind)?.check_extensions(&resource.extensions).err()?;
        let place = resource.source.find(&FieldPath::root()).cloned();
        Some(Problem::Extensions { at: resource.key(), what, place })
    };
    spec.resources.iter().filter_map(problem).collect()
}

fn places(first: &Option<SourceRef>, second: &Option<SourceRef>) -> String {
    match (first, second) {
        (Some(first), Some(second)) => format!(": {first} and {second}"),
        _ => String::new(),
    }
}

fn place_of(place: Option<&SourceRef>) -> String {
    place.map(|place| format!(" ({place})")).unwrap_or_default()
}

fn circle(edges: &[(ResourceKey, ResourceKey, Via)]) -> String {
    edges.iter().map(|(from, to, via)| format!("\n  {to} needs {from} ({via})")).collect()
}

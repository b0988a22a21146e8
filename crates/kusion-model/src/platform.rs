//! What a platform knows about its resources without being connected: the only way in which the Spec, the planner and the
//! executor learn anything about a platform.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    Attr, DigestKey, FieldPath, Kept, RefError, Rekeying, Resource, ResourceId, ResourceKey, ResourceType,
    Spec, SpecError, Wait, seal, seal_passing,
};

/// An edge that follows from what objects mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeaningEdge {
    pub before: ResourceKey,
    pub after: ResourceKey,
    pub wait: Wait,
    /// In words, from the view of `after`: "lives in the namespace", "mounts the config map".
    pub why: String,
}

/// A field that was written in one place and stands in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedField {
    pub written: FieldPath,
    pub stands: FieldPath,
}

/// A platform's knowledge. Pure: whoever makes one has loaded the schemas that it needs.
pub trait Platform: Send + Sync {
    /// The type of its resources.
    fn kind(&self) -> ResourceType;

    /// The id that a document without one implies; `None` if it is no document of this platform.
    fn identify(&self, _document: &Attr) -> Option<Result<ResourceId, SpecError>> {
        None
    }

    /// Says how the id of a resource contradicts its attributes.
    ///
    /// # Errors
    /// The first contradiction.
    fn check(&self, _resource: &Resource) -> Result<(), SpecError> {
        Ok(())
    }

    /// Says what is wrong with the extensions of a resource.
    ///
    /// # Errors
    /// The first that is.
    fn check_extensions(&self, _extensions: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }

    /// Brings what can be written in several ways into one form, and says what moved.
    fn settle(&self, _attributes: &mut Attr) -> Vec<MovedField> {
        Vec::new()
    }

    /// The subtrees that are secret.
    fn sensitive(&self, _id: &ResourceId, _attributes: &Attr) -> Vec<FieldPath> {
        Vec::new()
    }

    /// Says why a reference to a field of a resource leads nowhere; `None` where that is not known before there is an object.
    fn lacks(&self, _resource: &Resource, _field: &FieldPath) -> Option<String> {
        None
    }

    /// Whether a resource with these extensions is only looked at, never made: a data source.
    fn only_looks(&self, _extensions: &Map<String, Value>) -> bool {
        false
    }

    /// Whether a resource with these extensions is there only while it is used: nothing of it is recorded, and its values are
    /// handed over only to fields that keep nothing either.
    fn passes(&self, _extensions: &Map<String, Value>) -> bool {
        false
    }

    /// The subtrees whose values are handed over and kept nowhere.
    fn passing(
        &self,
        _id: &ResourceId,
        _extensions: &Map<String, Value>,
        _attributes: &Attr,
    ) -> Vec<FieldPath> {
        Vec::new()
    }

    /// Further subtrees in which such values may stand: those are handed over, the others there are kept.
    fn lets_pass(&self) -> Vec<FieldPath> {
        Vec::new()
    }

    /// Why a resource with these extensions must not be deleted, and not be replaced; `None` if it may.
    fn forbids_delete(&self, _extensions: &Map<String, Value>) -> Option<String> {
        None
    }

    /// Whether its resources live in a cluster; those of providers live wherever the provider puts them.
    fn lives_in_cluster(&self) -> bool {
        true
    }

    /// Fields of a live object that are nothing for a plan to show.
    fn hidden(&self) -> Vec<FieldPath> {
        Vec::new()
    }

    /// What is gone for good when a resource is deleted, in a few words; `None` if making it anew brings everything back.
    fn holds(&self, _id: &ResourceId, _attributes: &Attr) -> Option<&'static str> {
        None
    }

    /// Whether two ids may mean one object. On a platform where the id is the object's own name, another name is another object.
    fn same_object(&self, _one: &ResourceId, _other: &ResourceId) -> bool {
        true
    }

    /// What is kept with a record, under the keys of another stack.
    ///
    /// # Errors
    /// What cannot be opened with the old key.
    fn rekey(&self, kept: &Kept, keys: &Rekeying<'_>) -> Result<Kept, String> {
        let mut state = kept.state.clone();
        keys.reseal(&mut state);
        Ok(Kept { state, ..kept.clone() })
    }

    /// What comes before what because of what the objects mean.
    fn edges(&self, _spec: &Spec) -> Vec<MeaningEdge> {
        Vec::new()
    }
}

/// The platforms that an engine knows, by type.
#[derive(Clone, Default)]
pub struct Platforms(Vec<Arc<dyn Platform>>);

impl Platforms {
    /// Takes platforms, each with a type of its own.
    #[must_use]
    pub fn new(platforms: Vec<Arc<dyn Platform>>) -> Self {
        Platforms(platforms)
    }

    /// Returns the platform of a type.
    #[must_use]
    pub fn get(&self, kind: &ResourceType) -> Option<&dyn Platform> {
        self.0.iter().find(|platform| platform.kind() == *kind).map(AsRef::as_ref)
    }

    /// Returns what a document without an id is; `None` if no platform knows it.
    #[must_use]
    pub fn identify(&self, document: &Attr) -> Option<(ResourceType, Result<ResourceId, SpecError>)> {
        self.0.iter().find_map(|platform| Some((platform.kind(), platform.identify(document)?)))
    }

    /// Returns which parts of a resource's attributes are secret.
    #[must_use]
    pub fn sensitive(&self, kind: &ResourceType, id: &ResourceId, attributes: &Attr) -> Vec<FieldPath> {
        self.get(kind).map(|platform| platform.sensitive(id, attributes)).unwrap_or_default()
    }

    /// Returns whether a resource is only looked at.
    #[must_use]
    pub fn only_looks(&self, kind: &ResourceType, extensions: &Map<String, Value>) -> bool {
        self.get(kind).is_some_and(|platform| platform.only_looks(extensions))
    }

    /// Returns whether a resource is there only while it is used.
    #[must_use]
    pub fn passes(&self, kind: &ResourceType, extensions: &Map<String, Value>) -> bool {
        self.get(kind).is_some_and(|platform| platform.passes(extensions))
    }

    /// Returns why a resource must not be deleted, if that is so.
    #[must_use]
    pub fn forbids_delete(&self, kind: &ResourceType, extensions: &Map<String, Value>) -> Option<String> {
        self.get(kind)?.forbids_delete(extensions)
    }

    /// Returns whether resources of a type live in a cluster; those of a type that nobody knows are taken for such.
    #[must_use]
    pub fn lives_in_cluster(&self, kind: &ResourceType) -> bool {
        self.get(kind).is_none_or(Platform::lives_in_cluster)
    }

    /// Puts values where references stood. What the platform calls secret there is brought into the platform's form and sealed,
    /// as it would have been if the value had been written; what is kept nowhere is made so.
    ///
    /// # Errors
    /// A field that would keep a value that is only handed over.
    pub fn fill(
        &self,
        (kind, id, extensions): (&ResourceType, &ResourceId, &Map<String, Value>),
        attributes: &mut Attr,
        values: Vec<(FieldPath, Attr)>,
        key: &DigestKey,
    ) -> Result<(), RefError> {
        let (passing, lets_pass) = match self.get(kind) {
            Some(platform) => (platform.passing(id, extensions, attributes), platform.lets_pass()),
            None => Default::default(),
        };
        let is_passing = |leaf: &Attr| matches!(leaf, Attr::Secret(secret) if secret.is_passing());
        let keeps = |(at, value): &&(FieldPath, Attr)| {
            value.any(&is_passing) && !passing.iter().chain(&lets_pass).any(|path| path.covers(at))
        };
        if let Some((at, _)) = values.iter().find(keeps) {
            return Err(RefError::Kept { at: at.to_string() });
        }
        let sensitive = self.sensitive(kind, id, attributes);
        let mut in_clear = false;
        for (at, value) in values {
            let secret = sensitive.iter().any(|path| path.covers(&at));
            let value = match value {
                Attr::Secret(known) if secret => match known.expose() {
                    Some(clear) => Attr::from(clear),
                    None => Attr::Secret(known),
                },
                value => value,
            };
            in_clear |= secret;
            if let Some(place) = at.get_mut(attributes) {
                *place = value;
            }
        }
        if let Some(platform) = self.get(kind).filter(|_| in_clear) {
            platform.settle(attributes);
            let sensitive = platform.sensitive(id, attributes);
            // A reference inside a secret text was told when the resource was read.
            seal(attributes, &sensitive, key, &mut Vec::new());
        }
        for path in passing {
            if let Some(place) = path.get_mut(attributes) {
                seal_passing(place, key);
            }
        }
        Ok(())
    }

    /// Returns the edges of meaning of all platforms.
    #[must_use]
    pub fn edges(&self, spec: &Spec) -> Vec<MeaningEdge> {
        self.0.iter().flat_map(|platform| platform.edges(spec)).collect()
    }
}

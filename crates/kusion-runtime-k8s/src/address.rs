//! Where an object was made, when its id does not say so.
//!
//! An id without a namespace means one of the context's own, and that is a setting of whoever calls: tomorrow it is another. A
//! record is about one object, so it keeps the namespace that its id meant when the object was made. The engine carries it along
//! as private data and does not look into it. A plan says it of what it makes: it is made there or not at all, and found again
//! after a release that was cut off. Records and plans from before have none, and mean what the context says.

use kube_meaning::id::KubeId;
use kusion_model::{Attr, Blob, Kept, Observed, ResourceRecord};

use crate::kinds::Kind;
use crate::runtime::KubeRuntime;

/// The namespace in which a record's object was made, where the record keeps it.
fn made_in(record: &ResourceRecord) -> Option<&str> {
    let private = record.kept.as_ref()?.private.as_ref()?;
    std::str::from_utf8(&private.0).ok().filter(|namespace| !namespace.is_empty())
}

impl KubeRuntime {
    /// Returns the namespace of an object that names none: where its record says that it was made, else the context's own.
    #[must_use]
    pub fn home<'a>(&'a self, record: Option<&'a ResourceRecord>) -> &'a str {
        record.and_then(made_in).unwrap_or(&self.namespace)
    }

    /// Where a recorded object lives.
    pub(crate) fn home_of<'a>(&'a self, id: &'a KubeId, record: Option<&'a ResourceRecord>) -> &'a str {
        id.namespace.as_deref().unwrap_or_else(|| self.home(record))
    }

    /// Has the namespace of an object recorded, if its id does not tell.
    pub(crate) fn placed(&self, observed: Observed, id: &KubeId, kind: &Kind, namespace: &str) -> Observed {
        match kept_at(id, kind, namespace) {
            None => observed,
            kept => Observed { kept, ..observed },
        }
    }

    /// What a plan says of the namespace of an object: where it is, else where it will be made.
    pub(crate) fn place(&self, live: Option<&Observed>, id: &KubeId, kind: &Kind) -> Option<Kept> {
        match live {
            Some(live) => live.kept.clone(),
            None => kept_at(id, kind, &self.namespace),
        }
    }
}

/// The namespace of an object as it is recorded, if its id does not tell.
fn kept_at(id: &KubeId, kind: &Kind, namespace: &str) -> Option<Kept> {
    if id.namespace.is_some() || !kind.namespaced {
        return None;
    }
    let private = Some(Blob::from(namespace.as_bytes()));
    Some(Kept { state: Attr::Null, private, schema_version: 0 })
}

//! An object seen in another served version of its kind.
//!
//! Entries of managedFields keep the version they were written in, and comparisons happen in that version. Custom resources
//! without a webhook and most built-in kinds have one shape in all versions; the autoscaler is translated.

use std::borrow::Cow;

use serde_json::Value;

use crate::schema::{Resource, Ty, split_api_version};
use crate::ssa::Target;
use crate::{event, hpa};

/// An object in some version.
pub(crate) struct InVersion<'s, 'v> {
    pub(crate) object: Cow<'v, Value>,
    pub(crate) ty: &'s Ty,
    pub(crate) resource: &'s Resource,
}

/// The object in another version of its kind, as a client of that version reads it.
pub fn convert(object: &Value, from: &Resource, to: &Resource) -> Value {
    let mut converted = hpa::convert(object, from, to)
        .or_else(|| event::convert(object, from, to))
        .unwrap_or_else(|| object.clone());
    if let Value::Object(map) = &mut converted {
        map.insert("apiVersion".to_owned(), Value::from(to.api_version().as_str()));
        map.insert("kind".to_owned(), Value::from(to.kind.as_str()));
    }
    if let Some(structural) = &to.structural {
        crate::crd::prune(structural, &mut converted);
        crate::crd::fill_defaults(structural, &mut converted);
    }
    converted
}

/// The resource of the same kind in another version; `None` when that version is not served.
fn resource_in<'s>(target: Target<'s>, api_version: &str) -> Option<&'s Resource> {
    let own = target.resource;
    let (group, version) = split_api_version(api_version);
    if group == own.group && version == own.version {
        return Some(own);
    }
    target.schema.resource(group, version, &own.kind)
}

/// The type of the kind in a version.
pub(crate) fn type_in<'s>(target: Target<'s>, api_version: &str) -> Option<&'s Ty> {
    resource_in(target, api_version).map(|r| &r.ty)
}

/// The object in a version; `None` when that version is not served.
pub(crate) fn in_version<'s, 'v>(
    target: Target<'s>,
    object: &'v Value,
    api_version: &str,
) -> Option<InVersion<'s, 'v>> {
    let resource = resource_in(target, api_version)?;
    if std::ptr::eq(resource, target.resource) {
        return Some(InVersion { object: Cow::Borrowed(object), ty: &resource.ty, resource });
    }
    let mut converted = hpa::convert(object, target.resource, resource).unwrap_or_else(|| object.clone());
    if let Value::Object(map) = &mut converted {
        map.insert("apiVersion".to_owned(), Value::from(api_version));
    }
    Some(InVersion { object: Cow::Owned(converted), ty: &resource.ty, resource })
}

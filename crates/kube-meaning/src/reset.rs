//! Fields that a path never writes: `status` on the main path, `spec` on `/status`.
//!
//! The server calls them reset fields: they neither enter a field set nor conflict, and their values are put back.

use std::sync::OnceLock;

use crate::fieldset::{FieldSet, set_of};
use crate::ssa::Target;

/// What a path resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    Nothing,
    Status,
    /// Certificate requests: neither may change.
    SpecAndStatus,
    Spec,
    SpecAndLabels,
    /// Pods keep labels sent to `/status`.
    SpecAndOwners,
    SpecAndMetadata,
}

/// Kinds whose `/status` also resets metadata.
const METADATA_TOO: [&str; 8] = [
    "VolumeAttachment",
    "FlowSchema",
    "PriorityLevelConfiguration",
    "ValidatingAdmissionPolicy",
    "ServiceCIDR",
    "ResourceClaim",
    "CustomResourceDefinition",
    "APIService",
];

/// What writing through the target resets.
pub(crate) fn reset_fields(target: Target<'_>) -> Reset {
    let resource = target.resource;
    match target.subresource {
        "" if resource.kind == "CertificateSigningRequest" => Reset::SpecAndStatus,
        "" if resource.has_subresource("status") => Reset::Status,
        "" => Reset::Nothing,
        "status" if resource.custom => Reset::SpecAndMetadata,
        "status" => match resource.kind.as_str() {
            "Deployment" => Reset::SpecAndLabels,
            "Pod" => Reset::SpecAndOwners,
            kind if METADATA_TOO.contains(&kind) => Reset::SpecAndMetadata,
            _ => Reset::Spec,
        },
        _ => Reset::Nothing,
    }
}

impl Reset {
    /// Whether nothing is reset.
    pub(crate) fn is_none(self) -> bool {
        matches!(self, Reset::Nothing)
    }

    /// The reset paths.
    pub(crate) fn set(self) -> &'static FieldSet {
        static SETS: OnceLock<Vec<FieldSet>> = OnceLock::new();
        let sets = SETS.get_or_init(|| {
            vec![
                FieldSet::new(),
                set_of(&[&["status"]]),
                set_of(&[&["spec"], &["status"]]),
                set_of(&[&["spec"]]),
                set_of(&[&["spec"], &["metadata", "labels"]]),
                set_of(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]),
                set_of(&[&["spec"], &["metadata"]]),
            ]
        });
        &sets[match self {
            Reset::Nothing => 0,
            Reset::Status => 1,
            Reset::SpecAndStatus => 2,
            Reset::Spec => 3,
            Reset::SpecAndLabels => 4,
            Reset::SpecAndOwners => 5,
            Reset::SpecAndMetadata => 6,
        }]
    }
}

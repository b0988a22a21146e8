//! The data that the engine's crates hand to each other: ids, paths, references, Spec, Plan, Release, State records.
//!
//! In: JSON values that others read from YAML, JSON or an evaluator. Out: typed data with a stable textual form.
//! Invariants: an id has one spelling; a reference is parsed once; **a sensitive value is never stored or printed** (a
//! [`Secret`] writes a keyed digest); every hash is over sorted keys.
//! Deliberately not here: files, clocks, decisions, any platform (its knowledge comes through [`Platform`]).
//!
//! Start reading with [`Attr`], then [`Resource`], then [`Plan`], then [`ResourceRecord`].
//!
//! ```yaml
//! resources:                                       # a Spec
//! - id: apps/v1:Deployment:shop-dev:web
//!   type: Kubernetes
//!   attributes: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop-dev}}
//!   dependsOn: [v1:Namespace:shop-dev]
//!   extensions: {cluster: east}
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod attr;
mod backend_setting;
mod change;
mod cluster;
mod digest;
mod head;
mod id;
mod kept;
mod owner;
mod path;
mod plan;
mod plan_view;
mod platform;
mod project;
mod reference;
mod rekey;
mod release;
mod secret;
mod secret_ref;
mod secret_stores;
mod source;
mod spec;
mod state;
mod time;
mod world;

pub use attr::{Attr, AttrMap, NotPlain, Number, NumberError, Unknowns};
pub use backend_setting::BackendSetting;
pub use change::{FieldChange, Mover, Note};
pub use cluster::{ClusterIdentity, SameCluster};
pub use digest::{sha256, sha256_hex};
pub use head::Head;
pub use id::{IdError, ResourceId, ResourceKey};
pub use kept::{Blob, Deposed, Kept};
pub use owner::{IMPORTED_ANNOTATION, ImportedPolicy, OWNER_ANNOTATION, OwnerRules, Ownership};
pub use path::{FieldPath, PathError, Segment, Tree};
pub use plan::{Action, Edge, PLAN_SCHEMA, Plan, PlanDraft, PlanError, Reason, Scope, Step, Tally, Wait};
pub use plan_view::upstream_view;
pub use platform::{MeaningEdge, MovedField, Platform, Platforms};
pub use project::{
    Component, ConflictPolicy, ConflictRule, MetaError, MetaFile, NamespaceMapping, OutputType, Project,
    Stack, StackOutput, WorkspaceFile,
};
pub use reference::{Part, RefError, Reference, ReferenceUse, StackRef, Template, references_in};
pub use rekey::Rekeying;
pub use release::{
    Approval, Approved, Checkout, INTERRUPTED, Identity, OutputUse, Phase, Release, ReleaseDiff, ReleaseNo,
    Subject, Timings, diff_releases,
};
pub use secret::{DigestKey, Secret, adopt, is_seal, seal, seal_like, seal_passing};
pub use secret_ref::SecretRef;
pub use secret_stores::{AwsConfig, KvVersion, Provider, StoreConfig, VaultAuth, VaultConfig};
pub use source::{SourceMap, SourceRef};
pub use spec::{Resource, ResourceType, Spec, SpecError};
pub use state::{Prior, Records, ResourceRecord};
pub use time::Timestamp;
pub use world::{Desired, Live, Native, Observed, Proposal, Proposed};

//! What a Kubernetes object means: one crate for the planner's "does this change anything?" and the sandbox's writes.
//!
//! It is pure: objects are `serde_json::Value`, time and uids are arguments, nothing is read from the world but two constant
//! tables. It is not a client, a store or a controller.
//!
//! * [`builtin`] — the schema of the pinned Kubernetes version; [`crd::schema_of`] — that of a custom resource.
//! * [`write::write`] — one create, update, patch or apply, from request to stored object, as the real server does it.
//! * [`decide::decide`] — what applying a manifest would do to a live object, without asking the server.
//! * Below them: [`ssa`] (server-side apply), [`patch`], [`defaults`], [`normalise`], [`immutable`], [`validate`],
//!   [`strict`], [`fieldset`] and [`managed`] (managedFields), [`quantity`], [`selectors`], [`names`], [`id`], [`api_path`].
//!
//! Invariants: bad input is refused, never panicked on; every recursion is bounded; refusals carry the server's code, reason,
//! causes and words ([`status::Refusal`]). Start reading at `write`, then [`ssa`], then the primitives in `typed`.
//!
//! ```
//! use kube_meaning::decide::{Decision, Question, decide};
//! use kube_meaning::ssa::Target;
//! use kube_meaning::write::{Verb, Writer, write};
//! use serde_json::json;
//!
//! let schema = kube_meaning::builtin();
//! let target = Target::main(schema, schema.resource("", "v1", "ConfigMap").expect("a built-in kind"));
//! let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
//! let by = Writer { manager: "kusion", force: false, now: "2026-01-01T00:00:00Z", uid: "u", admit: &mut |_, _| Ok(()) };
//! let live = write(target, None, Verb::Apply(&manifest), by).expect("valid").object;
//! let question = Question { target, live: &live, manager: "kusion", desired: &manifest, prior: None };
//! assert_eq!(decide(question), Decision::NoChange);
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod api_path;
mod builtin;
pub mod crd;
pub mod decide;
pub mod decode;
mod default_hooks;
pub mod defaults;
pub mod elem;
mod event;
pub mod fieldset;
mod hpa;
pub mod id;
pub mod immutable;
pub mod managed;
pub mod managed_text;
pub mod names;
pub mod normalise;
mod owners;
pub mod patch;
pub mod quantity;
pub mod reach;
mod reset;
pub mod scale;
pub mod schedule;
pub mod schema;
pub mod selectors;
pub mod service;
pub mod ssa;
pub mod status;
pub mod strategy;
pub mod strict;
pub mod time;
mod typed;
pub mod unchanged;
pub mod validate;
mod validate_webhooks;
mod version;
pub mod write;
pub mod write_status;

pub use builtin::builtin;
pub use version::convert;

//! Schemas as data: one model that both directions use.
//!
//! From checked KCL ([`read_package`]) to documents (`kcl-doc`), and from OpenAPI, JSON Schema, CRDs, Terraform and plain data to
//! KCL (`kcl-import`): whoever reads a format makes a [`Model`], whoever writes one takes a [`Model`]; there is no code
//! for pairs. Docstrings are read and written here ([`docstring`]), and so are the rules that checks and the constraints
//! of other formats have in common ([`Constraint`]).
//!
//! Pure: data in, data out. Start with `model.rs`; why it is so, docs/design/0013-schema-model.md.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod constraint;
pub mod docstring;
mod model;
mod quote;
mod read;
mod ty;
mod value;
mod walk;

pub use constraint::{Constraint, Rule, Subject, When};
pub use docstring::{AttributeDoc, Doc, Example, Section};
pub use model::{
    Attribute, Check, Decorator, Default, IndexSignature, Kind, Lines, Model, Package, Parameter, Schema,
    SchemaRef,
};
pub use quote::{is_identifier, quote, quote_name};
pub use read::{PackageName, Program, read_package};
pub use ty::Type;
pub use value::Value;

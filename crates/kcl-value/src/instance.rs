//! Schema instances.

use std::rc::Rc;

use crate::{Dict, SchemaRef, Str, Value};

/// A place that messages about an instance point at. Kept as an offset: lines are counted only when a message is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// Package, in the evaluator's numbering.
    pub package: u32,
    /// Offset in the package's tree.
    pub offset: u32,
    /// How much of the place is meant.
    pub precision: Precision,
}

/// How much of a [`Position`] is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Precision {
    /// No position was recorded: `S(..)` without braces.
    #[default]
    Unknown,
    /// Only the line: conversions and re-runs.
    Line,
    /// Line and column: `S {..}`.
    Exact,
}

/// A finished schema instance: its attributes, and what is needed to run its schema again.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The schema.
    pub schema: Rc<SchemaRef>,
    /// Attributes in order, each with the operator it remembers.
    pub attrs: Dict,
    /// Keys that were configured (as opposed to defaulted).
    pub config_keys: Rc<Vec<Str>>,
    /// Positional arguments of the constructor.
    pub args: Rc<Vec<Value>>,
    /// Keyword arguments of the constructor.
    pub kwargs: Rc<Vec<(Str, Value)>>,
    /// Where it was made.
    pub position: Position,
}

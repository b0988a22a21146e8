//! Schema instances.

use std::rc::Rc;

use crate::{Dict, SchemaRef, Str, Value};

/// A place that messages about an instance point at: file number, line, column; column 1 and no caret for conversions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// File, in the evaluator's numbering.
    pub file: u32,
    /// Line, from 1; 0 means that no position was recorded.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
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

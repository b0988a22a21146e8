//! YAML and JSON in bytes.
//!
//! Writing: a [`Sink`] is driven by whoever has data (no intermediate tree); YAML and JSON writers implement it,
//! byte-exact with the reference. Reading: YAML 1.2 text to [`Node`]s with spans, bounded against alias bombs and depth.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod json_reader;
mod json_writer;
mod node;
mod node_writer;
mod number;
mod scalar;
mod yaml_reader;
mod yaml_writer;

pub use json_reader::parse_json;
pub use json_writer::{JsonWriter, push_json_string};
pub use node::{Data, Limits, MapEntry, Node, Span, YamlError};
pub use node_writer::write_node;
pub use number::{lossy_float, lossy_parse, push_int};
pub use yaml_reader::parse_documents;
pub use yaml_writer::{YamlWriter, join_documents};

/// What a writer of structured text takes. Calls must nest properly: a map is `begin_map (key value)* end_map`.
pub trait Sink {
    /// Writes null.
    fn null(&mut self);
    /// Writes a bool.
    fn bool(&mut self, b: bool);
    /// Writes an integer.
    fn int(&mut self, i: i64);
    /// Writes a float; NaN and infinities become null.
    fn float(&mut self, f: f64);
    /// Writes a string.
    fn str(&mut self, text: &str);
    /// Opens a list.
    fn begin_list(&mut self);
    /// Closes a list.
    fn end_list(&mut self);
    /// Opens a map.
    fn begin_map(&mut self);
    /// Writes a key; its value follows.
    fn key(&mut self, key: &str);
    /// Closes a map.
    fn end_map(&mut self);
}

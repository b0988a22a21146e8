//! Drives an emitter over a tree that was read.

use crate::{Data, Node, Sink};

/// Writes a node and everything below it.
pub fn write_node(sink: &mut dyn Sink, node: &Node) {
    match &node.value {
        Data::Null => sink.null(),
        Data::Bool(b) => sink.bool(*b),
        Data::Int(i) => sink.int(*i),
        Data::Float(f) => sink.float(*f),
        Data::Str(text) => sink.str(text),
        Data::List(items) => {
            sink.begin_list();
            items.iter().for_each(|i| write_node(sink, i));
            sink.end_list();
        }
        Data::Map(entries) => {
            sink.begin_map();
            for entry in entries {
                sink.key(&entry.key);
                write_node(sink, &entry.value);
            }
            sink.end_map();
        }
    }
}

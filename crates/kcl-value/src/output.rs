//! From a value to an emitter: what is dropped, what is kept.

use base_yaml::Sink;

use crate::{Dict, Value};

/// What to leave out and how to order.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputOptions {
    /// Drop None everywhere.
    pub disable_none: bool,
    /// Keep names that start with `_`.
    pub show_hidden: bool,
    /// Sort keys on all levels.
    pub sort_keys: bool,
    /// Add `_type` to each instance.
    pub schema_type_path: bool,
}

/// Returns false for Undefined and functions (and None, if those are dropped).
pub fn is_emitted(value: &Value, options: &OutputOptions) -> bool {
    match value {
        Value::Undefined | Value::Func(_) => false,
        Value::None => !options.disable_none,
        _ => true,
    }
}

/// Drives an emitter over a value.
pub fn write_value<S: Sink + ?Sized>(sink: &mut S, value: &Value, options: &OutputOptions) {
    match value {
        Value::Undefined | Value::None | Value::Func(_) => sink.null(),
        Value::Bool(b) => sink.bool(*b),
        Value::Int(i) => sink.int(*i),
        Value::Float(f) => sink.float(*f),
        Value::Unit(unit) => sink.float(unit.value),
        Value::Str(text) => sink.str(text),
        Value::List(list) => {
            sink.begin_list();
            for item in list.items.iter().filter(|i| is_emitted(i, options)) {
                write_value(sink, item, options);
            }
            sink.end_list();
        }
        Value::Dict(dict) => write_dict(sink, dict, None, options),
        Value::Schema(inst) => {
            let full_name = options.schema_type_path.then(|| inst.schema.full_name());
            write_dict(sink, &inst.attrs, full_name.as_deref(), options);
        }
    }
}

fn write_dict<S: Sink + ?Sized>(sink: &mut S, dict: &Dict, type_path: Option<&str>, options: &OutputOptions) {
    sink.begin_map();
    if options.sort_keys {
        let mut entries: Vec<_> = dict.iter().collect();
        entries.sort_by(|a, b| a.0.cmp(b.0));
        let (before, after) = entries.split_at(entries.partition_point(|(key, _)| key.as_str() < TYPE_KEY));
        before.iter().for_each(|(key, entry)| write_entry(sink, key, &entry.value, options));
        write_type(sink, type_path);
        after.iter().for_each(|(key, entry)| write_entry(sink, key, &entry.value, options));
    } else {
        dict.iter().for_each(|(key, entry)| write_entry(sink, key, &entry.value, options));
        write_type(sink, type_path);
    }
    sink.end_map();
}

const TYPE_KEY: &str = "_type";

fn write_type<S: Sink + ?Sized>(sink: &mut S, type_path: Option<&str>) {
    if let Some(name) = type_path {
        sink.key(TYPE_KEY);
        sink.str(name);
    }
}

#[inline]
fn write_entry<S: Sink + ?Sized>(sink: &mut S, key: &str, value: &Value, options: &OutputOptions) {
    if is_emitted(value, options) && (options.show_hidden || !key.starts_with('_')) {
        sink.key(key);
        write_value(sink, value, options);
    }
}

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
    let mut write_entry = |key: &str, value: &Value| {
        if is_emitted(value, options) && (options.show_hidden || !key.starts_with('_')) {
            sink.key(key);
            write_value(sink, value, options);
        }
    };
    if options.sort_keys {
        let mut entries: Vec<_> = dict.iter().collect();
        entries.sort_by(|a, b| a.0.cmp(b.0));
        entries.into_iter().for_each(|(key, entry)| write_entry(key, &entry.value));
    } else {
        dict.iter().for_each(|(key, entry)| write_entry(key, &entry.value));
    }
    if let Some(name) = type_path {
        sink.key("_type");
        sink.str(name);
    }
    sink.end_map();
}

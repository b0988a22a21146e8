//! Values as YAML text, in the writer that the language uses.

use base_yaml::{Sink, YamlWriter};
use serde_json::Value;

/// One document.
pub(crate) fn text(value: &Value) -> String {
    let mut writer = YamlWriter::new();
    write(&mut writer, value);
    let mut text = writer.into_document();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn write(sink: &mut dyn Sink, value: &Value) {
    match value {
        Value::Null => sink.null(),
        Value::Bool(value) => sink.bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => sink.int(integer),
            None => sink.float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => sink.str(text),
        Value::Array(items) => {
            sink.begin_list();
            items.iter().for_each(|item| write(sink, item));
            sink.end_list();
        }
        Value::Object(map) => {
            sink.begin_map();
            for (key, value) in map {
                sink.key(key);
                write(sink, value);
            }
            sink.end_map();
        }
    }
}

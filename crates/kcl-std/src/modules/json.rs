//! `json`: text to values and back.

use std::path::Path;

use base_yaml::{JsonWriter, Limits};
use kcl_value::{Dict, Entry, Op, Value, write_value};

use super::file::failed;
use super::{encodable, encode_options, flag, int, text};
use crate::{Args, Error, FileTask, Host, Mistake};

type Answer = Result<Value, Error>;

/// More spaces than this per level are refused: nobody needs them and they multiply.
const MAX_INDENT: i64 = 64;

/// Encodes `data`; the other parameters start at position `at`.
fn encode_with(host: &mut dyn Host, args: Args<'_>, at: usize) -> Result<String, Error> {
    let data = encodable(args.get(0, "data").unwrap_or(&Value::Undefined));
    let options = encode_options(
        flag(args, at, "sort_keys"),
        flag(args, at + 2, "ignore_private"),
        flag(args, at + 3, "ignore_none"),
    );
    let indent = int(args, at + 1, "indent")?.unwrap_or(0).clamp(0, MAX_INDENT);
    let mut writer = JsonWriter::indented(indent as usize);
    write_value(&mut writer, &data, &options);
    let out = writer.into_string();
    host.charge(out.len() as u64 / 16)?;
    Ok(out)
}

/// `encode(data, sort_keys, indent, ignore_private, ignore_none)`.
pub(crate) fn encode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    encode_with(host, args, 1).map(Value::from)
}

/// `dump_to_file(data, filename, …)`.
pub(crate) fn dump_to_file(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let out = encode_with(host, args, 2)?;
    let path = text(args, 1, "filename");
    host.write_file(Path::new(path), out.as_bytes(), false)
        .map_err(|why| failed(FileTask::Dump, path, why))?;
    Ok(Value::Undefined)
}

/// `decode(value)`.
pub(crate) fn decode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let source = text(args, 0, "value");
    host.charge(source.len() as u64 / 8)?;
    Ok(crate::data::value_from_json(source).map_err(|why| Mistake::NotJson { why: why.message })?)
}

/// `validate(value)`.
pub(crate) fn validate(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let source = text(args, 0, "value");
    host.charge(source.len() as u64 / 8)?;
    Ok(Value::Bool(base_yaml::parse_json(source, &Limits::default()).is_ok()))
}

/// `merge(src, patch)`: RFC 7396. The order of the remaining keys is kept (the reference moves the last one).
pub(crate) fn merge(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let src = args.get(0, "src").unwrap_or(&Value::None);
    let patch = args.get(1, "patch").unwrap_or(&Value::None);
    merged(host, src, patch)
}

fn merged(host: &mut dyn Host, src: &Value, patch: &Value) -> Answer {
    let Some(changes) = patch.as_dict() else {
        return Ok(if matches!(patch, Value::Func(_)) { Value::Undefined } else { encodable(patch) });
    };
    let mut dict = src.as_dict().cloned().unwrap_or_else(Dict::default);
    host.charge((dict.len() + changes.len()) as u64)?;
    for (key, entry) in changes.iter() {
        match &entry.value {
            Value::None => {
                dict.remove(key);
            }
            Value::Undefined | Value::Func(_) => {}
            change => {
                let old = dict.get(key).cloned().unwrap_or(Value::None);
                let new = merged(host, &old, change)?;
                dict.insert(key.clone(), Entry::new(new, Op::Union));
            }
        }
    }
    Ok(Value::from(dict))
}

//! `yaml`: text to values and back.

use std::path::Path;

use base_yaml::{Limits, YamlError, YamlWriter};
use kcl_value::{OutputOptions, Value, write_value};

use super::file::failed;
use super::{encodable, encode_options, flag, list, text};
use crate::{Args, Error, FileTask, Host, Mistake};

type Answer = Result<Value, Error>;

fn document(value: &Value, options: &OutputOptions) -> String {
    let mut writer = YamlWriter::new();
    write_value(&mut writer, &encodable(value), options);
    writer.into_document()
}

/// The flags that stand from position `at` on.
fn options(args: Args<'_>, at: usize) -> OutputOptions {
    encode_options(
        flag(args, at, "sort_keys"),
        flag(args, at + 1, "ignore_private"),
        flag(args, at + 2, "ignore_none"),
    )
}

fn encode_one(host: &mut dyn Host, args: Args<'_>, at: usize) -> Result<String, Error> {
    let out = document(args.get(0, "data").unwrap_or(&Value::Undefined), &options(args, at));
    host.charge(out.len() as u64 / 16)?;
    Ok(out)
}

/// Each document ends in a newline already, so an empty line stands before the separator.
fn encode_many(host: &mut dyn Host, args: Args<'_>, at: usize) -> Result<String, Error> {
    let options = options(args, at);
    let documents: Vec<String> = list(args, 0, "data")?.iter().map(|item| document(item, &options)).collect();
    let out = documents.join("\n---\n");
    host.charge(out.len() as u64 / 16)?;
    Ok(out)
}

fn write(host: &mut dyn Host, args: Args<'_>, out: &str) -> Answer {
    let path = text(args, 1, "filename");
    host.write_file(Path::new(path), out.as_bytes(), false)
        .map_err(|why| failed(FileTask::Dump, path, why))?;
    Ok(Value::Undefined)
}

/// `encode(data, sort_keys, ignore_private, ignore_none)`.
pub(crate) fn encode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    encode_one(host, args, 1).map(Value::from)
}

/// `encode_all(data, …)`.
pub(crate) fn encode_all(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    encode_many(host, args, 1).map(Value::from)
}

/// `dump_to_file(data, filename, …)`.
pub(crate) fn dump_to_file(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let out = encode_one(host, args, 2)?;
    write(host, args, &out)
}

/// `dump_all_to_file(data, filename, …)`.
pub(crate) fn dump_all_to_file(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let out = encode_many(host, args, 2)?;
    write(host, args, &out)
}

/// `decode(value)`: exactly one document; nothing is None.
pub(crate) fn decode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let mut documents = match decoded(host, args)? {
        // Whatever stands behind the first document, this is what the reference says about it.
        Err(error) if error.behind_document => return Err(Mistake::SeveralDocuments.into()),
        Err(error) => return Err(Mistake::NotYaml { why: error.message }.into()),
        Ok(several) if several.len() > 1 => return Err(Mistake::SeveralDocuments.into()),
        Ok(documents) => documents,
    };
    Ok(documents.pop().unwrap_or(Value::None))
}

/// `decode_all(value)`: nothing is one empty document.
pub(crate) fn decode_all(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let mut documents = decoded(host, args)?.map_err(|error| Mistake::NotYaml { why: error.message })?;
    if documents.is_empty() {
        documents.push(Value::None);
    }
    Ok(Value::from(documents))
}

fn decoded(host: &mut dyn Host, args: Args<'_>) -> Result<Result<Vec<Value>, YamlError>, Error> {
    let source = text(args, 0, "value");
    host.charge(source.len() as u64 / 8)?;
    Ok(crate::data::values_from_yaml(source))
}

/// `validate(value)`: streams and nothing are valid.
pub(crate) fn validate(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let source = text(args, 0, "value");
    host.charge(source.len() as u64 / 8)?;
    Ok(Value::Bool(base_yaml::parse_documents(source, &Limits::default()).is_ok()))
}

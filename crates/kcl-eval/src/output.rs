//! From a finished program to its output: the fold of expressions and globals, selectors, YAML and JSON text.

use base_yaml::{JsonWriter, YamlWriter, join_documents};
use kcl_value::{Dict, Entry, Op, OutputOptions, Str, Value, is_emitted, write_value};

use crate::fault::Eval;
use crate::machine::Machine;

impl Machine<'_> {
    /// Folds top-level expression values and globals of the main package into one value.
    pub(crate) fn planned_value(&mut self) -> Eval<Value> {
        let main = self.program.main.0 as usize;
        let outputs = std::mem::take(&mut self.packages[main].outputs);
        let last_instance = outputs.iter().rposition(|v| matches!(v, Value::Schema(_)));
        let mut folded = Value::Undefined;
        for (i, value) in outputs.into_iter().enumerate() {
            let kept = !matches!(value, Value::Schema(_)) || Some(i) == last_instance;
            if kept && is_emitted(&value, &self.options.output) {
                folded = self.fold_values(folded, value)?;
            }
        }
        let globals = self.emitted_globals(main);
        if globals.is_empty() {
            return Ok(folded);
        }
        self.fold_values(folded, globals.into())
    }

    fn emitted_globals(&self, package: usize) -> Dict {
        let options = &self.options.output;
        let record = &self.packages[package].globals;
        let slots = record.slots.borrow();
        let mut dict = Dict::with_capacity(slots.len());
        for (name, slot) in record.shape.names.iter().zip(slots.iter()) {
            let hidden = name.starts_with('_') && !options.show_hidden;
            if !hidden && is_emitted(&slot.value, options) {
                let entry = Entry { origin: slot.origin, ..Entry::new(slot.value.clone(), Op::Union) };
                dict.insert(name.clone(), entry);
            }
        }
        dict
    }

    /// Applies `-S`: one path gives that value, several give a list of them.
    pub(crate) fn selected_value(&mut self, value: Value) -> Eval<Value> {
        let selectors = &self.options.selectors;
        let mut chosen = Vec::with_capacity(selectors.len());
        for selector in selectors {
            match select_path(&value, selector, &self.options.output) {
                Some(found) => chosen.push(found),
                None => {
                    let message = format!("invalid path select operand {selector}, value not found");
                    return Err(self.fault("selector-not-found", message));
                }
            }
        }
        Ok(match chosen.len() {
            0 => value,
            1 => chosen.remove(0),
            _ => chosen.into(),
        })
    }
}

fn select_path(value: &Value, path: &str, options: &OutputOptions) -> Option<Value> {
    let mut at = value.clone();
    for part in path.split('.') {
        at = match &at {
            Value::Dict(_) | Value::Schema(_) => {
                if part.starts_with('_') && !options.show_hidden {
                    return None;
                }
                at.as_dict()?.get(part)?.clone()
            }
            Value::List(list) => list.items.get(part.parse::<usize>().ok()?)?.clone(),
            _ => return None,
        };
        if !is_emitted(&at, options) {
            return None;
        }
    }
    Some(at)
}

/// Returns the documents of a value: a list of configs is a stream, an empty list is nothing.
fn documents<'v>(value: &'v Value, options: &OutputOptions) -> Vec<&'v Value> {
    match value {
        Value::List(list) => {
            let items: Vec<&Value> = list.items.iter().filter(|i| is_emitted(i, options)).collect();
            if items.iter().all(|i| i.is_config()) { items } else { vec![value] }
        }
        other => vec![other],
    }
}

/// Returns the YAML text of a planned value, without a final newline.
pub(crate) fn yaml_text(value: &Value, options: &OutputOptions) -> String {
    if value.is_undefined() {
        return "{}".into();
    }
    let documents: Vec<String> = documents(value, options)
        .into_iter()
        .map(|document| {
            let mut writer = YamlWriter::new();
            write_value(&mut writer, document, options);
            writer.into_string()
        })
        .collect();
    join_documents(&documents)
}

/// Returns the JSON text of a planned value; `indent` 0 is one line, streams are one document per line.
pub(crate) fn json_text(value: &Value, options: &OutputOptions, indent: usize) -> String {
    if value.is_undefined() {
        return "{}".into();
    }
    let documents: Vec<String> = documents(value, options)
        .into_iter()
        .map(|document| {
            let mut writer = if indent == 0 { JsonWriter::new() } else { JsonWriter::indented(indent) };
            write_value(&mut writer, document, options);
            writer.into_string()
        })
        .collect();
    documents.join("\n")
}

/// Returns JSON of `{"args": [..], "kwargs": {..}}` for a plugin.
pub(crate) fn plugin_arguments(args: &[Value], kwargs: &[(Str, Value)]) -> String {
    let mut all = Dict::default();
    all.set("args", args.to_vec().into(), Op::Union);
    let keyword: Dict = kwargs.iter().map(|(k, v)| (k.clone(), Entry::new(v.clone(), Op::Union))).collect();
    all.set("kwargs", keyword.into(), Op::Union);
    kcl_std::format_json_inline(&all.into())
}

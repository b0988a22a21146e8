//! From a finished program to its output: the fold of expressions and globals, selectors, YAML and JSON text.

use base_yaml::{JsonWriter, YamlWriter, join_documents};
use kcl_value::{Dict, Entry, Op, OutputOptions, Str, Value, is_emitted, write_value};

use crate::fault::Eval;
use crate::machine::Machine;
use crate::mistake::Mistake;

impl Machine<'_> {
    /// Folds top-level expression values and globals of the main package into one value.
    pub(crate) fn planned_value(&mut self) -> Eval<Value> {
        let main = self.program.main.0 as usize;
        let outputs = std::mem::take(&mut self.packages[main].outputs);
        let mut folded = None;
        for value in outputs {
            folded = Some(match folded {
                Some(earlier) => self.fold_values(earlier, value)?,
                None => value,
            });
        }
        let (any, globals) = self.emitted_globals(main);
        // Alone, nothing is written as null and a function as 0, as in the reference.
        match folded {
            None if any => Ok(globals.into()),
            None => Ok(Value::Undefined),
            Some(folded) if any => self.fold_values(folded, globals.into()),
            Some(Value::Undefined) => Ok(Value::None),
            Some(Value::Func(_)) => Ok(Value::Int(0)),
            Some(folded) => Ok(folded),
        }
    }

    // The globals that are written, and whether there are any that could be: a dict without entries is still a dict.
    fn emitted_globals(&self, package: usize) -> (bool, Dict) {
        let options = &self.options.output;
        let record = &self.packages[package].globals;
        let slots = record.slots.borrow();
        let mut dict = Dict::with_capacity(slots.len());
        let mut any = false;
        for (name, slot) in record.shape.names.iter().zip(slots.iter()) {
            let hidden = name.starts_with('_') && !options.show_hidden;
            any |= !hidden;
            // A function is not written, but it is in the way of a value of that name.
            if !hidden && (is_emitted(&slot.value, options) || matches!(slot.value, Value::Func(_))) {
                let entry = Entry { origin: slot.origin, ..Entry::new(slot.value.clone(), Op::Union) };
                dict.push_new(name.clone(), entry);
            }
        }
        (any, dict)
    }

    /// Applies `-S`: one path gives that value, several give a list of them.
    pub(crate) fn selected_value(&mut self, value: Value) -> Eval<Value> {
        let selectors = &self.options.selectors;
        // Paths apply to configs; whatever else was planned is the output as it is.
        if !value.is_config() && !value.is_undefined() {
            return Ok(value);
        }
        let mut chosen = Vec::with_capacity(selectors.len());
        for selector in selectors {
            match select_path(&value, selector, &self.options.output) {
                Some(found) => chosen.push(found),
                // A variable that nothing was stored into can be selected.
                None if self.packages[self.program.main.0 as usize].globals.position(selector).is_some()
                    && !selector.starts_with('_') =>
                {
                    chosen.push(Value::Undefined);
                }
                None => {
                    let keys = value.as_dict().into_iter().flat_map(|d| d.keys());
                    let known = keys.take(12).cloned().collect();
                    let selector = selector.to_string();
                    return Err(self.fault(Mistake::SelectorNotFound { selector, known }));
                }
            }
        }
        Ok(match chosen.len() {
            0 => value,
            // Selected alone, nothing is null and a function is 0.
            1 => match chosen.remove(0) {
                Value::Undefined => Value::None,
                Value::Func(_) => Value::Int(0),
                found => found,
            },
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
    }
    Some(at)
}

/// Whether a value is written as a stream: a list of configs.
pub(crate) fn is_stream(value: &Value) -> bool {
    matches!(value, Value::List(list) if list.items.iter().all(Value::is_config))
}

/// Returns the documents of a value: an empty list is nothing.
pub(crate) fn documents(value: &Value) -> Vec<&Value> {
    match value {
        Value::List(list) if is_stream(value) => list.items.iter().collect(),
        other => vec![other],
    }
}

/// Returns the YAML text of a planned value, without a final newline.
pub(crate) fn yaml_text(value: &Value, options: &OutputOptions) -> String {
    if value.is_undefined() {
        return "{}".into();
    }
    let text = |document: &Value| {
        let mut writer = YamlWriter::new();
        write_value(&mut writer, document, options);
        writer.into_string()
    };
    match documents(value).as_slice() {
        [one] => text(one),
        many => join_documents(&many.iter().map(|d| text(d)).collect::<Vec<_>>()),
    }
}

/// Returns the JSON text of a planned value; `indent` 0 is one line, streams are one document per line.
pub(crate) fn json_text(value: &Value, options: &OutputOptions, indent: usize) -> String {
    if value.is_undefined() {
        return "{}".into();
    }
    let documents: Vec<String> = documents(value)
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

//! The part of JSONPath that printer columns use: fields, indexes, `[*]` and one comparison in a filter.

use serde_json::Value;

/// Steps that one path may have.
const MOST_STEPS: usize = 64;

#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    All,
    /// Items whose field (a path of fields) has a value.
    Where(Vec<String>, String),
}

/// The first thing that a path finds.
pub(crate) fn first<'v>(path: &str, object: &'v Value) -> Option<&'v Value> {
    find(&parse(path)?, object)
}

fn find<'v>(steps: &[Step], value: &'v Value) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value).filter(|v| !v.is_null()) };
    match (step, value) {
        (Step::Field(name), Value::Object(map)) => find(rest, map.get(name)?),
        (Step::Index(at), Value::Array(items)) => {
            let at = if *at < 0 { at + i64::try_from(items.len()).ok()? } else { *at };
            find(rest, items.get(usize::try_from(at).ok()?)?)
        }
        (Step::All, Value::Array(items)) => items.iter().find_map(|item| find(rest, item)),
        (Step::All, Value::Object(map)) => map.values().find_map(|item| find(rest, item)),
        (Step::Where(fields, wanted), Value::Array(items)) => {
            let fits = |item: &&Value| {
                let found = fields.iter().try_fold(*item, |at, name| at.get(name));
                found.is_some_and(|found| match found {
                    Value::String(text) => text == wanted,
                    Value::Bool(b) => wanted.parse() == Ok(*b),
                    Value::Number(n) => wanted.parse().ok() == n.as_f64(),
                    _ => false,
                })
            };
            items.iter().filter(fits).find_map(|item| find(rest, item))
        }
        _ => None,
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.trim().trim_start_matches('$');
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MOST_STEPS {
            return None;
        }
        if let Some(after) = rest.strip_prefix('[') {
            let (inside, after) = bracket(after)?;
            steps.push(inside);
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let (name, after) = field(rest);
            if !name.is_empty() {
                steps.push(if name == "*" { Step::All } else { Step::Field(name) });
            } else if !after.starts_with('[') {
                return None;
            }
            rest = after;
        }
    }
    Some(steps)
}

/// A field name up to the next step; a dot in it is written `\.`.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.extend(chars.next().map(|(_, c)| c)),
            '.' | '[' => return (name, &text[at..]),
            _ => name.push(c),
        }
    }
    (name, "")
}

fn bracket(text: &str) -> Option<(Step, &str)> {
    if let Some(filter) = text.strip_prefix("?(") {
        let (inside, after) = filter.split_once(")]")?;
        let (left, right) = inside.split_once("==")?;
        let fields = left.trim().trim_start_matches('@').split('.').filter(|part| !part.is_empty());
        let wanted = right.trim().trim_matches(['"', '\'']).to_owned();
        return Some((Step::Where(fields.map(str::to_owned).collect(), wanted), after));
    }
    for quote in ['\'', '"'] {
        if let Some(quoted) = text.strip_prefix(quote) {
            let (name, after) = quoted.split_once(quote)?;
            return Some((Step::Field(name.to_owned()), after.strip_prefix(']')?));
        }
    }
    let (inside, after) = text.split_once(']')?;
    match inside.trim() {
        "*" => Some((Step::All, after)),
        number => Some((Step::Index(number.parse().ok()?), after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_of_printer_columns_find_their_value() {
        let object = json!({"metadata": {"annotations": {"a.b/c": "x"}}, "status": {"conditions": [
            {"type": "Ready", "status": "False"}, {"type": "Done", "status": "True"}]}});
        for (path, wanted) in [
            (".status.conditions[?(@.type==\"Done\")].status", Some("True")),
            (".status.conditions[0].type", Some("Ready")),
            (".status.conditions[-1].type", Some("Done")),
            (".status.conditions[*].status", Some("False")),
            (".metadata.annotations.a\\.b/c", Some("x")),
            (".metadata.annotations['a.b/c']", Some("x")),
            (".nothing.there", None),
            (".status.conditions[", None),
            ("..", None),
        ] {
            assert_eq!(first(path, &object).and_then(Value::as_str), wanted, "{path}");
        }
    }
}

//! A value by its JSON pointer, without copying the pointer.
//!
//! `serde_json`'s own `pointer` makes two texts of every step, in case it holds `~0` or `~1`; here only such a step pays.

use serde_json::Value;

/// Looking into a value.
pub trait Reach {
    /// The value at a pointer such as `/metadata/labels`: what `Value::pointer` finds.
    fn at(&self, pointer: &str) -> Option<&Value>;
}

impl Reach for Value {
    fn at(&self, pointer: &str) -> Option<&Value> {
        if pointer.is_empty() {
            return Some(self);
        }
        if pointer.contains('~') {
            return self.pointer(pointer);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, step| match value {
            Value::Object(map) => map.get(step),
            Value::Array(items) => index(step).and_then(|at| items.get(at)),
            _ => None,
        })
    }
}

/// A position as pointers spell it.
fn index(step: &str) -> Option<usize> {
    let plain = !step.starts_with('+') && (!step.starts_with('0') || step.len() == 1);
    step.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_finds_what_a_pointer_finds() {
        let value = json!({"a": {"b/c": [1, {"d": 2}], "": 3}, "0": 4});
        for pointer in [
            "",
            "/",
            "a",
            "/a",
            "/a/",
            "/a/b~1c/1/d",
            "/a/b~1c/01",
            "/a/b~1c/+1",
            "/a/b~1c/0",
            "/0",
            "/a/x/y",
            "//",
        ] {
            assert_eq!(value.at(pointer), value.pointer(pointer), "{pointer}");
        }
        let list = json!([[1], 2]);
        for pointer in ["/0/0", "/1", "/2", "/-", "/00"] {
            assert_eq!(list.at(pointer), list.pointer(pointer), "{pointer}");
        }
    }
}

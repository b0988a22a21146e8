//! Bytes as choices: numbers, words, and objects that nearly fit a schema.

use kube_meaning::schema::{Resource, ScalarKind, Schema, Ty};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Valid objects of nearly every built-in kind: a small change of one of these gets further than any invention.
pub(super) static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let lines = include_str!("../../../kube-sequences/src/samples.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("samples.jsonl is JSON lines")).collect()
});

const WORDS: &[&str] = &[
    "a",
    "b",
    "c",
    "",
    "web",
    "app",
    "main",
    "default",
    "kube-root-ca.crt",
    "100m",
    "1Gi",
    "50%",
    "80",
    "http",
    "TCP",
    "UDP",
    "10.96.0.10",
    "fd00::1",
    "None",
    "Always",
    "Never",
    "OnFailure",
    "Recreate",
    "RollingUpdate",
    "* * * * *",
    "@hourly",
    "2026-01-01T00:00:00Z",
    "AA==",
    "nginx:1",
    "crashloop",
    "x/y",
    "-",
    ".",
    "ä",
    "A",
    "\u{0}",
    "1e3",
    "-1",
    "9223372036854775808",
    "ExternalName",
    "LoadBalancer",
    "NodePort",
    "In",
    "Exists",
    "sandbox.kusion.io/exit",
    "foregroundDeletion",
    "orphan",
    "kubernetes.io/x",
    "true",
    "null",
    "$patch",
    "name",
    "value",
    "{\"a\":1}",
];

const NUMBERS: &[i64] =
    &[0, 1, 2, 3, 80, 443, -1, 30_000, 65_536, 2_147_483_647, 2_147_483_648, i64::MAX, i64::MIN, 1000];

/// Deepest value that is made up.
const DEPTH: usize = 9;

pub(super) struct Feed<'b> {
    bytes: &'b [u8],
}

impl<'b> Feed<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Feed<'b> {
        Feed { bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number below a limit; the limit is at least one.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        match limit {
            0..=256 => usize::from(self.byte()) % limit.max(1),
            _ => (usize::from(self.byte()) << 8 | usize::from(self.byte())) % limit,
        }
    }

    pub(super) fn pick<'p, T>(&mut self, from: &'p [T]) -> &'p T {
        &from[self.below(from.len())]
    }

    /// One in so many, and never when the bytes have run out.
    pub(super) fn rarely(&mut self, times: u8) -> bool {
        !self.is_empty() && self.byte() % times == times - 1
    }

    pub(super) fn word(&mut self) -> &'static str {
        *self.pick::<&'static str>(WORDS)
    }

    /// Some of the bytes themselves.
    pub(super) fn slice(&mut self) -> &'b [u8] {
        let length = self.below(256).min(self.bytes.len());
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        taken
    }

    pub(super) fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// A part of a sample of a kind, the kind said with it.
    pub(super) fn sample(&mut self) -> Value {
        self.pick(&SAMPLES).clone()
    }

    /// A value that nearly fits a type.
    pub(super) fn value(&mut self, schema: &Schema, ty: &Ty) -> Value {
        self.typed(schema, ty, DEPTH)
    }

    fn typed(&mut self, schema: &Schema, ty: &Ty, depth: usize) -> Value {
        if depth == 0 || self.rarely(60) {
            return self.any(depth.min(3));
        }
        match ty {
            Ty::Any => self.any(depth.min(3)),
            Ty::Scalar(kind) => self.scalar(*kind),
            Ty::Named { id, .. } => {
                let fields = &schema.get(*id).fields;
                if fields.is_empty() {
                    return json!({});
                }
                let mut map = Map::new();
                for _ in 0..self.below(5) {
                    let field = self.pick(fields);
                    map.insert(field.name.to_string(), self.typed(schema, &field.ty, depth - 1));
                }
                Value::Object(map)
            }
            Ty::List(list) => {
                let count = self.below(4);
                (0..count).map(|_| self.typed(schema, &list.item, depth - 1)).collect()
            }
            Ty::Map(map) => {
                let count = self.below(4);
                let entries =
                    (0..count).map(|_| (self.word().to_owned(), self.typed(schema, &map.value, depth - 1)));
                Value::Object(entries.collect())
            }
        }
    }

    fn scalar(&mut self, kind: ScalarKind) -> Value {
        match kind {
            ScalarKind::Bool => Value::from(self.byte().is_multiple_of(2)),
            ScalarKind::Int32 | ScalarKind::Int64 | ScalarKind::Number => Value::from(*self.pick(NUMBERS)),
            ScalarKind::IntOrString if self.byte().is_multiple_of(2) => Value::from(*self.pick(NUMBERS)),
            _ => Value::from(self.word()),
        }
    }

    /// A value of no type.
    pub(super) fn any(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => Value::Bool(true),
            2 => Value::from(*self.pick(NUMBERS)),
            3 => json!(1.5),
            4 => Value::from(self.word()),
            5 => Value::from(String::from_utf8_lossy(self.slice()).into_owned()),
            6 => (0..self.below(4)).map(|_| self.any(depth - 1)).collect(),
            _ => {
                let count = self.below(4);
                Value::Object((0..count).map(|_| (self.word().to_owned(), self.any(depth - 1))).collect())
            }
        }
    }

    /// Changes a value in some places to what its type allows, or nearly.
    pub(super) fn changed(&mut self, schema: &Schema, resource: &Resource, mut object: Value) -> Value {
        for _ in 0..self.below(4) {
            self.change(schema, &resource.ty, &mut object, DEPTH);
        }
        object
    }

    fn change(&mut self, schema: &Schema, ty: &Ty, at: &mut Value, depth: usize) {
        if depth == 0 {
            return;
        }
        match (ty, at) {
            (Ty::Named { id, .. }, Value::Object(map)) => {
                let fields = &schema.get(*id).fields;
                if fields.is_empty() {
                    return;
                }
                // A field that is there, more often than one that could be.
                let there = self.below(4) != 0 && !map.is_empty();
                let name = match there {
                    true => map.keys().nth(self.below(map.len())).cloned().unwrap_or_default(),
                    false => self.pick(fields).name.to_string(),
                };
                let ty = schema.get(*id).field(&name).map_or(&Ty::Any, |field| &field.ty);
                match (map.get_mut(&name), self.below(6)) {
                    (Some(_), 5) => drop(map.shift_remove(&name)),
                    (Some(below), 0..=3) => self.change(schema, ty, below, depth - 1),
                    _ => drop(map.insert(name, self.typed(schema, ty, depth - 1))),
                }
            }
            (Ty::List(list), Value::Array(items)) => match (self.below(5), items.len()) {
                (0, _) | (_, 0) => items.push(self.typed(schema, &list.item, depth - 1)),
                (1, count) => drop(items.remove(self.below(count))),
                (2, count) => {
                    let copy = items[self.below(count)].clone();
                    items.insert(0, copy);
                }
                (_, count) => {
                    let index = self.below(count);
                    self.change(schema, &list.item, &mut items[index], depth - 1);
                }
            },
            (ty, at) => *at = self.typed(schema, ty, depth - 1),
        }
    }
}

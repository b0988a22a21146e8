//! The difference of two values of one type, as three sets of paths.

use serde_json::Value;

use super::atom::{Atom, Items, MapView, atom, filled_list, filled_map};
use crate::elem::Elem;
use crate::fieldset::FieldSet;
use crate::schema::{List, ListKind, Schema, Ty};

/// Paths that are only in the new value, in both but different, only in the old value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

impl Comparison {
    /// Whether nothing differs.
    pub(crate) fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// The comparison without the paths below an ignored set.
    pub(crate) fn without(&self, ignored: &FieldSet) -> Comparison {
        Comparison {
            added: self.added.difference_deep(ignored),
            modified: self.modified.difference_deep(ignored),
            removed: self.removed.difference_deep(ignored),
        }
    }
}

/// Compares two values. Order of associative lists does not count.
pub(crate) fn compare(schema: &Schema, ty: &Ty, old: &Value, new: &Value) -> Comparison {
    let mut walk = Walk { schema, out: Comparison::default() };
    walk.node(ty, Some(old), Some(new), &Step { up: None, at: At::Root });
    walk.out
}

/// Compares two objects that can differ in one field only.
pub(crate) fn compare_at(
    schema: &Schema,
    ty: &Ty,
    field: &str,
    (old, new): (Option<&Value>, Option<&Value>),
) -> Comparison {
    let mut walk = Walk { schema, out: Comparison::default() };
    if let Atom::Map(view) = atom(schema, ty, None)
        && let Some(ty) = view.ty(field)
        && (old.is_some() || new.is_some())
    {
        let root = Step { up: None, at: At::Root };
        walk.node(ty, old, new, &Step { up: Some(&root), at: At::Field(field) });
    }
    walk.out
}

/// Whether two values are equal; `1` and `1.0` are, and key order does not count.
pub(crate) fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, a)| y.get(k).is_some_and(|b| same_value(a, b)))
        }
        _ => a == b,
    }
}

/// The path as a chain on the stack: only differences pay for building it.
struct Step<'p> {
    up: Option<&'p Step<'p>>,
    at: At<'p>,
}

enum At<'p> {
    Root,
    Field(&'p str),
    Item(&'p Elem),
}

impl Step<'_> {
    /// Ownership is never part of what is compared.
    fn is_ownership(&self, key: &str) -> bool {
        key == "managedFields"
            && matches!(self.at, At::Field("metadata"))
            && self.up.is_some_and(|up| matches!(up.at, At::Root))
    }

    fn path(&self) -> Vec<Elem> {
        let mut path = self.up.map(Step::path).unwrap_or_default();
        match &self.at {
            At::Root => {}
            At::Field(name) => path.push(Elem::field(name)),
            At::Item(elem) => path.push((*elem).clone()),
        }
        path
    }
}

struct Walk<'s> {
    schema: &'s Schema,
    out: Comparison,
}

impl<'s> Walk<'s> {
    /// Returns nothing; at least one side is there.
    fn node(&mut self, ty: &'s Ty, old: Option<&Value>, new: Option<&Value>, step: &Step<'_>) {
        let leaf = match (old, new) {
            (Some(old), Some(new)) if matches!(ty, Ty::Any) && !same_kind(old, new) => {
                // The shape itself changed: what the old shape had is removed, then the new shape decides.
                self.shape(atom(self.schema, ty, Some(old)), Some(old), Some(new), step);
                self.shape(atom(self.schema, ty, Some(new)), Some(old), Some(new), step)
            }
            _ => self.shape(atom(self.schema, ty, new.or(old)), old, new, step),
        };
        if !leaf {
            match (old, new) {
                (None, _) => self.out.added.insert(&step.path()),
                (_, None) => self.out.removed.insert(&step.path()),
                _ => {}
            }
        }
    }

    /// Returns whether the node was a leaf.
    fn shape(&mut self, atom: Atom<'s>, old: Option<&Value>, new: Option<&Value>, step: &Step<'_>) -> bool {
        match atom {
            Atom::Scalar(_) => self.leaf(old, new, step),
            Atom::Map(view) => {
                if view.atomic || (filled_map(old).is_none() && filled_map(new).is_none()) {
                    return self.leaf(old, new, step);
                }
                self.map(view, old, new, step);
                false
            }
            Atom::List(list) => {
                let empty = filled_list(old).is_none() && filled_list(new).is_none();
                if list.kind == ListKind::Atomic || empty {
                    return self.leaf(old, new, step);
                }
                self.list(list, old, new, step);
                false
            }
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>, step: &Step<'_>) -> bool {
        match (old, new) {
            (None, _) => self.out.added.insert(&step.path()),
            (_, None) => self.out.removed.insert(&step.path()),
            (Some(old), Some(new)) if !same_value(old, new) => self.out.modified.insert(&step.path()),
            _ => {}
        }
        true
    }

    fn map(&mut self, view: MapView<'s>, old: Option<&Value>, new: Option<&Value>, step: &Step<'_>) {
        let (old, new) = (filled_map(old), filled_map(new));
        for (key, was) in old.into_iter().flatten() {
            let Some(ty) = view.ty(key).filter(|_| !step.is_ownership(key)) else { continue };
            self.node(
                ty,
                Some(was),
                new.and_then(|m| m.get(key)),
                &Step { up: Some(step), at: At::Field(key) },
            );
        }
        for (key, is) in new.into_iter().flatten() {
            let Some(ty) = view.ty(key).filter(|_| !step.is_ownership(key)) else { continue };
            if old.is_none_or(|m| !m.contains_key(key)) {
                self.node(ty, None, Some(is), &Step { up: Some(step), at: At::Field(key) });
            }
        }
    }

    fn list(&mut self, list: &'s List, old: Option<&Value>, new: Option<&Value>, step: &Step<'_>) {
        let empty = Vec::new();
        let (old, new) = (filled_list(old).unwrap_or(&empty), filled_list(new).unwrap_or(&empty));
        // Both sides were checked before; an item without a key cannot be compared and is passed over.
        let (Ok(was), Ok(is)) = (Items::of(self.schema, list, old), Items::of(self.schema, list, new)) else {
            return;
        };
        for (i, elem) in was.elems.iter().enumerate() {
            if was.find(elem, i) == Some(i) {
                let pair = (was.all(elem, i), is.all(elem, i));
                self.item(list, (old, new), pair, &Step { up: Some(step), at: At::Item(elem) });
            }
        }
        for (i, elem) in is.elems.iter().enumerate() {
            if was.find(elem, i).is_none() && is.find(elem, i) == Some(i) {
                self.item(
                    list,
                    (old, new),
                    (Vec::new(), is.all(elem, i)),
                    &Step { up: Some(step), at: At::Item(elem) },
                );
            }
        }
    }

    /// One item of an associative list; where it stands twice, the twins are one leaf.
    fn item(
        &mut self,
        list: &'s List,
        (old, new): (&[Value], &[Value]),
        (was, is): (Vec<usize>, Vec<usize>),
        step: &Step<'_>,
    ) {
        let (before, after) = (was.first().map(|&i| &old[i]), is.first().map(|&i| &new[i]));
        match (was.len(), is.len()) {
            (0 | 1, 0 | 1) => self.node(&list.item, before, after, step),
            (0 | 1, _) => {
                if before.is_some() {
                    self.node(&list.item, before, None, step);
                }
                self.out.added.insert(&step.path());
            }
            (_, 0 | 1) => {
                if after.is_some() {
                    self.node(&list.item, None, after, step);
                }
                self.out.removed.insert(&step.path());
            }
            (n, m) => {
                let same = n == m && was.iter().zip(&is).all(|(&i, &j)| same_value(&old[i], &new[j]));
                if !same {
                    self.out.modified.insert(&step.path());
                }
            }
        }
    }
}

fn same_kind(a: &Value, b: &Value) -> bool {
    let kind = |v: &Value| match v {
        Value::Null | Value::Object(_) => 0,
        Value::Array(_) => 1,
        _ => 2,
    };
    kind(a) == kind(b)
}

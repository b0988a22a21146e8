//! The set of paths that a value has: what an applied configuration owns.

use serde_json::Value;

use super::atom::{Atom, atom, item_elem};
use crate::elem::Elem;
use crate::fieldset::{FieldSet, Node};
use crate::schema::{ListKind, Schema, Ty};

/// Collects the paths of a value: leaves, list items, keys of maps, empty maps and nulls.
pub(crate) fn collect(schema: &Schema, ty: &Ty, value: &Value) -> FieldSet {
    node(schema, ty, value).below
}

fn node(schema: &Schema, ty: &Ty, value: &Value) -> Node {
    let mut out = Node::default();
    match atom(schema, ty, Some(value)) {
        Atom::Scalar(_) => out.member = true,
        Atom::List(list) => match (&list.kind, value) {
            (ListKind::Atomic, _) => out.member = true,
            (_, Value::Array(items)) => {
                let mut seen = rustc_hash::FxHashSet::default();
                for item in items {
                    let Ok(elem) = item_elem(schema, list, item) else { continue };
                    if !seen.insert(elem.clone()) {
                        // Twins are one leaf.
                        let node = out.below.node_mut(elem);
                        (node.member, node.below) = (true, FieldSet::new());
                        continue;
                    }
                    let below = node(schema, &list.item, item).below;
                    out.below.insert_node(elem, Node { member: true, below });
                }
            }
            _ => {}
        },
        Atom::Map(view) if view.atomic => out.member = true,
        Atom::Map(view) => {
            for (key, child) in value.as_object().into_iter().flatten() {
                let Some(ty) = view.ty(key) else { continue };
                let mut below = node(schema, ty, child);
                let empty = child.is_null() || child.as_object().is_some_and(serde_json::Map::is_empty);
                below.member |= empty || view.named(key).is_none();
                out.below.insert_node(Elem::field(key), below);
            }
        }
    }
    out
}

/// The set with every struct field above a member also made a member; map keys and list items are left as they are.
pub(crate) fn with_named_fields(schema: &Schema, ty: &Ty, set: &FieldSet) -> FieldSet {
    let mut out = FieldSet::new();
    for (elem, node) in set.nodes() {
        let mut member = node.member;
        let mut below_ty: &Ty = &Ty::Any;
        match (elem, atom(schema, ty, None)) {
            (Elem::Field(name), Atom::Map(view)) => {
                member |= view.named(name).is_some();
                below_ty = view.ty(name).unwrap_or(&Ty::Any);
            }
            (Elem::Key(_) | Elem::Value(_) | Elem::Index(_), Atom::List(list)) => below_ty = &list.item,
            _ => {}
        }
        let below = match node.below.is_empty() {
            true => FieldSet::new(),
            false => with_named_fields(schema, below_ty, &node.below),
        };
        out.insert_node(elem.clone(), Node { member, below });
    }
    out
}

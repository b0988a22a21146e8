//! Removal of paths from a value, in place.

use serde_json::Value;

use super::atom::{Atom, atom, item_elem};
use crate::fieldset::FieldSet;
use crate::schema::{ListKind, Schema, Ty};

/// Removes every path of the set. A map or list from which all is gone becomes null, which the server's types read as absent.
pub(crate) fn remove_items(schema: &Schema, ty: &Ty, value: &mut Value, set: &FieldSet) {
    if set.is_empty() {
        return;
    }
    match (atom(schema, ty, Some(value)), &mut *value) {
        (Atom::Map(view), Value::Object(map)) if !view.atomic => {
            map.retain(|key, child| match set.get_field(key) {
                None => true,
                Some(node) if node.member => false,
                Some(node) => {
                    if let Some(ty) = view.ty(key) {
                        remove_items(schema, ty, child, &node.below);
                    }
                    true
                }
            });
            if map.is_empty() {
                *value = Value::Null;
            }
        }
        (Atom::List(list), Value::Array(items)) if list.kind != ListKind::Atomic => {
            items.retain_mut(|item| {
                let Ok(elem) = item_elem(schema, list, item) else { return true };
                match set.get(&elem) {
                    None => true,
                    Some(node) if node.member => false,
                    Some(node) => {
                        remove_items(schema, &list.item, item, &node.below);
                        true
                    }
                }
            });
            if items.is_empty() {
                *value = Value::Null;
            }
        }
        _ => {}
    }
}

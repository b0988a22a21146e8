//! Deep merge of an applied configuration into a live value, in place.

use serde_json::Value;

use super::atom::{Atom, Items, atom};
use crate::schema::{List, ListKind, Schema, Ty};

/// Merges `applied` into `live`: leaves are replaced, maps and associative lists merged.
pub(crate) fn merge_into(schema: &Schema, ty: &Ty, live: &mut Value, applied: &Value) {
    match atom(schema, ty, Some(applied)) {
        Atom::Scalar(_) => live.clone_from(applied),
        Atom::Map(view) => {
            let filled = live.as_object().is_some_and(|m| !m.is_empty());
            match applied {
                _ if view.atomic => live.clone_from(applied),
                Value::Object(map) if !map.is_empty() && filled => {
                    let Value::Object(target) = live else { return };
                    for (key, value) in map {
                        match (target.get_mut(key), view.ty(key)) {
                            (Some(slot), Some(ty)) => merge_into(schema, ty, slot, value),
                            (Some(slot), None) => slot.clone_from(value),
                            (None, _) => {
                                target.insert(key.clone(), value.clone());
                            }
                        }
                    }
                }
                // Null or empty over something filled changes nothing: nothing is said about its keys.
                Value::Object(map) if map.is_empty() && filled => {}
                Value::Null if filled => {}
                _ => live.clone_from(applied),
            }
        }
        Atom::List(list) => {
            let filled = live.as_array().is_some_and(|l| !l.is_empty());
            match applied {
                _ if list.kind == ListKind::Atomic => live.clone_from(applied),
                Value::Array(items) if !items.is_empty() && filled => merge_lists(schema, list, live, items),
                Value::Array(items) if items.is_empty() && filled => {}
                Value::Null if filled => {}
                _ => live.clone_from(applied),
            }
        }
    }
}

/// Applied items take the applied relative order; items only the live list has stay before what they preceded.
fn merge_lists(schema: &Schema, list: &List, live: &mut Value, applied: &[Value]) {
    let Value::Array(old) = live else { return };
    let (Ok(left), Ok(right)) = (Items::of(schema, list, old), Items::of(schema, list, applied)) else {
        return;
    };
    let mut old: Vec<Option<Value>> = std::mem::take(old).into_iter().map(Some).collect();
    let shared: Vec<usize> =
        (0..right.elems.len()).filter(|&r| left.find(&right.elems[r], r).is_some()).collect();
    let mut next_shared = 0;
    let mut merged = vec![false; right.elems.len()];
    let mut out = Vec::with_capacity(old.len().max(applied.len()));
    let (mut l, mut r) = (0, 0);
    let take = |r: usize, out: &mut Vec<Value>, old: &mut Vec<Option<Value>>| {
        let twin = left.find(&right.elems[r], r).and_then(|l| old[l].take());
        out.push(match twin {
            Some(mut item) => {
                merge_into(schema, &list.item, &mut item, &applied[r]);
                item
            }
            None => applied[r].clone(),
        });
    };
    while l < left.elems.len() || r < right.elems.len() {
        let in_right = left.elems.get(l).map(|elem| right.find(elem, r));
        if let Some(twin) = in_right
            && r < right.elems.len()
        {
            if twin == Some(r) {
                merged[r] = true;
                take(r, &mut out, &mut old);
                l += 1;
                r += 1;
                next_shared += 1;
                continue;
            }
            let wanted = shared.get(next_shared).copied();
            if twin.is_some() && wanted.is_some() && wanted != twin {
                // Shared, but not the one whose turn it is: it is taken when the applied order reaches it.
                l += 1;
                continue;
            }
        }
        match in_right {
            Some(None) => {
                out.extend(old[l].take());
                l += 1;
                continue;
            }
            Some(Some(twin)) if merged[twin] => l += 1,
            _ => {}
        }
        if r < right.elems.len() {
            merged[r] = true;
            take(r, &mut out, &mut old);
            if shared.get(next_shared) == Some(&r) {
                next_shared += 1;
            }
            r += 1;
        }
    }
    *live = Value::Array(out);
}

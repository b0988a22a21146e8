//! The cheap half of the planner's question: would applying this manifest change anything at all?
//!
//! In: the live object with managedFields (in it, or as sets), the manager, the manifest. Out: yes or "maybe". One walk over
//! the manifest beside the live object and the manager's FieldsV1 trie, without building a merged object. "Same" is by meaning: defaults, quantities, times, base64, vanishing zeros. A manifest that passes is exactly what the manager owns.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::decode::decode_value;
use crate::elem::Elem;
use crate::fieldset::{FieldSet, Node};
use crate::managed::{Managed, Operation};
use crate::normalise::decode_base64;
use crate::quantity::same_quantity;
use crate::reset::reset_fields;
use crate::schema::{Field, ListKind, ScalarKind, Schema, Shape, Ty};
use crate::ssa::Target;
use crate::strategy::is_hollow;
use crate::time::parse_time;
use crate::typed::{Atom, MAX_DEPTH, MapView, atom, item_elem, same_value};

type Object = Map<String, Value>;

/// Whether applying the manifest is certainly a no-op, for the object and for the manager's entry.
pub fn is_unchanged(target: Target<'_>, live: &Value, manager: &str, desired: &Value) -> bool {
    own_fields(target, live, manager).is_some_and(|owned| is_owned(target, live, owned, desired))
}

/// The same, with the entries of the object read before.
pub fn is_unchanged_by(
    target: Target<'_>,
    live: &Value,
    managed: &Managed,
    manager: &str,
    desired: &Value,
) -> bool {
    let entry = managed.entries.iter().find(|e| {
        let of = &e.manager;
        of.name == manager && of.operation == Operation::Apply && of.subresource == target.subresource
    });
    entry.filter(|e| is_version(target, &e.manager.api_version)).is_some_and(|entry| {
        let owned = Sets { member: false, below: &entry.fields };
        is_owned(target, live, owned, desired)
    })
}

/// A node of what a manager owns: of the JSON trie, or of the sets.
trait Owned: Copy {
    fn field(self, name: &str, key: &mut String) -> Option<Self>;
    fn item(self, elem: &Elem, key: &mut String) -> Option<Self>;
    /// Whether the path that ends here is owned.
    fn is_member(self) -> bool;
    /// How many steps go on from here.
    fn below(self) -> usize;
}

impl Owned for &Object {
    fn field(self, name: &str, key: &mut String) -> Option<Self> {
        key.clear();
        key.push_str("f:");
        key.push_str(name);
        self.get(key.as_str())?.as_object()
    }

    fn item(self, elem: &Elem, key: &mut String) -> Option<Self> {
        key.clear();
        elem.write_key(key);
        self.get(key.as_str())?.as_object()
    }

    fn is_member(self) -> bool {
        self.is_empty() || self.contains_key(".")
    }

    fn below(self) -> usize {
        self.len() - usize::from(self.contains_key("."))
    }
}

#[derive(Clone, Copy)]
struct Sets<'m> {
    member: bool,
    below: &'m FieldSet,
}

impl<'m> Sets<'m> {
    fn of(node: &'m Node) -> Sets<'m> {
        Sets { member: node.member, below: &node.below }
    }
}

impl Owned for Sets<'_> {
    fn field(self, name: &str, _: &mut String) -> Option<Self> {
        self.below.get_field(name).map(Sets::of)
    }

    fn item(self, elem: &Elem, _: &mut String) -> Option<Self> {
        self.below.get(elem).map(Sets::of)
    }

    fn is_member(self) -> bool {
        self.member
    }

    fn below(self) -> usize {
        self.below.nodes().len()
    }
}

fn is_owned<O: Owned>(target: Target<'_>, live: &Value, owned: O, desired: &Value) -> bool {
    if is_hollow(target, desired) {
        return false;
    }
    let Some(desired) = desired.as_object() else { return false };
    let Atom::Map(view) = atom(target.schema, &target.resource.ty, None) else { return false };
    let mut walk = Walk { schema: target.schema, key: String::with_capacity(64) };
    let skip_status = reset_fields(target).set().get_field("status").is_some_and(|n| n.member);
    let mut nodes = 0;
    for (key, value) in desired {
        let live = live.get(key);
        match key.as_str() {
            "apiVersion" | "kind" => {}
            "status" if skip_status => {}
            "metadata" => {
                let owned = owned.field("metadata", &mut walk.key);
                match walk.metadata(&view, value, live, owned) {
                    None => return false,
                    Some(owns) => nodes += usize::from(owns),
                }
            }
            "stringData" if target.resource.kind == "Secret" && !target.resource.custom => return false,
            _ => match walk.entry(&view, key, value, live, Some(owned), 0) {
                None => return false,
                Some(owns) => nodes += usize::from(owns),
            },
        }
    }
    nodes == owned.below()
}

fn is_version(target: Target<'_>, version: &str) -> bool {
    let (group, name) = crate::schema::split_api_version(version);
    group == target.resource.group && name == target.resource.version
}

/// The manager's own trie, when it was written in the same version.
fn own_fields<'v>(target: Target<'_>, live: &'v Value, manager: &str) -> Option<&'v Object> {
    let entries = live.get("metadata")?.get("managedFields")?.as_array()?;
    let entry = entries.iter().find(|e| {
        e.get("manager").and_then(Value::as_str) == Some(manager)
            && e.get("operation").and_then(Value::as_str) == Some(Operation::Apply.as_str())
            && e.get("subresource").and_then(Value::as_str).unwrap_or_default() == target.subresource
    })?;
    is_version(target, entry.get("apiVersion")?.as_str()?).then(|| entry.get("fieldsV1")?.as_object())?
}

struct Walk<'s> {
    schema: &'s Schema,
    /// Reused for the spelling of trie keys.
    key: String,
}

/// `None` = something differs; `Some(owns)` = the same, and whether the manifest's node takes part in the trie.
type Sameness = Option<bool>;

/// Metadata that clients send but never own.
const SYSTEM: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

impl<'s> Walk<'s> {
    fn metadata<O: Owned>(
        &mut self,
        root: &MapView<'s>,
        desired: &Value,
        live: Option<&Value>,
        owned: Option<O>,
    ) -> Sameness {
        let ty = root.ty("metadata")?;
        let Atom::Map(view) = atom(self.schema, ty, Some(desired)) else { return None };
        let mut nodes = 0;
        for (key, value) in desired.as_object()? {
            if SYSTEM.contains(&key.as_str()) {
                continue;
            }
            let live = live.and_then(|l| l.get(key));
            nodes += usize::from(self.entry(&view, key, value, live, owned, 1)?);
        }
        (nodes == owned.map_or(0, O::below)).then_some(nodes > 0)
    }

    /// One key of a map: its value, and its node in the trie of the map.
    fn entry<O: Owned>(
        &mut self,
        view: &MapView<'s>,
        key: &str,
        desired: &Value,
        live: Option<&Value>,
        owned: Option<O>,
        depth: usize,
    ) -> Sameness {
        let ty = view.ty(key)?;
        let field = view.named(key);
        let node = owned.and_then(|o| o.field(key, &mut self.key));
        let empty = desired.is_null() || desired.as_object().is_some_and(Map::is_empty);
        let (leaf, below) = self.value(ty, field, desired, live, node, depth)?;
        let member = leaf || empty || field.is_none();
        self.agree(member, below, node)
    }

    /// Compares what the manifest would own here with what the trie says.
    fn agree<O: Owned>(&self, member: bool, below: usize, node: Option<O>) -> Sameness {
        match (member || below > 0, node) {
            (false, None) => Some(false),
            (true, Some(node)) => (node.is_member() == member && node.below() == below).then_some(true),
            _ => None,
        }
    }

    /// The value itself: whether it is a leaf, and how many trie nodes lie below.
    fn value<O: Owned>(
        &mut self,
        ty: &'s Ty,
        field: Option<&Field>,
        desired: &Value,
        live: Option<&Value>,
        node: Option<O>,
        depth: usize,
    ) -> Option<(bool, usize)> {
        if depth > MAX_DEPTH {
            return None;
        }
        match atom(self.schema, ty, Some(desired)) {
            Atom::Scalar(kind) => same_scalar(kind, field, desired, live).then_some((true, 0)),
            Atom::Map(view) if view.atomic => self.same_atomic(ty, field, desired, live).then_some((true, 0)),
            Atom::List(list) if list.kind == ListKind::Atomic => {
                self.same_atomic(ty, field, desired, live).then_some((true, 0))
            }
            Atom::Map(view) => {
                let Some(map) = desired.as_object().filter(|m| !m.is_empty()) else {
                    return empty_over(field, desired, live).then_some((false, 0));
                };
                let live = match live {
                    None | Some(Value::Null) => None,
                    Some(live) => Some(live.as_object()?),
                };
                let mut below = 0;
                for (key, value) in map {
                    let live = live.and_then(|l| l.get(key));
                    below += usize::from(self.entry(&view, key, value, live, node, depth + 1)?);
                }
                // A struct that is not there yet would be created, even if all of its fields are zero.
                (live.is_some() || field.is_some_and(|f| f.shape == Shape::EmptyVanishes))
                    .then_some((false, below))
            }
            Atom::List(list) => {
                let Some(items) = desired.as_array().filter(|l| !l.is_empty()) else {
                    return empty_over(field, desired, live).then_some((false, 0));
                };
                let live = live?.as_array()?;
                let below = self.items(list, items, live, node, depth)?;
                Some((false, below))
            }
        }
    }

    /// Items of an associative list: each must be there, in the same relative order.
    fn items<O: Owned>(
        &mut self,
        list: &'s crate::schema::List,
        desired: &[Value],
        live: &[Value],
        node: Option<O>,
        depth: usize,
    ) -> Option<usize> {
        let mut from = 0;
        for item in desired {
            let elem = item_elem(self.schema, list, item).ok()?;
            let found = live.iter().skip(from).position(|l| self.is_item(list, &elem, l));
            let at = match found {
                Some(offset) => from + offset,
                // Out of order: a reorder alone is never written, but this walk does not prove that.
                None => return None,
            };
            from = at + 1;
            let child = node.and_then(|o| o.item(&elem, &mut self.key));
            let below = match list.kind {
                ListKind::Set => 0,
                _ => self.value(&list.item, None, item, Some(&live[at]), child, depth + 1)?.1,
            };
            self.agree(true, below, child)?;
        }
        Some(desired.len())
    }

    fn is_item(&self, list: &crate::schema::List, elem: &Elem, item: &Value) -> bool {
        match elem {
            Elem::Value(wanted) => wanted.is_json(item),
            Elem::Key(keys) => keys.iter().all(|(name, wanted)| match item.get(name.as_str()) {
                Some(value) => wanted.is_json(value),
                None => item_elem(self.schema, list, item).is_ok_and(|e| e == *elem),
            }),
            Elem::Field(_) | Elem::Index(_) => false,
        }
    }

    /// Atomic values are replaced as a whole and then defaulted: equal if the server would arrive at the live one.
    fn same_atomic(&self, ty: &Ty, field: Option<&Field>, desired: &Value, live: Option<&Value>) -> bool {
        match live {
            Some(live) if same_value(desired, live) => true,
            None if vanishes(field, desired) => true,
            None => false,
            Some(live) => same_value(&decoded(self.schema, ty, desired), live),
        }
    }
}

fn decoded<'v>(schema: &Schema, ty: &Ty, desired: &'v Value) -> Cow<'v, Value> {
    let mut copy = desired.clone();
    decode_value(schema, ty, &mut copy);
    Cow::Owned(copy)
}

/// An empty map or list says nothing about what is in the live one.
fn empty_over(field: Option<&Field>, desired: &Value, live: Option<&Value>) -> bool {
    match live {
        None | Some(Value::Null) => vanishes(field, desired) || live == Some(desired),
        Some(Value::Object(_) | Value::Array(_)) => true,
        Some(_) => false,
    }
}

/// Whether a value that is set is written as if it were absent.
fn vanishes(field: Option<&Field>, value: &Value) -> bool {
    let Some(field) = field else { return false };
    match (field.shape, value) {
        (Shape::AsGiven, _) => value.is_null() && !field.nullable,
        (_, Value::Null) => true,
        (Shape::ZeroVanishes, Value::String(s)) => s.is_empty(),
        (Shape::ZeroVanishes, Value::Bool(b)) => !b,
        (Shape::ZeroVanishes, Value::Number(n)) => n.as_f64() == Some(0.0),
        (Shape::EmptyVanishes, Value::Array(l)) => l.is_empty(),
        (Shape::EmptyVanishes | Shape::ZeroStruct, Value::Object(m)) => m.is_empty(),
        (Shape::EmptyVanishes, Value::String(s)) => s.is_empty(),
        _ => false,
    }
}

fn same_scalar(
    kind: Option<ScalarKind>,
    field: Option<&Field>,
    desired: &Value,
    live: Option<&Value>,
) -> bool {
    let Some(live) = live else { return vanishes(field, desired) };
    if same_value(desired, live) {
        return true;
    }
    let text = || Some((desired.as_str()?, live.as_str()?));
    match kind {
        Some(ScalarKind::Quantity) => same_quantity(desired, live),
        Some(ScalarKind::Time | ScalarKind::MicroTime) => {
            text().is_some_and(|(a, b)| parse_time(a).is_some() && parse_time(a) == parse_time(b))
        }
        Some(ScalarKind::Bytes) => {
            text().is_some_and(|(a, b)| decode_base64(a).is_some() && decode_base64(a) == decode_base64(b))
        }
        // A null map value is stored as the empty string.
        Some(ScalarKind::String) => desired.is_null() && field.is_none() && live == "",
        _ => false,
    }
}

//! What a value is, seen through its type: a scalar, a map, a list; and which item of a list is which.

use ecow::EcoString;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use crate::elem::{Elem, Scalar};
use crate::schema::{Field, List, ListKind, ScalarKind, Schema, Struct, Ty};

/// The shape that applies to a value.
#[derive(Clone, Copy)]
pub(crate) enum Atom<'s> {
    /// `None` = any scalar.
    Scalar(Option<ScalarKind>),
    Map(MapView<'s>),
    List(&'s List),
}

/// A map or struct type.
#[derive(Clone, Copy)]
pub(crate) struct MapView<'s> {
    pub(crate) fields: Option<&'s Struct>,
    /// Type of keys that are not named fields; `None` = such keys are errors.
    pub(crate) rest: Option<&'s Ty>,
    pub(crate) atomic: bool,
}

impl<'s> MapView<'s> {
    /// The type of a key.
    pub(crate) fn ty(&self, key: &str) -> Option<&'s Ty> {
        self.named(key).map(|f| &f.ty).or(self.rest)
    }

    /// The named field of a key.
    pub(crate) fn named(&self, key: &str) -> Option<&'s Field> {
        self.fields.and_then(|s| s.field(key))
    }
}

static ANY: Ty = Ty::Any;
static ANY_LIST: List = List { item: Ty::Any, kind: ListKind::Atomic };
const ANY_MAP: MapView<'static> = MapView { fields: None, rest: Some(&ANY), atomic: false };

/// The shape of a value of that type.
pub(crate) fn atom<'s>(schema: &'s Schema, ty: &'s Ty, value: Option<&Value>) -> Atom<'s> {
    match ty {
        Ty::Scalar(kind) => Atom::Scalar(Some(*kind)),
        Ty::List(list) => Atom::List(list),
        Ty::Map(map) => Atom::Map(MapView { fields: None, rest: Some(&map.value), atomic: map.atomic }),
        Ty::Named { id, atomic } => {
            let strukt = schema.get(*id);
            let rest = strukt.open.then_some(&ANY);
            Atom::Map(MapView { fields: Some(strukt), rest, atomic: *atomic || strukt.atomic })
        }
        Ty::Any => match value {
            None | Some(Value::Null) | Some(Value::Object(_)) => Atom::Map(ANY_MAP),
            Some(Value::Array(_)) => Atom::List(&ANY_LIST),
            Some(_) => Atom::Scalar(None),
        },
    }
}

/// A map that has keys.
pub(crate) fn filled_map(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object).filter(|m| !m.is_empty())
}

/// A list that has items.
pub(crate) fn filled_list(value: Option<&Value>) -> Option<&Vec<Value>> {
    value.and_then(Value::as_array).filter(|l| !l.is_empty())
}

/// The path step of an item of a set or list-map; an error text when it has none.
pub(crate) fn item_elem(schema: &Schema, list: &List, item: &Value) -> Result<Elem, String> {
    match &list.kind {
        ListKind::Atomic => Err("invalid indexing element: atomic list".to_owned()),
        ListKind::Set => match item {
            Value::Null => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            other => Ok(Elem::Value(Scalar::from_json(other).unwrap_or(Scalar::Null))),
        },
        ListKind::Map(keys) => keyed_elem(schema, list, keys, item),
    }
}

fn keyed_elem(schema: &Schema, list: &List, keys: &[EcoString], item: &Value) -> Result<Elem, String> {
    let map = match item {
        Value::Object(map) => map,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut found: Vec<(EcoString, Scalar)> = Vec::with_capacity(keys.len());
    for key in keys {
        let value = match map.get(key.as_str()) {
            Some(value) => Some(value),
            None => key_default(schema, list, key),
        };
        if let Some(value) = value {
            let scalar = Scalar::from_json(value).ok_or_else(|| {
                format!("associative list with keys has a key field {key:?} that is not a scalar")
            })?;
            found.push((key.clone(), scalar));
        }
    }
    if found.is_empty() {
        return Err(format!(
            "associative list with keys has an element that omits all key fields {} (and doesn't have default values for any key fields)",
            quoted(keys)
        ));
    }
    found.sort();
    Ok(Elem::Key(found.into()))
}

fn quoted(keys: &[EcoString]) -> String {
    let words: Vec<String> = keys.iter().map(|k| format!("{k:?}")).collect();
    format!("[{}]", words.join(" "))
}

fn key_default<'s>(schema: &'s Schema, list: &'s List, key: &str) -> Option<&'s Value> {
    match &list.item {
        Ty::Named { id, .. } => schema.get(*id).field(key)?.default.as_ref(),
        _ => None,
    }
}

/// Positions of the items of a list by their step. The first of duplicates wins.
pub(crate) struct Items {
    pub(crate) elems: Vec<Elem>,
    index: Option<FxHashMap<Elem, usize>>,
    /// Some step stands twice.
    twins: bool,
}

/// Lists up to this length are searched one by one.
const SMALL: usize = 24;

impl Items {
    /// Indexes a list; items without a step are an error.
    pub(crate) fn of(schema: &Schema, list: &List, items: &[Value]) -> Result<Items, String> {
        let elems = items.iter().map(|item| item_elem(schema, list, item)).collect::<Result<Vec<_>, _>>()?;
        let index = (elems.len() > SMALL).then(|| {
            let mut map = FxHashMap::default();
            for (i, elem) in elems.iter().enumerate() {
                map.entry(elem.clone()).or_insert(i);
            }
            map
        });
        let twins = match &index {
            Some(index) => index.len() < elems.len(),
            None => (1..elems.len()).any(|i| elems[..i].contains(&elems[i])),
        };
        Ok(Items { elems, index, twins })
    }

    /// All positions of a step, of which `first` is one to start from.
    pub(crate) fn all(&self, elem: &Elem, first: usize) -> Vec<usize> {
        let Some(start) = self.find(elem, first) else { return Vec::new() };
        let mut all = vec![start];
        if self.twins {
            all.extend((start + 1..self.elems.len()).filter(|&i| self.elems[i] == *elem));
        }
        all
    }

    /// The position of a step; `hint` is tried first.
    pub(crate) fn find(&self, elem: &Elem, hint: usize) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(elem).copied(),
            None if hint == 0 && self.elems.first() == Some(elem) => Some(0),
            None => self.elems.iter().position(|e| e == elem),
        }
    }
}

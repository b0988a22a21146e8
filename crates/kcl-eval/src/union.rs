//! Merging. **This file decides what `a: S {..}` over an earlier `a` gives.**
//!
//! One engine serves braces, `|`, `**`, configuration over defaults and the output fold. Two switches tell the places
//! apart ([`Mode`]): is a repeated `:` tested for conflict, and is a schema run again when an instance is changed?
//! Every entry brings its own operator: `:` merges, `=` replaces, `+=` appends; so operators written deep inside the
//! right side decide for their own keys.

use std::rc::Rc;

use kcl_value::{Dict, Entry, Instance, List, NO_INDEX, Op, OriginId, Pairs, Str, Value, equal};

use crate::build::Run;
use crate::fault::{Eval, Fault};
use crate::lazy::same_object;
use crate::machine::Machine;
use crate::mistake::Mistake;
use crate::origin::OriginKind;
use crate::record::Slot;

/// Where a merge happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode {
    /// `:` on unequal scalars is an error.
    conflict: bool,
    /// A changed instance runs its schema again.
    rerun: bool,
}

impl Mode {
    /// `|`, `v {..}`, unification at run time.
    pub(crate) const UNION: Mode = Mode { conflict: true, rerun: true };
    /// Inside braces, and the output fold.
    pub(crate) const BRACES: Mode = Mode { conflict: true, rerun: false };
    /// Configuration over a default, assignment to an attribute.
    pub(crate) const CONFIG: Mode = Mode { conflict: false, rerun: true };
    /// The default of an index signature.
    pub(crate) const INDEX_DEFAULT: Mode = Mode { conflict: false, rerun: false };
}

/// Keys from the root of a merge to where it is now, for messages.
pub(crate) type Path = Vec<Str>;

impl Machine<'_> {
    /// Merges two values as `|` does (the mode says what may happen inside).
    pub(crate) fn union(&mut self, left: Value, right: Value, mode: Mode) -> Eval<Value> {
        let mut path = Path::new();
        self.merge_values(left, right, mode, &mut path)
    }

    fn merge_values(&mut self, left: Value, right: Value, mode: Mode, path: &mut Path) -> Eval<Value> {
        self.step()?;
        match (left, right) {
            (Value::Undefined, right) | (right, Value::Undefined) => Ok(right),
            (left, Value::None) => Ok(left),
            (Value::None, right) => Ok(right),
            (Value::Dict(left), Value::Dict(right)) => {
                let mut dict = unshare(left);
                self.merge_entries(&mut dict, &right, mode, path)?;
                Ok(dict.into())
            }
            (Value::Schema(left), Value::Dict(right)) => self.merge_into_instance(left, &right, mode, path),
            (Value::Schema(left), Value::Schema(right)) => self.merge_instances(left, &right, mode, path),
            (Value::Dict(left), Value::Schema(right)) => self.merge_as_instance(left, &right, mode, path),
            (Value::List(left), Value::List(right)) => self.merge_lists(left, &right, mode, path),
            (left @ Value::List(_), right @ (Value::Dict(_) | Value::Schema(_)))
            | (left @ (Value::Dict(_) | Value::Schema(_)), right @ Value::List(_)) => {
                let (old, new) = (union_kind(&left).into(), union_kind(&right).into());
                Err(self.fault(Mistake::UnionFailure { old, new }))
            }
            (_, right) => Ok(right),
        }
    }

    fn merge_entries(&mut self, dict: &mut Dict, from: &Dict, mode: Mode, path: &mut Path) -> Eval<()> {
        self.charge(from.len() as u64)?;
        for (key, entry) in from.iter() {
            self.merge_entry(dict, key, entry.clone(), mode, path)?;
        }
        Ok(())
    }

    /// Merges everything of a dict or instance into braces, as `**` does.
    pub(crate) fn unpack_entries(&mut self, dict: &mut Dict, value: &Value) -> Eval<()> {
        match value {
            Value::Dict(_) | Value::Schema(_) => match value.as_dict() {
                Some(from) => self.merge_entries(dict, from, Mode::BRACES, &mut Path::new()),
                None => Ok(()),
            },
            Value::None | Value::Undefined => Ok(()),
            other => Err(self.cannot_unpack(other)),
        }
    }

    /// Merges one entry by its operator.
    pub(crate) fn merge_entry(
        &mut self,
        dict: &mut Dict,
        key: &Str,
        new: Entry,
        mode: Mode,
        path: &mut Path,
    ) -> Eval<()> {
        let Some(at) = dict.position(key) else {
            let entry = self.first_entry(new)?;
            dict.push_new(key.clone(), entry);
            return Ok(());
        };
        let Some(slot) = dict.at_mut(at) else { return Ok(()) };
        let old = std::mem::take(&mut slot.value);
        let older = slot.origin;
        let (op, index, newer) = (new.op, new.index, new.origin);
        // An index sticks to the key once it was written.
        let kept_index = if index == NO_INDEX { slot.index } else { index };
        let value = if index == NO_INDEX {
            self.merge_plain(old, new.value, op, key, mode, path)?
        } else {
            self.merge_indexed(old, new.value, op, index, key, mode, path)?
        };
        let origin = self.origin_over(op, newer, older);
        if let Some(slot) = dict.at_mut(at) {
            *slot = Entry { value, index: kept_index, origin, op };
        }
        Ok(())
    }

    fn origin_over(&mut self, op: Op, newer: OriginId, older: OriginId) -> OriginId {
        let kind = match op {
            Op::Union => OriginKind::Merged,
            Op::Override => OriginKind::Overrides,
            Op::Insert => OriginKind::Appended,
        };
        self.trace_over(kind, newer, older)
    }

    fn first_entry(&mut self, entry: Entry) -> Eval<Entry> {
        match (entry.op, entry.index) {
            (_, NO_INDEX) => Ok(entry),
            (Op::Insert, 0) => {
                self.insertable(&entry.value)?;
                Ok(entry)
            }
            (Op::Insert, i) => Err(self.bad_insertion(i, 0)),
            (Op::Union, index) => Err(self.fault(Mistake::NoItemToMerge { index })),
            (Op::Override, index) => Err(self.fault(Mistake::NoItemToReplace { index })),
        }
    }

    fn merge_plain(
        &mut self,
        old: Value,
        new: Value,
        op: Op,
        key: &Str,
        mode: Mode,
        path: &mut Path,
    ) -> Eval<Value> {
        match op {
            Op::Override => Ok(new),
            Op::Insert => self.append(old, &new),
            Op::Union if old.is_nullish() && new.is_nullish() => Ok(new),
            Op::Union => {
                path.push(key.clone());
                if mode.conflict && !compatible(&old, &new) {
                    return Err(self.conflict(key, &old, &new, path));
                }
                let merged = self.merge_values(old, new, mode, path)?;
                path.pop();
                Ok(merged)
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn merge_indexed(
        &mut self,
        old: Value,
        new: Value,
        op: Op,
        index: i32,
        key: &Str,
        mode: Mode,
        path: &mut Path,
    ) -> Eval<Value> {
        let Value::List(mut list) = old else {
            return self.first_entry(Entry { index, ..Entry::new(new, op) }).map(|e| e.value);
        };
        let len = list.items.len();
        let at = if index < 0 { i64::from(index) + len as i64 } else { i64::from(index) };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let items = Rc::make_mut(&mut list);
        items.origins.clear();
        if op == Op::Insert {
            let Value::List(new) = &new else { return Err(self.not_insertable(&new)) };
            if at > len {
                return Err(self.bad_insertion(index, len));
            }
            items.items.splice(at..at, new.items.iter().cloned());
            return Ok(Value::List(list));
        }
        if len == 0 && op == Op::Union {
            return Err(self.fault(Mistake::NoItemToMerge { index }));
        }
        if at >= len {
            return Err(self.fault(Mistake::OutOfBounds { len, index: i64::from(index) }));
        }
        match op {
            Op::Override if new.is_undefined() => {
                items.items.remove(at);
            }
            Op::Override => items.items[at] = new,
            _ => {
                let old = std::mem::take(&mut items.items[at]);
                let name: Str = ecow::eco_format!("{key}[{index}]");
                items.items[at] = self.merge_plain(old, new, Op::Union, &name, mode, path)?;
            }
        }
        Ok(Value::List(list))
    }

    fn append(&mut self, old: Value, new: &Value) -> Eval<Value> {
        let Value::List(added) = new else {
            return if new.is_nullish() { Ok(old) } else { Err(self.not_insertable(new)) };
        };
        self.charge(added.items.len() as u64)?;
        match old {
            Value::None | Value::Undefined => Ok(Value::List(added.clone())),
            Value::List(mut list) => {
                let items = Rc::make_mut(&mut list);
                for (i, item) in added.items.iter().enumerate() {
                    items.push(item.clone(), added.origin(i));
                }
                Ok(Value::List(list))
            }
            other => Err(self.not_insertable(&other)),
        }
    }

    fn insertable(&self, value: &Value) -> Eval<()> {
        if matches!(value, Value::List(_)) || value.is_nullish() {
            return Ok(());
        }
        Err(self.not_insertable(value))
    }

    fn not_insertable(&self, value: &Value) -> Box<Fault> {
        self.fault(Mistake::NotInsertable { ty: value.type_name() })
    }

    fn bad_insertion(&self, index: i32, len: usize) -> Box<Fault> {
        self.fault(Mistake::BadInsertion { index, len })
    }

    fn merge_lists(&mut self, left: Rc<List>, right: &List, mode: Mode, path: &mut Path) -> Eval<Value> {
        self.charge(4 + right.items.len() as u64)?;
        let mut list = unshare(left);
        for (i, new) in right.items.iter().enumerate() {
            match list.items.get_mut(i) {
                // None and Undefined leave the item alone, as everywhere, and replace each other.
                Some(old) if old.is_nullish() && new.is_nullish() => *old = new.clone(),
                Some(_) if new.is_nullish() => {}
                Some(old) if is_container(old) && is_container(new) => {
                    let old = std::mem::take(old);
                    path.push(ecow::eco_format!("list[{i}]"));
                    list.items[i] = self.merge_values(old, new.clone(), mode, path)?;
                    path.pop();
                }
                Some(old) => {
                    *old = new.clone();
                    if let Some(origin) = list.origins.get_mut(i) {
                        *origin = right.origin(i);
                    }
                }
                None => list.push(new.clone(), right.origin(i)),
            }
        }
        Ok(list.into())
    }

    // instance over dict entries
    fn merge_into_instance(
        &mut self,
        left: Rc<Instance>,
        right: &Dict,
        mode: Mode,
        path: &mut Path,
    ) -> Eval<Value> {
        let mut left = unshare(left);
        self.merge_entries(&mut left.attrs, right, mode, path)?;
        if !mode.rerun {
            return Ok(Value::Schema(Rc::new(left)));
        }
        let keys = joined_keys(&left.config_keys, right.keys());
        self.run_again(left, keys)
    }

    // every attribute that the right instance has set, with the operator it remembers
    fn merge_instances(
        &mut self,
        left: Rc<Instance>,
        right: &Rc<Instance>,
        mode: Mode,
        path: &mut Path,
    ) -> Eval<Value> {
        let mut left = unshare(left);
        for (key, entry) in right.attrs.iter().filter(|(_, e)| is_set(e)) {
            self.merge_entry(&mut left.attrs, key, entry.clone(), mode, path)?;
        }
        if !mode.rerun {
            return Ok(Value::Schema(Rc::new(left)));
        }
        let keys = joined_keys(&left.config_keys, right.config_keys.iter());
        left.args = right.args.clone();
        left.kwargs = right.kwargs.clone();
        self.run_again(left, keys)
    }

    // a dict that meets an instance becomes that instance
    fn merge_as_instance(
        &mut self,
        left: Rc<Dict>,
        right: &Rc<Instance>,
        mode: Mode,
        path: &mut Path,
    ) -> Eval<Value> {
        let keys = joined_keys(&left.keys().cloned().collect::<Vec<_>>(), right.config_keys.iter());
        let mut attrs = unshare(left);
        for (key, entry) in right.attrs.iter().filter(|(_, e)| is_set(e)) {
            self.merge_entry(&mut attrs, key, entry.clone(), mode, path)?;
        }
        let merged = Instance { attrs, ..Instance::clone(right) };
        if mode.rerun {
            return self.run_again(merged, keys);
        }
        Ok(Value::Schema(Rc::new(Instance { config_keys: Rc::new(keys), ..merged })))
    }

    // The merged values of all configured keys are the configuration of a new run.
    fn run_again(&mut self, merged: Instance, keys: Vec<Str>) -> Eval<Value> {
        let schema = self.schema(merged.schema.id).clone();
        let mut config = Dict::with_capacity(keys.len());
        for key in keys {
            // Finished values replace defaults, whatever operator they remember; an index stays.
            if let Some(entry) = merged.attrs.entry(&key) {
                config.insert(key, Entry { op: Op::Override, ..entry.clone() });
            }
        }
        let position = self.position_of(&config);
        let run =
            Run { config: Rc::new(config), args: merged.args, kwargs: merged.kwargs, position, again: true };
        self.run_schema(&schema, run)
    }

    /// Lays a configuration entry over a default or body value.
    pub(crate) fn merge_config(&mut self, slot: Slot, entry: &Entry) -> Eval<Slot> {
        let op = entry.op;
        // A redeclared attribute meets the very value that it got from the configuration before.
        if op == Op::Union && entry.index == NO_INDEX && same_object(&slot.value, &entry.value) {
            return Ok(slot);
        }
        let mut path = Path::new();
        let value = if entry.index == NO_INDEX {
            self.merge_plain(slot.value, entry.value.clone(), op, &Str::new(), Mode::CONFIG, &mut path)?
        } else {
            let value = entry.value.clone();
            self.merge_indexed(slot.value, value, op, entry.index, &Str::new(), Mode::CONFIG, &mut path)?
        };
        let origin = self.origin_over(op, entry.origin, slot.origin);
        Ok(Slot { value, op: entry.op, origin })
    }

    fn conflict(&self, key: &str, old: &Value, new: &Value, path: &Path) -> Box<Fault> {
        let (old, new) = (conflict_text(old), conflict_text(new));
        if key.is_empty() && path.is_empty() {
            return self.fault(Mistake::ConflictOnTop { old, new });
        }
        self.fault(Mistake::Conflict { key: key.into(), old, new, path: path.join(".") })
    }

    /// Merges two values of the output fold, where scalars must be equal.
    pub(crate) fn fold_values(&mut self, left: Value, right: Value) -> Eval<Value> {
        if !left.is_nullish() && !right.is_nullish() && !compatible(&left, &right) {
            let (old, new) = (conflict_text(&left), conflict_text(&right));
            return Err(self.fault(Mistake::ConflictInOutput { old, new }));
        }
        if matches!(left, Value::Func(_)) && matches!(right, Value::Func(_)) {
            return Ok(right);
        }
        self.union(left, right, Mode::BRACES)
    }
}

/// Whether an attribute of an instance takes part in a merge: one that was set to Undefined does, one that was never set does not.
fn is_set(entry: &Entry) -> bool {
    !entry.value.is_undefined() || entry.op == Op::Override
}

/// Returns whether two values may meet under `:`.
fn compatible(old: &Value, new: &Value) -> bool {
    compatible_parts(old, new, &mut Pairs::default())
}

fn compatible_parts(old: &Value, new: &Value, pairs: &mut Pairs) -> bool {
    match (old, new) {
        (Value::None | Value::Undefined, _) | (_, Value::None | Value::Undefined) => true,
        (old, new) if old.is_config() && new.is_config() => true,
        (Value::List(a), Value::List(b)) => {
            pairs.met(a, b)
                || a.items.len() == b.items.len()
                    && a.items.iter().zip(&b.items).all(|(x, y)| compatible_parts(x, y, pairs))
        }
        (old, new) => equal(old, new),
    }
}

fn conflict_text(value: &Value) -> String {
    match value {
        Value::Dict(_) | Value::Schema(_) => "{...}".into(),
        Value::List(_) => "[...]".into(),
        Value::Func(_) => "0".into(),
        other => kcl_std::format_json_inline(other),
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Dict(_) | Value::Schema(_))
}

fn union_kind(value: &Value) -> &str {
    match value {
        Value::List(_) => "list",
        Value::Schema(inst) => &inst.schema.name,
        _ => "dict",
    }
}

fn joined_keys<'a>(left: &[Str], right: impl Iterator<Item = &'a Str>) -> Vec<Str> {
    let mut keys = left.to_vec();
    let known: rustc_hash::FxHashSet<Str> = left.iter().cloned().collect();
    keys.extend(right.filter(|k| !known.contains(*k)).cloned());
    keys
}

fn unshare<T: Clone>(shared: Rc<T>) -> T {
    Rc::try_unwrap(shared).unwrap_or_else(|shared| T::clone(&shared))
}

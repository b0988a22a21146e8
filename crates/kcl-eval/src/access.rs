//! Members, subscripts, slices, and assignment through a path.

use std::rc::Rc;

use kcl_value::{Dict, Entry, Function, Instance, List, Op, Str, Value};

use crate::fault::Eval;
use crate::machine::Machine;
use crate::mistake::Mistake;
use crate::union::Mode;

/// One step of a path on the left of an assignment.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Member(Str),
    Index(Value),
}

impl Step {
    /// Returns the part of a value that the step leads to, if it is there.
    pub(crate) fn part_of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (value, self) {
            (Value::List(list), Step::Index(Value::Int(i))) => {
                let at = if *i < 0 { *i + list.items.len() as i64 } else { *i };
                list.items.get(usize::try_from(at).ok()?)
            }
            (value, Step::Member(key) | Step::Index(Value::Str(key))) => value.as_dict()?.get(key),
            _ => None,
        }
    }
}

impl Machine<'_> {
    /// Returns `value.name`.
    pub(crate) fn select(&mut self, value: &Value, name: &Str) -> Eval<Value> {
        match value {
            Value::Dict(dict) => Ok(self.entry_value(dict.entry(name))),
            Value::Schema(inst) => match inst.attrs.entry(name) {
                Some(entry) => Ok(self.entry_value(Some(entry))),
                None => {
                    let (schema, name) = (inst.schema.name.clone(), name.clone());
                    Err(self.fault(Mistake::NoAttribute { schema, name }))
                }
            },
            Value::Str(_) => match kcl_std::method(name) {
                Some(id) => Ok(Value::Func(Rc::new(Function::Method(id, value.clone())))),
                None => Err(self.fault(Mistake::NoMethod { name: name.clone() })),
            },
            Value::Func(func) => match &**func {
                Function::SchemaType(schema) if name == "instances" => {
                    Ok(Value::Func(Rc::new(Function::Instances(schema.clone()))))
                }
                _ => Err(self.cannot_load(value, name)),
            },
            _ => Err(self.cannot_load(value, name)),
        }
    }

    fn entry_value(&mut self, entry: Option<&Entry>) -> Value {
        match entry {
            Some(entry) => {
                self.origin = entry.origin;
                entry.value.clone()
            }
            None => Value::Undefined,
        }
    }

    fn cannot_load(&self, value: &Value, name: &Str) -> Box<crate::Fault> {
        self.fault(Mistake::CannotLoad { ty: value.type_name(), name: name.clone() })
    }

    /// Returns `value[index]`.
    pub(crate) fn index(&mut self, value: &Value, index: &Value) -> Eval<Value> {
        match (value, index) {
            (Value::Dict(_) | Value::Schema(_), Value::Str(key)) => {
                Ok(self.entry_value(value.as_dict().and_then(|d| d.entry(key))))
            }
            // What is no text is no key; only an instance minds.
            (Value::Dict(_), _) => Ok(Value::Undefined),
            (Value::List(list), Value::Int(i)) => {
                let at = self.list_position(list.items.len(), *i, "list")?;
                self.origin = list.origin(at);
                Ok(list.items[at].clone())
            }
            (Value::Str(text), Value::Int(i)) => {
                let chars = text.chars().count();
                let at = self.list_position(chars, *i, "string")?;
                Ok(Value::Str(text.chars().skip(at).take(1).collect()))
            }
            _ => {
                let (ty, index) = (value.type_name(), index.type_name());
                Err(self.fault(Mistake::NotSubscriptable { ty, index }))
            }
        }
    }

    fn list_position(&self, len: usize, i: i64, what: &'static str) -> Eval<usize> {
        let at = if i < 0 { i + len as i64 } else { i };
        if at >= len as i64 {
            return Err(self.fault(Mistake::OutOfRange { what, index: i }));
        }
        usize::try_from(at).map_err(|_| self.fault(Mistake::OutOfBounds { len, index: i }))
    }

    /// Returns `value[lower:upper:step]`.
    pub(crate) fn slice(&mut self, value: &Value, bounds: [Value; 3]) -> Eval<Value> {
        let len = match value {
            Value::List(list) => list.items.len(),
            Value::Str(text) => text.chars().count(),
            other => {
                return Err(self.fault(Mistake::CannotSlice { ty: other.type_name() }));
            }
        };
        let positions = self.slice_positions(len, &bounds)?;
        self.charge(positions.len() as u64)?;
        Ok(match value {
            Value::List(list) => {
                let mut out = List::default();
                positions.iter().for_each(|i| out.push(list.items[*i].clone(), list.origin(*i)));
                out.into()
            }
            Value::Str(text) => {
                let chars: Vec<char> = text.chars().collect();
                Value::Str(positions.iter().map(|i| chars[*i]).collect())
            }
            _ => Value::Undefined,
        })
    }

    fn slice_positions(&self, len: usize, [lower, upper, step]: &[Value; 3]) -> Eval<Vec<usize>> {
        let step = slice_bound(step).unwrap_or(1);
        if step == 0 {
            return Err(self.fault(Mistake::ZeroStep));
        }
        let len = len as i64;
        let clamp = |bound: Option<i64>, default: i64| {
            let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
            bound.map_or(default, |b| if b < 0 { b.saturating_add(len) } else { b }.clamp(low, high))
        };
        let (first, last) = if step > 0 { (0, len) } else { (len - 1, -1) };
        let mut at = clamp(slice_bound(lower), first);
        let end = clamp(slice_bound(upper), last);
        let mut positions = Vec::new();
        while (step > 0 && at < end) || (step < 0 && at > end) {
            positions.push(at as usize);
            at = at.saturating_add(step);
        }
        Ok(positions)
    }

    /// Takes one step of a target path for reading.
    pub(crate) fn take_step(&mut self, value: &Value, step: &Step) -> Eval<Value> {
        match step {
            Step::Member(name) => self.select(value, name),
            Step::Index(index) => self.index(value, index),
        }
    }

    /// Returns `root` with the place at the end of the path set.
    pub(crate) fn set_path(&mut self, root: Value, steps: &[Step], value: Value) -> Eval<Value> {
        let Some((first, rest)) = steps.split_first() else { return Ok(value) };
        if rest.is_empty() {
            return self.set_step(root, first, value);
        }
        let inner = self.take_step(&root, first)?;
        let changed = self.set_path(inner, rest, value)?;
        self.replace_step(root, first, changed)
    }

    fn set_step(&mut self, container: Value, step: &Step, value: Value) -> Eval<Value> {
        match (container, step) {
            (Value::Schema(inst), Step::Member(key) | Step::Index(Value::Str(key))) => {
                let mut update = Dict::default();
                update.set(key.clone(), value, Op::Override);
                if !inst.args.is_empty() && inst.attrs.contains(key) {
                    return self.replace_step(
                        Value::Schema(inst),
                        step,
                        update.get(key).cloned().unwrap_or_default(),
                    );
                }
                let changed = self.union(Value::Schema(inst.clone()), update.into(), Mode::CONFIG)?;
                Ok(match changed {
                    Value::Schema(changed) => Value::Schema(in_order_of(&inst, changed)),
                    other => other,
                })
            }
            (container, step) => self.replace_step(container, step, value),
        }
    }

    // Puts a value back where it was read from; nothing is re-run.
    fn replace_step(&mut self, container: Value, step: &Step, value: Value) -> Eval<Value> {
        let origin = self.origin;
        match (container, step) {
            (Value::Dict(mut dict), Step::Member(key) | Step::Index(Value::Str(key))) => {
                let op = dict.entry(key).map_or(Op::Override, |e| e.op);
                let entry = Entry { origin, ..Entry::new(value, op) };
                Rc::make_mut(&mut dict).insert(key.clone(), entry);
                Ok(Value::Dict(dict))
            }
            (Value::Schema(mut inst), Step::Member(key) | Step::Index(Value::Str(key))) => {
                Rc::make_mut(&mut inst).attrs.set(key.clone(), value, Op::Override);
                Ok(Value::Schema(inst))
            }
            (Value::List(mut list), Step::Index(Value::Int(i))) => {
                let len = list.items.len();
                let at = if *i < 0 { *i + len as i64 } else { *i };
                match usize::try_from(at).ok().filter(|at| *at < len) {
                    Some(at) => {
                        Rc::make_mut(&mut list).items[at] = value;
                        Ok(Value::List(list))
                    }
                    None => Err(self.fault(Mistake::OutOfBounds { len, index: *i })),
                }
            }
            (other, step) => {
                let name = match step {
                    Step::Member(name) => name.clone(),
                    Step::Index(index) => kcl_value::to_text(index).into(),
                };
                Err(self.fault(Mistake::CannotUpdate { ty: other.type_name(), name }))
            }
        }
    }
}

/// An assigned attribute does not move the others, as the re-run of a schema with a named index signature would.
fn in_order_of(before: &Instance, mut changed: Rc<Instance>) -> Rc<Instance> {
    if before.attrs.keys().zip(changed.attrs.keys()).all(|(a, b)| a == b) {
        return changed;
    }
    let mut attrs = Dict::with_capacity(changed.attrs.len());
    for key in before.attrs.keys().chain(changed.attrs.keys()) {
        if let Some(entry) = changed.attrs.entry(key) {
            attrs.insert(key.clone(), entry.clone());
        }
    }
    Rc::make_mut(&mut changed).attrs = attrs;
    changed
}

/// A bound of a slice that is no int counts as left out.
fn slice_bound(value: &Value) -> Option<i64> {
    match value {
        Value::Int(i) => Some(*i),
        _ => None,
    }
}

//! Attributes that must have a value.

use std::rc::Rc;

use base_diag::Place;
use kcl_syntax::ast::Stmt;
use kcl_value::{Instance, SchemaRef, Str, Value};
use rustc_hash::FxHashSet;

use crate::fault::{Eval, Fault};
use crate::machine::Machine;
use crate::mistake::Mistake;

impl Machine<'_> {
    /// Tests required attributes of an instance and of all instances inside it; parts that several values share are tested once.
    pub(crate) fn require(&mut self, value: &Value, tested: &mut FxHashSet<usize>) -> Eval<()> {
        match value {
            Value::Schema(inst) if is_first(inst, tested) => {
                let schema = self.schema(inst.schema.id).clone();
                let mut missing = None;
                let required = &self.links(&schema)?.required;
                for (at, name) in required.iter().enumerate() {
                    if is_missing(inst, name) {
                        let fault = self.missing_attribute(inst, name, &required[at + 1..]);
                        missing = self.missed(missing, fault)?;
                    }
                }
                // What is made of an instance that lacks something says nothing more.
                if let Some(fault) = missing {
                    return Err(fault);
                }
                for (_, entry) in inst.attrs.iter() {
                    self.require(&entry.value, tested)?;
                }
            }
            Value::Dict(dict) if is_first(dict, tested) => {
                for (_, entry) in dict.iter() {
                    self.require(&entry.value, tested)?;
                }
            }
            Value::List(list) if is_first(list, tested) => {
                for item in &list.items {
                    self.require(item, tested)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A missing attribute ends the run; if all are to be told, after the last of the instance.
    fn missed(&mut self, before: Option<Box<Fault>>, fault: Box<Fault>) -> Eval<Option<Box<Fault>>> {
        if !self.collects() {
            return Err(fault);
        }
        if let Some(before) = before {
            self.tolerate(before)?;
        }
        Ok(Some(fault))
    }

    /// The fault of a missing attribute; `after` are the required ones after it, which are told with it unless each has a fault of
    /// its own.
    fn missing_attribute(&self, inst: &Instance, name: &Str, after: &[Str]) -> Box<Fault> {
        let position = self.first_key_place(inst.position).unwrap_or(inst.position);
        let told = if self.collects() { 0 } else { ALSO };
        let also = after.iter().filter(|name| is_missing(inst, name)).take(told).cloned().collect();
        let (schema, name) = (inst.schema.name.clone(), name.clone());
        let mistake = Mistake::MissingAttribute { schema, name: name.clone(), also };
        if !self.collects() {
            return Fault::at(self.position_line(position), mistake);
        }
        let mut fault = Fault::at(self.position_place(inst.position), mistake);
        let declared = self.declaration(&inst.schema, &name);
        fault.related = declared.map(|place| (place, format!("`{name}` is declared here")));
        fault
    }

    /// Where the schema, or what it is made of, declares an attribute.
    fn declaration(&self, schema: &SchemaRef, name: &str) -> Option<Place> {
        let parts = self.schema(schema.id).linked_parts()?;
        parts.rev().find_map(|part| {
            let tree = part.tree();
            let attr = part.def().body.iter().find_map(|stmt| match tree.stmt(*stmt) {
                Stmt::Attr(attr) if attr.name.name == name => Some(attr.name.span),
                _ => None,
            })?;
            Some(self.program.packages.get(part.package)?.place(attr))
        })
    }
}

/// So many missing attributes are told besides the first.
const ALSO: usize = 8;

fn is_missing(inst: &Instance, name: &str) -> bool {
    inst.attrs.get(name).is_none_or(Value::is_nullish)
}

/// Tells whether a part is met for the first time; those that only one value has are always.
fn is_first<T>(part: &Rc<T>, met: &mut FxHashSet<usize>) -> bool {
    Rc::strong_count(part) == 1 || met.insert(Rc::as_ptr(part) as usize)
}

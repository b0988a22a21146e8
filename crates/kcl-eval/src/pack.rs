//! Packing: a value meets a declared type. Dicts become instances where a schema is expected; then the type is tested.

use std::rc::Rc;

use kcl_value::{Dict, List, Str, Value};

use crate::build::Run;
use crate::fault::Eval;
use crate::machine::Machine;
use crate::mistake::{Misfit, Mistake};
use crate::rtype::{RType, literal_float};
use crate::schema::Schema;

impl Machine<'_> {
    /// Converts and tests a value against a type.
    pub(crate) fn pack(&mut self, value: Value, ty: &RType) -> Eval<Value> {
        self.pack_as(value, ty, false)
    }

    /// As [`Machine::pack`], but an instance must be exactly of the named schema (`as`).
    pub(crate) fn pack_strict(&mut self, value: Value, ty: &RType) -> Eval<Value> {
        self.pack_as(value, ty, true)
    }

    fn pack_as(&mut self, value: Value, ty: &RType, strict: bool) -> Eval<Value> {
        if ty.is_any() || value.is_nullish() {
            return Ok(value);
        }
        let value = match &value {
            Value::List(_) | Value::Dict(_) if ty.converts() => self.convert(value, ty, true)?,
            _ => value,
        };
        if fits(&value, ty, strict) {
            return Ok(value);
        }
        let misfit = match (ty, value.as_dict()) {
            (RType::Schema(at), Some(dict)) => {
                let schema = self.schema_at(at)?;
                Some(Box::new(self.misfit(&schema, dict)?))
            }
            _ => None,
        };
        let wanted = ty.text();
        Err(self.fault(Mistake::TypeMismatch { wanted, got: value.type_name(), misfit }))
    }

    // `direct`: the type itself, not an item or member of it.
    fn convert(&mut self, value: Value, ty: &RType, direct: bool) -> Eval<Value> {
        match (&value, ty) {
            (_, RType::Union(members, _)) => {
                for member in members.iter() {
                    let converted = if member.converts() {
                        self.convert(value.clone(), member, false)?
                    } else {
                        value.clone()
                    };
                    if fits(&converted, member, false) {
                        return Ok(converted);
                    }
                }
                Ok(value)
            }
            (Value::List(list), RType::List(item, _)) if item.converts() => {
                let mut out =
                    List { items: Vec::with_capacity(list.items.len()), origins: list.origins.clone() };
                for v in &list.items {
                    out.items.push(self.convert(v.clone(), item, false)?);
                }
                Ok(out.into())
            }
            (Value::Dict(dict), RType::Dict(_, item, _)) if item.converts() => {
                let mut out = Dict::clone(dict);
                for (_, entry) in out.iter_mut() {
                    entry.value = self.convert(std::mem::take(&mut entry.value), item, false)?;
                }
                Ok(out.into())
            }
            (Value::Dict(dict), RType::Schema(at)) => {
                let schema = &self.schema_at(at)?;
                if !self.dict_fits(schema, dict)? {
                    return Ok(value);
                }
                let (args, kwargs) = self.no_arguments.clone();
                let position = self.position_of(dict);
                let run = Run { config: dict.clone(), args, kwargs, position, again: false };
                // An empty dict that leaves required attributes open is tried, but stays a dict.
                let hopeless = direct && dict.is_empty() && self.needs_values(schema)?;
                let instance = self.run_schema(schema, run)?;
                Ok(if hopeless { value } else { instance })
            }
            _ => Ok(value),
        }
    }

    /// Returns whether a dict may be tried as the configuration of a schema.
    fn dict_fits(&mut self, schema: &Rc<Schema>, dict: &Dict) -> Eval<bool> {
        let links = self.links(schema)?;
        Ok(links.open || dict.keys().all(|k| k.starts_with('_') || links.declared.contains(k)))
    }

    // True if some required attribute has no default where it is declared first, own body before bases; what bodies assign and
    // what mixins declare does not count.
    fn needs_values(&mut self, schema: &Rc<Schema>) -> Eval<bool> {
        let links = self.links(schema)?;
        let declared = |name: &&Str| links.declared.contains(*name);
        for name in links.required.iter().filter(declared) {
            let mut above = Some(schema.clone());
            while let Some(part) = above {
                if let Some(has_default) = first_declaration(&part, name) {
                    if !has_default {
                        return Ok(true);
                    }
                    break;
                }
                above = self.links(&part)?.base.clone();
            }
        }
        Ok(false)
    }

    fn misfit(&mut self, schema: &Rc<Schema>, dict: &Dict) -> Eval<Misfit> {
        let links = self.links(schema)?;
        let unknown = dict.keys().filter(|k| !links.declared.contains(k)).cloned().collect();
        let is_missing = |k: &&Str| links.required.contains(*k) && !dict.contains(k);
        let missing = links.declared.iter().filter(is_missing).cloned().collect();
        Ok(Misfit { schema: schema.reference.name.clone(), unknown, missing })
    }
}

/// Whether the first declaration of an attribute in a body has a default; none if the body does not declare it.
fn first_declaration(schema: &Schema, name: &str) -> Option<bool> {
    use kcl_syntax::ast::Stmt;
    schema.def().body.iter().find_map(|stmt| match schema.tree().stmt(*stmt) {
        Stmt::Attr(attr) if attr.name.name == name => Some(attr.default.is_some()),
        _ => None,
    })
}

/// Tests a value against a type; None and Undefined fit everything.
pub(crate) fn fits(value: &Value, ty: &RType, strict: bool) -> bool {
    match (value, ty) {
        (Value::None | Value::Undefined, _) | (_, RType::Any | RType::Unwritten) => true,
        (Value::Bool(_), RType::Bool)
        | (Value::Int(_), RType::Int | RType::Float)
        | (Value::Float(_), RType::Float)
        | (Value::Str(_), RType::Str)
        | (Value::Unit(_), RType::NumberMultiplier) => true,
        (Value::Func(function), RType::Function) => function.type_name() == "function",
        (Value::Unit(unit), RType::Unit(text)) => unit.to_string() == text.as_str(),
        (Value::Str(value), RType::Literal(text)) => {
            text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).is_some_and(|t| t == value)
        }
        (_, RType::Literal(text)) => literal_text(value).as_deref() == Some(text.as_str()),
        (Value::List(list), RType::List(item, _)) => {
            item.is_any() || list.items.iter().all(|v| fits(v, item, strict))
        }
        (Value::Dict(dict), RType::Dict(_, item, _)) => {
            item.is_any() || dict.iter().all(|(_, e)| fits(&e.value, item, strict))
        }
        // The wheel compares the names of types: whatever is neither basic nor in brackets passes for the name of a schema.
        (Value::Schema(_), RType::Function | RType::NumberMultiplier | RType::Unit(_)) => true,
        (Value::Schema(inst), RType::Schema(schema)) => {
            !strict || inst.schema.home == (schema.home, schema.index)
        }
        (_, RType::Union(members, _)) => members.iter().any(|m| fits(value, m, strict)),
        _ => false,
    }
}

fn literal_text(value: &Value) -> Option<Str> {
    match value {
        Value::Bool(true) => Some("True".into()),
        Value::Bool(false) => Some("False".into()),
        Value::Int(i) => Some(ecow::eco_format!("{i}")),
        Value::Float(f) => Some(literal_float(*f)),
        _ => None,
    }
}

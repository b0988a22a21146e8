//! Braces: dict literals and schema configs with all entry operators.

use super::Gen;
use super::model::{Attr, Ty, Var};

/// What the braces are for.
pub(super) enum Shape {
    Dict(Ty),
    Schema(usize),
}

/// An entry with what a later entry may do to it.
struct Entry {
    key: String,
    ty: Ty,
}

impl Gen {
    /// `S {..}`, sometimes with arguments, or a modification of an instance at hand.
    pub(super) fn instance(&mut self, index: usize, depth: usize) -> String {
        let schema = self.world.schemas[index].clone();
        if self.rng.chance(6) {
            let old = self.visible().into_iter().find(|var| var.ty == Ty::Schema(index) && !var.any);
            if let Some(var) = old {
                let braces = self.braces(&Shape::Schema(index), 0);
                return if self.rng.chance(50) {
                    format!("{} | {braces}", var.name)
                } else {
                    format!("{} {braces}", var.name)
                };
            }
        }
        let arguments: Vec<String> =
            schema.params.iter().map(|ty| self.flat(|g| g.want(ty, depth.saturating_sub(1)))).collect();
        let arguments =
            if arguments.is_empty() { String::new() } else { format!("({})", arguments.join(", ")) };
        let braces = self.braces(&Shape::Schema(index), depth);
        format!("{}{arguments} {braces}", schema.name)
    }

    /// Writes the braces, on one line or several.
    pub(super) fn braces(&mut self, shape: &Shape, depth: usize) -> String {
        let long = self.flat_level == 0 && self.rng.chance(60);
        let mark = self.locals.len();
        if !long {
            self.flat_level += 1;
        } else {
            self.indent += 1;
        }
        let entries = match shape {
            Shape::Dict(of) => self.dict_entries(of, depth, long),
            Shape::Schema(index) => self.schema_entries(*index, depth, long),
        };
        self.locals.truncate(mark);
        if !long {
            self.flat_level -= 1;
            return format!("{{{}}}", entries.join(", "));
        }
        let pad = self.pad();
        self.indent -= 1;
        if entries.is_empty() {
            return "{}".into();
        }
        let mut text = String::from("{\n");
        for entry in entries {
            let comma = if self.rng.chance(25) { "," } else { "" };
            text.push_str(&format!("{pad}{entry}{comma}\n"));
        }
        text + &self.pad() + "}"
    }

    fn dict_entries(&mut self, of: &Ty, depth: usize, long: bool) -> Vec<String> {
        let count = 1 + self.rng.below(3);
        let mut out = Vec::new();
        let mut seen: Vec<Entry> = Vec::new();
        for _ in 0..count {
            let key = self.key_name();
            if seen.iter().any(|entry| entry.key == key) {
                continue;
            }
            out.push(self.entry(&key, of, depth, long, &mut seen));
        }
        self.extras(&mut out, &seen, of, depth, long);
        out
    }

    fn schema_entries(&mut self, index: usize, depth: usize, long: bool) -> Vec<String> {
        let attrs = self.world.attrs(index);
        let mut out = Vec::new();
        let mut seen = Vec::new();
        let forget = self.rng.chance(if self.kind == super::Kind::RunTime { 25 } else { 1 });
        let chance = if depth == 0 { 15 } else { 45 };
        for attr in &attrs {
            let needed = !attr.optional && !attr.default;
            if (needed && !(forget && self.rng.chance(40))) || self.rng.chance(chance) {
                out.push(self.attribute_entry(attr, depth, long, &mut seen));
            }
        }
        if self.rng.chance(10) {
            out.reverse();
        }
        if let Some(of) = self.world.schemas[index].index.clone() {
            for _ in 0..self.rng.below(3) {
                let key = self.key_name();
                if !attrs.iter().any(|attr| attr.name == key) && !seen.iter().any(|e: &Entry| e.key == key) {
                    out.push(self.entry(&key, &of, depth, long, &mut seen));
                }
            }
        }
        let some: Vec<Entry> =
            seen.into_iter().filter(|entry| attrs.iter().any(|a| a.name == entry.key)).collect();
        if !some.is_empty() && self.rng.chance(20) {
            let at = self.rng.below(some.len());
            let ty = some[at].ty.clone();
            self.extras(&mut out, &some, &ty, depth, long);
        }
        out
    }

    fn attribute_entry(&mut self, attr: &Attr, depth: usize, long: bool, seen: &mut Vec<Entry>) -> String {
        if attr.optional && self.rng.chance(6) {
            return format!(
                "{} {} {}",
                attr.name,
                self.rng.pick(&["=", ":"]),
                self.rng.pick(&["None", "Undefined"])
            );
        }
        if let Ty::Schema(inner) = attr.ty
            && attr.default
            && self.rng.chance(35)
        {
            let inner_attrs = self.world.attrs(inner);
            if !inner_attrs.is_empty() {
                let at = self.rng.pick(&inner_attrs).clone();
                let value = self.entry_value(&at.ty, depth, long);
                return format!("{}.{} = {value}", attr.name, at.name);
            }
        }
        if let Ty::Schema(inner) = attr.ty
            && self.rng.chance(30)
        {
            let braces = self.braces(&Shape::Schema(inner), depth.saturating_sub(1));
            return format!("{}: {braces}", attr.name);
        }
        self.entry(&attr.name, &attr.ty, depth, long, seen)
    }

    fn entry(&mut self, key: &str, ty: &Ty, depth: usize, long: bool, seen: &mut Vec<Entry>) -> String {
        let value = self.entry_value(ty, depth, long);
        let operator = match ty {
            Ty::List(_) => *self.rng.pick(&["=", ":", "+="]),
            _ => *self.rng.pick(&["=", ":", "="]),
        };
        seen.push(Entry { key: key.to_string(), ty: ty.clone() });
        let simple = key.chars().all(|c| c.is_alphanumeric() || c == '_');
        if simple {
            // Later entries of these braces see the key.
            let keys = Vec::new();
            self.locals.retain(|var| var.name != key);
            self.locals.push(Var { name: key.into(), ty: ty.clone(), any: false, keys });
        }
        let key = if simple && self.rng.chance(88) {
            key.to_string()
        } else if simple && self.rng.chance(40) {
            format!("(\"{key}\")")
        } else {
            format!("\"{key}\"")
        };
        format!("{key} {operator} {value}").replacen(" : ", ": ", 1)
    }

    fn entry_value(&mut self, ty: &Ty, depth: usize, long: bool) -> String {
        let depth = depth.saturating_sub(1);
        if long { self.want(ty, depth) } else { self.flat(|g| g.want(ty, depth)) }
    }

    /// Repeated keys, unpacking, if entries, indexes.
    fn extras(&mut self, out: &mut Vec<String>, seen: &[Entry], of: &Ty, depth: usize, long: bool) {
        if seen.is_empty() || depth == 0 {
            return;
        }
        let at = self.rng.below(seen.len());
        let (key, ty) = (written(&seen[at].key), seen[at].ty.clone());
        if self.rng.chance(15) {
            let text = match &ty {
                Ty::List(_) => format!("{key} += {}", self.entry_value(&ty, depth, long)),
                Ty::Dict(_) => format!("{key}: {}", self.entry_value(&ty, depth, long)),
                _ => format!("{key} = {}", self.entry_value(&ty, depth, long)),
            };
            out.push(text);
        }
        if let Ty::List(item) = &ty
            && self.rng.chance(15)
        {
            let text = match self.rng.below(3) {
                0 => format!("{key}[0] += {}", self.leaf(&ty)),
                1 => format!("{key}[0] = {}", self.leaf(item)),
                _ => format!("{key}[-1] += {}", self.leaf(&ty)),
            };
            out.push(text);
        }
        if self.rng.chance(12) {
            let value = self.flat(|g| g.leaf(of));
            out.push(format!("**{{{key} = {value}}}"));
        }
        if self.rng.chance(15) {
            let condition = self.condition(1);
            let value = self.flat(|g| g.leaf(&ty));
            let other = self.flat(|g| g.leaf(&ty));
            if long {
                let pad = self.pad();
                out.push(format!(
                    "if {condition}:\n{pad}    {key} = {value}\n{pad}else:\n{pad}    {key} = {other}"
                ));
            } else {
                out.push(format!("if {condition}: {key} = {value}"));
            }
        }
        if self.rng.chance(2) {
            out.push(format!("{key}: {}", self.flat(|g| g.leaf(&ty))));
        }
    }
}

/// A key as it must be written.
pub(super) fn written(key: &str) -> String {
    if key.contains('-') { format!("\"{key}\"") } else { key.to_string() }
}

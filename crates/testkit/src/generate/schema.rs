//! Schema, mixin and rule statements.

use super::Gen;
use super::model::{Attr, Schema, Ty, Var};

impl Gen {
    /// Writes a schema statement and remembers it.
    pub(super) fn schema(&mut self) -> String {
        let mixin = self.rng.chance(15);
        let number = self.world.schemas.len();
        let name = format!(
            "{}{number}{}",
            self.rng.pick(&["P", "S", "Box", "App"]),
            if mixin { "Mixin" } else { "" }
        );
        let mut schema = Schema { name: name.clone(), mixin, ..Schema::default() };
        let others: Vec<usize> = (0..number).filter(|i| !self.world.schemas[*i].mixin).collect();
        if !mixin && !others.is_empty() && self.rng.chance(35) {
            let base = *self.rng.pick(&others);
            if self.world.schemas[base].params.is_empty() {
                schema.base = Some(base);
            }
        }
        let mixins: Vec<usize> = (0..number).filter(|i| self.world.schemas[*i].mixin).collect();
        if !mixin && !mixins.is_empty() && self.rng.chance(40) {
            schema.mixins.push(*self.rng.pick(&mixins));
        }
        if !mixin && self.rng.chance(10) {
            schema.params = vec![self.plain_type(0)];
        }
        let mut text = String::new();
        if self.rng.chance(4) {
            text.push_str("@info(note=\"n\")\n");
        }
        text.push_str(&format!("schema {name}"));
        let saved = self.locals.len();
        if let Some(ty) = schema.params.first() {
            text.push_str(&format!("[q: {} = {}]", self.world.text(ty), self.leaf(ty)));
            self.locals.push(Var { name: "q".into(), ty: ty.clone(), any: false, keys: Vec::new() });
        }
        if let Some(base) = schema.base {
            text.push_str(&format!("({})", self.world.schemas[base].name));
        }
        text.push_str(":\n");
        if !schema.mixins.is_empty() {
            let names: Vec<&str> =
                schema.mixins.iter().map(|i| self.world.schemas[*i].name.as_str()).collect();
            text.push_str(&format!("    mixin [{}]\n", names.join(", ")));
        }
        self.inherit(&schema);
        self.indent = 1;
        let body = self.body(&mut schema);
        self.indent = 0;
        text.push_str(&body);
        self.locals.truncate(saved);
        self.world.taken.push(name);
        self.world.schemas.push(schema);
        text
    }

    /// Attributes of base and mixins can be read in the body.
    fn inherit(&mut self, schema: &Schema) {
        let mut attrs = schema.base.map(|base| self.world.attrs(base)).unwrap_or_default();
        attrs.extend(schema.mixins.iter().flat_map(|i| self.world.schemas[*i].attrs.clone()));
        for attr in attrs {
            if attr.default {
                self.locals.push(Var { name: attr.name, ty: attr.ty, any: false, keys: Vec::new() });
            }
        }
    }

    fn body(&mut self, schema: &mut Schema) -> String {
        let mut text = String::new();
        let count = 1 + self.rng.below(4);
        let inherited = schema.base.map(|base| self.world.attrs(base)).unwrap_or_default();
        for _ in 0..count {
            let name = self.attr_name();
            if schema.attrs.iter().any(|attr| attr.name == name) {
                continue;
            }
            let old = inherited.iter().find(|attr| attr.name == name).cloned();
            let line = self.attribute(name, old, schema);
            text.push_str(&line);
        }
        if schema.params.is_empty() && self.rng.chance(15) {
            text.push_str(&self.index_signature(schema));
        }
        for _ in 0..self.rng.below(3) {
            if self.rng.chance(35) {
                text.push_str(&self.body_statement(schema));
            }
        }
        if self.rng.chance(35) {
            text.push_str(&self.checks(schema));
        }
        text
    }

    fn attribute(&mut self, name: String, old: Option<Attr>, schema: &mut Schema) -> String {
        let ty = old.as_ref().map_or_else(|| self.some_type(1), |attr| attr.ty.clone());
        let optional = old.as_ref().is_none_or(|attr| attr.optional) && self.rng.chance(30);
        let default = self.rng.chance(60);
        let mut text = String::new();
        if self.rng.chance(3) {
            text.push_str("    @deprecated(version=\"1.0\", reason=\"r\", strict=False)\n");
        }
        let written = match &ty {
            Ty::Str if default && self.rng.chance(6) => "\"a\" | \"b\"".to_string(),
            Ty::Int if self.rng.chance(4) => "int | str".to_string(),
            _ if self.rng.chance(6) => "any".to_string(),
            ty => self.world.text(ty),
        };
        let key = name.clone();
        text.push_str(&format!("    {key}{}: {written}", if optional { "?" } else { "" }));
        if default {
            let value = if written.starts_with('"') { "\"a\"".to_string() } else { self.want(&ty, 2) };
            text.push_str(&format!(" = {value}"));
        }
        text.push('\n');
        if default {
            self.locals.retain(|var| var.name != name);
            let any = written == "any";
            self.locals.push(Var { name: name.clone(), ty: ty.clone(), any, keys: Vec::new() });
        }
        schema.attrs.push(Attr { name, ty, optional, default });
        text
    }

    fn index_signature(&mut self, schema: &mut Schema) -> String {
        let ty = self.plain_type(0);
        let dots = "...";
        let named = if self.rng.chance(30) { "k0: " } else { "" };
        let default = if self.rng.chance(15) { format!(" = {}", self.leaf(&ty)) } else { String::new() };
        let text = format!("    [{named}{dots}str]: {}{default}\n", self.world.text(&ty));
        schema.index = Some(ty);
        text
    }

    fn body_statement(&mut self, schema: &Schema) -> String {
        let known: Vec<Attr> = schema.attrs.iter().filter(|attr| attr.default).cloned().collect();
        match self.rng.below(5) {
            0 => {
                let ty = self.plain_type(0);
                let name = format!("_{}", self.attr_name());
                let text = format!("    {name} = {}\n", self.want(&ty, 2));
                self.locals.push(Var { name, ty, any: false, keys: Vec::new() });
                text
            }
            1 if !known.is_empty() => {
                let attr = self.rng.pick(&known).clone();
                let value = self.want(&attr.ty, 1);
                format!("    {} = {value}\n", attr.name)
            }
            2 if !known.is_empty() => {
                let attr = self.rng.pick(&known).clone();
                let condition = self.condition(1);
                let value = self.flat(|g| g.want(&attr.ty, 1));
                let other = self.flat(|g| g.want(&attr.ty, 1));
                let name = &attr.name;
                if self.rng.chance(50) {
                    format!(
                        "    if {condition}:\n        {name} = {value}\n    else:\n        {name} = {other}\n"
                    )
                } else {
                    format!("    if {condition}:\n        {name} = {value}\n")
                }
            }
            3 => {
                let lists: Vec<&Attr> = known.iter().filter(|attr| matches!(attr.ty, Ty::List(_))).collect();
                match lists.first() {
                    Some(attr) => format!("    {} += {}\n", attr.name, self.leaf(&attr.ty)),
                    None => String::new(),
                }
            }
            _ => {
                let ty = self.plain_type(1);
                format!("    {} = {}\n", self.rng.pick(&["extra", "shown", "calc"]), self.want(&ty, 1))
            }
        }
    }

    fn checks(&mut self, schema: &Schema) -> String {
        let mut text = String::from("    check:\n");
        for _ in 0..=self.rng.below(1) {
            let usable: Vec<&Attr> = schema.attrs.iter().collect();
            let line = match usable.get(self.rng.below(usable.len())) {
                Some(attr) => {
                    let name = attr.name.clone();
                    let guard = if attr.optional { format!(" if {name}") } else { String::new() };
                    let odds = if self.kind == super::Kind::RunTime { 40 } else { 5 };
                    let strict = self.rng.chance(odds);
                    let condition = match &attr.ty {
                        Ty::Int | Ty::Float if strict => format!("{name} > 5"),
                        Ty::Int | Ty::Float => format!("{name} != 424242"),
                        Ty::Str if strict => format!("len({name}) > 2"),
                        Ty::Str => format!("len({name}) >= 0"),
                        Ty::Bool => format!("{name} in [True, False]"),
                        Ty::List(_) if strict => format!("len({name}) > 1"),
                        Ty::List(_) => format!("len({name}) < 99"),
                        _ => format!("{name} is not None"),
                    };
                    let message = match self.rng.below(3) {
                        0 => String::new(),
                        1 => ", \"bad\"".to_string(),
                        _ => format!(", \"bad ${{{name}}}\""),
                    };
                    format!("{condition}{guard}{message}")
                }
                None => "True".to_string(),
            };
            text.push_str(&format!("        {line}\n"));
        }
        text
    }
}

//! Top-level statements.

use super::Gen;
use super::calls;
use super::config::Shape;
use super::model::{Function, Ty, Var};

impl Gen {
    /// Writes one statement of the main package.
    pub(super) fn statement(&mut self) -> String {
        match self.rng.weighted(&[26, 8, 12, 10, 10, 8, 8, 6, 2, 2, 2, 6, 3]) {
            0 => self.assignment(),
            1 => self.annotated(),
            2 => self.private(),
            3 => self.again(),
            4 => self.schema(),
            5 => self.lambda(),
            6 => self.unification(),
            7 => self.conditional(),
            8 => self.assertion(),
            9 => format!("print({})\n", self.flat(|g| g.right(&Ty::Str, 1))),
            10 => self.alias(),
            11 => self.untyped(),
            _ => self.rule_or_expression(),
        }
    }

    pub(super) fn declare(&mut self, name: &str, ty: &Ty, any: bool, text: &str) {
        let keys = match ty {
            Ty::Dict(of) if text.starts_with('{') && !text.contains(" for ") => top_keys(text, of),
            _ => Vec::new(),
        };
        self.world.vars.push(Var { name: name.into(), ty: ty.clone(), any, keys });
    }

    fn assignment(&mut self) -> String {
        let ty = self.some_type(2);
        let value = self.want(&ty, 3);
        let name = self.fresh(false);
        self.declare(&name, &ty, false, &value);
        format!("{name} = {value}\n")
    }

    fn annotated(&mut self) -> String {
        let ty = self.some_type(1);
        let value = match &ty {
            // A dict that is converted at the typed boundary.
            Ty::Schema(index) if self.rng.chance(60) && self.world.schemas[*index].params.is_empty() => {
                self.braces(&Shape::Schema(*index), 1)
            }
            _ => self.want(&ty, 2),
        };
        let name = self.fresh(false);
        self.world.vars.push(Var { name: name.clone(), ty: ty.clone(), any: false, keys: Vec::new() });
        format!("{name}: {} = {value}\n", self.world.text(&ty))
    }

    /// A mutable global, typed any now and then so that the checker knows nothing.
    fn private(&mut self) -> String {
        let ty = self.some_type(1);
        let value = self.want(&ty, 2);
        let name = self.fresh(true);
        let any = self.rng.chance(40);
        self.declare(&name, &ty, any, &value);
        self.world.mutable.push((name.clone(), ty));
        if any { format!("{name}: any = {value}\n") } else { format!("{name} = {value}\n") }
    }

    /// Assigns a mutable global again: plain, augmented, by path.
    fn again(&mut self) -> String {
        if self.world.mutable.is_empty() {
            return self.private();
        }
        let (name, ty) = self.rng.pick(&self.world.mutable.clone()).clone();
        match (&ty, self.rng.below(4)) {
            (Ty::Int, 0) => format!("{name} += {}\n", self.rng.below(9)),
            (Ty::Str, 0) => format!("{name} += {}\n", self.leaf(&Ty::Str)),
            (Ty::List(_), 0 | 1) => format!("{name} += {}\n", self.flat(|g| g.want(&ty, 1))),
            (Ty::Dict(_), 0) => format!("{name} |= {}\n", self.flat(|g| g.want(&ty, 1))),
            (Ty::Dict(of), 1) => format!("{name}[\"nk\"] = {}\n", self.flat(|g| g.want(of, 1))),
            (Ty::Dict(of), 2) => format!("{name}.nk = {}\n", self.flat(|g| g.leaf(of))),
            (Ty::Schema(index), 0 | 1) => {
                let attrs = self.world.attrs(*index);
                if attrs.is_empty() {
                    return String::new();
                }
                let attr = self.rng.pick(&attrs).clone();
                format!("{name}.{} = {}\n", attr.name, self.flat(|g| g.want(&attr.ty, 1)))
            }
            (Ty::Int, 1) => format!("{name} = {name} * 2 + 1\n"),
            _ => format!("{name} = {}\n", self.want(&ty, 2)),
        }
    }

    fn lambda(&mut self) -> String {
        let result = self.some_type(1);
        let count = self.rng.below(4);
        let mark = self.locals.len();
        let mut params = Vec::new();
        let mut words = Vec::new();
        let mut required = 0;
        for position in 0..count {
            let ty = self.some_type(0);
            let name = ["x", "y", "z", "v"][position].to_string();
            let annotation =
                if self.rng.chance(50) { format!(": {}", self.world.text(&ty)) } else { String::new() };
            let default = required < position || self.rng.chance(20);
            let default = if default && !matches!(ty, Ty::Schema(_)) {
                format!(" = {}", self.leaf(&ty))
            } else {
                required = position + 1;
                String::new()
            };
            words.push(format!("{name}{annotation}{default}"));
            let any = annotation.is_empty();
            self.locals.push(Var { name: name.clone(), ty: ty.clone(), any, keys: Vec::new() });
            params.push((name, ty));
        }
        // A parameter without default after one with is an error: then all before count as required.
        let required = required.min(count);
        let arrow =
            if self.rng.chance(60) { format!(" -> {}", self.world.text(&result)) } else { String::new() };
        self.indent = 1;
        let mut body = String::new();
        if self.rng.chance(35) {
            let ty = self.plain_type(1);
            body.push_str(&format!("    t = {}\n", self.want(&ty, 1)));
            self.locals.push(Var { name: "t".into(), ty, any: false, keys: Vec::new() });
        }
        if self.rng.chance(15) {
            let condition = self.condition(1);
            let (yes, no) = (self.flat(|g| g.leaf(&result)), self.flat(|g| g.leaf(&result)));
            body.push_str(&format!("    r = {yes}\n    if {condition}:\n        r = {no}\n    r\n"));
        } else {
            let value = self.want(&result, 2);
            // A statement cannot start with a sign.
            let value = if value.starts_with('-') { format!("({value})") } else { value };
            body.push_str(&format!("    {value}\n"));
        }
        self.indent = 0;
        self.locals.truncate(mark);
        let name = self.fresh(false);
        let list = if words.is_empty() { String::new() } else { format!(" {}", words.join(", ")) };
        self.world.functions.push(Function { name: name.clone(), params, required, result });
        format!("{name} = lambda{list}{arrow} {{\n{body}}}\n")
    }

    /// `name: S {..}` once or twice.
    fn unification(&mut self) -> String {
        let usable: Vec<usize> =
            (0..self.world.schemas.len()).filter(|i| !self.world.schemas[*i].mixin).collect();
        if usable.is_empty() {
            return self.schema();
        }
        let index = *self.rng.pick(&usable);
        let schema = self.world.schemas[index].name.clone();
        let name = self.fresh(false);
        let first = self.braces(&Shape::Schema(index), 2);
        self.declare(&name, &Ty::Schema(index), false, "");
        let mut text = format!("{name}: {schema} {first}\n");
        if self.rng.chance(35) {
            let second = self.braces(&Shape::Schema(index), 1);
            let between = if self.rng.chance(30) { self.assignment() } else { String::new() };
            text.push_str(&format!("{between}{name}: {schema} {second}\n"));
        }
        text
    }

    fn conditional(&mut self) -> String {
        let condition = self.condition(2);
        let ty = self.plain_type(1);
        self.indent = 1;
        let value = self.want(&ty, 2);
        let other = self.want(&ty, 1);
        self.indent = 0;
        let name = self.fresh(true);
        self.declare(&name, &ty, false, "");
        self.world.mutable.push((name.clone(), ty.clone()));
        let start =
            if self.rng.chance(40) { format!("{name} = {}\n", self.leaf(&ty)) } else { String::new() };
        match self.rng.below(3) {
            0 => format!("{start}if {condition}:\n    {name} = {value}\nelse:\n    {name} = {other}\n"),
            1 => {
                let second = self.condition(1);
                format!(
                    "{start}if {condition}:\n    {name} = {value}\nelif {second}:\n    {name} = {other}\n"
                )
            }
            _ => format!("{start}if {condition}:\n    {name} = {value}\n"),
        }
    }

    fn assertion(&mut self) -> String {
        let condition = if self.kind == super::Kind::RunTime && self.rng.chance(60) {
            "1 > 2".to_string()
        } else {
            format!("({} or True)", self.condition(1))
        };
        format!("assert {condition}, \"message\"\n")
    }

    fn alias(&mut self) -> String {
        let ty = self.plain_type(1);
        let alias = format!("T{}", self.world.taken.len());
        let value = self.want(&ty, 1);
        let name = self.fresh(false);
        self.world.vars.push(Var { name: name.clone(), ty: ty.clone(), any: false, keys: Vec::new() });
        format!("type {alias} = {}\n{name}: {alias} = {value}\n", self.world.text(&ty))
    }

    /// Values the checker knows nothing about.
    fn untyped(&mut self) -> String {
        let template = *self.rng.pick(calls::ANY);
        let value = self.fill(template, 2);
        let name = self.fresh(false);
        format!("{name} = {value}\n")
    }

    fn rule_or_expression(&mut self) -> String {
        match self.rng.below(4) {
            0 => {
                let braces = self.braces(&Shape::Dict(Ty::Int), 1);
                if braces.starts_with("{\n") || braces == "{}" {
                    format!("{braces}\n")
                } else {
                    String::new()
                }
            }
            1 => {
                let name = format!("R{}", self.world.taken.len());
                self.world.taken.push(name.clone());
                format!(
                    "rule {name}[v: int = 3]:\n    v > 1, \"rule ${{v}}\"\n{} = {name}(2) {{}}\n",
                    self.fresh(false)
                )
            }
            2 => {
                let schemas: Vec<String> =
                    self.world.schemas.iter().filter(|s| !s.mixin).map(|s| s.name.clone()).collect();
                if schemas.is_empty() {
                    return String::new();
                }
                let schema = self.rng.pick(&schemas).clone();
                format!("{} = len({schema}.instances())\n", self.fresh(false))
            }
            _ => {
                // A forward reference: the name is defined by the very next statement.
                let (early, late) = (self.fresh(false), self.fresh(true));
                let value = self.want(&Ty::Int, 1);
                self.world.vars.push(Var { name: late.clone(), ty: Ty::Int, any: false, keys: Vec::new() });
                self.world.mutable.push((late.clone(), Ty::Int));
                format!("{early} = [{late}, 1]\n{late} = {value}\n")
            }
        }
    }
}

/// Keys at the outer level of a dict literal, as far as a scan can tell.
fn top_keys(text: &str, of: &Ty) -> Vec<(String, Ty)> {
    let mut keys = Vec::new();
    let mut depth = 0;
    let mut word = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            '=' | ':' if depth == 1 && !word.is_empty() => {
                keys.push((word.clone(), of.clone()));
                word.clear();
            }
            c if c.is_alphanumeric() || c == '_' => {
                if depth == 1 {
                    word.push(c);
                }
                continue;
            }
            ' ' if depth == 1 => continue,
            _ => {}
        }
        if depth != 1 || !c.is_alphanumeric() {
            word.clear();
        }
    }
    keys.retain(|(key, _)| key.chars().next().is_some_and(char::is_alphabetic) && key != "if");
    keys
}

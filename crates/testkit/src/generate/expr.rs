//! Expressions of a wanted type.

use super::Gen;
use super::calls;
use super::model::{Ty, Var};

const STRINGS: &[&str] = &[
    "\"a\"",
    "\"b\"",
    "\"\"",
    "\"yes\"",
    "\"No\"",
    "\"1.2\"",
    "\"a: b\"",
    "\"x #y\"",
    "\"héé\"",
    "\"two\\nlines\"",
    "\"end\\n\"",
    "\"tab\\t\"",
    "\" lead\"",
    "\"trail \"",
    "\"null\"",
    "\"~\"",
    "\"- x\"",
    "\"[x]\"",
    "\"0x1\"",
    "'q\"q'",
    "\"it's\"",
    "r\"a\\b\"",
    "\"abcabc\"",
    "\"Hello Declared\"",
    "\"a,b,c\"",
    "\"x y  z\"",
    "'single'",
    "\"100m\"",
    "\"::\"",
    "\"k=v\"",
    "\"\\\\\"",
    "\"\\u00e9\"",
    "\"-1\"",
    "\"y\"",
    "\"n\"",
    "\"a b\"",
    "\"z\"",
    "\"#c\"",
    "\"{x}\"",
    "\"a:\"",
    "\"?\"",
    "\"*\"",
    "\"&a\"",
    "\"%\"",
    "\"@\"",
];

const INTS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "5",
    "7",
    "10",
    "42",
    "-1",
    "-7",
    "0x1F",
    "0o17",
    "017",
    "0b101",
    "1_000",
    "80",
    "8080",
    "65535",
    "2147483647",
    "2147483648",
    "100",
];

const FLOATS: &[&str] = &[
    "1.5",
    "0.1",
    "2.0",
    "1e3",
    "3.14159",
    "0.0",
    "-2.5",
    "1e-7",
    "1e16",
    "100.25",
    "123456789.123456789",
    "0.30000000000000004",
];

impl Gen {
    /// Writes an expression of type `ty`, unless the planned mistake is due.
    pub(super) fn want(&mut self, ty: &Ty, depth: usize) -> String {
        if self.mistake_due() {
            return self.mistaken(ty);
        }
        self.right(ty, depth)
    }

    /// An expression that really has the type.
    pub(super) fn right(&mut self, ty: &Ty, depth: usize) -> String {
        self.effort += 1;
        if depth == 0 || self.effort > 400 {
            return self.leaf(ty);
        }
        if self.rng.chance(30)
            && let Some(text) = self.read(ty)
        {
            return text;
        }
        if self.rng.chance(8)
            && let Some(text) = self.call_lambda(ty, depth)
        {
            return text;
        }
        if self.rng.chance(5) {
            let condition = self.condition(depth);
            let (yes, no) = (self.flat(|g| g.want(ty, depth - 1)), self.flat(|g| g.want(ty, depth - 1)));
            return format!("({yes} if {condition} else {no})");
        }
        match ty {
            Ty::Int if self.rng.chance(40) => self.arithmetic(depth),
            Ty::Int => self.out_of_table(calls::INT, 45, ty, depth),
            Ty::Float => self.out_of_table(calls::FLOAT, 45, ty, depth),
            Ty::Str if self.rng.chance(25) => self.interpolation(depth),
            Ty::Str if self.rng.chance(15) => {
                let (left, right) = (self.operand(ty, depth), self.operand(ty, depth));
                format!("{left} + {right}")
            }
            Ty::Str => self.out_of_table(calls::STR, 50, ty, depth),
            Ty::Bool => self.out_of_table(calls::BOOL, 75, ty, depth),
            Ty::List(of) => self.list(of, ty, depth),
            Ty::Dict(of) => self.dict(of, ty, depth),
            Ty::Schema(index) => self.instance(*index, depth),
        }
    }

    fn out_of_table(&mut self, table: &[&str], percent: usize, ty: &Ty, depth: usize) -> String {
        if !self.rng.chance(percent) {
            return self.leaf(ty);
        }
        let template = *self.rng.pick(table);
        self.fill(template, depth - 1)
    }

    /// Replaces the holes of a call template.
    pub(super) fn fill(&mut self, template: &str, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = template;
        self.flat_level += 1;
        while let Some(at) = rest.find('@') {
            out.push_str(&rest[..at]);
            let hole = rest.as_bytes().get(at + 1).copied().unwrap_or(b' ');
            match self.hole(hole, depth) {
                Some(text) => {
                    out.push_str(&text);
                    rest = &rest[at + 2..];
                }
                None => {
                    out.push('@');
                    rest = &rest[at + 1..];
                }
            }
        }
        self.flat_level -= 1;
        out.push_str(rest);
        self.note_modules(&out);
        out
    }

    fn hole(&mut self, hole: u8, depth: usize) -> Option<String> {
        let ty = match hole {
            b'i' => Ty::Int,
            b'f' => Ty::Float,
            b's' => Ty::Str,
            b'b' => Ty::Bool,
            b'I' => Ty::list(Ty::Int),
            b'S' => Ty::list(Ty::Str),
            b'F' => Ty::list(Ty::Float),
            b'D' => Ty::dict(Ty::Int),
            b'n' => return Some(self.rng.below(4).to_string()),
            b'1' => return Some(self.target(&Ty::list(Ty::Int))),
            b'2' => return Some(self.target(&Ty::list(Ty::Str))),
            b'3' => return Some(self.target(&Ty::dict(Ty::Int))),
            b'L' => Ty::list(self.plain_type(0)),
            b'd' => Ty::dict(self.plain_type(1)),
            b'a' => self.plain_type(1),
            b'r' => return Some((*self.rng.pick(calls::PATTERNS)).to_string()),
            b'c' => return Some((*self.rng.pick(calls::CIDRS)).to_string()),
            b'p' => return Some((*self.rng.pick(calls::ADDRESSES)).to_string()),
            b'j' => return Some((*self.rng.pick(calls::JSON)).to_string()),
            b'y' => return Some((*self.rng.pick(calls::YAML)).to_string()),
            _ => return None,
        };
        Some(self.operand(&ty, depth.min(1)))
    }

    /// An expression that binds as tightly as a name. A name or call followed by `{` would become a schema expression.
    pub(super) fn operand(&mut self, ty: &Ty, depth: usize) -> String {
        let text = self.flat(|g| g.want(ty, depth.saturating_sub(1)));
        let simple = text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
        let literal = text.starts_with(['"', '\'', '[']) && !text.contains(" + ") && !text.contains(" | ");
        if simple || literal { text } else { format!("({text})") }
    }

    /// What a quantifier iterates over.
    fn target(&mut self, ty: &Ty) -> String {
        if self.rng.chance(50)
            && let Some(path) = self.read(ty)
        {
            return path;
        }
        self.leaf(ty)
    }

    /// Something without schema instances.
    pub(super) fn plain_type(&mut self, depth: usize) -> Ty {
        match self.rng.weighted(&[30, 10, 30, 10, 10 * depth, 10 * depth]) {
            0 => Ty::Int,
            1 => Ty::Float,
            2 => Ty::Str,
            3 => Ty::Bool,
            4 => Ty::list(self.plain_type(0)),
            _ => Ty::dict(self.plain_type(0)),
        }
    }

    /// Any type, schemas included.
    pub(super) fn some_type(&mut self, depth: usize) -> Ty {
        let usable: Vec<usize> =
            (0..self.world.schemas.len()).filter(|i| !self.world.schemas[*i].mixin).collect();
        if !usable.is_empty() && self.rng.chance(25) {
            let schema = Ty::Schema(*self.rng.pick(&usable));
            return match self.rng.below(6) {
                0 if depth > 0 => Ty::list(schema),
                1 if depth > 0 => Ty::dict(schema),
                _ => schema,
            };
        }
        self.plain_type(depth)
    }

    /// A constant.
    pub(super) fn leaf(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Int => (*self.rng.pick(INTS)).to_string(),
            Ty::Float => (*self.rng.pick(FLOATS)).to_string(),
            Ty::Str => (*self.rng.pick(STRINGS)).to_string(),
            Ty::Bool => (*self.rng.pick(&["True", "False"])).to_string(),
            Ty::List(of) => {
                let items: Vec<String> = (0..self.rng.below(4)).map(|_| self.leaf(of)).collect();
                format!("[{}]", items.join(", "))
            }
            Ty::Dict(of) => {
                let entries: Vec<String> = (0..self.rng.below(3))
                    .map(|_| format!("{} = {}", super::config::written(&self.key_name()), self.leaf(of)))
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }
            Ty::Schema(index) => self.flat(|g| g.instance(*index, 0)),
        }
    }

    /// Reads a variable, or something inside one.
    fn read(&mut self, ty: &Ty) -> Option<String> {
        let mut ways: Vec<String> = Vec::new();
        for var in self.visible() {
            if var.ty == *ty {
                ways.push(var.name.clone());
            }
            for (key, of) in &var.keys {
                if of == ty {
                    ways.push(format!("{}.{key}", var.name));
                    ways.push(format!("{}[\"{key}\"]", var.name));
                }
            }
            if let Ty::Schema(index) = &var.ty {
                for attr in self.world.attrs(*index) {
                    if attr.ty == *ty && !attr.name.starts_with('_') && (!attr.optional || attr.default) {
                        ways.push(format!("{}.{}", var.name, attr.name));
                    }
                }
            }
        }
        if ways.is_empty() { None } else { Some(self.rng.pick(&ways).clone()) }
    }

    /// Everything that may be read here, innermost last.
    pub(super) fn visible(&self) -> Vec<Var> {
        let inner = |name: &str| self.locals.iter().any(|local| local.name == name);
        let outer = self.world.vars.iter().filter(|var| !inner(&var.name));
        outer.chain(self.locals.iter()).cloned().collect()
    }

    fn call_lambda(&mut self, ty: &Ty, depth: usize) -> Option<String> {
        let fitting: Vec<_> = self.world.functions.iter().filter(|f| f.result == *ty).cloned().collect();
        if fitting.is_empty() || depth == 0 {
            return None;
        }
        let function = self.rng.pick(&fitting).clone();
        let count = function.required + self.rng.below(function.params.len() - function.required + 1);
        let mut arguments = Vec::new();
        let named_from = if self.rng.chance(20) { self.rng.below(count + 1) } else { count };
        for (position, (name, of)) in function.params.iter().take(count).enumerate() {
            let value = self.flat(|g| g.want(of, depth - 1));
            arguments.push(if position >= named_from { format!("{name}={value}") } else { value });
        }
        Some(format!("{}({})", function.name, arguments.join(", ")))
    }

    pub(super) fn condition(&mut self, depth: usize) -> String {
        self.operand(&Ty::Bool, depth)
    }

    fn arithmetic(&mut self, depth: usize) -> String {
        let operator =
            *self.rng.pick(&["+", "-", "*", "//", "%", "+", "-", "*", "&", "|", "^", "<<", ">>", "**"]);
        let left = self.operand(&Ty::Int, depth);
        let right = match operator {
            "//" | "%" => (*self.rng.pick(&["2", "3", "7", "10"])).to_string(),
            "<<" | ">>" | "**" => self.rng.below(4).to_string(),
            _ => self.operand(&Ty::Int, depth),
        };
        format!("{left} {operator} {right}")
    }

    /// Only names and paths inside `${}`: braces and quotes end it.
    fn interpolation(&mut self, depth: usize) -> String {
        let mut text = String::from("\"");
        for _ in 0..=self.rng.below(2) {
            text.push_str(*self.rng.pick(&["", "a", "-", " ", "q", ":"]));
            let ty = self.plain_type(1);
            let path = self.read(&ty).filter(|path| !path.contains('"'));
            let inside = match path {
                Some(path) => path,
                None => {
                    (*self.rng.pick(&["1 + 2", "True", "1.5", "None", "'q'", "[1, 'a']", "2 if True else 3"]))
                        .to_string()
                }
            };
            let spec =
                if self.rng.chance(12) { *self.rng.pick(&[":#json", ":#yaml", ": #json"]) } else { "" };
            text.push_str(&format!("${{{inside}{spec}}}"));
        }
        let _ = depth;
        text + "\""
    }

    fn list(&mut self, of: &Ty, ty: &Ty, depth: usize) -> String {
        let table: &[&str] = match of {
            Ty::Int => calls::INTS,
            Ty::Str => calls::STRS,
            _ => &[],
        };
        if !table.is_empty() && self.rng.chance(50) {
            return self.out_of_table(table, 100, ty, depth);
        }
        let count = self.rng.below(4);
        if self.rng.chance(15) && self.flat_level == 0 && count > 0 {
            return self.long_list(of, count, depth);
        }
        let items: Vec<String> = (0..count).map(|_| self.flat(|g| g.want(of, depth - 1))).collect();
        format!("[{}]", items.join(", "))
    }

    /// Items on lines of their own, if items among them.
    fn long_list(&mut self, of: &Ty, count: usize, depth: usize) -> String {
        let mut text = String::from("[\n");
        self.indent += 1;
        for _ in 0..count {
            let pad = self.pad();
            if self.rng.chance(15) {
                let condition = self.condition(depth);
                self.indent += 1;
                let inner = self.pad();
                let item = self.want(of, depth - 1);
                self.indent -= 1;
                text.push_str(&format!("{pad}if {condition}:\n{inner}{item}\n"));
                continue;
            }
            let item = self.want(of, depth - 1);
            let comma = if self.rng.chance(40) { "," } else { "" };
            text.push_str(&format!("{pad}{item}{comma}\n"));
        }
        self.indent -= 1;
        text + &self.pad() + "]"
    }

    fn dict(&mut self, of: &Ty, ty: &Ty, depth: usize) -> String {
        if *of == Ty::Int && self.rng.chance(35) {
            return self.out_of_table(calls::INT_DICTS, 100, ty, depth);
        }
        let of = of.clone();
        self.braces(&super::config::Shape::Dict(of), depth)
    }

    /// Imports are written when the program is put together.
    pub(super) fn note_modules(&mut self, text: &str) {
        const MODULES: &[&str] = &[
            "base32",
            "base64",
            "crypto",
            "datetime",
            "json",
            "math",
            "net",
            "regex",
            "runtime",
            "template",
            "units",
            "yaml",
            "collection",
            "manifests",
        ];
        for module in MODULES {
            let used = text.match_indices(&format!("{module}.")).any(|(at, _)| {
                at == 0 || !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
            });
            if used && !self.world.modules.iter().any(|m| m == module) {
                self.world.modules.push((*module).to_string());
            }
        }
    }
}

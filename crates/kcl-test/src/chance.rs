//! Random values of a type: what a property is tried with.
//!
//! Values fit the written types; checks are satisfied by trying again, with the numbers and texts that stand in the checks (and
//! their neighbours), and texts that their patterns match, among the candidates, so that bounds are met and hit.

use kcl_syntax::ast::{
    Attr, BasicType, Call, DottedRef, Expr, ExprId, Ident, LiteralType, SchemaDef, Stmt, Tree, Type, TypeId,
};
use kcl_syntax::program::{ImportTarget, Package, PkgId, Program};
use serde_json::{Map, Value, json};

use crate::pattern::Pattern;

/// Types are followed this deep; below, whatever may be left out is.
const DEPTH: u32 = 6;
/// Texts are this long at most.
const LONGEST: usize = 300;
/// So many numbers and texts of checks are candidates.
const MOST: usize = 256;

/// A small generator with a good spread (SplitMix64): the same seed gives the same values everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64, name: &str) -> Dice {
        // Properties of one seed see different values.
        Dice(name.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn pick<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        let at = self.below(items.len());
        items.get(at)
    }
}

/// Makes values for the types of a program.
pub(crate) struct Maker<'p> {
    program: &'p Program,
    ints: Vec<i64>,
    texts: Vec<String>,
    /// Patterns of checks, with the name that each is asked of.
    patterns: Vec<(String, Pattern)>,
    /// The attribute that a value is made for.
    attribute: String,
    pub(crate) dice: Dice,
}

impl<'p> Maker<'p> {
    pub(crate) fn new(program: &'p Program, dice: Dice) -> Maker<'p> {
        let (ints, texts, patterns) = (Vec::new(), Vec::new(), Vec::new());
        let mut maker = Maker { program, ints, texts, patterns, attribute: String::new(), dice };
        program.packages.iter().for_each(|package| maker.learn(package));
        maker
    }

    /// Collects what the checks of a package mention.
    fn learn(&mut self, package: &Package) {
        let tree = &package.tree;
        let checks = tree.stmts.iter().flat_map(|node| match &node.kind {
            Stmt::Schema(def) => &*def.checks,
            Stmt::Rule(def) => &*def.checks,
            _ => &[],
        });
        let mut spans: Vec<_> = checks.map(|check| check.span).collect();
        spans.sort_unstable();
        for node in &tree.exprs {
            let before = spans.partition_point(|span| span.start <= node.span.start);
            if before == 0 || node.span.end > spans[before - 1].end {
                continue;
            }
            match &node.kind {
                Expr::Call(call) if self.patterns.len() < MOST => {
                    if let Some((subject, pattern)) = pattern_of(tree, call) {
                        self.learn_pattern(tree, subject, pattern);
                    }
                }
                Expr::Int(n) if self.ints.len() < MOST => {
                    self.ints.extend([n.saturating_sub(1), *n, n.saturating_add(1)]);
                }
                Expr::Str(text) if self.texts.len() < MOST => self.texts.push(text.to_string()),
                _ => {}
            }
        }
    }

    fn learn_pattern(&mut self, tree: &Tree, subject: ExprId, pattern: ExprId) {
        let Expr::Str(pattern) = tree.expr(pattern) else { return };
        let name = match tree.expr(subject) {
            Expr::Name(parts) => parts.last().map(|part| part.name.to_string()),
            _ => None,
        };
        self.patterns.extend(Pattern::parse(pattern).map(|pattern| (name.unwrap_or_default(), pattern)));
    }

    /// Makes a value of a type of a package.
    pub(crate) fn value(&mut self, package: PkgId, ty: TypeId, depth: u32) -> Value {
        let tree = &self.program.package(package).tree;
        match tree.ty(ty) {
            Type::Basic(BasicType::Bool) => json!(self.dice.below(2) == 0),
            Type::Basic(BasicType::Int) => json!(self.int()),
            Type::Basic(BasicType::Float) => json!(self.int() as f64 / 4.0),
            Type::Basic(BasicType::Str) => json!(self.text()),
            Type::Literal(literal) => match literal {
                LiteralType::Bool(value) => json!(value),
                LiteralType::Int(value) => json!(value),
                LiteralType::Float(value) => json!(value),
                LiteralType::Str(text) => json!(text.as_str()),
                // A number with a unit cannot be given as data; what the schema says by itself stays.
                LiteralType::Unit(..) => Value::Null,
            },
            Type::List(Some(item)) => {
                let count = if depth >= DEPTH { 0 } else { self.dice.below(4) };
                (0..count).map(|_| self.value(package, *item, depth + 1)).collect()
            }
            Type::List(None) => json!([]),
            Type::Dict(_, value) => {
                let count = if depth >= DEPTH { 0 } else { self.dice.below(3) };
                let entry = |maker: &mut Self| {
                    let value = match value {
                        Some(ty) => maker.value(package, *ty, depth + 1),
                        None => json!(maker.int()),
                    };
                    (maker.word(), value)
                };
                Value::Object((0..count).map(|_| entry(self)).collect())
            }
            Type::Union(members) => match self.dice.pick(members).copied() {
                Some(member) => self.value(package, member, depth),
                None => Value::Null,
            },
            Type::Named(parts) => self.named(package, parts, depth),
            Type::Any => json!(self.int()),
            Type::Missing | Type::NotAType(_) | Type::Function(..) => Value::Null,
        }
    }

    fn int(&mut self) -> i64 {
        const SMALL: [i64; 7] = [0, 1, -1, 2, 3, 10, 100];
        match self.dice.below(4) {
            0 => self.dice.pick(&SMALL).copied().unwrap_or(0),
            1 => (self.dice.next() % 2_001) as i64 - 1_000,
            2 => (self.dice.next() as u32).cast_signed().into(),
            _ => self.dice.pick(&self.ints).copied().unwrap_or(7),
        }
    }

    fn word(&mut self) -> String {
        let length = 1 + self.dice.below(8);
        (0..length).map(|_| char::from(b'a' + self.dice.below(26) as u8)).collect()
    }

    fn text(&mut self) -> String {
        if let Some(text) = self.matching() {
            return text;
        }
        match self.dice.below(8) {
            0 => String::new(),
            1 => "é ☃ \"quoted\"".to_owned(),
            2 => self.dice.pick(&self.texts).cloned().unwrap_or_default(),
            3 => self.long(),
            4 => self.joined(),
            _ => self.word(),
        }
    }

    /// A text that a pattern matches: mostly one that is asked of this attribute, otherwise now and then any.
    fn matching(&mut self) -> Option<String> {
        if self.patterns.is_empty() {
            return None;
        }
        let own: Vec<usize> = (0..self.patterns.len())
            .filter(|at| !self.attribute.is_empty() && self.patterns[*at].0 == self.attribute)
            .collect();
        let (of_four, at) = match own.is_empty() {
            true => (1, self.dice.below(self.patterns.len())),
            false => (3, self.dice.pick(&own).copied()?),
        };
        (self.dice.below(4) < of_four).then(|| self.patterns[at].1.text(&mut self.dice))
    }

    /// A word as long as a number of the checks says: `len(name) == 17`.
    fn long(&mut self) -> String {
        let length = self.dice.pick(&self.ints).copied().unwrap_or(12);
        let length = usize::try_from(length).unwrap_or(0).min(LONGEST);
        (0..length).map(|_| char::from(b'a' + self.dice.below(26) as u8)).collect()
    }

    /// Texts of the checks with words between them: `"@" in address and address.endswith(".org")`.
    fn joined(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.dice.below(3) {
            if self.dice.below(4) > 0 {
                text.push_str(&self.word());
            }
            text.push_str(self.dice.pick(&self.texts).map_or("-", String::as_str));
        }
        if self.dice.below(2) == 0 {
            text.push_str(&self.word());
        }
        text
    }

    fn named(&mut self, package: PkgId, parts: &[Ident], depth: u32) -> Value {
        let Some((package, name)) = self.resolve(package, parts) else { return Value::Null };
        let tree = &self.program.package(package).tree;
        for stmt in tree.files.iter().flat_map(|file| &file.body) {
            match tree.stmt(*stmt) {
                Stmt::Schema(def) if def.name.name == *name => {
                    let mut attrs = Map::new();
                    self.instance(package, def, depth, &mut attrs);
                    return Value::Object(attrs);
                }
                Stmt::TypeAlias { name: alias, ty } if alias.name == *name && depth < 2 * DEPTH => {
                    return self.value(package, *ty, depth + 1);
                }
                _ => {}
            }
        }
        Value::Null
    }

    /// The package and the name that a dotted name means.
    fn resolve<'n>(&self, package: PkgId, parts: &'n [Ident]) -> Option<(PkgId, &'n str)> {
        match parts {
            [name] => Some((package, &name.name)),
            [import, name] => {
                let links = &self.program.package(package).imports;
                match links.iter().find(|link| link.name == import.name)?.target {
                    ImportTarget::Package(id) => Some((id, &name.name)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The attributes of a schema, those of bases and mixins first.
    fn instance(&mut self, package: PkgId, def: &SchemaDef, depth: u32, attrs: &mut Map<String, Value>) {
        if depth > 4 * DEPTH {
            return;
        }
        for above in def.base.iter().chain(&def.mixins) {
            self.above(package, above, depth + 1, attrs);
        }
        let tree = &self.program.package(package).tree;
        for stmt in &def.body {
            let Stmt::Attr(attr) = tree.stmt(*stmt) else { continue };
            if self.is_set(attr, depth) {
                let outer = std::mem::replace(&mut self.attribute, attr.name.name.to_string());
                let value = self.value(package, attr.ty, depth + 1);
                self.attribute = outer;
                attrs.insert(attr.name.name.to_string(), value);
            } else {
                attrs.remove(attr.name.name.as_str());
            }
        }
        if let Some(signature) = &def.index_signature
            && depth < DEPTH
        {
            for _ in 0..self.dice.below(3) {
                let (key, value) = (self.word(), self.value(package, signature.value, depth + 1));
                attrs.entry(key).or_insert(value);
            }
        }
    }

    fn above(&mut self, package: PkgId, name: &DottedRef, depth: u32, attrs: &mut Map<String, Value>) {
        let Some((package, name)) = self.resolve(package, &name.parts) else { return };
        let tree = &self.program.package(package).tree;
        let def = tree.files.iter().flat_map(|file| &file.body).find_map(|stmt| match tree.stmt(*stmt) {
            Stmt::Schema(def) if def.name.name == *name => Some(def),
            _ => None,
        });
        if let Some(def) = def {
            self.instance(package, def, depth, attrs);
        }
    }

    /// What must be there is; what need not is there half the time, and never deep down.
    fn is_set(&mut self, attr: &Attr, depth: u32) -> bool {
        match attr.optional || attr.default.is_some() {
            true => depth < DEPTH && self.dice.below(2) == 0,
            false => true,
        }
    }
}

/// What is asked, and the pattern, of `regex.match(name, "..")` and `regex.search`.
fn pattern_of(tree: &Tree, call: &Call) -> Option<(ExprId, ExprId)> {
    let Expr::Name(parts) = tree.expr(call.func) else { return None };
    let asks = matches!(parts.last()?.name.as_str(), "match" | "search") && parts.len() == 2;
    match &*call.args {
        [subject, pattern, ..] if asks => Some((*subject, *pattern)),
        _ => None,
    }
}

/// Values that are simpler than a value, the simplest first: much simpler if `bold`, otherwise by the smallest steps.
pub(crate) fn simpler(value: &Value, bold: bool) -> Vec<Value> {
    /// Long lists and objects are made shorter at so many places.
    const PLACES: usize = 16;
    match value {
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::Bool(true) => vec![json!(false)],
        Value::Number(number) => match number.as_i64() {
            Some(0) => Vec::new(),
            Some(n) if bold => vec![json!(0), json!(n / 2), json!(n - n / 4)],
            Some(n) => vec![json!(n - n / 16), json!(n - n.signum())],
            None if number.as_f64() == Some(0.0) => Vec::new(),
            None if bold => vec![json!(0.0)],
            None => vec![json!(number.as_f64().unwrap_or_default().trunc())],
        },
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => {
            let count = text.chars().count();
            let head = |n: usize| json!(text.chars().take(n).collect::<String>());
            if bold { vec![head(0), head(count / 2)] } else { vec![head(count - 1)] }
        }
        Value::Array(items) => {
            let mut all = if items.is_empty() { Vec::new() } else { vec![json!([])] };
            for at in 0..items.len().min(PLACES) {
                let mut shorter = items.clone();
                shorter.remove(at);
                all.push(Value::Array(shorter));
                all.extend(simpler(&items[at], bold).into_iter().map(|item| {
                    let mut changed = items.clone();
                    changed[at] = item;
                    Value::Array(changed)
                }));
            }
            all
        }
        Value::Object(entries) => {
            let mut all = Vec::new();
            for (key, value) in entries.iter().take(PLACES) {
                let mut shorter = entries.clone();
                shorter.remove(key);
                all.push(Value::Object(shorter));
                all.extend(simpler(value, bold).into_iter().map(|value| {
                    let mut changed = entries.clone();
                    changed.insert(key.clone(), value);
                    Value::Object(changed)
                }));
            }
            all
        }
    }
}

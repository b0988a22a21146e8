//! Signatures of everything that is built in, as text tables (rows only) that are read on demand.
//!
//! A row is `name(param: type, optional: type = _, ...) -> type` or `name : type`. Rows become types of an arena the first
//! time a name is used, so a program pays only for what it mentions.

use std::sync::OnceLock;

use kcl_syntax::ast::Str;
use rustc_hash::FxHashMap;

use crate::ty::{FuncTy, ParamTy, Ty, TyId, Types};

/// A table of rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Table {
    Builtins,
    Strings,
    Modules,
    Decorators,
}

/// Names of the system modules.
pub const SYSTEM_MODULES: [&str; 15] = [
    "base32",
    "base64",
    "collection",
    "crypto",
    "datetime",
    "file",
    "json",
    "manifests",
    "math",
    "net",
    "regex",
    "runtime",
    "template",
    "units",
    "yaml",
];

const TEXTS: [&str; 4] = [
    include_str!("builtins.txt"),
    include_str!("strings.txt"),
    include_str!("modules.txt"),
    include_str!("decorators.txt"),
];

type Rows = FxHashMap<&'static str, &'static str>;

fn rows(table: Table) -> &'static Rows {
    static TABLES: OnceLock<[Rows; 4]> = OnceLock::new();
    let tables = TABLES.get_or_init(|| TEXTS.map(read_table));
    match table {
        Table::Builtins => &tables[0],
        Table::Strings => &tables[1],
        Table::Modules => &tables[2],
        Table::Decorators => &tables[3],
    }
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn read_table(text: &'static str) -> Rows {
    lines(text)
        .map(|line| {
            let end = line.find(['(', ' ']).unwrap_or(line.len());
            line.split_at(end)
        })
        .collect()
}

/// A built-in name as documents and editors show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// `len`, `base64.encode`.
    pub name: &'static str,
    /// The whole row: name, parameters, result.
    pub signature: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
}

/// Everything that is built in, in the order of the tables: functions, methods of str, members of system modules,
/// decorators.
#[must_use]
pub fn builtins() -> [Vec<Builtin>; 4] {
    let about: FxHashMap<&str, &str> =
        lines(include_str!("about.txt")).filter_map(|l| l.split_once(": ")).collect();
    let row = |signature: &'static str| {
        let name = signature.split(['(', ' ']).next().unwrap_or(signature);
        Builtin { name, signature, about: about.get(name).copied().unwrap_or_default() }
    };
    TEXTS.map(|text| lines(text).map(row).collect())
}

/// Tells whether a table has a name.
pub(crate) fn contains(table: Table, name: &str) -> bool {
    rows(table).contains_key(name)
}

/// Returns the names of a table, sorted.
pub(crate) fn names(table: Table) -> &'static [Str] {
    static BUILTINS: OnceLock<Vec<Str>> = OnceLock::new();
    static OTHERS: OnceLock<Vec<Str>> = OnceLock::new();
    let cell = if table == Table::Builtins { &BUILTINS } else { &OTHERS };
    cell.get_or_init(|| {
        let mut all: Vec<Str> = rows(Table::Builtins).keys().map(|k| Str::from(*k)).collect();
        all.sort();
        all
    })
}

/// Returns the members of a system module, sorted.
pub(crate) fn members_of(module: &str) -> Vec<Str> {
    let member = |name: &&'static str| name.strip_prefix(module)?.strip_prefix('.').map(Str::from);
    let mut all: Vec<Str> = rows(Table::Modules).keys().filter_map(member).collect();
    all.sort();
    all
}

/// Returns the type of a built-in name.
pub(crate) fn lookup(table: Table, name: &str, types: &mut Types) -> Option<TyId> {
    let row = rows(table).get(name)?;
    let mut reader = Reader { rest: row, types };
    Some(reader.row())
}

/// Reads one row; rows are ours, so anything unexpected reads as any.
struct Reader<'a> {
    rest: &'a str,
    types: &'a mut Types,
}

impl Reader<'_> {
    fn eat(&mut self, text: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &str {
        let trimmed = self.rest.trim_start();
        let end = trimmed.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(trimmed.len());
        let (word, rest) = trimmed.split_at(end);
        self.rest = rest;
        word
    }

    fn row(&mut self) -> TyId {
        if self.eat(":") {
            return self.union();
        }
        let mut func = FuncTy { params: Vec::new(), ret: TyId::ANY, variadic: false };
        self.eat("(");
        while !self.rest.is_empty() && !self.eat(")") {
            if self.eat("...") {
                func.variadic = true;
            } else {
                let name = Str::from(self.word());
                self.eat(":");
                let ty = self.union();
                let optional = self.eat("=") && self.eat("_");
                func.params.push(ParamTy { name, ty, optional, loc: None });
            }
            self.eat(",");
        }
        self.eat("->");
        func.ret = self.union();
        self.types.intern(Ty::Func(func.into()))
    }

    fn union(&mut self) -> TyId {
        let mut members = vec![self.element()];
        while self.eat("|") {
            members.push(self.element());
        }
        // Not a least upper bound: `int | float` is shown as written.
        if let [one] = members.as_slice() { *one } else { self.types.intern(Ty::Union(members.into())) }
    }

    fn element(&mut self) -> TyId {
        if self.eat("[") {
            let item = self.union();
            self.eat("]");
            return self.types.list(item);
        }
        if self.eat("{") {
            let key = self.union();
            self.eat(":");
            let val = self.union();
            self.eat("}");
            return self.types.dict(key, val);
        }
        if self.eat("(") {
            let mut params = Vec::new();
            while !self.rest.is_empty() && !self.eat(")") {
                let ty = self.union();
                params.push(ParamTy { name: Str::new(), ty, optional: false, loc: None });
                self.eat(",");
            }
            self.eat("->");
            let ret = self.union();
            return self.types.intern(Ty::Func(FuncTy { params, ret, variadic: false }.into()));
        }
        match self.word() {
            "int" => TyId::INT,
            "float" => TyId::FLOAT,
            "bool" => TyId::BOOL,
            "str" => TyId::STR,
            "None" => TyId::NONE,
            "multiplier" => self.types.intern(Ty::Unit(None)),
            _ => TyId::ANY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(table: Table, name: &str) -> String {
        let mut types = Types::new();
        let ty = lookup(table, name, &mut types).unwrap();
        types.text(ty)
    }

    #[test]
    fn everything_built_in_is_described() {
        let all: Vec<Builtin> = builtins().into_iter().flatten().collect();
        assert!(all.len() > 180);
        let silent: Vec<&str> = all.iter().filter(|b| b.about.is_empty()).map(|b| b.name).collect();
        assert!(silent.is_empty(), "about.txt has no sentence for {silent:?}");
        let known =
            |line: &&str| line.split_once(": ").is_some_and(|(name, _)| all.iter().any(|b| b.name == name));
        assert_eq!(lines(include_str!("about.txt")).find(|line| !known(line)), None);
    }

    #[test]
    fn rows_read_as_the_types_that_messages_show() {
        assert_eq!(shown(Table::Builtins, "len"), "(str | {any:any} | [any]) -> int");
        assert_eq!(shown(Table::Builtins, "print"), "() -> NoneType");
        assert_eq!(shown(Table::Builtins, "reduce"), "((any, any) -> any, [any], any) -> any");
        assert_eq!(shown(Table::Strings, "split"), "(str, int) -> [str]");
        assert_eq!(shown(Table::Modules, "runtime.catch"), "(() -> any) -> str");
        assert_eq!(shown(Table::Modules, "units.Ki"), "int");
        assert_eq!(shown(Table::Modules, "net.parse_CIDR"), "(str) -> {str:any}");
    }

    #[test]
    fn newer_functions_are_absent() {
        assert!(!contains(Table::Modules, "file.readbase64"));
        assert!(!contains(Table::Modules, "duration.parse"));
    }
}

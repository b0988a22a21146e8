//! Packages at run time: symbols, globals, frames.

use std::rc::Rc;

use base_diag::Span;
use kcl_syntax::ast::{Dotted, Expr, Ident, Key, Stmt, StmtId, Tree, TypeId};
use kcl_syntax::program::{ImportTarget, Package};
use kcl_value::{SchemaRef, Str, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::fault::{Eval, Fault};
use crate::machine::{Machine, StorePlace};
use crate::record::{Record, Shape};
use crate::rtype::RType;
use crate::schema::{Rule, Schema};
use crate::scope::Frames;

/// What a name of a package is, when it is not a variable.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    Schema(u32),
    Rule(u32),
    /// A type alias: package and type.
    Alias(usize, TypeId),
    Package(usize),
    System(Str),
    Plugin(Str),
}

/// One package while it runs.
pub(crate) struct PackageState {
    pub(crate) symbols: FxHashMap<Str, Symbol>,
    pub(crate) globals: Rc<Record>,
    pub(crate) frames: Frames,
    /// Names that some frame of this package may bind. All others are looked up in the globals at once.
    pub(crate) framed: FxHashSet<Str>,
    /// The names that each file imports, if that matters.
    imports: Option<Vec<Vec<Str>>>,
    /// Whether keys may mean the text of a type.
    pub(crate) has_aliases: bool,
    /// Converted types by [`TypeId`].
    pub(crate) rtypes: Vec<Option<Rc<RType>>>,
    /// Values of top-level expressions.
    pub(crate) outputs: Vec<Value>,
    /// Where the last schema expression among them stands.
    schema_output: usize,
}

impl PackageState {
    /// Adds the value of a schema expression, which replaces that of the one before; the first takes the place of whatever
    /// stands first, as in the reference.
    pub(crate) fn add_schema_output(&mut self, value: Value) {
        if self.schema_output < self.outputs.len() {
            self.outputs.remove(self.schema_output);
        }
        self.schema_output = self.outputs.len();
        self.outputs.push(value);
    }
}

impl Machine<'_> {
    /// Makes the states of all packages: symbols first, so that every name is known before anything runs.
    pub(crate) fn load_packages(&mut self) {
        let program = self.program;
        for (idx, package) in program.packages.iter().enumerate() {
            let symbols = self.symbols_of(idx, package);
            let mut shape = Shape::default();
            for file in &package.tree.files {
                shape.enter_declared(&package.tree, &file.body);
            }
            for file in &package.tree.files {
                shape.collect(&package.tree, &file.body, 0);
            }
            // A unification with the name of a schema means the schema.
            let schemas = symbols.iter().filter(|(_, symbol)| matches!(symbol, Symbol::Schema(_)));
            schemas.for_each(|(name, _)| shape.hide(name));
            self.packages.push(PackageState {
                has_aliases: !package.tree.renamed_keys.is_empty()
                    || symbols.values().any(|s| matches!(s, Symbol::Alias(..))),
                imports: (program.main.0 as usize != idx).then(|| imports_by_file(&package.tree)).flatten(),
                symbols,
                globals: Rc::new(Record::new(Rc::new(shape), idx, None)),
                frames: Frames::default(),
                framed: framed_names(&package.tree),
                rtypes: vec![None; package.tree.types.len()],
                outputs: Vec::new(),
                schema_output: 0,
            });
        }
    }

    fn symbols_of(&mut self, idx: usize, package: &Package) -> FxHashMap<Str, Symbol> {
        let mut symbols = FxHashMap::default();
        for link in &package.imports {
            let symbol = match &link.target {
                ImportTarget::Package(id) => Symbol::Package(id.0 as usize),
                ImportTarget::System(name) => Symbol::System(name.clone()),
                ImportTarget::Plugin(name) => Symbol::Plugin(name.clone()),
                ImportTarget::Missing => continue,
            };
            symbols.insert(link.name.clone(), symbol);
        }
        let mut left: Vec<_> = package.tree.files.iter().flat_map(|f| &f.body).rev().collect();
        while let Some(stmt) = left.pop() {
            match package.tree.stmt(*stmt) {
                // An alias of a block is one of the package; the checker refuses schemas there.
                Stmt::If { body, orelse, .. } => {
                    left.extend(body.iter().chain(orelse.iter()).filter(|stmt| {
                        matches!(package.tree.stmt(**stmt), Stmt::TypeAlias { .. } | Stmt::If { .. })
                    }));
                }
                Stmt::Schema(def) => {
                    let id = self.schemas.len() as u32;
                    let name = def.name.name.clone();
                    let reference = SchemaRef { name: name.clone(), package: package.path.clone(), id };
                    self.schemas.push(Rc::new(Schema::new(
                        Rc::new(reference),
                        idx,
                        package.tree.clone(),
                        *stmt,
                    )));
                    symbols.insert(name, Symbol::Schema(id));
                }
                Stmt::Rule(def) => {
                    let id = self.rules.len() as u32;
                    let name = def.name.name.clone();
                    let tree = package.tree.clone();
                    self.rules.push(Rc::new(Rule { package: idx, tree, stmt: *stmt }));
                    symbols.insert(name, Symbol::Rule(id));
                }
                Stmt::TypeAlias { name, ty } => {
                    symbols.insert(name.name.clone(), Symbol::Alias(idx, *ty));
                }
                _ => {}
            }
        }
        symbols
    }

    /// Runs all statements of a package in order.
    pub(crate) fn run_package(&mut self, idx: usize) -> Eval<()> {
        self.pkg = idx;
        self.check_bases(idx)?;
        let tree = self.tree(idx);
        for stmt in tree.files.iter().flat_map(|f| &f.body) {
            if self.is_013() && self.ran_early(*stmt) {
                continue;
            }
            self.exec(StorePlace::Globals, *stmt)?;
        }
        Ok(())
    }

    /// Whether a name means an import where it is written. In the expressions of an imported package only those of the same file
    /// do, as in the reference; types and the main package see all.
    pub(crate) fn sees_import(&self, package: usize, name: &Ident) -> bool {
        let Some(imports) = &self.packages[package].imports else { return true };
        let (file, _) = self.tree(package).locate(name.span.start);
        imports.get(file).is_none_or(|names| names.contains(&name.name))
    }

    /// The mistake of extending what is imported only further down. The reference shows no place.
    pub(crate) fn imported_late(&self, package: usize, name: &str, at: Span) -> Box<Fault> {
        let message =
            format!("package @{name} is not found: it is imported below the schema that extends it");
        let labels = vec![(self.program.packages[package].place(at), message)];
        Box::new(Fault { labels, id: "imported-late", fatal: false, facts: None })
    }

    // Bases and mixins are looked up when a schema is defined, before any statement runs.
    fn check_bases(&mut self, idx: usize) -> Eval<()> {
        if self.packages[idx].imports.is_none() {
            return Ok(());
        }
        let tree = self.tree(idx);
        for stmt in tree.files.iter().flat_map(|f| &f.body) {
            let Stmt::Schema(def) = tree.stmt(*stmt) else { continue };
            for name in def.base.iter().chain(&def.mixins) {
                if let [first, member, ..] = &*name.parts
                    && self.packages[idx].symbols.contains_key(&first.name)
                    && !self.sees_import(idx, first)
                {
                    self.select(&Value::Undefined, &member.name)?;
                }
            }
        }
        Ok(())
    }

    /// Returns what a dotted name means as a symbol: `Name`, or `pkg.Name`.
    pub(crate) fn find_symbol(&self, package: usize, parts: &Dotted) -> Option<Symbol> {
        let symbols = &self.packages.get(package)?.symbols;
        let first = symbols.get(&parts.first()?.name)?;
        match (first, parts.get(1)) {
            (symbol, None) => Some(symbol.clone()),
            (Symbol::Package(other), Some(second)) => {
                self.packages.get(*other)?.symbols.get(&second.name).cloned()
            }
            _ => None,
        }
    }
}

/// The names that each file of a package imports; nothing if all files import the same.
fn imports_by_file(tree: &Tree) -> Option<Vec<Vec<Str>>> {
    if tree.files.len() < 2 {
        return None;
    }
    let names = |stmt: &StmtId| match tree.stmt(*stmt) {
        Stmt::Import(import) => Some(import.bound_name()),
        _ => None,
    };
    let mut files: Vec<Vec<Str>> =
        tree.files.iter().map(|file| file.body.iter().filter_map(names).collect()).collect();
    files.iter_mut().for_each(|names| names.sort_unstable());
    files.windows(2).any(|pair| pair[0] != pair[1]).then_some(files)
}

/// Collects every name that a frame may bind: parameters, loop variables, locals of lambdas, keys of braces.
fn framed_names(tree: &Tree) -> FxHashSet<Str> {
    let mut names = FxHashSet::default();
    names.extend(tree.renamed_keys.iter().map(|(_, text)| text.clone()));
    for node in &tree.exprs {
        match &node.kind {
            Expr::Config(entries) => {
                for entry in entries {
                    match &entry.key {
                        Key::Name(name) | Key::Str(name) if !names.contains(name) => {
                            names.insert(name.clone());
                        }
                        _ => {}
                    }
                }
            }
            Expr::ListComp { clauses, .. } | Expr::DictComp { clauses, .. } => {
                names.extend(clauses.iter().flat_map(|c| c.targets.iter().map(|t| t.name.clone())));
            }
            Expr::Quant(quant) => names.extend(quant.targets.iter().map(|t| t.name.clone())),
            Expr::Lambda(lambda) => names.extend(lambda.params.iter().map(|p| p.name.name.clone())),
            _ => {}
        }
    }
    // Statements at top level set globals and bind nothing; a file of data has little else.
    let mut bound = vec![true; tree.stmts.len()];
    tree.files.iter().flat_map(|f| &f.body).for_each(|stmt| {
        bound[stmt.0 as usize] = matches!(tree.stmt(*stmt), Stmt::Schema(_) | Stmt::Rule(_));
    });
    for (node, _) in tree.stmts.iter().zip(bound).filter(|(_, bound)| *bound) {
        match &node.kind {
            Stmt::Schema(def) => names.extend(def.params.iter().map(|p| p.name.name.clone())),
            Stmt::Rule(def) => names.extend(def.params.iter().map(|p| p.name.name.clone())),
            other => crate::record::for_each_target(other, |name| {
                if !names.contains(name) {
                    names.insert(name.clone());
                }
            }),
        }
    }
    names
}

//! Packages at run time: symbols, globals, frames.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use base_diag::Span;
use kcl_syntax::ast::{Dotted, Ident, Stmt, TypeId};
use kcl_syntax::program::ImportTarget;
use kcl_value::{Str, Value};
use rustc_hash::FxHashSet;

use crate::fault::{Eval, Fault};
use crate::machine::{Machine, StorePlace};
use crate::mistake::Mistake;
use crate::outline::{Meaning, Outline};
use crate::record::{Record, Shaped};
use crate::rtype::SchemaAt;
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
pub(crate) struct PackageState<'p> {
    pub(crate) outline: &'p Arc<Outline>,
    /// Number of its first schema among those of the program.
    pub(crate) first_schema: u32,
    /// Number of its first rule.
    first_rule: u32,
    pub(crate) globals: Rc<Record>,
    pub(crate) frames: Frames,
    /// Names that a frame binds although the outline does not say so.
    framed: FxHashSet<Str>,
    /// Values of top-level expressions.
    pub(crate) outputs: Vec<Value>,
    /// Where the last schema expression among them stands.
    schema_output: usize,
}

impl PackageState<'_> {
    /// Whether some frame may bind a name.
    pub(crate) fn is_framed(&self, name: &str) -> bool {
        self.outline.framed.contains(name) || (!self.framed.is_empty() && self.framed.contains(name))
    }

    /// Notes that a frame binds a name.
    pub(crate) fn add_framed(&mut self, name: &Str) {
        if !self.is_framed(name) {
            self.framed.insert(name.clone());
        }
    }

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
    /// Makes the states of all packages, so that every name is known before anything runs.
    pub(crate) fn load_packages(&mut self) {
        let (mut first_schema, mut first_rule) = (0, 0);
        for (idx, outline) in self.outlines.iter().enumerate() {
            self.homes.insert(outline.home, idx);
            self.packages.push(PackageState {
                outline,
                first_schema,
                first_rule,
                globals: Rc::new(Record::new(Shaped::new(&outline.shape), idx, None)),
                frames: Frames::default(),
                framed: FxHashSet::default(),
                outputs: Vec::new(),
                schema_output: 0,
            });
            first_schema += outline.schemas.len() as u32;
            first_rule += outline.rules.len() as u32;
        }
        self.schemas.resize_with(first_schema as usize, OnceCell::new);
        self.defined.resize(first_schema as usize, false);
        if self.outlines.iter().any(|outline| outline.asks_for_instances) {
            self.instances = Some(vec![Vec::new(); first_schema as usize]);
        }
    }

    /// Returns what a name of a package means, when it is not a variable.
    pub(crate) fn symbol(&self, package: usize, name: &str) -> Option<Symbol> {
        let state = self.packages.get(package)?;
        Some(match state.outline.symbols.get(name)? {
            Meaning::Schema(i) => Symbol::Schema(state.first_schema + i),
            Meaning::Rule(i) => Symbol::Rule(state.first_rule + i),
            Meaning::Alias(ty) => Symbol::Alias(package, *ty),
            Meaning::Import(row) => {
                match &self.program.packages[package].imports.get(*row as usize)?.target {
                    ImportTarget::Package(id) => Symbol::Package(id.0 as usize),
                    ImportTarget::System(name) => Symbol::System(name.clone()),
                    ImportTarget::Plugin(name) => Symbol::Plugin(name.clone()),
                    ImportTarget::Missing => return None,
                }
            }
        })
    }

    /// Returns a schema of the program.
    pub(crate) fn schema(&self, id: u32) -> &Rc<Schema> {
        self.schemas[id as usize].get_or_init(|| {
            let package = self.packages.partition_point(|p| p.first_schema <= id) - 1;
            let outline = self.packages[package].outline;
            let index = id - self.packages[package].first_schema;
            Rc::new(Schema::new(outline, index, self.program.packages[package].path.clone(), package, id))
        })
    }

    /// Returns the schema that a type names.
    pub(crate) fn schema_at(&self, at: &SchemaAt) -> Eval<Rc<Schema>> {
        match self.homes.get(&at.home) {
            Some(package) => Ok(self.schema(self.packages[*package].first_schema + at.index).clone()),
            None => {
                Err(self.fault(Mistake::Internal { what: "a type names a schema of an unknown package" }))
            }
        }
    }

    /// Returns a rule of the program.
    pub(crate) fn rule(&self, id: u32) -> Rule {
        let package = self.packages.partition_point(|p| p.first_rule <= id) - 1;
        let state = &self.packages[package];
        Rule { package, stmt: state.outline.rules[(id - state.first_rule) as usize] }
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
        let Some(imports) = &self.packages[package].outline.imports else { return true };
        let (file, _) = self.tree(package).locate(name.span.start);
        imports.get(file).is_none_or(|names| names.contains(&name.name))
    }

    /// The mistake of extending what is imported only further down. The reference shows no place.
    pub(crate) fn imported_late(&self, package: usize, name: &str, at: Span) -> Box<Fault> {
        Fault::at(self.program.packages[package].place(at), Mistake::ImportedLate { name: name.into() })
    }

    // Bases and mixins are looked up when a schema is defined, before any statement runs.
    fn check_bases(&mut self, idx: usize) -> Eval<()> {
        if self.packages[idx].outline.imports.is_none() {
            return Ok(());
        }
        let tree = self.tree(idx);
        for stmt in tree.files.iter().flat_map(|f| &f.body) {
            let Stmt::Schema(def) = tree.stmt(*stmt) else { continue };
            for name in def.base.iter().chain(&def.mixins) {
                if let [first, member, ..] = &*name.parts
                    && self.packages[idx].outline.symbols.contains_key(&first.name)
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
        match (self.symbol(package, &parts.first()?.name)?, parts.get(1)) {
            (symbol, None) => Some(symbol),
            (Symbol::Package(other), Some(second)) => self.symbol(other, &second.name),
            _ => None,
        }
    }
}

//! The outline of a package: what is known about it before anything runs.
//!
//! Names and what they mean, the slots of its globals, which names a frame can bind, and — found when they are first needed — its
//! types and the links of its schemas. It depends on the text of the package and of those that it imports, not on the program
//! that runs it; so it is made once and shared by all programs and threads. Whatever changes while a program runs is in
//! [`crate::package::PackageState`].

use std::sync::{Arc, OnceLock};

use kcl_syntax::ast::{Expr, Key, Stmt, StmtId, Tree, TypeId};
use kcl_syntax::program::{ImportLink, ImportTarget};
use kcl_value::Str;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::record::Shape;
use crate::rtype::RType;
use crate::schema::Linked;

/// What a name of a package means, when it is not a variable; numbers count within the package.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    Schema(u32),
    Rule(u32),
    Alias(TypeId),
    /// A row of [`kcl_syntax::program::Package::imports`].
    Import(u32),
}

/// A schema of a package, without the program around it.
#[derive(Debug)]
pub(crate) struct OutlinedSchema {
    pub(crate) name: Str,
    pub(crate) stmt: StmtId,
    /// Found when it is first used.
    pub(crate) linked: OnceLock<Linked>,
}

/// What is known about a package before it runs.
#[derive(Debug)]
pub struct Outline {
    /// Who the package is: packages of one program have different numbers.
    pub(crate) home: u64,
    pub(crate) tree: Arc<Tree>,
    pub(crate) symbols: FxHashMap<Str, Meaning>,
    /// The slots of its globals.
    pub(crate) shape: Arc<Shape>,
    /// Names that some frame of this package may bind. All others are looked up in the globals at once.
    pub(crate) framed: FxHashSet<Str>,
    /// The names that each file imports, if that matters.
    pub(crate) imports: Option<Vec<Vec<Str>>>,
    /// Whether keys may mean the text of a type.
    pub(crate) has_aliases: bool,
    pub(crate) schemas: Vec<OutlinedSchema>,
    pub(crate) rules: Vec<StmtId>,
    /// Converted types by [`TypeId`], found when they are first needed.
    pub(crate) rtypes: Box<[OnceLock<Arc<RType>>]>,
    /// Whether it can ask for the instances of a schema.
    pub(crate) asks_for_instances: bool,
}

impl Outline {
    /// Returns the tree that runs.
    pub fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    /// Makes the outline of a package that is known as `home`; its tree is the one that runs.
    pub fn new(home: u64, tree: Arc<Tree>, imports: &[ImportLink], is_main: bool) -> Outline {
        let mut outline = Outline {
            home,
            symbols: FxHashMap::default(),
            shape: Arc::default(),
            framed: framed_names(&tree),
            imports: (!is_main).then(|| imports_by_file(&tree)).flatten(),
            has_aliases: !tree.renamed_keys.is_empty(),
            schemas: Vec::new(),
            rules: Vec::new(),
            rtypes: tree.types.iter().map(|_| OnceLock::new()).collect(),
            asks_for_instances: asks_for_instances(&tree),
            tree,
        };
        outline.enter_symbols(imports);
        outline.has_aliases |= outline.symbols.values().any(|m| matches!(m, Meaning::Alias(_)));
        outline.shape = Arc::new(outline.global_shape());
        outline
    }

    fn enter_symbols(&mut self, imports: &[ImportLink]) {
        for (row, link) in imports.iter().enumerate() {
            if link.target != ImportTarget::Missing {
                self.symbols.insert(link.name.clone(), Meaning::Import(row as u32));
            }
        }
        let tree = self.tree.clone();
        let mut left: Vec<_> = tree.files.iter().flat_map(|f| &f.body).rev().collect();
        while let Some(stmt) = left.pop() {
            match tree.stmt(*stmt) {
                // An alias of a block is one of the package; the checker refuses schemas there.
                Stmt::If { body, orelse, .. } => {
                    left.extend(body.iter().chain(orelse.iter()).filter(|stmt| {
                        matches!(tree.stmt(**stmt), Stmt::TypeAlias { .. } | Stmt::If { .. })
                    }));
                }
                Stmt::Schema(def) => {
                    let name = def.name.name.clone();
                    self.symbols.insert(name.clone(), Meaning::Schema(self.schemas.len() as u32));
                    self.schemas.push(OutlinedSchema { name, stmt: *stmt, linked: OnceLock::new() });
                }
                Stmt::Rule(def) => {
                    self.symbols.insert(def.name.name.clone(), Meaning::Rule(self.rules.len() as u32));
                    self.rules.push(*stmt);
                }
                Stmt::TypeAlias { name, ty } => {
                    self.symbols.insert(name.name.clone(), Meaning::Alias(*ty));
                }
                _ => {}
            }
        }
    }

    fn global_shape(&self) -> Shape {
        let mut shape = Shape::default();
        for file in &self.tree.files {
            shape.enter_declared(&self.tree, &file.body);
        }
        for file in &self.tree.files {
            shape.collect(&self.tree, &file.body, 0);
        }
        // A unification with the name of a schema means the schema.
        let schemas = self.symbols.iter().filter(|(_, meaning)| matches!(meaning, Meaning::Schema(_)));
        schemas.for_each(|(name, _)| shape.hide(name));
        shape
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

// Keeping every instance costs memory, so it is done only for programs that can ask for them.
fn asks_for_instances(tree: &Tree) -> bool {
    tree.exprs.iter().any(|node| match &node.kind {
        Expr::Name(parts) => parts.iter().any(|p| p.name == "instances"),
        Expr::Selector { name, .. } => name.name == "instances",
        _ => false,
    })
}

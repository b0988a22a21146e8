//! The top-level names of a package, from its tree alone: which statement declares each.

use base_diag::Span;
use kcl_syntax::ast::{SchemaKind, Stmt, StmtId, Str, Tree};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Def, DefKind, Level};

/// The top-level names.
#[derive(Default)]
pub(super) struct Globals {
    pub(super) defs: Vec<Def>,
    /// What each name means in the package.
    pub(super) places: FxHashMap<Str, Span>,
    /// The names that imports bind, by file: a file that imports a name itself means its own import.
    pub(super) imports: FxHashMap<(usize, Str), Span>,
    /// Where imports bind names.
    pub(super) import_spots: FxHashSet<u32>,
}

/// Collects the names. As in the checker schemas win over imports, aliases win over both, and variables take what is free.
pub(super) fn globals(tree: &Tree) -> Globals {
    let mut found = Globals::default();
    found.schemas(tree);
    found.imports(tree);
    for stmt in tree.files.iter().flat_map(|file| &file.body) {
        if let Stmt::TypeAlias { name, .. } = tree.stmt(*stmt) {
            found.places.insert(name.name.clone(), name.span);
            found.def(DefKind::TypeAlias, &name.name, name.span);
        }
    }
    for file in &tree.files {
        found.variables(tree, &file.body);
    }
    found
}

impl Globals {
    fn def(&mut self, kind: DefKind, name: &Str, span: Span) {
        self.defs.push(Def { kind, name: name.clone(), span, level: Level::Package });
    }

    fn schemas(&mut self, tree: &Tree) {
        for stmt in tree.files.iter().flat_map(|file| &file.body) {
            let (name, kind) = match tree.stmt(*stmt) {
                Stmt::Schema(def) => (
                    &def.name,
                    match def.kind {
                        SchemaKind::Schema => DefKind::Schema,
                        SchemaKind::Mixin => DefKind::Mixin,
                        SchemaKind::Protocol => DefKind::Protocol,
                    },
                ),
                Stmt::Rule(def) => (&def.name, DefKind::Rule),
                _ => continue,
            };
            self.places.entry(name.name.clone()).or_insert(name.span);
            self.def(kind, &name.name, name.span);
        }
    }

    fn imports(&mut self, tree: &Tree) {
        for (at, file) in tree.files.iter().enumerate() {
            for stmt in &file.body {
                let Stmt::Import(import) = tree.stmt(*stmt) else { continue };
                let Some(bound) = import.alias.as_ref().or(import.path.last()) else { continue };
                self.places.entry(bound.name.clone()).or_insert(bound.span);
                self.imports.entry((at, bound.name.clone())).or_insert(bound.span);
                self.import_spots.insert(bound.span.start);
                self.def(DefKind::Import, &bound.name, bound.span);
            }
        }
    }

    fn variables(&mut self, tree: &Tree, body: &[StmtId]) {
        for stmt in body {
            match tree.stmt(*stmt) {
                Stmt::Assign { targets, .. } => {
                    targets.iter().for_each(|target| self.variable(&target.name.name, target.name.span));
                }
                Stmt::Unification { target, .. } => self.variable(&target.name, target.span),
                // An alias inside a block; those outside were met before.
                Stmt::TypeAlias { name, .. } if !self.places.contains_key(&name.name) => {
                    self.places.insert(name.name.clone(), name.span);
                    self.def(DefKind::TypeAlias, &name.name, name.span);
                }
                Stmt::If { body, orelse, .. } => {
                    self.variables(tree, body);
                    self.variables(tree, orelse);
                }
                _ => {}
            }
        }
    }

    fn variable(&mut self, name: &Str, span: Span) {
        if !self.places.contains_key(name) {
            self.places.insert(name.clone(), span);
            self.def(DefKind::Variable, name, span);
        }
    }
}

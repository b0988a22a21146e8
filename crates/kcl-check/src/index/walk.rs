//! The walk that gives names their meanings: its state, and how a name is looked up.

use std::sync::Arc;

use base_diag::Span;
use kcl_syntax::ast::{Ident, Stmt, Str, Tree};
use kcl_syntax::program::Package;

use super::frames::{Frame, FrameKind};
use super::globals::{Globals, globals};
use super::members;
use super::{Def, DefKind, Level, Meaning, Occurrence, PackageIndex, Records, Role, Spot};
use crate::package::{Home, PackageTypes};
use crate::signatures::{self, Table};
use crate::ty::SchemaId;

/// The state of one walk.
pub(super) struct Walk<'a> {
    pub(super) tree: &'a Tree,
    pub(super) package: &'a Package,
    pub(super) types: &'a PackageTypes,
    pub(super) records: &'a Records,
    pub(super) home: Home,
    pub(super) globals: Globals,
    pub(super) frames: Vec<Frame<'a>>,
    /// The file that is walked.
    pub(super) file: usize,
    pub(super) defs: Vec<Def>,
    pub(super) links: Vec<(Spot, Spot)>,
    /// Which statements the walk met.
    pub(super) met: Vec<bool>,
    occurrences: Vec<Occurrence>,
    unbound: Vec<(Str, Span)>,
}

/// Makes the index of a checked package; the packages that it imports are known to the checker by their homes.
pub(crate) fn walk(package: &Package, types: Arc<PackageTypes>, mut records: Records) -> PackageIndex {
    records.finish();
    let mut walk = Walk {
        tree: &package.tree,
        package,
        types: &types,
        records: &records,
        home: types.home,
        globals: globals(&package.tree),
        frames: Vec::new(),
        file: 0,
        defs: Vec::new(),
        links: Vec::new(),
        met: vec![false; package.tree.stmts.len()],
        occurrences: Vec::with_capacity(package.tree.exprs.len() / 2),
        unbound: Vec::new(),
    };
    walk.files();
    walk.merged_statements();
    let Walk { globals, mut defs, links, mut occurrences, unbound, .. } = walk;
    defs.extend(globals.defs);
    defs.sort_by_key(|def| def.span.start);
    defs.dedup_by_key(|def| def.span.start);
    occurrences.sort_by_key(|o| (o.span.start, o.role));
    occurrences.dedup_by(|b, a| a.span == b.span && a.meaning == b.meaning);
    let (home, globals) = (types.home, globals.places);
    PackageIndex { home, types, records, occurrences, defs, globals, links, unbound }
}

impl<'a> Walk<'a> {
    fn files(&mut self) {
        let tree = self.tree;
        // The checker numbers schemas and rules in the order of their statements.
        let mut next = 0;
        for (at, file) in tree.files.iter().enumerate() {
            self.file = at;
            for stmt in &file.body {
                match tree.stmt(*stmt) {
                    Stmt::Schema(def) => {
                        self.schema(SchemaId(next), def);
                        next += 1;
                    }
                    Stmt::Rule(def) => {
                        self.rule(SchemaId(next), def);
                        next += 1;
                    }
                    _ => self.stmt(*stmt),
                }
            }
        }
    }

    /// Declarations of one name that were merged into the last one stand in no file any more; their entries were walked there.
    fn merged_statements(&mut self) {
        let tree = self.tree;
        for (at, node) in tree.stmts.iter().enumerate() {
            if self.met[at] {
                continue;
            }
            let (target, value) = match &node.kind {
                Stmt::Unification { target, value, .. } => (target, *value),
                Stmt::Assign { targets, value, .. } if targets.len() == 1 => (&targets[0].name, *value),
                _ => continue,
            };
            if let kcl_syntax::ast::Expr::Schema(schema) = tree.expr(value)
                && self.globals.places.contains_key(&target.name)
            {
                self.file = tree.locate(target.span.start).0;
                self.name_part(target, Role::Write);
                self.expr(schema.name);
            }
        }
    }

    pub(super) fn here(&self, span: Span) -> Spot {
        Spot { home: self.home, span }
    }

    pub(super) fn occur(&mut self, span: Span, meaning: Meaning, role: Role) {
        self.occurrences.push(Occurrence { span, meaning, role });
    }

    /// Declares a name in the innermost frame.
    pub(super) fn declare(&mut self, kind: DefKind, level: Level, name: &'a Ident) {
        let spot = self.here(name.span);
        self.define(kind, level, name);
        if let Some(frame) = self.frames.last_mut() {
            frame.declare(&name.name, spot);
        }
    }

    /// Notes a declaration that no frame has to know.
    pub(super) fn define(&mut self, kind: DefKind, level: Level, name: &Ident) {
        self.defs.push(Def { kind, name: name.name.clone(), span: name.span, level });
        self.occur(name.span, Meaning::Declared(self.here(name.span)), Role::Declare);
    }

    pub(super) fn enter(&mut self, kind: FrameKind) {
        self.frames.push(Frame::new(kind));
    }

    pub(super) fn leave(&mut self) {
        self.frames.pop();
    }

    /// The schema whose body is walked.
    pub(super) fn current_schema(&self) -> Option<SchemaId> {
        self.frames.iter().rev().find_map(|frame| match frame.kind {
            FrameKind::Schema(id) => Some(id),
            _ => None,
        })
    }

    /// What a name means at this place.
    pub(super) fn lookup(&mut self, name: &Str) -> Option<Meaning> {
        for at in (0..self.frames.len()).rev() {
            let attribute = match self.frames[at].kind {
                FrameKind::Schema(id) => members::attribute_in_body(self.types, id, name),
                _ => None,
            };
            if let Some(spot) = attribute.or_else(|| self.frames[at].get(name)) {
                return Some(Meaning::Declared(spot));
            }
        }
        self.lookup_global(name)
    }

    /// What a name means outside of all frames.
    pub(super) fn lookup_global(&mut self, name: &Str) -> Option<Meaning> {
        if let Some(span) = self.globals.places.get(name).copied() {
            let is_import = self.globals.import_spots.contains(&span.start);
            let key = is_import.then(|| (self.file, name.clone()));
            let own = key.and_then(|key| self.globals.imports.get(&key).copied());
            let span = own.unwrap_or(span);
            return Some(Meaning::Declared(self.here(span)));
        }
        signatures::contains(Table::Builtins, name).then(|| Meaning::Builtin(name.clone()))
    }

    /// Gives the first part of a name its meaning.
    pub(super) fn name_part(&mut self, part: &Ident, role: Role) -> Option<Meaning> {
        let meaning = self.lookup(&part.name);
        self.bind(part, meaning.clone(), role);
        meaning
    }

    pub(super) fn bind(&mut self, part: &Ident, meaning: Option<Meaning>, role: Role) {
        match meaning {
            Some(meaning) => self.occur(part.span, meaning, role),
            None => self.unbound.push((part.name.clone(), part.span)),
        }
    }

    /// Gives a later part of a name its meaning; what is not known means nothing, which is no mistake.
    pub(super) fn member_part(&mut self, part: &Ident, meaning: Option<Meaning>, role: Role) {
        if let Some(meaning) = meaning {
            self.occur(part.span, meaning, role);
        }
    }

    /// What a member of an imported package or module means, by the import alone.
    pub(super) fn member_of_import(&self, import: &Ident, member: &Ident) -> Option<Meaning> {
        use kcl_syntax::program::ImportTarget;
        let link = self.package.imports.iter().find(|link| link.name == import.name)?;
        match &link.target {
            ImportTarget::Package(_) => {
                let home = self.types.imported.get(&import.name)?;
                Some(Meaning::Member(*home, member.name.clone()))
            }
            ImportTarget::System(module) => Some(Meaning::System(format!("{module}.{}", member.name).into())),
            ImportTarget::Plugin(_) | ImportTarget::Missing => None,
        }
    }
}

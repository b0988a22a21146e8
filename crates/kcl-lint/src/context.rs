//! What the rules look at.

use std::cell::{OnceCell, RefCell};

use base_diag::{Diagnostic, FileId, Span};
use kcl_check::Home;
use kcl_check::index::{Def, Meaning, Occurrence, PackageIndex, Role, Spot};
use kcl_syntax::ast::{Attr, BasicType, Expr, ExprId, Key, Stmt, StmtId, StmtNode, Tree, Type};
use kcl_syntax::program::{Package, PkgId, Program};
use rustc_hash::{FxHashMap, FxHashSet};

/// A checked package and the program around it.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The program.
    pub program: &'a Program,
    /// The package that is judged.
    pub package: PkgId,
    /// Its index.
    pub index: &'a PackageIndex,
    /// Who the packages of the program are, in their order.
    pub homes: &'a [Home],
    /// Whether nobody imports the package: it is run.
    pub is_program: bool,
    /// What is wrong with the program.
    pub errors: &'a [Diagnostic],
}

/// The input, and what several rules want to know of it.
pub(crate) struct Context<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) package: &'a Package,
    pub(crate) tree: &'a Tree,
    pub(crate) index: &'a PackageIndex,
    /// The declarations of this package that something reads, by their first byte.
    read: FxHashSet<u32>,
    /// Names that only the run can know: what a mixin expects of its host.
    open: FxHashSet<&'a str>,
    packages: FxHashMap<Home, PkgId>,
    /// Attribute statements by their first byte, of the packages that were asked about.
    attributes: RefCell<FxHashMap<Home, FxHashMap<u32, StmtId>>>,
    bound_configs: OnceCell<FxHashSet<ExprId>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(input: Input<'a>) -> Self {
        let package = input.program.package(input.package);
        let own = input.index.home();
        let read = input.index.occurrences().iter().filter(|o| o.role == Role::Read);
        let read = read.filter_map(|o| match &o.meaning {
            Meaning::Declared(spot) if spot.home == own => Some(spot.span.start),
            _ => None,
        });
        let homes = input.homes.iter().enumerate();
        Context {
            input,
            package,
            tree: &package.tree,
            index: input.index,
            read: read.collect(),
            open: input.index.unbound().iter().map(|(name, _)| name.as_str()).collect(),
            packages: homes.map(|(at, home)| (*home, PkgId(at as u32))).collect(),
            attributes: RefCell::default(),
            bound_configs: OnceCell::new(),
        }
    }

    /// Whether something reads a declaration of this package, as far as the text shows.
    pub(crate) fn is_read(&self, def: &Def) -> bool {
        self.read.contains(&def.span.start) || self.open.contains(def.name.as_str())
    }

    /// The text of a range of the package.
    pub(crate) fn text(&self, span: Span) -> &'a str {
        let (file, start) = self.package.locate(span.start);
        let end = start + (span.end - span.start);
        self.source(file).get(start as usize..end as usize).unwrap_or_default()
    }

    pub(crate) fn source(&self, file: FileId) -> &'a str {
        self.input.program.sources.get(file).map_or("", |file| &file.text)
    }

    /// The text before a place, to the beginning of its file.
    pub(crate) fn before(&self, offset: u32) -> &'a str {
        let (file, start) = self.package.locate(offset);
        self.source(file).get(..start as usize).unwrap_or_default()
    }

    /// The text from a place to the end of its file.
    pub(crate) fn after(&self, offset: u32) -> &'a str {
        let (file, start) = self.package.locate(offset);
        self.source(file).get(start as usize..).unwrap_or_default()
    }

    /// The name that begins at an offset of the package.
    pub(crate) fn occurrence(&self, start: u32) -> Option<&'a Occurrence> {
        let all = self.index.occurrences();
        let at = all.binary_search_by_key(&start, |o| o.span.start).ok()?;
        all.get(at)
    }

    /// The package that declares something.
    pub(crate) fn package_of(&self, spot: Spot) -> Option<&'a Package> {
        match spot.home == self.index.home() {
            true => Some(self.package),
            false => self.packages.get(&spot.home).map(|id| self.input.program.package(*id)),
        }
    }

    /// The attribute that is declared at a place.
    pub(crate) fn attribute(&self, spot: Spot) -> Option<(&'a Package, &'a Attr)> {
        let package = self.package_of(spot)?;
        let mut known = self.attributes.borrow_mut();
        let rows = known.entry(spot.home).or_insert_with(|| {
            let rows = package.tree.stmts.iter().enumerate();
            let start = |node: &StmtNode| match &node.kind {
                Stmt::Attr(attr) => Some(attr.name.span.start),
                _ => None,
            };
            rows.filter_map(|(at, node)| Some((start(node)?, StmtId(at as u32)))).collect()
        });
        match package.tree.stmt(*rows.get(&spot.span.start)?) {
            Stmt::Attr(attr) => Some((package, attr)),
            _ => None,
        }
    }

    /// Whether a key of braces is an attribute that its schema declares as text: then the schema knows what it means.
    pub(crate) fn is_text_attribute(&self, key: Span) -> bool {
        let meaning = self.occurrence(key.start).map(|occurrence| &occurrence.meaning);
        let Some(Meaning::Declared(spot)) = meaning else { return false };
        let is_text = |ty: &Type| matches!(ty, Type::Basic(BasicType::Str));
        self.attribute(*spot).is_some_and(|(package, attr)| is_text(package.tree.ty(attr.ty)))
    }

    /// Whether braces belong to a schema expression or an `if` entry, so that nothing else can stand in their place.
    pub(crate) fn is_bound_config(&self, id: ExprId) -> bool {
        let bound = self.bound_configs.get_or_init(|| {
            let mut bound = FxHashSet::default();
            for node in &self.tree.exprs {
                match &node.kind {
                    Expr::Schema(schema) => {
                        bound.insert(schema.config);
                    }
                    Expr::Config(entries) => {
                        for entry in entries {
                            if let Key::If { orelse, .. } = &entry.key {
                                bound.insert(entry.value);
                                bound.extend(orelse);
                            }
                        }
                    }
                    _ => {}
                }
            }
            bound
        });
        bound.contains(&id)
    }

    /// The expression without parentheses.
    pub(crate) fn bare(&self, id: ExprId) -> ExprId {
        match self.tree.expr(id) {
            Expr::Paren(inner) => self.bare(*inner),
            _ => id,
        }
    }

    /// The lines of a statement that stands alone on them, with their line break: what is deleted with it.
    pub(crate) fn whole_lines(&self, span: Span) -> Option<Span> {
        let before = self.before(span.start);
        let indent = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        if !before[before.len() - indent..].chars().all(|c| c == ' ' || c == '\t') {
            return None;
        }
        let after = self.after(span.end);
        let line = after.split_inclusive('\n').next().unwrap_or_default();
        if !line.trim().is_empty() {
            return None;
        }
        Some(Span::new(span.start - indent as u32, span.end + line.len() as u32))
    }
}

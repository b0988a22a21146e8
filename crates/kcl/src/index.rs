//! Questions about the names and types of a program: what hover, definition, references, rename and lint read.
//!
//! An [`Index`] is plain data: the loaded program and the index of each of its packages, which the compiler shares with every other
//! program that imports them.

use std::path::PathBuf;
use std::sync::Arc;

use base_diag::{Diagnostic, FileId, Span};
use kcl_check::index::{DefKind, Meaning, Occurrence, PackageIndex, Role, Spot};
use kcl_check::{CheckOptions, Home};
use kcl_syntax::ast::Str;
use kcl_syntax::program::{Package, Program};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::compiler::{Compiler, Keep};
use crate::echoes;
use crate::request::Request;

/// The names and types of one program.
#[derive(Debug)]
pub struct Index {
    /// The program.
    pub program: Program,
    /// The indexes of its packages, in their order.
    pub packages: Vec<Arc<PackageIndex>>,
    /// Its compile errors: syntax, imports, types.
    pub diagnostics: Vec<Diagnostic>,
    homes: FxHashMap<Home, usize>,
}

/// A program that was checked, with the index of its main package.
#[derive(Debug)]
pub struct Analysis {
    /// The program.
    pub program: Program,
    /// The index of its main package; none if nothing could be loaded.
    pub index: Option<Arc<PackageIndex>>,
    /// Who its packages are, in their order.
    pub homes: Vec<Home>,
    /// Its compile errors, the reference's first one first; echoes of one mistake are left out.
    pub diagnostics: Vec<Diagnostic>,
    /// Root of the main module.
    pub root: PathBuf,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defined {
    /// Something of the program.
    Here(DefKind),
    /// A built-in function.
    Builtin,
    /// A member of a system module.
    SystemMember,
    /// A method.
    Method,
}

/// The answer to "what is this?".
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// Its name.
    pub name: Str,
    /// What it is.
    pub kind: Defined,
    /// Where it is declared; built-ins are nowhere.
    pub place: Option<(FileId, Span)>,
}

/// One place where a thing is named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reference {
    /// The file.
    pub file: FileId,
    /// The name, in offsets of the file; a quoted key with its quotes.
    pub span: Span,
    /// Declares, sets or reads.
    pub role: Role,
}

/// A type at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Typed {
    /// The name or expression, in offsets of its file.
    pub span: Span,
    /// The text of its type.
    pub text: String,
}

pub(crate) fn make_index(compiler: &Compiler<'_>, request: &Request) -> Index {
    let loaded = compiler.load(request);
    let edition = request.edition.or(loaded.edition).unwrap_or_default();
    let (units, found) = compiler.check(&loaded, CheckOptions { edition }, request, Keep::Index);
    let mut diagnostics = loaded.diagnostics;
    diagnostics.extend(found);
    let packages: Vec<Arc<PackageIndex>> = units.iter().filter_map(|unit| unit.index().cloned()).collect();
    let homes = packages.iter().enumerate().map(|(at, package)| (package.home(), at)).collect();
    Index { program: loaded.program, packages, diagnostics, homes }
}

pub(crate) fn make_analysis(compiler: &Compiler<'_>, request: &Request) -> Analysis {
    let loaded = compiler.load(request);
    let edition = request.edition.or(loaded.edition).unwrap_or_default();
    let mut diagnostics = loaded.diagnostics.clone();
    let mut units = Vec::new();
    if !diagnostics.iter().any(|d| d.id == "no-input") {
        let (checked, found) = compiler.check(&loaded, CheckOptions { edition }, request, Keep::MainIndex);
        diagnostics.extend(found);
        units = checked;
    }
    if !diagnostics.is_empty() {
        diagnostics = echoes::told(diagnostics, request, &loaded.program.sources);
    }
    let index = units.get(loaded.program.main.0 as usize).and_then(|unit| unit.index().cloned());
    let homes = units.iter().map(|unit| unit.home()).collect();
    Analysis { program: loaded.program, index, homes, diagnostics, root: loaded.root }
}

impl Index {
    /// Returns the file of a path as the program knows it: of the main package, if it is there, too.
    pub fn file(&self, path: &str) -> Option<FileId> {
        let files = self.program.packages.iter().rev().flat_map(|package| &package.files);
        files.copied().find(|id| self.program.sources.get(*id).is_some_and(|file| file.path == path))
    }

    fn package_of(&self, file: FileId) -> Option<(usize, u32)> {
        self.program.packages.iter().enumerate().find_map(|(at, package)| {
            let place = package.files.iter().position(|id| *id == file)?;
            Some((at, package.tree.files.get(place)?.base))
        })
    }

    fn locate(&self, package: usize, span: Span) -> (FileId, Span) {
        let (file, start) = self.program.packages[package].locate(span.start);
        (file, Span::new(start, start + (span.end - span.start)))
    }

    /// Returns the type of the name or of the smallest expression at an offset.
    pub fn type_at(&self, file: FileId, offset: u32) -> Option<Typed> {
        let (at, base) = self.package_of(file)?;
        let (package, index) = (&self.program.packages[at], self.packages.get(at)?);
        let offset = base + offset;
        let (span, ty) = match index.occurrence_at(offset) {
            Some(name) if let Some(ty) = index.part_type(name.span.start) => (name.span, ty),
            _ => smallest_typed(package, index, offset)?,
        };
        Some(Typed { span: Span::new(span.start - base, span.end - base), text: index.text(ty) })
    }

    /// Returns what the name at an offset stands for.
    pub fn definition(&self, file: FileId, offset: u32) -> Option<Definition> {
        let (at, base) = self.package_of(file)?;
        let name = self.packages.get(at)?.occurrence_at(base + offset)?;
        self.defined(&name.meaning)
    }

    /// Returns what a meaning stands for.
    pub fn defined(&self, meaning: &Meaning) -> Option<Definition> {
        let (kind, name) = match meaning {
            Meaning::Builtin(name) => (Defined::Builtin, name),
            Meaning::System(name) => (Defined::SystemMember, name),
            Meaning::Method(name) => (Defined::Method, name),
            Meaning::Declared(_) | Meaning::Member(..) => {
                let spot = self.spot(meaning)?;
                let at = *self.homes.get(&spot.home)?;
                let def = self.packages.get(at)?.def_at(spot.span)?;
                let place = Some(self.locate(at, def.span));
                return Some(Definition { name: def.name.clone(), kind: Defined::Here(def.kind), place });
            }
        };
        Some(Definition { name: name.clone(), kind, place: None })
    }

    /// The place that a meaning is declared at.
    fn spot(&self, meaning: &Meaning) -> Option<Spot> {
        match meaning {
            Meaning::Declared(spot) => Some(*spot),
            Meaning::Member(home, name) => {
                let at = *self.homes.get(home)?;
                self.packages.get(at)?.global(name)
            }
            Meaning::Builtin(_) | Meaning::System(_) | Meaning::Method(_) => None,
        }
    }

    /// Returns every place of the program that names what the name at an offset stands for, its declarations among them. An
    /// attribute that a schema declares again, or that a mixin or protocol shares with it, is one thing.
    pub fn references(&self, file: FileId, offset: u32) -> Vec<Reference> {
        let Some((at, base)) = self.package_of(file) else { return Vec::new() };
        let name = self.packages.get(at).and_then(|index| index.occurrence_at(base + offset));
        let Some(name) = name else { return Vec::new() };
        let spots = self.spot(&name.meaning).map(|spot| self.one_thing(spot));
        let is_it = |other: &Occurrence| match &spots {
            Some(spots) => self.spot(&other.meaning).is_some_and(|spot| spots.contains(&spot)),
            None => other.meaning == name.meaning,
        };
        let mut found = Vec::new();
        for (at, index) in self.packages.iter().enumerate() {
            for other in index.occurrences().iter().filter(|other| is_it(other)) {
                let (file, span) = self.locate(at, other.span);
                found.push(Reference { file, span, role: other.role });
            }
        }
        found.sort();
        found.dedup_by_key(|reference| (reference.file, reference.span));
        found
    }

    /// All declarations of one thing.
    fn one_thing(&self, spot: Spot) -> FxHashSet<Spot> {
        let mut spots: FxHashSet<Spot> = [spot].into_iter().collect();
        loop {
            let before = spots.len();
            for (a, b) in self.packages.iter().flat_map(|index| index.links()) {
                if spots.contains(a) || spots.contains(b) {
                    spots.extend([*a, *b]);
                }
            }
            if spots.len() == before {
                return spots;
            }
        }
    }
}

/// The smallest expression around an offset whose type is known.
fn smallest_typed(
    package: &Package,
    index: &PackageIndex,
    offset: u32,
) -> Option<(Span, kcl_check::index::TypeRef)> {
    let covers = |span: Span| span.start <= offset && offset < span.end;
    let nodes = package.tree.exprs.iter().enumerate().filter(|(_, node)| covers(node.span));
    let typed = nodes
        .filter_map(|(at, node)| Some((node.span, index.expr_type(kcl_syntax::ast::ExprId(at as u32))?)));
    typed.min_by_key(|(span, _)| span.end - span.start)
}

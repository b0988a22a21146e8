//! A loaded program: packages of trees, and what each import means. Made by the loader, read by checker and evaluator.

use std::sync::Arc;

use base_diag::{FileId, Place, SourceMap, Span};

use crate::ast::{StmtId, Str, Tree};
use crate::lower::Rewrite;

/// A package of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PkgId(pub u32);

/// Everything that one run looks at.
#[derive(Clone, Debug)]
pub struct Program {
    /// Texts of all files, for positions and rendering.
    pub sources: SourceMap,
    /// Packages: an imported package stands before the package that imports it; main is the last.
    pub packages: Vec<Package>,
    /// The main package.
    pub main: PkgId,
}

/// One package.
#[derive(Clone, Debug)]
pub struct Package {
    /// Dotted path; `__main__` for the main package.
    pub path: Str,
    /// All its files in one tree.
    pub tree: Arc<Tree>,
    /// Members of imported packages that are written otherwise in the tree that is run.
    pub members: Vec<Rewrite>,
    /// For each file of the tree, its id in the source map.
    pub files: Vec<FileId>,
    /// Import statements in source order with what they mean.
    pub imports: Vec<ImportLink>,
}

/// What an import statement binds.
#[derive(Clone, Debug)]
pub struct ImportLink {
    /// The statement.
    pub stmt: StmtId,
    /// The name it binds, in all files of the package.
    pub name: Str,
    /// What stands behind the name.
    pub target: ImportTarget,
}

/// What stands behind an import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImportTarget {
    /// A package of this program.
    Package(PkgId),
    /// A system module (`math`).
    System(Str),
    /// A plugin (`hello` of `kcl_plugin.hello`).
    Plugin(Str),
    /// Not found; the loader has reported it.
    Missing,
}

impl Program {
    /// Returns a package.
    pub fn package(&self, id: PkgId) -> &Package {
        &self.packages[id.0 as usize]
    }

    /// Returns the main package.
    pub fn main_package(&self) -> &Package {
        self.package(self.main)
    }
}

impl Package {
    /// Turns a package span into a diagnostic place.
    pub fn place(&self, span: Span) -> Place {
        let (idx, start) = self.tree.locate(span.start);
        let file = self.files.get(idx).copied().unwrap_or_default();
        Place::Span(file, Span::new(start, start + (span.end - span.start)))
    }

    /// Turns a package offset into (file, offset in file).
    pub fn locate(&self, offset: u32) -> (FileId, u32) {
        let (idx, local) = self.tree.locate(offset);
        (self.files.get(idx).copied().unwrap_or_default(), local)
    }
}

//! A program that is checked but not run: what tools look at.

use std::path::PathBuf;
use std::sync::Arc;

use base_diag::Diagnostic;
use kcl_check::{CheckOptions, PackageTypes};
use kcl_syntax::program::Program;

use crate::compiler::{Compiler, Keep};
use crate::echoes;
use crate::request::Request;
use crate::run::deep;

/// A program with the types of its packages.
#[derive(Debug)]
pub struct Checked {
    /// The program; complete even where something is wrong.
    pub program: Program,
    /// The types of each package, in the order of the program's packages; short if nothing could be loaded.
    pub types: Vec<Arc<PackageTypes>>,
    /// For each package the folder or file that it stands in; the main package is nowhere.
    pub places: Vec<Option<PathBuf>>,
    /// Root of the main module.
    pub root: PathBuf,
    /// Errors, the reference's first one first.
    pub diagnostics: Vec<Diagnostic>,
}

impl Compiler<'_> {
    /// Loads and checks a program without running it.
    pub fn checked(&self, request: &Request) -> Checked {
        deep(|| {
            let mut loaded = self.load(request);
            let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
            let mut types = Vec::new();
            if !diagnostics.iter().any(|d| d.id == "no-input") {
                let edition = request.edition.or(loaded.edition).unwrap_or_default();
                let (units, found) = self.check(&loaded, CheckOptions { edition }, request, Keep::Types);
                types.extend(units.iter().map(|unit| unit.types.clone()));
                diagnostics.extend(found);
            }
            if !diagnostics.is_empty() {
                diagnostics = echoes::told(diagnostics, request, &loaded.program.sources);
            }
            let crate::load::Loaded { program, root, places, .. } = loaded;
            Checked { program, types, places, root, diagnostics }
        })
    }
}

//! A program that was loaded and checked once and runs many times, for one of its functions each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base_diag::{Diagnostic, Place, SourceMap};
use kcl_check::Edition;
use kcl_eval::{Coverage, Outline, Outside};
use kcl_syntax::program::Program;

use crate::compiler::Compiler;
use crate::reads::Reads;
use crate::request::Request;
use crate::run::{Ready, RunResult, deep_here, eval_options, internal_error, prepare_here};
use crate::snapshot::Watched;

/// A checked program; any number of threads call its functions.
pub struct Prepared {
    program: Program,
    outlines: Vec<Arc<Outline>>,
    request: Request,
    edition: Edition,
    root: PathBuf,
    modules: Vec<PathBuf>,
    /// What loading it read.
    pub reads: Reads,
}

/// What became of a call.
#[derive(Debug, Default)]
pub struct Call {
    /// What `print` wrote.
    pub log: String,
    /// Whether the arguments are none that the parameters take: the function did not run.
    pub refused: bool,
    /// The error, if there was one.
    pub diagnostic: Option<Diagnostic>,
    /// Where the lambda was called that the error was found in.
    pub caller: Option<Place>,
    /// Both sides of the comparison of an assertion that does not hold, as YAML.
    pub sides: Option<(String, String)>,
    /// What ran, if the request records it.
    pub coverage: Option<Coverage>,
}

impl Compiler<'_> {
    /// Loads and checks a program.
    ///
    /// # Errors
    /// What is wrong with it, with the texts and what was read.
    pub fn prepare(&self, request: &Request) -> Result<Prepared, Box<RunResult>> {
        let (files, revision) = (Watched::new(self.snapshot()), self.snapshot().revision());
        let ready = deep_here(|| prepare_here(self, request, &files));
        let reads = |files: Watched<'_>| {
            let mut reads = Reads::default();
            reads.revision = revision;
            reads.facts = files.into_facts();
            reads
        };
        match ready {
            Ok(Ready { loaded, outlines, edition }) => {
                let modules = loaded.modules(&files).into_iter().map(Path::to_path_buf).collect();
                let (reads, request) = (reads(files), request.clone());
                let (program, root) = (loaded.program, loaded.root);
                Ok(Prepared { program, outlines, request, edition, root, modules, reads })
            }
            Err(mut outcome) => {
                outcome.reads = reads(files);
                Err(outcome)
            }
        }
    }
}

impl Prepared {
    /// Returns the program as it runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the texts of the program.
    pub fn sources(&self) -> &SourceMap {
        &self.program.sources
    }

    /// Runs the program and calls a function of its main package; arguments are JSON texts.
    pub fn call(&self, function: &str, arguments: &[String], world: &dyn Outside) -> Call {
        let modules: Vec<&Path> = self.modules.iter().map(PathBuf::as_path).collect();
        world.enter(&modules);
        let options = eval_options(&self.request, self.edition, &self.root);
        let run = || {
            deep_here(|| {
                kcl_eval::call(&self.program, &self.outlines, &options, world, (function, arguments))
            })
        };
        let Ok(called) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) else {
            return Call { diagnostic: Some(internal_error()), ..Call::default() };
        };
        let mut fault = called.fault;
        let sides = fault.as_mut().and_then(|fault| fault.sides.take()).map(|sides| *sides);
        let caller = fault.as_ref().and_then(|fault| fault.caller);
        let diagnostic = fault.map(|fault| fault.into_diagnostic(&self.program));
        Call {
            log: called.log,
            refused: called.refused,
            diagnostic,
            caller,
            sides,
            coverage: called.coverage,
        }
    }
}

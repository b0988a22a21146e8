//! The evaluator: a checked program in, one value and its text out.
//!
//! # How a program runs
//!
//! Evaluation walks the arena tree directly; there is no second representation. Four ideas carry everything:
//!
//! 1. **Lazy records** (`record.rs`, `lazy.rs`). The globals of a package and the attributes of an instance under
//!    construction are the same thing: named slots, each with the statements that set it. There are no thunks: a slot
//!    that is read too early makes its last setter *run*, and what was read is cached in the record. Statements are
//!    then still executed in order for their effects. Cycles meet a slot that is being computed and read Undefined.
//! 2. **Dynamic scopes** (`scope.rs`, `names.rs`). Every package has a stack of frames. Braces, loops and calls push
//!    one; a lambda brings the frames it captured. Inside a body, the instance under construction is asked first,
//!    unless the name is *marked* as a loop variable or an argument.
//! 3. **Merging by operator** (`union.rs`). Every entry remembers whether it was written with `:`, `=` or `+=`, and
//!    whoever merges obeys. Merges are exact because values are immutable: `Rc` and copy-on-write, so nobody sees a
//!    half-done merge, and "a deep copy on every assignment" costs nothing.
//! 4. **Instances** (`build.rs`). One record per instance, shared by all bodies of the chain; configuration is merged
//!    again after every store and so has the last word; changing a finished instance runs its schema again.
//!
//! Who caches what: records cache what was read; an [`Outline`] knows what a package is before it runs (symbols, converted
//! types, the shapes of schemas, which names a frame can bind at all) and is shared by programs and threads. Nothing is global, so
//! thousands of programs can run side by side.
//!
//! What keeps it fast: the usual case does no work that only the unusual one needs. A statement stores into the slot after the
//! last one without hashing, the first entry of a key is stored without a merge, a loop holds its container instead of a copy,
//! a dict has no index until somebody asks for a key of a large one, and origins cost one test when they are off.
//!
//! The line of a run-time error is the node that was *started* last (`Machine::at`), as in the reference.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod access;
mod braces;
mod build;
mod call;
mod calling;
mod checks;
mod comp;
mod context;
mod coverage;
mod edition;
mod expr;
mod fault;
mod host;
mod import_order;
mod lazy;
mod machine;
mod mistake;
mod names;
mod ops;
mod options;
mod origin;
mod outline;
mod output;
mod pack;
mod package;
mod record;
mod required;
mod rtype;
mod schema;
mod scope;
mod stmt;
mod telling;
mod union;
mod walk;

pub use calling::{Called, call};
pub use coverage::Coverage;
pub use fault::Fault;
pub use mistake::{Broken, Misfit, Mistake};
pub use options::{Cancel, NoOutside, Options, Outside};
pub use origin::{Origin, OriginKind, Origins};
pub use outline::Outline;

use std::sync::Arc;

use base_diag::Place;
use kcl_syntax::program::Program;
use kcl_value::{OutputOptions, Str, Value};

use crate::machine::Machine;

/// What a program computed.
#[derive(Debug)]
pub struct Evaluation {
    /// What `print` wrote.
    pub log: String,
    /// The planned and selected value, or the run-time error.
    pub result: Result<Output, Fault>,
    /// Further errors, if the run was to go on after the first; it was the one that the result is.
    pub others: Vec<Fault>,
    /// Names of the options that it asked for, each once, sorted.
    pub asked: Vec<Str>,
    /// Steps of work that were counted.
    pub steps: u64,
}

/// The output of a successful run.
#[derive(Debug)]
pub struct Output {
    /// The value.
    pub value: Value,
    /// Text that replaces it (`manifests.yaml_stream`).
    pub replaced: Option<String>,
    /// Where the call stands that replaced it.
    pub replaced_at: Place,
    /// The documents of that text, and how they were written.
    pub streamed: Option<(Value, OutputOptions)>,
    /// Where values came from, if tracked.
    pub origins: Option<Origins>,
}

impl Output {
    /// Returns the YAML text, without a final newline.
    pub fn yaml(&self, options: &Options) -> String {
        match &self.replaced {
            Some(text) => text.clone(),
            None => output::yaml_text(&self.value, &options.output),
        }
    }

    /// Returns the value that the text shows, and whether its items are documents of their own.
    pub fn shown(&self) -> (&Value, bool) {
        match &self.streamed {
            Some((documents, _)) => (documents, true),
            None => (&self.value, output::is_stream(&self.value)),
        }
    }

    /// Returns the values that the text shows, one per document, and how they are written. What is not even null is left out.
    pub fn documents(&self, options: &Options) -> (Vec<&Value>, OutputOptions) {
        match &self.streamed {
            Some((documents, written)) => {
                (documents.as_list().unwrap_or_default().iter().collect(), *written)
            }
            None => (output::documents(&self.value), options.output),
        }
    }

    /// Returns the JSON text; `indent` 0 is one line.
    pub fn json(&self, options: &Options, indent: usize) -> String {
        match &self.replaced {
            Some(text) => kcl_std::json_of_stream(text, indent),
            None => output::json_text(&self.value, &options.output, indent),
        }
    }
}

/// Runs a checked program; `outlines` are those of its packages, by id. Needs a deep stack: see [`STACK_BYTES`].
pub fn evaluate(
    program: &Program,
    outlines: &[Arc<Outline>],
    options: &Options,
    world: &dyn Outside,
) -> Evaluation {
    let mut machine = Machine::new(program, outlines, options, world);
    machine.load_packages();
    let mut result = run(&mut machine).map_err(|fault| *fault);
    let mut others = std::mem::take(&mut machine.collected);
    if !others.is_empty() {
        others.extend(result.err());
        result = Err(others.remove(0));
    }
    let mut asked = machine.asked.take();
    asked.sort_unstable();
    asked.dedup();
    let evaluation =
        Evaluation { log: std::mem::take(&mut machine.log), others, asked, steps: machine.steps, result };
    if options.one_shot {
        std::mem::forget(machine);
    }
    evaluation
}

/// Stack that [`evaluate`] needs for the default depth limit.
pub const STACK_BYTES: usize = 256 << 20;

/// Runs all packages, imported ones first.
fn run_packages(machine: &mut Machine<'_>) -> fault::Eval<()> {
    let early = import_order::early_bases(machine.program);
    for (package, early) in early.iter().enumerate() {
        if let Some((name, span)) = early {
            return Err(machine.imported_late(package, name, *span));
        }
        machine.run_package(package)?;
    }
    Ok(())
}

fn run(machine: &mut Machine<'_>) -> fault::Eval<Output> {
    run_packages(machine)?;
    let value = machine.planned_value()?;
    let value = machine.selected_value(value)?;
    machine.charge_total(kcl_value::weight(&value, machine.options.output.show_hidden))?;
    let (replaced, streamed) = (machine.output.take(), machine.streamed.take());
    let replaced_at = machine.replaced_at;
    Ok(Output { value, replaced, replaced_at, streamed, origins: machine.origins.take() })
}

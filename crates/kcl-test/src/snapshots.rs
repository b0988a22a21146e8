//! `snapshot(name, value)`: a value beside the test, compared whenever the test runs.
//!
//! The function is an ordinary lambda that is put beside the test files; it hands the value to a plugin, which is the
//! `Recorder`. So test files stay plain KCL, and the evaluator knows nothing of snapshots.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use base_diag::{Code, Diagnostic, Label, Place, SourceMap};
use kcl::{Entry, FileAnswer, FileOp, Outside, Reason};
use kcl_syntax::ast::{Expr, ExprId, Tree};
use kcl_syntax::program::Program;
use serde_json::Value;

use crate::cases::{self, Case};
use crate::suite::{Failure, Ran};

/// The name of the function that takes snapshots.
pub(crate) const SNAPSHOT: &str = "snapshot";

/// The plugin that takes snapshots.
pub(crate) const PLUGIN: &str = "kcl_test";

/// The folder of snapshots beside the tests.
pub const FOLDER: &str = "__snapshots__";

/// The file with the function.
pub(crate) fn helper(folder: &str) -> Entry {
    let path = format!("{folder}/{HELPER}");
    let text = "import kcl_plugin.kcl_test as _kcl_test\n\nsnapshot = lambda name: str, value: any {\n    \
                _kcl_test.snapshot(name, value)\n}\n";
    Entry::Source { path, text: text.to_owned() }
}

/// A name that no file of a package has.
pub(crate) const HELPER: &str = "<kcl test>.k";

/// A value that a case wants to keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Its name.
    pub name: String,
    /// The value as JSON text, indented, with a final newline.
    pub text: String,
    /// Where the case calls `snapshot` for it, as far as the text shows.
    pub place: Place,
}

impl Taken {
    /// Returns the name of the file in [`FOLDER`] that keeps it for a case.
    pub fn file_of(&self, case: &str) -> Option<String> {
        Some(format!("{case}.{}", self.file_name()?))
    }

    /// The name as one for a file: letters, digits, `-`, `_` and `.`.
    fn file_name(&self) -> Option<String> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let fine = !self.name.is_empty() && self.name.chars().all(plain) && !self.name.starts_with('.');
        fine.then(|| format!("{}.json", self.name))
    }
}

/// A world that takes snapshots.
pub(crate) struct Recorder<'w> {
    world: &'w dyn Outside,
    taken: Mutex<Vec<Taken>>,
    /// A property is tried with random values: none is worth keeping.
    refuses: bool,
}

impl<'w> Recorder<'w> {
    pub(crate) fn new(world: &'w dyn Outside) -> Self {
        Recorder { world, taken: Mutex::default(), refuses: false }
    }

    pub(crate) fn of_property(world: &'w dyn Outside) -> Self {
        Recorder { refuses: true, ..Recorder::new(world) }
    }

    pub(crate) fn into_taken(self) -> Vec<Taken> {
        self.taken.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, arguments: &str) -> Result<String, String> {
        if self.refuses {
            return Err("a property takes no snapshots: its values are random".to_owned());
        }
        let call: Value = serde_json::from_str(arguments).map_err(|e| format!("snapshot: {e}"))?;
        let name = call["args"][0].as_str().unwrap_or_default().to_owned();
        let text = serde_json::to_string_pretty(&call["args"][1]).map_err(|e| format!("snapshot: {e}"))?;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.iter().any(|known| known.name == name) {
            return Err(format!("the case takes two snapshots of the name `{name}`"));
        }
        let new = Taken { name, text: format!("{text}\n"), place: Place::None };
        if new.file_name().is_none() {
            return Err(format!(
                "`{}` is no name for a snapshot: use letters, digits, `-`, `_` and `.`",
                new.name
            ));
        }
        taken.push(new);
        Ok("null".to_owned())
    }
}

impl Outside for Recorder<'_> {
    fn enter(&self, modules: &[&Path]) {
        self.world.enter(modules);
    }

    fn read_file(&self, path: &Path) -> Result<Vec<u8>, Reason> {
        self.world.read_file(path)
    }

    fn write_file(&self, path: &Path, data: &[u8], append: bool) -> Result<(), Reason> {
        self.world.write_file(path, data, append)
    }

    fn file_op(&self, op: FileOp<'_>) -> Result<FileAnswer, Reason> {
        self.world.file_op(op)
    }

    fn env(&self, name: &str) -> Option<String> {
        self.world.env(name)
    }

    fn now(&self) -> (i64, u32, i32) {
        self.world.now()
    }

    fn random(&self) -> Result<[u8; 16], Reason> {
        self.world.random()
    }

    fn call_plugin(&self, module: &str, function: &str, arguments: &str) -> Result<String, String> {
        match (module, function) {
            (PLUGIN, "snapshot") => self.take(arguments),
            _ => self.world.call_plugin(module, function, arguments),
        }
    }
}

/// Fails a case that passed, if one of its snapshots is another than the one that is kept. `kept` reads a file of [`FOLDER`].
pub fn compare(case: &Case, ran: &mut Ran, kept: impl Fn(&str) -> Option<String>) {
    if !ran.is_ok() {
        return;
    }
    for taken in &ran.snapshots {
        let Some(kept) = taken.file_of(&case.name).map(|file| kept(&file)) else { continue };
        let Some(diff) = difference(taken, kept.as_deref()) else { continue };
        let (message, help) = match kept {
            Some(_) => (
                format!("the snapshot `{}` is another than the one that is kept", taken.name),
                "`kcl test --update` keeps the new one",
            ),
            None => {
                (format!("the snapshot `{}` is not kept yet", taken.name), "`kcl test --update` keeps it")
            }
        };
        ran.failure = Some(failed(message, diff, taken.place).with_help(help));
        return;
    }
}

/// A case that failed because of its snapshots.
pub fn failed(message: String, diff: String, place: Place) -> Failure {
    Failure { diagnostic: Diagnostic::error(Code::EVALUATION, "snapshot-differs", place, message), diff }
}

impl Failure {
    fn with_help(mut self, help: &str) -> Failure {
        self.diagnostic = self.diagnostic.with_help(help);
        self
    }
}

/// Compares a snapshot with what is kept; none if they are the same.
pub fn difference(taken: &Taken, kept: Option<&str>) -> Option<String> {
    // Git may have checked the file out with the line ends of Windows.
    let kept = kept.map(|kept| kept.replace("\r\n", "\n"));
    match kept {
        Some(kept) if kept == taken.text => None,
        kept => Some(kcl_fmt::diff::unified("kept", "now", kept.as_deref().unwrap_or_default(), &taken.text)),
    }
}

/// Whether an expression is a call of the function.
pub(crate) fn takes(tree: &Tree, id: ExprId) -> bool {
    let Expr::Call(call) = tree.expr(id) else { return false };
    matches!(tree.expr(call.func), Expr::Name(parts) if parts.len() == 1 && parts[0].name == SNAPSHOT)
}

/// The call that takes the snapshot of a name: in the case itself, or where a lambda does it for the case. A name that is computed
/// is told at the case.
pub(crate) fn place_of(program: &Program, case: &Case, name: &str) -> Place {
    let package = program.main_package();
    let tree = &package.tree;
    let says = |id: ExprId| matches!(tree.expr(id), Expr::Str(text) if text == name);
    let fits = |id: &ExprId| match tree.expr(*id) {
        Expr::Call(call) => {
            let named = call.kwargs.iter().find(|keyword| keyword.name.name == "name");
            takes(tree, *id) && call.args.first().copied().or(named.map(|k| k.value)).is_some_and(says)
        }
        _ => false,
    };
    let calls: Vec<ExprId> = (0..tree.exprs.len() as u32).map(ExprId).filter(fits).collect();
    let body = cases::lambda(package, &case.name).map(|(_, id)| tree.expr_span(id));
    let inside = |id: &&ExprId| {
        let start = tree.expr_span(**id).start;
        body.is_some_and(|body| (body.start..body.end).contains(&start))
    };
    match calls.iter().find(inside).or(calls.first()) {
        Some(call) => package.place(tree.expr_span(*call)),
        None => cases::lambda(package, &case.name).map_or(Place::None, |(name, _)| package.place(name.span)),
    }
}

/// Takes the helper, which nobody wrote, out of what is shown beside a mistake.
pub fn without_helper(diagnostic: Diagnostic, sources: &SourceMap) -> Diagnostic {
    at_the_call(diagnostic, None, sources)
}

/// Nobody wrote the helper: what is wrong there is wrong where it is called, and it is never shown beside something else.
pub(crate) fn at_the_call(
    mut diagnostic: Diagnostic,
    caller: Option<Place>,
    sources: &SourceMap,
) -> Diagnostic {
    let is_helper = |place: Place| match place {
        Place::Span(file, _) | Place::Line(file, _) => {
            sources.get(file).is_some_and(|file| file.path.ends_with(HELPER))
        }
        Place::None => false,
    };
    if let (Some(first), Some(caller)) = (diagnostic.labels.first_mut(), caller)
        && is_helper(first.place)
    {
        first.place = caller;
    }
    let shown = |label: &Label| !is_helper(label.place);
    diagnostic.labels.retain(shown);
    if let Some(telling) = &mut diagnostic.telling {
        telling.labels.retain(shown);
    }
    diagnostic
}

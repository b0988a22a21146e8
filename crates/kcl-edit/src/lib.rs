//! Changes to KCL source by path: `app.containers[name=main].image = "pay:v42"`.
//!
//! Texts in, edits out; nothing here reads or writes files. A [`Change`] is asked of the files of a stack ([`Member`]s, in the
//! order in which they run); [`plan`] answers with [`Edit`]s, byte ranges and texts, or says why not ([`Refusal`]). Only the
//! bytes of the value change: key, operator, comments, line ends stay. Where a path leads is `kcl_syntax::source`'s to
//! say, as for `-O`. [`apply`] makes the new texts and refuses what would not parse.
//! See docs/edit.md and docs/design/0010-source-paths.md.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod create;
mod layout;
mod overrides;
mod plan;
mod rename;
mod value;

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use base_diag::{Diagnostic, FileId, Span};
use kcl_syntax::ast::Tree;
use kcl_syntax::source::SourcePath;

pub use overrides::changes_of_override;
pub use plan::{Found, find, plan};
pub use rename::named;
pub use value::text_literal;

/// One file: its name in messages, and its text. It is parsed when somebody first asks.
#[derive(Debug)]
pub struct File {
    /// The name.
    pub name: String,
    /// The text.
    pub text: Arc<str>,
    parsed: OnceCell<(Tree, Vec<Diagnostic>)>,
}

impl File {
    /// Makes a file.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> File {
        File { name: name.into(), text: text.into(), parsed: OnceCell::new() }
    }

    fn parsed(&self) -> &(Tree, Vec<Diagnostic>) {
        self.parsed.get_or_init(|| {
            let mut tree = Tree::default();
            let errors = kcl_syntax::parse_file(&mut tree, &self.text, FileId(0));
            (tree, errors)
        })
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.parsed().0
    }

    /// Returns the syntax errors of the text; their file is number 0.
    pub fn errors(&self) -> &[Diagnostic] {
        &self.parsed().1
    }

    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
}

/// A file of a stack.
#[derive(Clone, Debug)]
pub struct Member {
    /// The file.
    pub file: Rc<File>,
    /// Whether it belongs to the stack itself and may be written.
    pub own: bool,
}

/// What is to be done at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Give it this value, a KCL expression.
    Set(String),
    /// Add this item, a KCL expression, to the list there.
    Append(String),
    /// Take it out.
    Unset,
}

/// One wish.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Where.
    pub path: SourcePath,
    /// What.
    pub action: Action,
}

/// Bytes of a file that become another text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// Number of the file among the members.
    pub file: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What stands there afterwards.
    pub text: String,
}

/// What a change comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It is so already.
    Unchanged,
    /// A value was replaced.
    Replaced,
    /// Something new was written.
    Created,
    /// Something was taken out.
    Removed,
    /// A name was changed.
    Renamed,
}

impl Effect {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Effect::Unchanged => "unchanged",
            Effect::Replaced => "replaced",
            Effect::Created => "created",
            Effect::Removed => "removed",
            Effect::Renamed => "renamed",
        }
    }
}

/// The edits that make a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditPlan {
    /// Edits that do not overlap, by file and place.
    pub edits: Vec<Edit>,
    /// What they do.
    pub outcome: Effect,
    /// The file that is meant, even if nothing has to change.
    pub file: Option<usize>,
}

/// Why a change is not made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// A stable name.
    pub id: &'static str,
    /// The sentence.
    pub message: String,
    /// What to do next.
    pub help: String,
    /// The place that is in the way: number of the member, and range.
    pub at: Option<(usize, Span)>,
}

impl Refusal {
    pub(crate) fn new(id: &'static str, message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal { id, message: message.into(), help: help.into(), at: None }
    }

    pub(crate) fn at(self, file: usize, span: Span) -> Refusal {
        Refusal { at: Some((file, span)), ..self }
    }
}

/// Makes the new files of a plan, by number of the member.
///
/// # Errors
/// A new text would not parse: nothing of the plan may be written.
pub fn apply(members: &[Member], plan: &EditPlan) -> Result<Vec<(usize, File)>, Refusal> {
    let mut out: Vec<(usize, File)> = Vec::new();
    let mut numbers: Vec<usize> = plan.edits.iter().map(|edit| edit.file).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let Some(member) = members.get(number) else { continue };
        let edits = plan.edits.iter().filter(|edit| edit.file == number);
        let text = layout::spliced(&member.file.text, edits);
        let file = File::new(member.file.name.clone(), text);
        if let Some(error) = file.errors().first() {
            let message = format!("the change would break {}: {}", file.name, error.message());
            let help = "write the value as a KCL expression that can stand there; text needs its quotes";
            return Err(Refusal::new("breaks-file", message, help));
        }
        out.push((number, file));
    }
    Ok(out)
}

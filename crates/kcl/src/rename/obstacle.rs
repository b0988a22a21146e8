//! What stands in the way of another name: a kind with its facts, and the words for it.

use base_diag::Span;

/// Why a thing keeps its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// There is nothing with a name of its own.
    NoThing,
    /// A program does not compile.
    Broken(String),
    /// The new name is no name, or cannot stand where the old one does.
    BadName(String),
    /// The new name is in use.
    Taken(String),
    /// The name is written in a way that is not understood.
    Odd(String),
    /// The name stands here, and no type tells whether the thing is meant.
    Untyped(String),
    /// A variable is written as a type.
    AsType(String),
    /// Something else has the name, and a body or lambda may see either.
    Dynamic(String),
    /// The program would not compile afterwards.
    Breaks(String),
    /// A name would mean something else afterwards.
    Captured(String),
}

/// Why, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle {
    /// Why.
    pub why: Why,
    /// The file and the range in it.
    pub at: Option<(String, Span)>,
}

impl Obstacle {
    pub(super) fn at(why: Why, path: &str, span: Span) -> Obstacle {
        Obstacle { why, at: Some((path.to_owned(), span)) }
    }

    /// Returns a stable name, the sentence, and what to do next.
    pub fn words(&self) -> (&'static str, String, &'static str) {
        let hand = "edit the files by hand";
        match &self.why {
            Why::NoThing => (
                "no-name",
                "nothing with a name of its own stands here".into(),
                "name a variable, schema, attribute or key",
            ),
            Why::Broken(error) => {
                ("broken-file", format!("the program does not compile: {error}"), "correct it first")
            }
            Why::BadName(new) => {
                let help = "letters, digits and _, no digit first, no keyword";
                ("bad-name", format!("`{new}` cannot be its name"), help)
            }
            Why::Taken(new) => ("name-taken", format!("`{new}` is in use already"), "choose another name"),
            Why::Odd(old) => ("unclear", format!("it is written `{old}` here"), hand),
            Why::Untyped(name) => {
                let help = "declare the type of what stands before it, or edit the files by hand";
                ("unclear", format!("`{name}` stands here, and no type tells whether it is meant"), help)
            }
            Why::AsType(name) => {
                ("unclear", format!("the variable `{name}` is written as a type here"), hand)
            }
            Why::Dynamic(name) => {
                let message = format!(
                    "another `{name}` stands here, and a schema or lambda may read either: what it reads depends on who calls it"
                );
                ("unclear", message, "give this one another name first")
            }
            Why::Breaks(error) => (
                "breaks-file",
                format!("the program would not compile any more: {error}"),
                "choose another name",
            ),
            Why::Captured(name) => {
                ("name-taken", format!("`{name}` would mean something else here"), "choose another name")
            }
        }
    }
}

//! What the running code stands in: one value, saved where other code begins and put back where it ends.
//!
//! The reference keeps most of these in registers that whoever needs them sets and restores; which code sees which of them is
//! part of the language. Here they are one [`Context`]: a lambda, a body and a statement that is read early each say how
//! theirs differs from the one around, and nobody can forget to put one back. A failed call that is caught puts it back, too
//! (`host.rs`). Each field names the specs that break without it.

use crate::edition::Siblings;
use crate::machine::Machine;
use crate::record::Side;
use crate::scope::TextStart;
use kcl_syntax::ast::StmtId;

/// What the running code stands in.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Context {
    /// Where the frames of the running text begin. Needed by spec/behaviour/lambdas.md (closures of a loop, braces around a
    /// call) and lambdas-and-bodies.md.
    pub(crate) text: TextStart,
    /// The lambda that the running code stands in, if no body or statement was started since. Needed by
    /// spec/behaviour/lambdas-and-bodies.md (lambdas made in bodies, lambdas that read forward).
    pub(crate) own_lambda: OwnLambda,
    /// Whether a lambda is running, directly or further out. Bodies that run then see what there is: see `lazy.rs`. Needed by
    /// spec/behaviour/lambdas-and-bodies.md (a lambda that a body calls).
    pub(crate) in_lambda: bool,
    /// Edition 0.13: the braces whose keys come before the attributes of the body they stand in. Needed by
    /// spec/reference/edition-013.md (sibling keys).
    pub(crate) siblings: Siblings,
    /// Schema expressions and bodies we are inside of; 0 means that an instance is a top-level one, whose required attributes
    /// are tested at once. Needed by spec/behaviour/empty-dicts.md.
    pub(crate) nesting: u32,
    /// The `if` that is being run lazily for one of its assignments. Needed by spec/behaviour/keys.md (an if that changes two
    /// variables) and spec/reference/edition-013.md (a forward read falls back).
    pub(crate) backtrack: Option<Backtrack>,
    /// How many statements are running because somebody read what they set. Needed by spec/behaviour/schemas.md (an instance
    /// that a read made come into being) and mixins-and-protocols.md (what is lost of a base).
    pub(crate) woken: u32,
    /// How many statements run lazily in an inner scope; see `Machine::kept`. Needed by spec/behaviour/keys.md (an if that
    /// changes two variables).
    pub(crate) keeping: u32,
    /// `-d`: where the outermost call that is running stands. What goes wrong inside is reported there. Needed by
    /// crates/kcl-cli/tests/cli.rs (debug reports the outermost call).
    pub(crate) call_site: Option<(u32, u32)>,
}

/// An `if` that is run lazily: only one side, and only up to the assignment that is wanted.
///
/// As in the reference this is one register, compared by statement: an instance of the same schema that is made meanwhile
/// runs its own copy of that `if` under the same restriction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Backtrack {
    /// Package and statement of the `if`.
    pub(crate) stmt: (usize, StmtId),
    /// The assignment to stop after.
    pub(crate) inner: StmtId,
    /// The side it stands on.
    pub(crate) side: Side,
}

/// The lambda that the running code stands in.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum OwnLambda {
    /// None.
    #[default]
    None,
    /// One that was made outside of bodies.
    Free,
    /// One that was made in a body: it sees the instance, but only what that has. Its frames begin at the given one.
    Method(u32),
    /// One of the package, in a statement that a body made run. It sees the instance, too.
    Woken(u32),
}

impl Context {
    /// The context of a body: its text begins at a number of frames, one level further in.
    pub(crate) fn of_body(self, frames: usize) -> Context {
        let (own_lambda, siblings) = (OwnLambda::None, Siblings::default());
        Context { text: TextStart::at(frames), own_lambda, siblings, nesting: self.nesting + 1, ..self }
    }

    /// The context of a lambda.
    pub(crate) fn of_lambda(self, text: TextStart, own_lambda: OwnLambda) -> Context {
        Context { text, own_lambda, in_lambda: true, siblings: Siblings::default(), ..self }
    }

    /// The context of a statement that somebody reads before its turn.
    pub(crate) fn of_early(self) -> Context {
        Context { own_lambda: OwnLambda::None, siblings: Siblings::default(), ..self }
    }

    /// The context of one setter of a value, in a text of its own.
    pub(crate) fn of_setter(self, text: TextStart) -> Context {
        Context { text, woken: self.woken + 1, ..self }
    }
}

/// A context and the package it is in, to be put back.
#[must_use = "what was saved is put back"]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saved {
    cx: Context,
    pkg: usize,
}

impl Machine<'_> {
    /// Returns what [`Machine::resume`] puts back.
    pub(crate) fn save(&self) -> Saved {
        Saved { cx: self.cx, pkg: self.pkg }
    }

    /// Puts package and context back.
    pub(crate) fn resume(&mut self, saved: Saved) {
        self.cx = saved.cx;
        self.pkg = saved.pkg;
    }
}

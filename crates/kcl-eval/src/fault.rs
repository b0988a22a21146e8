//! Run-time errors. One ends the run; others are told besides only if the caller wants all. What each says is in `mistake.rs`, how people are told of places in
//! `telling.rs`.

use base_diag::{Diagnostic, Mistake as _, Place, Span};
use kcl_syntax::program::Program;
use kcl_value::Position;

use crate::mistake::Mistake;

/// What evaluation returns.
pub(crate) type Eval<T> = Result<T, Box<Fault>>;

/// A run-time error with its places. Words are made of it only when somebody asks.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What is wrong.
    pub mistake: Mistake,
    /// Where it was found.
    pub place: Place,
    /// The instance whose check failed: then this is the primary place.
    pub instance: Option<Place>,
    /// Another place, with what is there.
    pub related: Option<(Place, String)>,
    /// Where the lambda was called that it was found in.
    pub caller: Option<Place>,
    /// Both sides of a comparison that an assertion made, as YAML, where the caller shows them.
    pub sides: Option<Box<(String, String)>>,
}

impl Fault {
    /// Makes a fault at a place.
    pub(crate) fn at(place: Place, mistake: Mistake) -> Box<Self> {
        Box::new(Fault { mistake, place, instance: None, related: None, caller: None, sides: None })
    }

    /// Returns the text that `runtime.catch` sees: the reference's sentence; of a failed check only what the program says.
    pub fn caught(&self) -> String {
        match &self.mistake {
            Mistake::CheckFailed { broken } => broken.said.clone(),
            mistake => mistake.sentence().into_owned(),
        }
    }

    /// Tells whether the program was stopped by a budget or by its caller; such a fault cannot be caught.
    pub fn is_fatal(&self) -> bool {
        matches!(self.mistake, Mistake::BudgetExhausted { .. } | Mistake::Cancelled)
    }

    /// Tells whether it is about a rule for an instance.
    pub(crate) fn is_of(&self, rule: (u32, Span), position: Position) -> bool {
        matches!(&self.mistake, Mistake::CheckFailed { broken } if broken.rule == rule && broken.position == position)
    }

    /// Tells whether another fault says the same of the same place.
    pub(crate) fn repeats(&self, other: &Fault) -> bool {
        (self.place, self.instance) == (other.place, other.instance)
            && self.mistake.sentence() == other.mistake.sentence()
    }

    /// Turns it into a diagnostic of the program that failed.
    pub fn into_diagnostic(self, program: &Program) -> Diagnostic {
        let diagnostic = match self.instance {
            Some(instance) => {
                let (code, id) = (self.mistake.code(), self.mistake.id());
                Diagnostic::error(code, id, instance, "Instance check failed")
                    .with_label(self.place, self.mistake.sentence())
            }
            None => Diagnostic::of(&self.mistake, self.place),
        };
        let diagnostic = match self.related {
            Some((place, what)) => diagnostic.with_label(place, what),
            None => diagnostic,
        };
        match &self.mistake {
            Mistake::CheckFailed { broken } => crate::telling::broken_check(diagnostic, broken, program),
            _ => diagnostic,
        }
    }
}

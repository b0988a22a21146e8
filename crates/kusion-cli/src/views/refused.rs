//! What an apply would refuse, said before it does.

use kusion::{Ready, RoadError, refuse};
use serde_json::{Value, json};

use crate::input::chosen::ChosenStack;

/// A plan that `kusion apply` refuses, and the command that takes over.
pub(crate) struct Refused {
    error: RoadError,
}

impl Refused {
    pub(crate) fn of(ready: &Ready) -> Option<Refused> {
        refuse(ready.plan()).err().map(|error| Refused { error })
    }

    /// `` `kusion apply shop/dev` refuses it: ... ``, and what to do.
    pub(crate) fn text(self, chosen: &ChosenStack) -> String {
        let called = chosen.target.called.clone();
        let command = self.error.take_over(&called).unwrap_or_default();
        let told = self.error.told(&chosen.target, "");
        let cause = told.cause.unwrap_or_default().replace('\n', "\n  ");
        let leave = if command.contains("=take-over") { " (or =leave: theirs stays)" } else { "" };
        let stack = called.there();
        format!("`kusion apply {stack}` refuses it: {}\n  {cause}\nTake over: {command}{leave}\n", told.what)
    }

    pub(crate) fn json(self, chosen: &ChosenStack) -> Value {
        let command = self.error.take_over(&chosen.target.called);
        let told = self.error.told(&chosen.target, "");
        json!({"code": told.exit.code(), "error": told.what, "cause": told.cause, "next": told.next, "takeOver": command})
    }
}

//! A failure as a person reads it: what went wrong, then `cause`, `where`, `next`, and the exit code that goes with it.

use crate::Exit;

/// What ends an operation early.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    pub exit: Exit,
    /// Empty if everything has been said and only the code is left.
    pub what: String,
    pub cause: Option<String>,
    pub place: Option<String>,
    pub next: Option<String>,
    /// The command that `next` advises, if it is one for the stack at hand. Boxed: failures travel in every result.
    pub(crate) advised: Option<Box<Advice>>,
}

/// Advice to run a command for the stack at hand, which whoever fails does not know by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    before: String,
    command: &'static str,
    flags: &'static str,
    after: String,
}

impl Advice {
    /// Advises a command (`state repair`); `before` leads to it.
    #[must_use]
    pub fn new(before: impl Into<String>, command: &'static str) -> Self {
        Advice { before: before.into(), command, flags: "", after: String::new() }
    }

    /// What stands behind the stack.
    #[must_use]
    pub fn flags(self, flags: &'static str) -> Self {
        Advice { flags, ..self }
    }

    /// What is said behind the command.
    #[must_use]
    pub fn after(self, after: impl Into<String>) -> Self {
        Advice { after: after.into(), ..self }
    }

    fn text(&self, stack: Option<&str>) -> String {
        let words = ["kusion", self.command, stack.unwrap_or_default(), self.flags];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        format!("{}`{}`{}", self.before, words.join(" "), self.after)
    }
}

impl Failure {
    /// A failure with nothing but its first line.
    #[must_use]
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Failure { exit, what: what.into(), ..Failure::default() }
    }

    /// A wrong call or configuration.
    #[must_use]
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// Everything has been said; only the code is left.
    #[must_use]
    pub fn told(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    #[must_use]
    pub fn place(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        (self.next, self.advised) = (Some(next.into()), None);
        self
    }

    /// Advises a command for the stack at hand.
    #[must_use]
    pub fn advise(mut self, advice: Advice) -> Self {
        (self.next, self.advised) = (Some(advice.text(None)), Some(Box::new(advice)));
        self
    }

    /// Names the stack in the advice, so that it can be typed as it is.
    #[must_use]
    pub fn of_stack(mut self, stack: &str) -> Self {
        if let Some(advice) = &self.advised {
            self.next = Some(advice.text(Some(stack)));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_stack_where_it_is_known() {
        let advice = Advice::new("lost for good: ", "state repair").flags("--lost-key").after(" tells");
        let failure = Failure::usage("x").advise(advice);
        assert_eq!(failure.next.as_deref(), Some("lost for good: `kusion state repair --lost-key` tells"));
        let named = failure.clone().of_stack("p/dev").next;
        assert_eq!(named.as_deref(), Some("lost for good: `kusion state repair p/dev --lost-key` tells"));
        assert_eq!(failure.next("another").of_stack("p/dev").next.as_deref(), Some("another"));
    }
}

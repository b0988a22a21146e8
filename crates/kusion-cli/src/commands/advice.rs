//! Advice that can be typed as it is.

use crate::commands::Command;
use crate::views::failure::Failure;

/// Names the stack that was typed in the advice of a failure.
pub(super) fn with_stack(failure: Failure, command: &Command, words: &[String]) -> Failure {
    let at = match command.words {
        "[STACK]" => 0,
        words if words.split(' ').nth(1) == Some("[STACK]") => 1,
        _ => return failure,
    };
    match words.get(at) {
        Some(stack) => failure.of_stack(stack),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use kusion::Advice;

    use super::*;
    use crate::commands::COMMANDS;

    #[test]
    fn advice_names_the_stack() {
        let told = || Failure::usage("x").advise(Advice::new("see ", "state repair"));
        let of = |name: &str, words: &[&str]| {
            let command = COMMANDS.iter().find(|command| command.name == name).unwrap();
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            with_stack(told(), command, &words).next.unwrap()
        };
        let with = "see `kusion state repair p/dev`";
        assert_eq!(of("preview", &["p/dev"]), with);
        assert_eq!(of("release", &["show", "p/dev", "3"]), with);
        assert_eq!(of("preview", &[]), told().next.unwrap());
        assert_eq!(of("why", &["p/dev", "a", "b"]), told().next.unwrap());
    }
}

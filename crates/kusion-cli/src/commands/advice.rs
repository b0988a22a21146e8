//! Advice that can be typed as it is.

use crate::commands::Command;
use crate::views::failure::Failure;

/// Commands that are advised without a stack, because who advises them does not know it.
const ADVISED: [&str; 5] =
    ["kusion state repair", "kusion state unlock", "kusion preview", "kusion apply", "kusion release list"];

/// Advice can be typed as it is: the stack that was named stands in it.
pub(super) fn with_stack(mut failure: Failure, command: &Command, words: &[String]) -> Failure {
    let at = match command.words {
        "[STACK]" => 0,
        words if words.split(' ').nth(1) == Some("[STACK]") => 1,
        _ => return failure,
    };
    if let (Some(stack), Some(next)) = (words.get(at), &mut failure.next) {
        for advised in ADVISED {
            *next = next.replace(&format!("`{advised}`"), &format!("`{advised} {stack}`"));
            // A saved plan knows its stack; flags of `state` do not.
            if advised.starts_with("kusion state") {
                *next = next.replace(&format!("`{advised} --"), &format!("`{advised} {stack} --"));
            }
        }
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::COMMANDS;

    #[test]
    fn advice_names_the_stack() {
        let told = || Failure::usage("x").next("see `kusion state repair`, then `kusion apply -y`");
        let of = |name: &str, words: &[&str]| {
            let command = COMMANDS.iter().find(|command| command.name == name).unwrap();
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            with_stack(told(), command, &words).next.unwrap()
        };
        let with = "see `kusion state repair p/dev`, then `kusion apply -y`";
        assert_eq!(of("preview", &["p/dev"]), with);
        assert_eq!(of("release", &["show", "p/dev", "3"]), with);
        assert_eq!(of("preview", &[]), told().next.unwrap());
        assert_eq!(of("why", &["p/dev", "a", "b"]), told().next.unwrap());
        let command = COMMANDS.iter().find(|command| command.name == "preview").unwrap();
        let lost = Failure::usage("x").next("lost for good: `kusion state repair --lost-key`");
        let told = with_stack(lost, command, &["p/dev".to_owned()]).next.unwrap();
        assert_eq!(told, "lost for good: `kusion state repair p/dev --lost-key`");
    }
}

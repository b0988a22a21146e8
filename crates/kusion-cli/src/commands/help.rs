//! The texts of `--help`, made from the table of commands.

use crate::commands::{COMMANDS, Command};
use crate::input::flags::listed;
use crate::views::debug::debug_flag;
use crate::views::failure::Exit;

/// The help of the program.
pub(super) fn help() -> String {
    let mut out = String::from(
        "kusion: from a stack of configuration to healthy resources\n\nExamples:\n  kusion preview dev\n  kusion apply dev\n  \
         kusion health -f objects.yaml\n\nCommands:\n",
    );
    for command in COMMANDS {
        out.push_str(&format!("  {:<12} {}\n", command.name, command.help));
    }
    out.push_str(&format!("\nEvery command also takes:\n{}", listed(&[debug_flag()])));
    out.push_str("\nExit codes:\n");
    Exit::ALL.iter().for_each(|exit| out.push_str(&format!("  {:<12} {}\n", exit.code(), exit.meaning())));
    out.push_str("\n`kusion COMMAND --help` says more.\n");
    out
}

/// Examples first; clap puts the flags in.
pub(super) fn help_of(command: &Command) -> String {
    let mut out = String::from("Examples:\n");
    for example in command.examples {
        out.push_str(&format!("  {example}\n"));
    }
    out.push_str(&format!("\nkusion {} {}\n  {}\n", command.name, command.words, command.help));
    if !command.alias.is_empty() {
        out.push_str(&format!("  (also `kusion {}`)\n", command.alias));
    }
    out.push_str("\nFlags (each also as a variable, e.g. --exit-code as KUSION_EXIT_CODE):\n{options}\n");
    let codes: Vec<String> =
        Exit::ALL.iter().map(|exit| format!("{} {}", exit.code(), exit.meaning())).collect();
    out.push_str(&format!("\nExit codes: {}.\n", codes.join("; ")));
    out
}

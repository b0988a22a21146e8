//! `kusion man`: the manual page, made from the table of commands.

use kcl_doc::roff;

use crate::commands::COMMANDS;
use crate::input::flags::{self, Given};
use crate::views::debug::debug_flag;
use crate::views::failure::{Exit, Failure};
use crate::views::output::print_data;

pub(crate) fn main(_given: &Given) -> Result<(), Failure> {
    print_data(&page())
}

fn page() -> String {
    let mut out = format!(".TH KUSION 1 \"\" \"kusion {}\"\n", env!("CARGO_PKG_VERSION"));
    out.push_str(".SH NAME\nkusion \\- from a stack of configuration to healthy resources\n");
    out.push_str(".SH SYNOPSIS\n.B kusion\n.I COMMAND\n[WORDS] [FLAGS]\n.SH COMMANDS\n");
    for command in COMMANDS {
        out.push_str(&format!(".SS \"{} {}\"\n{}.\n", command.name, roff(command.words), roff(command.help)));
        if !command.alias.is_empty() {
            out.push_str(&format!("Also called {}.\n", command.alias));
        }
        out.push_str(".nf\n");
        command.examples.iter().for_each(|example| out.push_str(&format!("    {}\n", roff(example))));
        command.flags.iter().for_each(|rows| out.push_str(&roff(&flags::listed(&rows()))));
        out.push_str(".fi\n");
    }
    let flag = flags::listed(&[debug_flag()]);
    out.push_str(&format!(".SH FLAGS OF EVERY COMMAND\n.nf\n{}.fi\n", roff(&flag)));
    out.push_str(".SH ENVIRONMENT\nEach flag is also a variable: --lock-timeout is KUSION_LOCK_TIMEOUT.\n");
    out.push_str("NO_COLOR and TERM=dumb give plain text.\n.SH EXIT STATUS\n");
    for exit in Exit::ALL {
        out.push_str(&format!(".TP\n.B {}\n{}\n", exit.code(), exit.meaning()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_section_and_no_line_is_taken_for_a_request() {
        let page = page();
        for command in COMMANDS {
            assert!(page.contains(&format!(".SS \"{} ", command.name)), "{}", command.name);
        }
        let known = [".TH", ".SH", ".SS", ".B", ".I", ".nf", ".fi", ".TP"];
        for line in page.lines().filter(|line| line.starts_with('.')) {
            assert!(known.iter().any(|request| line.split(' ').next() == Some(request)), "{line}");
        }
    }
}

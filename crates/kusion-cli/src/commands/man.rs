//! `kusion man`: the manual page, made from the table of commands.

use crate::commands::COMMANDS;
use crate::input::flags::{self, Given};
use crate::views::failure::{Exit, Failure};
use crate::views::output::print;

pub(crate) fn main(_given: &Given) -> Result<(), Failure> {
    print(&page())
}

fn page() -> String {
    let mut out = format!(".TH KUSION 1 \"\" \"kusion {}\"\n", env!("CARGO_PKG_VERSION"));
    out.push_str(".SH NAME\nkusion \\- from a stack of configuration to healthy resources\n");
    out.push_str(".SH SYNOPSIS\n.B kusion\n.I COMMAND\n[WORDS] [FLAGS]\n.SH COMMANDS\n");
    for command in COMMANDS {
        out.push_str(&format!(
            ".SS \"{} {}\"\n{}.\n",
            command.name,
            plain(command.words),
            plain(command.help)
        ));
        if !command.alias.is_empty() {
            out.push_str(&format!("Also called {}.\n", command.alias));
        }
        out.push_str(".nf\n");
        command.examples.iter().for_each(|example| out.push_str(&format!("    {}\n", plain(example))));
        command.flags.iter().for_each(|rows| out.push_str(&plain(&flags::listed(&rows()))));
        out.push_str(".fi\n");
    }
    out.push_str(".SH ENVIRONMENT\nEach flag is also a variable: --lock-timeout is KUSION_LOCK_TIMEOUT.\n");
    out.push_str("NO_COLOR and TERM=dumb give plain text.\n.SH EXIT STATUS\n");
    for exit in Exit::ALL {
        out.push_str(&format!(".TP\n.B {}\n{}\n", exit.code(), exit.meaning()));
    }
    out
}

/// Text that roff does not take for its own.
fn plain(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq");
    let guard = |line: &str| {
        if line.starts_with(['.', '\'']) { format!("\\&{line}\n") } else { format!("{line}\n") }
    };
    let lines: String = escaped.lines().map(guard).collect();
    if text.ends_with('\n') { lines } else { lines.trim_end_matches('\n').to_owned() }
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
        assert_eq!(plain(".hidden -x"), "\\&.hidden \\-x");
    }
}

//! `kcl man`: the manual page, from the tables of commands and flags.

use std::process::ExitCode;

use kcl_doc::roff;

use crate::COMMANDS;
use crate::completion::FLAGS;
use crate::flags::help;

pub(crate) fn main(_: &[String]) -> ExitCode {
    print!("{}", page());
    ExitCode::SUCCESS
}

fn page() -> String {
    let mut out = format!(".TH KCL 1 \"\" \"kcl {}\"\n", env!("CARGO_PKG_VERSION"));
    out.push_str(".SH NAME\nkcl \\- the configuration and policy language\n");
    out.push_str(".SH SYNOPSIS\n.B kcl\n.I COMMAND\n[WORDS] [FLAGS]\n.SH COMMANDS\n");
    for (name, text, _) in COMMANDS {
        out.push_str(&format!(".SS \"{name}\"\n{}.\n", roff(text)));
        if let Some((_, flags)) = FLAGS.iter().find(|(command, _)| command == name) {
            out.push_str(&format!(".nf\n{}.fi\n", roff(&help(flags))));
        }
    }
    out.push_str(".SH FILES\n.TP\n.B kcl.mod\nthe module: its name, version and what it needs\n");
    out.push_str(".TP\n.B kcl.yaml\nsettings of a run\n.SH ENVIRONMENT\n.TP\n.B KCL_PKG_PATH\n");
    out.push_str("where packages are kept (~/.kcl/kpm)\n.TP\n.B NO_COLOR\nplain text\n.SH EXIT STATUS\n");
    for (code, meaning) in
        [(0, "everything is well"), (1, "wrong input or a wrong call"), (70, "a bug of ours")]
    {
        out.push_str(&format!(".TP\n.B {code}\n{meaning}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_section_and_no_line_is_taken_for_a_request() {
        let page = page();
        for (name, ..) in COMMANDS {
            assert!(page.contains(&format!(".SS \"{name}\"")), "{name}");
        }
        let known = [".TH", ".SH", ".SS", ".B", ".I", ".nf", ".fi", ".TP"];
        for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
            assert!(known.iter().any(|request| line.split(' ').next() == Some(request)), "{line}");
        }
    }
}

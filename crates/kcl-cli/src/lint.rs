//! `kcl lint`: rules over packages, in parallel; nothing is run, and nothing is written without `--fix`.

mod item;
mod judge;
mod report;
mod sarif;
mod units;

use std::process::ExitCode;

use kcl::{Compiler, Disk};

use crate::flags::{Flag, Given, flags, help, opened};
use crate::parallel::{jobs, on_all};
use crate::wrong::Wrong;
use judge::{Configs, Done, Privates, judge};
use report::Report;
use units::{Unit, Units};

pub(crate) const FLAGS: &[Flag] = flags! {
    "fix" None, "" "mend what can be mended without changing what a program means";
    "unsafe-fixes" None, "" "also mend what may change it; look at the result";
    "diff" Some('d'), "" "write nothing; print what --fix (or --unsafe-fixes) would change";
    "format" None, "full|short|json|sarif|github" "form of the findings on standard output";
    "jobs" Some('j'), "N" "how many packages at a time (default: one per processor)";
    "help" Some('h'), "" "print this";
};

/// The forms of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Full,
    Short,
    Json,
    Sarif,
    Github,
}

/// What to do with the findings.
struct Wish {
    format: Format,
    fix: bool,
    with_unsafe: bool,
    diff: bool,
    jobs: usize,
}

impl Wish {
    fn new(given: &Given) -> Result<Wish, String> {
        let format = match given.last("format") {
            None | Some("full") => Format::Full,
            Some("short") => Format::Short,
            Some("json") => Format::Json,
            Some("sarif") => Format::Sarif,
            Some("github") => Format::Github,
            Some(other) => {
                return Err(format!("`{other}` is not a format: use full, short, json, sarif or github"));
            }
        };
        let with_unsafe = given.has("unsafe-fixes");
        let diff = given.has("diff");
        Ok(Wish {
            format,
            fix: given.has("fix") || with_unsafe || diff,
            with_unsafe,
            diff,
            jobs: jobs(given)?,
        })
    }
}

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match opened("lint", FLAGS, words, usage) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let wish = match Wish::new(&given) {
        Ok(wish) => wish,
        Err(message) => return wrong_call(message),
    };
    let here = [".".to_owned()];
    let units = units::find(if given.rest.is_empty() { &here } else { &given.rest });
    lint(units, &wish).print(&wish)
}

fn usage() -> String {
    format!(
        "Finds what compiles but is probably not meant, and mends what can be mended by machine.\n\nExamples:\n  kcl lint          \
         \x20           the package in this folder\n  kcl lint ./...                every package below this folder\n  kcl lint \
         --fix ./...          mend what is safe to mend\n  kcl lint --diff ./...         what --fix would change\n  kcl lint \
         --format sarif ./... > lint.sarif\n  kcl explain unused-variable   what a rule means\n\nUsage: kcl lint \
         [FILE|FOLDER|FOLDER/...]… [flags]\n\n{}\nA folder is one package, a folder with a kcl.yaml that lists files is a \
         program of those files, and a file is\njudged alone. Rules are set in kcl.mod ([lint.rules]), single findings are \
         ignored by a comment\n`# kcl-lint: ignore[RULE]`. Exit codes: 0 nothing but remarks, 1 findings or wrong input, 70 a \
         bug of ours.\n",
        help(FLAGS)
    )
}

fn wrong_call(message: String) -> ExitCode {
    Wrong::with_help(message, "`kcl lint --help` lists the flags").tell("lint")
}

fn lint(units: Units, wish: &Wish) -> Report {
    let Units { units, notes, errors } = units;
    let compiler = Compiler::new(Disk);
    let known = (Configs::default(), Privates::default());
    let done =
        on_all(wish.jobs, units.len(), |at| guarded(&compiler, &units[at], (&known.0, &known.1), wish));
    Report::new(done, notes, errors)
}

/// A panic is a bug of ours; the other packages are still judged.
fn guarded(compiler: &Compiler<'_>, unit: &Unit, known: (&Configs, &Privates), wish: &Wish) -> Done {
    let judged = std::panic::AssertUnwindSafe(|| judge(compiler, unit, known, wish));
    std::panic::catch_unwind(judged).unwrap_or_else(|_| Done::bug(unit))
}

//! `kcl fmt`: files in their canonical form, in parallel, each written whole or not at all.

mod report;

use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base_diag::{FileId, SourceMap};

use crate::EXIT_WRONG;
use crate::files::{self, Found, text_of};
use crate::flags::{Flag, Given, flags, help, opened};
use report::{Done, Failure, Report, Status};

pub(crate) const FLAGS: &[Flag] = flags! {
    "check" Some('c'), "" "write nothing; list the files that are not formatted, exit 1 if there are any";
    "diff" Some('d'), "" "write nothing; print what would change";
    "stdin-filename" None, "PATH" "the name that messages use for standard input";
    "json" None, "" "print one JSON object with the result of every file";
    "error-format" None, "full|short|json" "form of errors on standard error";
    "jobs" Some('j'), "N" "how many files at a time (default: one per processor)";
    "help" Some('h'), "" "print this";
};

/// The parser's depth is bounded, but its frames are not small in debug builds.
const STACK: usize = 32 << 20;

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match opened("fmt", FLAGS, words, usage) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let wish = match Wish::new(&given) {
        Ok(wish) => wish,
        Err(message) => return wrong_call(&message),
    };
    let stdin = given.rest.iter().any(|word| word == "-");
    let report = match (stdin, given.rest.len()) {
        (true, 1) => format_stdin(given.last("stdin-filename").unwrap_or("<stdin>"), &wish),
        (true, _) => return wrong_call("`-` stands alone: standard input or files, not both"),
        (false, _) if given.has("stdin-filename") => {
            return wrong_call("--stdin-filename names what comes from standard input: add `-`");
        }
        (false, _) => format_files(&given.rest, &wish),
    };
    report.print(&wish)
}

fn usage() -> String {
    format!(
        "Formats KCL files in place and prints the path of each file that changed.\n\nExamples:\n  kcl fmt main.k\n  \
         kcl fmt ./...              all files of this folder and the folders in it\n  kcl fmt --check ./...      for CI: \
         exit 1 and a list if something is not formatted\n  kcl fmt --diff main.k      what would change\n  cat main.k | \
         kcl fmt - --stdin-filename main.k\n\nUsage: kcl fmt [FILE|FOLDER|FOLDER/...|-]… [flags]\n\n{}\nA folder means \
         its own .k files, FOLDER/... also those of the folders in it; nothing means the folder here.\nLinks are not \
         followed. A file that does not parse stays as it is, and so do lines between `# fmt: off`\nand `# fmt: on`. Exit \
         codes: 0, 1 wrong input or (--check) not formatted, 70 a bug of ours.\n",
        help(FLAGS)
    )
}

fn wrong_call(message: &str) -> ExitCode {
    eprintln!("error: {message}\nhelp: `kcl fmt --help` lists the flags");
    ExitCode::from(EXIT_WRONG)
}

/// What to do with what was formatted.
struct Wish {
    check: bool,
    diff: bool,
    json: bool,
    errors: crate::run::ErrorFormat,
    jobs: usize,
}

impl Wish {
    fn new(given: &Given) -> Result<Wish, String> {
        let jobs = match given.last("jobs") {
            None => std::thread::available_parallelism().map_or(1, NonZero::get),
            Some(text) => match text.parse() {
                Ok(jobs @ 1..=256) => jobs,
                _ => return Err(format!("--jobs {text}: write a number from 1 to 256")),
            },
        };
        Ok(Wish {
            check: given.has("check"),
            diff: given.has("diff"),
            json: given.has("json"),
            errors: crate::run::error_format(given)?,
            jobs,
        })
    }

    fn writes(&self) -> bool {
        !self.check && !self.diff
    }
}

fn format_stdin(name: &str, wish: &Wish) -> Report {
    let mut done = match files::standard_input().and_then(text_of) {
        Ok(text) => format_text(name, text, wish),
        Err(message) => failed(name, message),
    };
    if wish.writes() && !wish.json {
        print_text(&mut done);
    }
    Report { files: vec![done], notes: Vec::new(), stdin: true }
}

/// The formatted text itself is the output of standard input.
fn print_text(done: &mut Done) {
    let Some(text) = &done.text else { return };
    if let Err(message) = crate::say::result(text) {
        *done = failed(&done.path, message);
    }
}

fn format_files(words: &[String], wish: &Wish) -> Report {
    let here = [".".to_owned()];
    let Found { files, notes, errors, .. } = files::find(if words.is_empty() { &here } else { words });
    let mut done: Vec<Done> = errors.into_iter().map(|(path, message)| failed(&path, message)).collect();
    let slots: Vec<Mutex<Option<Done>>> = files.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (Some(path), Some(slot)) = (files.get(number), slots.get(number)) else { return };
            let result = format_file(path, wish);
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..wish.jobs.min(files.len()) {
            // A thread that cannot be started leaves its share to the others; the last resort is this one.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
    });
    work();
    done.extend(slots.into_iter().filter_map(|slot| slot.into_inner().ok().flatten()));
    Report { files: done, notes, stdin: false }
}

fn format_file(path: &Path, wish: &Wish) -> Done {
    let shown = path.display().to_string();
    let text = match files::read(path).and_then(text_of) {
        Ok(text) => text,
        Err(message) => return failed(&shown, message),
    };
    let done = format_text(&shown, text, wish);
    match &done.text {
        Some(text) if wish.writes() && done.status == Status::Changed => match files::replace(path, text) {
            Ok(()) => Done { text: None, ..done },
            Err(message) => failed(&shown, message),
        },
        _ => Done { text: None, ..done },
    }
}

fn format_text(name: &str, text: String, wish: &Wish) -> Done {
    let formatted = kcl_fmt::format(&text, FileId(0));
    if !formatted.errors.is_empty() {
        let mut sources = SourceMap::default();
        sources.add(name, Arc::from(text));
        return Done::failed(name, Failure::Syntax(formatted.errors, sources));
    }
    let changed = formatted.text != text;
    let diff = if changed && wish.diff {
        kcl_fmt::diff::unified(name, name, &text, &formatted.text)
    } else {
        String::new()
    };
    let status = match (changed, wish.writes()) {
        (false, _) => Status::Unchanged,
        (true, true) => Status::Changed,
        (true, false) => Status::WouldChange,
    };
    Done { path: name.to_owned(), status, diff, text: Some(formatted.text), failure: None }
}

fn failed(name: &str, message: String) -> Done {
    Done::failed(name, Failure::File(message))
}

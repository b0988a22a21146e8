//! `kcl edit`: look at source and rewrite it by path. Only the bytes of the value change; each file is written whole or not at all.

mod batch;
mod rename;
mod report;
mod stack;
mod workbench;
mod write_back;

use std::process::ExitCode;

use base_file::Turn;
use kcl_edit::Action;
use kcl_syntax::source::SourcePath;

use crate::flags::{Flag, Given, flags, help, opened};
use crate::wrong::Wrong;
use report::Report;
use workbench::Workbench;

pub(crate) use write_back::write_back;

pub(crate) const FLAGS: &[Flag] = flags! {
    "string" Some('s'), "" "take values as plain text instead of KCL expressions";
    "check" Some('c'), "" "write nothing; exit 1 if something would change";
    "diff" Some('d'), "" "write nothing; print what would change";
    "batch" Some('b'), "FILE" "read changes from a JSON file, `-` for standard input";
    "keep-going" Some('k'), "" "make the changes that can be made, even if others are refused";
    "json" None, "" "print one JSON object with the result of every change";
    "help" Some('h'), "" "print this";
};

/// What to do with a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    Change(Action),
    Rename(String),
    Get,
}

impl Verb {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Verb::Change(Action::Set(_)) => "set",
            Verb::Change(Action::Append(_)) => "append",
            Verb::Change(Action::Unset) => "unset",
            Verb::Rename(_) => "rename",
            Verb::Get => "get",
        }
    }
}

/// One wish of the call or of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) target: String,
    pub(crate) path: SourcePath,
    pub(crate) verb: Verb,
}

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match opened("edit", FLAGS, words, usage) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let wishes = match wishes(&given) {
        Ok(wishes) => wishes,
        Err(wrong) => return wrong.tell("edit"),
    };
    let mut turn = Turn::default();
    loop {
        let mut session = Workbench::default();
        let mut report = Report::new(&given);
        for wish in &wishes {
            let answer = session.answer(wish);
            report.add(wish, answer);
        }
        let files = match report.may_write() {
            true => session.write(&mut turn),
            false => Some(session.unwritten(report.shows_diff())),
        };
        if let Some(files) = files {
            drop(turn);
            return report.print(files);
        }
    }
}

fn usage() -> String {
    format!(
        "Looks at KCL source and rewrites it by path. Only the bytes of the value change.\n\nExamples:\n  \
         kcl edit get dev app.image\n  kcl edit set dev app.image='\"pay:v42\"'\n  \
         kcl edit set --string main.k 'pod.containers[name=main].image=pay:v42'\n  \
         kcl edit set --diff dev app.replicas=3 'app.labels[\"app.io/team\"]=\"shop\"'\n  \
         kcl edit append dev app.ports=8080\n  kcl edit unset dev app.debug\n  kcl edit rename models App.port=httpPort\n  \
         kcl edit --batch changes.json\n\nUsage: kcl edit set|append TARGET PATH=VALUE… [flags]\n       \
         kcl edit get|unset TARGET PATH… [flags]\n       kcl edit rename TARGET PATH=NAME\n       kcl edit --batch FILE \
         [flags]\n\n{}\nTARGET is a file, or the folder of a stack: its kcl.yaml, stack.yaml or kcl.mod says which files it runs, \
         and only\nfiles in the folder itself are written; `rename` writes all files of the module that name the thing. PATH is a variable, then .key, [\"any key\"], [0], [-1] or \
         [name=main].\nA batch is a JSON list of {{\"op\", \"target\", \"path\", \"value\" | \"text\" | \"json\" | \"name\"}}, or one \
         object per line. If a\nchange is refused, nothing is written. Exit codes: 0, 1 wrong input, a refused change, \
         (get) not set,\nor (--check) something to do, 70 a bug of ours.\n",
        help(FLAGS)
    )
}

fn wishes(given: &Given) -> Result<Vec<Wish>, Wrong> {
    if let Some(file) = given.last("batch") {
        return match given.rest.first() {
            None => batch::read(file),
            Some(word) => Err(format!("--batch says everything: what is `{word}` for?").into()),
        };
    }
    let [verb, target, rest @ ..] = given.rest.as_slice() else {
        let help = "kcl edit set TARGET PATH=VALUE; `kcl edit --help` has examples";
        return Err(Wrong::with_help("say what to do, where, and with which path", help));
    };
    if rest.is_empty() {
        let help = format!("kcl edit {verb} {target} app.image…");
        return Err(Wrong::with_help(format!("`{verb}` needs a path"), help));
    }
    rest.iter().map(|word| wish(verb, target, word, given.has("string"))).collect()
}

fn wish(verb: &str, target: &str, word: &str, as_text: bool) -> Result<Wish, Wrong> {
    let takes_value = match verb {
        "set" | "append" | "rename" => true,
        "get" | "unset" => false,
        _ => {
            let help = "the verbs are get, set, append, unset and rename";
            return Err(Wrong::with_help(format!("there is no verb `{verb}`"), help));
        }
    };
    let (path, value) = match SourcePath::end_before_value(word) {
        Some(at) if takes_value => (&word[..at], &word[at + 1..]),
        None if takes_value => {
            let help = format!("kcl edit {verb} {target} {word}=VALUE");
            return Err(Wrong::with_help(format!("`{word}` has no value"), help));
        }
        _ => (word, ""),
    };
    let value = if as_text { kcl_edit::text_literal(value) } else { value.to_owned() };
    let verb = match verb {
        "set" => Verb::Change(Action::Set(value)),
        "append" => Verb::Change(Action::Append(value)),
        "unset" => Verb::Change(Action::Unset),
        "rename" => Verb::Rename(value),
        _ => Verb::Get,
    };
    Ok(Wish { target: target.to_owned(), path: path_of(path)?, verb })
}

fn path_of(text: &str) -> Result<SourcePath, Wrong> {
    SourcePath::parse(text).map_err(|error| {
        let help = "a path is app.image, app[\"any key\"], app.ports[0] or app.containers[name=main]";
        Wrong::with_help(format!("`{text}` is no path: {}", error.message()), help)
    })
}

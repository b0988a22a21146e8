//! The `kusion` command: what a person may say (`input`), what is done (`commands`, one file each), what is shown (`views`).
//!
//! In: words, files, a cluster. Out: data on stdout, words for people on stderr, an exit code that scripts can trust.
//! Invariant: every failure ends with cause, where, next; nothing here decides what happens to a resource.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod commands;
mod input;
mod views;

use std::process::ExitCode;

use views::failure::{self, Exit, Failure};
use views::style::Style;
use views::{output, screen};

/// A core dump of this process would hold every secret that it has seen.
fn no_core_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // Where it is forbidden, there is nobody to tell yet; the limit that is there stays.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

fn main() -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    no_core_dumps();
    base_secret::Redactor::install_for_program(output::tell);
    let result = std::panic::catch_unwind(|| commands::run(&words));
    let failure = match result {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(Exit::Bug, "a bug of ours: the command stopped unexpectedly")
            .next("please report it with the command and the message above"),
    };
    let style = Style::stderr();
    let text = match output::is_json(&words) {
        true => failure::to_json(&failure),
        false => screen::fitted_beside(&failure::render(&failure, &style)),
    };
    output::tell(&text);
    ExitCode::from(failure.exit.code())
}

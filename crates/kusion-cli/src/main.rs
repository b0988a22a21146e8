//! The `kusion` command: one file per sub-command, one table of commands.
//!
//! In: words, files, a cluster. Out: data on stdout, words for people on stderr, an exit code that scripts can trust.
//! Invariant: every failure ends with cause, where, next; nothing here decides what happens to a resource.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod apply;
mod blame;
mod board;
mod cluster;
mod commands;
mod completion;
mod config;
mod consent;
mod context;
mod culprit;
mod deps;
mod diff;
mod drift;
mod ending;
mod failure;
mod flags;
mod generate;
mod graph;
mod health;
mod hold;
mod hush;
mod init;
mod locks;
mod logs;
mod ls;
mod man;
mod meter;
mod moved;
mod namesake;
mod output;
mod place;
mod plan_view;
mod planned;
mod port_forward;
mod preview;
mod private;
mod progress;
mod quickstart;
mod release;
mod sandbox;
mod screen;
mod sight;
mod state;
mod status;
mod style;
mod table;
mod unchanged;
mod why;
mod yaml;

use std::process::ExitCode;

use failure::{Failure, exit};
use style::Style;

fn main() -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    base_secret::Redactor::install();
    std::panic::set_hook(Box::new(|panic| output::tell(&format!("{panic}\n"))));
    let result = std::panic::catch_unwind(|| commands::run(&words));
    let failure = match result {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(exit::BUG, "a bug of ours: the command stopped unexpectedly")
            .next("please report it with the command and the message above"),
    };
    let text = if output::is_json(&words) { failure.to_json() } else { failure.render(&Style::stderr()) };
    output::tell(&text);
    ExitCode::from(failure.code)
}

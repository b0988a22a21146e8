//! `cargo xtask oracle`: the differential runner.
//!
//! Runs programs with ours (in process) and with the released wheel (a Python child), compares output bytes or code and line
//! of the first error, shrinks what differs, and groups it. Differences that are meant are named in `docs/divergences.md`
//! and recognised by [`explain`].

mod aliasing;
mod child;
mod commands;
mod cty;
mod explain;
mod neutral;
mod ours;
mod parameters;
mod read;
mod report;
mod rpc;
mod shrink;
mod sources;
mod terraform;

pub(crate) use child::Oracle;
pub(crate) use explain::KEYS;
pub(crate) use ours::Ours;
pub(crate) use sources::root;

use crate::ChoreResult;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What the command line asks for.
struct Wish {
    spec: bool,
    self_check: bool,
    update: bool,
    generated: u64,
    mutated: u64,
    calls: u64,
    faulty: u64,
    idioms: u64,
    seed: u64,
    folders: Vec<PathBuf>,
    filter: String,
    out: PathBuf,
    limit: usize,
    /// So many unexplained differences are no failure: a ratchet, lowered as they are mended.
    allow: u64,
    /// So often the wheel may break (hang, crash, panic) for a known reason; more is a failure.
    broken: u64,
    /// How many differences of one look are shrunk and shown.
    each: u64,
    no_shrink: bool,
    print: bool,
    /// Every program is shown with both verdicts.
    both: bool,
}

const USAGE: &str = "usage: cargo xtask oracle [--spec [--self-check | --update]] [--generated N] [--mutate N] [--calls N] [--faulty N] [--idioms N]\n\
    \x20      [--seed S] [--dir FOLDER] [--filter TEXT] [--out FOLDER] [--limit N] [--allow N] [--broken N] [--each N] [--no-shrink] [--print] [--both] [--jobs 1]\n\
    \x20      cargo xtask oracle --fmt|--vet|--lint|--test N [SEED]\n\
    \x20      cargo xtask oracle cty N [SEED]\n\
    \x20      cargo xtask oracle rpc [--update]\n\
    \x20      cargo xtask oracle terraform [--filter TEXT] [--random N] [--seed S]";

pub(crate) fn main(words: &[String]) -> ChoreResult {
    if let [which, rest @ ..] = words {
        match which.as_str() {
            "cty" => return cty::main(rest),
            "rpc" => return rpc::main(rest),
            "terraform" => return terraform::main(rest),
            flag => {
                if let Some(compared) = commands::main(flag, rest) {
                    return compared;
                }
            }
        }
    }
    let wish = parse(words)?;
    if wish.print {
        return report::print_programs(&wish);
    }
    let mut oracle = Oracle::new(Duration::from_secs(4), 1500)?;
    oracle.shake_hands()?;
    if wish.self_check && wish.generated > 0 {
        return report::statistics(&wish, &mut oracle);
    }
    if wish.self_check || wish.update {
        return report::self_check(&wish, &mut oracle);
    }
    report::differential(&wish, &mut oracle, &mut Ours { timeout: Duration::from_secs(20) })
}

fn parse(words: &[String]) -> Result<Wish, String> {
    let mut wish = Wish {
        spec: false,
        self_check: false,
        update: false,
        generated: 0,
        mutated: 0,
        calls: 0,
        faulty: 0,
        idioms: 0,
        seed: 1,
        folders: Vec::new(),
        filter: String::new(),
        out: PathBuf::from("target/oracle"),
        limit: 1000,
        allow: 0,
        broken: 2,
        each: 2,
        no_shrink: false,
        print: false,
        both: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        let number = |text: &String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"));
        match word.as_str() {
            "--spec" => wish.spec = true,
            "--self-check" => wish.self_check = true,
            "--update" => wish.update = true,
            "--generated" => wish.generated = number(value()?)?,
            "--mutate" => wish.mutated = number(value()?)?,
            "--calls" => wish.calls = number(value()?)?,
            "--faulty" => wish.faulty = number(value()?)?,
            "--idioms" => wish.idioms = number(value()?)?,
            "--seed" => wish.seed = number(value()?)?,
            "--dir" => wish.folders.push(value()?.into()),
            "--filter" => wish.filter = value()?.clone(),
            "--out" => wish.out = value()?.into(),
            "--limit" => wish.limit = number(value()?)? as usize,
            "--allow" => wish.allow = number(value()?)?,
            "--broken" => wish.broken = number(value()?)?,
            "--each" => wish.each = number(value()?)?,
            "--jobs" => drop(number(value()?)?), // one oracle, one thread: the wheel is not the bottleneck
            "--no-shrink" => wish.no_shrink = true,
            "--print" => wish.print = true,
            "--both" => wish.both = true,
            _ => return Err(USAGE.to_string()),
        }
    }
    let random = wish.generated + wish.mutated + wish.calls + wish.faulty + wish.idioms;
    if !wish.spec && random == 0 && wish.folders.is_empty() {
        return Err(USAGE.to_string());
    }
    Ok(wish)
}

const DONE: ExitCode = ExitCode::SUCCESS;

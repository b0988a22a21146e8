//! `cargo xtask ssa-diff [--sequences N] [--from SEED] [--show N] [--kind KIND]`: random writes on the real server and on kube-meaning, side by side.
//!
//! In: a range of seeds. Out: a table of steps and differences per kind, the first differences path by path (ours ≠ the server's), and exit code 1 when
//! there is any difference but one of wording.

use std::collections::BTreeMap;
use std::process::ExitCode;

use kube_sequences::Sequence;
use kube_sequences::live::Live;
use kube_sequences::model::{Answer, Class, Difference, Model};
use testenv::{ControlPlane, Options};

use crate::ChoreResult;

/// Entry point.
pub(crate) fn main(words: &[String]) -> ChoreResult {
    let sequences = number(words, "--sequences", 300)?;
    let from = number(words, "--from", 0)?;
    let show = number(words, "--show", 3)?;
    let only = words.iter().position(|word| word == "--kind").and_then(|at| words.get(at + 1));
    let options = Options { controllers: false, build: true, ..Options::default() };
    let plane = ControlPlane::start(options).map_err(|error| error.to_string())?;
    let mut live = Live::new(&plane)?;
    let mut tally = Tally::default();
    for seed in from..from + sequences {
        let mut sequence = Sequence::new(seed);
        let kind = sequence.kind;
        if only.is_some_and(|only| *only != kind.kind) {
            continue;
        }
        let mut model = Model::new(kind)?;
        live.run(&mut sequence, |step| {
            let answer = Answer { code: step.code, outcome: &step.outcome, unchanged: step.unchanged };
            let difference = model.step(&step.request, &answer).err();
            tally.add(&kind.kind, seed, difference, show);
        })?;
    }
    tally.print(sequences);
    Ok(if tally.wrong() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn number(words: &[String], name: &str, default: u64) -> Result<u64, String> {
    let Some(at) = words.iter().position(|word| word == name) else { return Ok(default) };
    words.get(at + 1).and_then(|word| word.parse().ok()).ok_or_else(|| format!("{name} needs a number"))
}

#[derive(Default)]
struct Tally {
    /// By kind: all steps, and those that differ by class.
    kinds: BTreeMap<String, (usize, BTreeMap<Class, usize>)>,
    shown: BTreeMap<(String, Class), u64>,
}

impl Tally {
    fn add(&mut self, kind: &str, seed: u64, difference: Option<Box<Difference>>, show: u64) {
        let (steps, classes) = self.kinds.entry(kind.to_owned()).or_default();
        *steps += 1;
        let Some(difference) = difference else { return };
        *classes.entry(difference.class).or_default() += 1;
        let shown = self.shown.entry((kind.to_owned(), difference.class)).or_default();
        if *shown < show {
            *shown += 1;
            let request = serde_json::Value::Object(difference.request.to_json());
            println!("{kind} seed {seed}: {:?}\n  request {request}", difference.class);
            for line in difference.lines() {
                println!("  {line}");
            }
        }
    }

    fn wrong(&self) -> bool {
        self.kinds.values().any(|(_, classes)| classes.keys().any(|class| *class != Class::Words))
    }

    fn print(&self, sequences: u64) {
        let mut all = 0;
        for (kind, (steps, classes)) in &self.kinds {
            all += steps;
            let classes: Vec<String> =
                classes.iter().map(|(class, count)| format!("{class:?} {count}")).collect();
            println!("{kind:<14} {steps:>6} steps  {}", classes.join(", "));
        }
        println!("{sequences} sequences, {all} steps");
    }
}

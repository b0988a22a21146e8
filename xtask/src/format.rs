//! `cargo xtask fmt`: the promises of the formatter on many programs.
//!
//! Every program must stay the same program with the same comments, and what is formatted must be a fixed point. Programs are
//! those of the specs, generated ones (both get random comments, blanks and line ends), and the `.k` files of folders.

use crate::ChoreResult;
use crate::oracle::root;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use testkit::format::{judge, noisy};
use testkit::generate::Rng;

const USAGE: &str = "usage: cargo xtask fmt [--generated N] [--seed S] [--files FOLDER]…";

/// So many broken promises are shown.
const SHOWN: usize = 5;

pub(crate) fn main(words: &[String]) -> ChoreResult {
    let (mut generated, mut seed, mut folders) = (10_000, 1, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|n| n.parse().ok()).ok_or(USAGE);
        match word.as_str() {
            "--generated" => generated = number()?,
            "--seed" => seed = number()?,
            "--files" => folders.push(PathBuf::from(words.next().ok_or(USAGE)?)),
            _ => return Err(USAGE.into()),
        }
    }
    let mut texts = Vec::new();
    for folder in &folders {
        gather(folder, &mut texts)?;
    }
    if !folders.is_empty() && texts.is_empty() {
        return Err("there is no .k file in these folders".into());
    }
    let written = texts.len();
    let specs = testkit::spec::load(&root().join("spec"))?;
    let cases = specs.into_iter().flat_map(|file| file.cases);
    texts
        .extend(cases.flat_map(|case| case.program.files).filter(|f| f.path.ends_with(".k")).map(|f| f.text));
    let count = texts.len();
    let found = Found::default();
    let total = count as u64 + generated;
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| found.work(total, |i| program(&texts, written, seed, i)));
        }
    });
    let broken = found.broken.into_inner().map_err(|e| e.to_string())?;
    for text in broken.iter().take(SHOWN) {
        println!("{text}\n----");
    }
    let judged = found.formatted.into_inner();
    println!("{total} programs, {judged} of them formatted, {} promises broken", broken.len());
    if judged == 0 {
        return Err("nothing was formatted".into());
    }
    Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Files as they are; specs and generated programs with noise.
fn program(texts: &[String], written: usize, seed: u64, number: u64) -> String {
    let mut rng = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
    match texts.get(number as usize) {
        Some(text) if (number as usize) < written => text.clone(),
        Some(text) => noisy(text, &mut rng),
        None => {
            let files = testkit::generate::program(seed.wrapping_mul(7_919).wrapping_add(number)).files;
            let text: Vec<String> = files.into_iter().map(|file| file.text).collect();
            noisy(&text.join("\n"), &mut rng)
        }
    }
}

#[derive(Default)]
struct Found {
    next: AtomicU64,
    formatted: AtomicUsize,
    broken: Mutex<Vec<String>>,
}

impl Found {
    fn work(&self, total: u64, program: impl Fn(u64) -> String) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= total {
                return;
            }
            match judge(&program(number)) {
                Ok(formatted) => {
                    self.formatted.fetch_add(usize::from(formatted), Ordering::Relaxed);
                }
                Err(broken) => {
                    if let Ok(mut all) = self.broken.lock() {
                        all.push(format!("program {number}: {broken}"));
                    }
                }
            }
        }
    }
}

fn gather(folder: &Path, texts: &mut Vec<String>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let entry = entry.map_err(|e| e.to_string())?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(|e| e.to_string())?);
        if kind.is_dir() {
            gather(&path, texts)?;
        } else if path.extension().is_some_and(|e| e == "k") {
            texts.push(std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?);
        }
    }
    Ok(())
}

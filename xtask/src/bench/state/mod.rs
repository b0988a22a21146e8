//! `cargo xtask bench state`: what state costs on every backend: requests, bytes and time, with 5 ms between client and server.
//!
//! Servers are real (PostgreSQL, versitygw, the API server where it is built), behind a line on which every byte of the client
//! takes 5 ms. Requests and bytes are counted at the calls that a medium answers; a `get` of each object counts.
//!
//! The share of a run is taken from a real walk of the executor, 300 creates a second: the time from asking for the lock to the
//! first step, and from the last step to giving the lock back, in which nothing but state is waited for; and the CPU time of the
//! keeper, which works on the walk's thread. What the keeper waits for while steps are under way holds nobody up, and does not
//! count. Opening is a process that has nothing open yet, best of five.
//!
//! tofu does the same beside it with its own backends on the same servers behind the same line: what its commands take longer
//! than with a local file.

mod media;
mod peers;
mod walk;
mod work;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kusion_store::{Backend, Liveness, Session, StackStore, Store, wait};

use self::media::Medium;
use self::work::{now, owner, release, scope};
use super::verdict;
use crate::ChoreResult;

const USAGE: &str = "usage: cargo xtask bench state [--scale PERCENT] [--no-tofu] [--requests]";
/// How often a state is opened; the best counts, for a machine is never idle.
const OPENINGS: usize = 5;

pub(super) fn main(words: &[String]) -> ChoreResult {
    let (mut scale, mut tofu, mut requests, mut words) = (100, true, false, words.iter());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--scale" => scale = words.next().and_then(|percent| percent.parse().ok()).ok_or(USAGE)?,
            "--no-tofu" => tofu = false,
            "--requests" => requests = true,
            _ => return Err(USAGE.into()),
        }
    }
    if cfg!(debug_assertions) {
        eprintln!("note: a debug build is slower; use: cargo run --release -p xtask -- bench state");
    }
    let folder = std::env::temp_dir().join(format!("state-bench-{}", std::process::id()));
    let mut good = true;
    println!("{:<44} {:>9} {:>9} {:>11} {:>11}", "work", "ms", "requests", "bytes out", "bytes in");
    for medium in media::media(&folder) {
        good &= Bench { medium, scale, requests }.all()?;
    }
    if tofu {
        peers::tofu(&folder, (1_000 * scale / 100).max(10))?;
    }
    // A folder that stays behind in the temporary folder harms nobody.
    let _ = std::fs::remove_dir_all(folder);
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Bench {
    medium: Medium,
    scale: usize,
    /// Print the requests of the run.
    requests: bool,
}

impl Bench {
    fn size(&self, full: usize) -> usize {
        (full * self.scale / 100).max(10)
    }

    fn all(&self) -> Result<bool, String> {
        println!("{}", self.medium.name);
        let mut good = self.one_change()?;
        good &= self.creates()?;
        Ok(good & self.opening()?)
    }

    fn store(&self, backend: &Arc<dyn Backend>, stack: &str) -> StackStore {
        Store::new(Arc::clone(backend)).stack(&scope(stack))
    }

    fn session(&self, backend: &Arc<dyn Backend>, stack: &str) -> Result<Session, String> {
        let store = self.store(backend, stack);
        wait(store.acquire(owner(), now(), &|_| Liveness::Dead)).map_err(|error| error.to_string())
    }

    fn fill(&self, stack: &str, resources: usize, releases: usize) -> Result<(), String> {
        let mut session = self.session(&self.medium.near, stack)?;
        release(&mut session, 0..resources)?;
        for number in 1..releases {
            release(&mut session, number..number + 1)?;
        }
        wait(session.close(now())).map_err(|error| error.to_string())
    }

    fn row(&self, name: &str, took: Duration, asked: [u64; 3]) {
        let [requests, out, back] = asked;
        println!("  {name:<42} {:>9.1} {requests:>9} {out:>11} {back:>11}", took.as_secs_f64() * 1e3);
    }

    /// One change in a stack of ten times the resources costs the same.
    fn one_change(&self) -> Result<bool, String> {
        let mut costs = Vec::new();
        for full in [1_000, 10_000] {
            let (n, stack) = (self.size(full), format!("change-{full}"));
            self.fill(&stack, n, 1)?;
            let mut session = self.session(&self.medium.far, &stack)?;
            self.medium.count.take();
            let log = || self.store(&self.medium.near, &stack).place().join("log");
            let before = std::fs::metadata(log()).map_or(0, |file| file.len());
            let begun = Instant::now();
            release(&mut session, 0..1)?;
            let took = begun.elapsed();
            let mut asked = self.medium.count.take();
            asked[1] += std::fs::metadata(log()).map_or(0, |file| file.len()) - before;
            self.row(&format!("one change of {n}, three records"), took, asked);
            costs.push(asked);
            wait(session.close(now())).map_err(|error| error.to_string())?;
        }
        let same = costs[1][1] <= costs[0][1] + 200 && costs[1][1] < 20_000;
        let lean = costs[1][2] < 4_000;
        println!(
            "  bytes written do not grow: {}; no more than the tail is read: {}",
            verdict(same),
            verdict(lean)
        );
        Ok(same && lean)
    }

    /// A run that creates 3,000 resources, and what of it state is to blame for.
    fn creates(&self) -> Result<bool, String> {
        let n = self.size(3_000);
        self.fill("creates", 1, 1)?;
        self.medium.count.take();
        self.medium.count.tell(false);
        let run = walk::run(&self.medium.far, "creates", n)?;
        self.medium.count.tell(self.requests);
        let cost = run.around + run.beside;
        self.row(&format!("{n} creates, what state adds"), cost, self.medium.count.take());
        let (whole, share) = (run.whole.as_secs_f64(), cost.as_secs_f64() / run.whole.as_secs_f64());
        let good = share <= 0.02;
        println!(
            "  share of a run of {whole:.1} s: {:.2} % (around the walk {:.0} ms, CPU beside it {:.0} ms; limit 2 %): {}",
            share * 100.0,
            run.around.as_secs_f64() * 1e3,
            run.beside.as_secs_f64() * 1e3,
            verdict(good)
        );
        Ok(good)
    }

    fn opening(&self) -> Result<bool, String> {
        let (resources, releases) = (self.size(10_000), self.size(1_000));
        self.fill("opening", resources, releases)?;
        let (mut best, mut asked) = (Duration::MAX, [0; 3]);
        for _ in 0..OPENINGS {
            self.medium.count.take();
            // Fresh keys each time: a process opens a state once.
            let store = self.store(&self.medium.far, "opening");
            let begun = Instant::now();
            let state = wait(store.read()).map_err(|error| error.to_string())?;
            best = best.min(begun.elapsed());
            asked = self.medium.count.take();
            if state.records.len() != resources || state.releases.len() != releases {
                return Err(format!("{} opens as something else", store.place().display()));
            }
        }
        self.row(&format!("open {resources} resources, {releases} releases"), best, asked);
        let good = match self.medium.remote {
            true => asked[0] <= 5,
            false => best <= Duration::from_millis(100),
        };
        let limit = if self.medium.remote { "5 requests" } else { "100 ms" };
        println!("  limit {limit}: {}", verdict(good));
        Ok(good)
    }
}

//! `cargo xtask oracle terraform [--filter TEXT] [--random N] [--seed S] [--together N] [--jobs N]`: tofu and ours plan the
//! same changes.
//!
//! A case is a list of configurations in tofu's JSON form (`xtask/oracle/terraform/*.json`). For each of them both sides plan
//! from the same state, the one that tofu wrote before: actions, planned values, unknown and sensitive places and the paths
//! that force a replacement must be equal. Then tofu applies; what it stores must complete what ours planned. At the end the
//! last configuration is planned once more. Random cases stand side by side in one configuration (`--together`), and are
//! looked at in halves, down to one, where something differs. The cases are dealt to `--jobs` processes.

mod compare;
mod jobs;
mod ours;
mod prior;
mod random;
mod references;
mod tofu;

use std::process::ExitCode;

use tf_value::json::Json;

use super::root;
use crate::ChoreResult;

/// One configuration after another.
struct Case {
    name: String,
    steps: Vec<Json>,
}

const USAGE: &str =
    "usage: cargo xtask oracle terraform [--filter TEXT] [--random N] [--seed S] [--together N] [--jobs N]";

/// What is asked for.
struct Wish {
    filter: String,
    n_random: u64,
    seed: u64,
    together: usize,
    jobs: usize,
    /// Which part of the cases this process takes, of how many.
    part: (usize, usize),
}

impl Wish {
    fn read(words: &[String]) -> Result<Self, String> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let mut wish = Wish { filter: String::new(), n_random: 0, seed: 1, together: 50, jobs, part: (0, 1) };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or(USAGE)?;
            let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is not a number"));
            let size = || number().and_then(|n| usize::try_from(n).map_err(|e| e.to_string()));
            match word.as_str() {
                "--filter" => wish.filter.clone_from(value),
                "--random" => wish.n_random = number()?,
                "--seed" => wish.seed = number()?,
                "--together" => wish.together = size()?.max(1),
                "--jobs" => wish.jobs = size()?.max(1),
                "--part" => wish.part.0 = size()?,
                "--of" => wish.part.1 = size()?.max(1),
                _ => return Err(USAGE.into()),
            }
        }
        Ok(wish)
    }

    /// The batches of cases that this process takes. Written cases stand alone: some are about what is refused.
    fn batches(&self) -> Result<Vec<Vec<Case>>, String> {
        let random = self.n_random > 0;
        let mut cases = if random { Vec::new() } else { written()? };
        cases.extend((self.seed..self.seed + self.n_random).map(random::case));
        cases.retain(|case| case.name.contains(&self.filter));
        let (size, (part, of)) = (if random { self.together } else { 1 }, self.part);
        let mut batches: Vec<Vec<Case>> = Vec::new();
        for (at, case) in cases.into_iter().enumerate() {
            match batches.last_mut().filter(|_| at % size != 0) {
                Some(batch) => batch.push(case),
                None => batches.push(vec![case]),
            }
        }
        Ok(batches.into_iter().skip(part).step_by(of).collect())
    }
}

pub(super) fn main(words: &[String]) -> ChoreResult {
    let wish = Wish::read(words)?;
    if wish.jobs > 1 && wish.part.1 == 1 {
        return jobs::deal(words, wish.jobs);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
    runtime.block_on(run(&wish.batches()?))
}

/// What came of all cases.
#[derive(Default)]
struct Count {
    cases: usize,
    plans: usize,
    different: usize,
}

async fn run(batches: &[Vec<Case>]) -> ChoreResult {
    let tofu = tofu::Tofu::prepare()?;
    let ours = ours::Ours::start().await?;
    let mut count = Count::default();
    for batch in batches {
        let mut open: Vec<&[Case]> = vec![batch];
        while let Some(cases) = open.pop() {
            let outcome = match cases {
                [alone] => one(&tofu, &ours, alone).await.map_err(|e| format!("{}: {e}", alone.name))?,
                many => one(&tofu, &ours, &random::packed(many)).await?,
            };
            count.plans += outcome.n_plans;
            let is_clear = outcome.differences.is_empty() && !outcome.refused;
            if cases.len() > 1 && !is_clear {
                let (first, second) = cases.split_at(cases.len() / 2);
                open.extend([second, first]);
                continue;
            }
            count.cases += cases.len();
            count.different += usize::from(!outcome.differences.is_empty());
            outcome.differences.iter().for_each(|text| println!("{}: {text}", cases[0].name));
        }
        eprintln!("{} cases, {} plans, {} differ", count.cases, count.plans, count.different);
    }
    ours.end().await;
    let Count { cases, plans, different } = count;
    println!("terraform: {cases} cases, {plans} plans, {different} cases differ");
    Ok(if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What came of one case.
#[derive(Default)]
struct Outcome {
    n_plans: usize,
    differences: Vec<String>,
    /// Both sides refused a configuration.
    refused: bool,
}

/// Plans and applies one configuration after another, and the last once more.
async fn one(tofu: &tofu::Tofu, ours: &ours::Ours, case: &Case) -> Result<Outcome, String> {
    tofu.reset()?;
    let mut out = Outcome::default();
    let again = case.steps.last().map(without_wishes);
    for (at, step) in case.steps.iter().chain(&again).enumerate() {
        out.n_plans += 1;
        tofu.taint(step)?;
        let before = tofu.state()?;
        let theirs = tofu.plan(step)?;
        let made = ours.plan(step, &before).await;
        let (theirs, made) = match (theirs, made) {
            (Err(_), Err(_)) => {
                out.refused = true;
                break;
            }
            (Ok(theirs), Ok(made)) => (theirs, made),
            (Err(error), Ok(_)) => {
                out.differences.push(format!("step {at}: only tofu refuses: {error}"));
                break;
            }
            (Ok(_), Err(error)) => {
                out.differences.push(format!("step {at}: only ours refuses: {error}"));
                break;
            }
        };
        let told = |text: String| format!("step {at}: {text}");
        out.differences.extend(compare::plans(&theirs, &made).into_iter().map(told));
        if let Err(error) = tofu.apply() {
            // Some cases are about that.
            if step.get("fails") != Some(&Json::Bool(true)) {
                out.differences.push(told(format!("tofu does not apply: {error}")));
                break;
            }
            continue;
        }
        let after = tofu.state()?;
        out.differences.extend(ours.completed(&made, &after)?.into_iter().map(told));
    }
    Ok(out)
}

/// What is wanted only once, and is no part of a configuration: `-replace`, `tofu taint` before the plan, and a word
/// that the apply is meant to fail.
const WISHES: [&str; 3] = ["replace", "taint", "fails"];

/// The configuration without what is wanted only once.
fn without_wishes(step: &Json) -> Json {
    match step {
        Json::Object(members) => Json::Object(
            members.iter().filter(|(name, _)| !WISHES.contains(&name.as_str())).cloned().collect(),
        ),
        other => other.clone(),
    }
}

fn written() -> Result<Vec<Case>, String> {
    let folder = root().join("xtask/oracle/terraform");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        files.push(entry.map_err(|error| error.to_string())?.path());
    }
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let json = Json::parse(&bytes).map_err(|error| format!("{}: {error}", file.display()))?;
        for (name, steps) in json.as_object().ok_or_else(|| format!("{} is no object", file.display()))? {
            let steps = steps.as_array().ok_or_else(|| format!("{name} is no list of configurations"))?;
            cases.push(Case { name: name.clone(), steps: steps.to_vec() });
        }
    }
    Ok(cases)
}

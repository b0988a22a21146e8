//! `cargo xtask oracle terraform [--filter TEXT] [--random N] [--seed S] [--together N]`: tofu and ours plan the same changes.
//!
//! A case is a list of configurations in tofu's JSON form (`xtask/oracle/terraform/*.json`). For each of them both sides plan
//! from the same state, the one that tofu wrote before: actions, planned values, unknown and sensitive places and the paths
//! that force a replacement must be equal. Random cases stand side by side in one configuration (`--together`), and are
//! looked at one by one only where something differs. Then tofu applies; what it stores must complete what ours planned. At the end the
//! last configuration is planned once more.

mod compare;
mod ours;
mod prior;
mod random;
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
    "usage: cargo xtask oracle terraform [--filter TEXT] [--random N] [--seed S] [--together N]";

pub(super) fn main(words: &[String]) -> ChoreResult {
    let (mut filter, mut n_random, mut seed, mut together) = (String::new(), 0_u64, 1_u64, 50);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        let number = || value.parse().map_err(|_| format!("`{value}` is not a number"));
        match word.as_str() {
            "--filter" => filter.clone_from(value),
            "--random" => n_random = number()?,
            "--seed" => seed = number()?,
            "--together" => together = usize::try_from(number()?).map_err(|e| e.to_string())?,
            _ => return Err(USAGE.into()),
        }
    }
    let mut cases = if n_random == 0 { written()? } else { Vec::new() };
    cases.extend((seed..seed + n_random).map(random::case));
    cases.retain(|case| case.name.contains(&filter));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
    // Written cases stand alone: some are about what is refused.
    runtime.block_on(run(&cases, if n_random == 0 { 1 } else { together }))
}

async fn run(cases: &[Case], together: usize) -> ChoreResult {
    let tofu = tofu::Tofu::prepare()?;
    let ours = ours::Ours::start().await?;
    let (mut n_plans, mut n_done, mut different) = (0, 0, 0);
    for batch in cases.chunks(together.max(1)) {
        n_done += batch.len();
        if batch.len() > 1 {
            let all = random::packed(batch);
            let whole = one(&tofu, &ours, &all).await.map_err(|error| format!("{}: {error}", all.name))?;
            n_plans += whole.n_plans;
            if whole.differences.is_empty() && !whole.refused {
                println!("{n_done} cases, {n_plans} plans, {different} differ");
                continue;
            }
            whole.differences.iter().take(5).for_each(|text| println!("together: {text}"));
        }
        for case in batch {
            let alone = one(&tofu, &ours, case).await.map_err(|error| format!("{}: {error}", case.name))?;
            n_plans += alone.n_plans;
            different += usize::from(!alone.differences.is_empty());
            alone.differences.iter().for_each(|difference| println!("{}: {difference}", case.name));
        }
    }
    ours.end().await;
    println!("terraform: {} cases, {n_plans} plans, {different} cases differ", cases.len());
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

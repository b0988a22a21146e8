//! `cargo xtask oracle terraform [--filter TEXT] [--random N] [--seed S]`: tofu and ours plan the same changes.
//!
//! A case is a list of configurations in tofu's JSON form (`xtask/oracle/terraform/*.json`). For each of them both sides plan
//! from the same state, the one that tofu wrote before: actions, planned values, unknown and sensitive places and the paths
//! that force a replacement must be equal. Then tofu applies; what it stores must complete what ours planned. At the end the
//! last configuration is planned once more.

mod compare;
mod ours;
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

const USAGE: &str = "usage: cargo xtask oracle terraform [--filter TEXT] [--random N] [--seed S]";

pub(super) fn main(words: &[String]) -> ChoreResult {
    let (mut filter, mut n_random, mut seed) = (String::new(), 0_u64, 1_u64);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        let number = || value.parse().map_err(|_| format!("`{value}` is not a number"));
        match word.as_str() {
            "--filter" => filter.clone_from(value),
            "--random" => n_random = number()?,
            "--seed" => seed = number()?,
            _ => return Err(USAGE.into()),
        }
    }
    let mut cases = if n_random == 0 { written()? } else { Vec::new() };
    cases.extend((seed..seed + n_random).map(random::case));
    cases.retain(|case| case.name.contains(&filter));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
    runtime.block_on(run(&cases))
}

async fn run(cases: &[Case]) -> ChoreResult {
    let tofu = tofu::Tofu::prepare()?;
    let ours = ours::Ours::start().await?;
    let (mut n_steps, mut different) = (0, 0);
    for case in cases {
        let (steps, differences) =
            one(&tofu, &ours, case).await.map_err(|error| format!("{}: {error}", case.name))?;
        n_steps += steps;
        different += usize::from(!differences.is_empty());
        for difference in differences {
            println!("{}: {difference}", case.name);
        }
    }
    ours.end().await;
    println!("terraform: {} cases, {n_steps} plans, {different} cases differ", cases.len());
    Ok(if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plans and applies one configuration after another, and the last once more.
async fn one(tofu: &tofu::Tofu, ours: &ours::Ours, case: &Case) -> Result<(usize, Vec<String>), String> {
    tofu.reset()?;
    let mut differences = Vec::new();
    let mut n_steps = 0;
    let again = case.steps.last().map(without_wishes);
    for (at, step) in case.steps.iter().chain(&again).enumerate() {
        n_steps += 1;
        let before = tofu.state()?;
        let theirs = tofu.plan(step)?;
        let made = ours.plan(step, &before).await;
        let (theirs, made) = match (theirs, made) {
            (Err(_), Err(_)) => break,
            (Ok(theirs), Ok(made)) => (theirs, made),
            (Err(error), Ok(_)) => {
                differences.push(format!("step {at}: only tofu refuses: {error}"));
                break;
            }
            (Ok(_), Err(error)) => {
                differences.push(format!("step {at}: only ours refuses: {error}"));
                break;
            }
        };
        differences
            .extend(compare::plans(&theirs, &made).into_iter().map(|text| format!("step {at}: {text}")));
        if let Err(error) = tofu.apply() {
            differences.push(format!("step {at}: tofu does not apply: {error}"));
            break;
        }
        let after = tofu.state()?;
        differences
            .extend(ours.completed(&made, &after)?.into_iter().map(|text| format!("step {at}: {text}")));
    }
    Ok((n_steps, differences))
}

/// The configuration without what is wanted only once.
fn without_wishes(step: &Json) -> Json {
    match step {
        Json::Object(members) => {
            Json::Object(members.iter().filter(|(name, _)| name != "replace").cloned().collect())
        }
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

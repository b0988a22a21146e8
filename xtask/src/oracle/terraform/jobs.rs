//! Dealing the cases to processes: the working folder of a process is that of its tofu, so there is one for each.

use std::process::{Child, Command, ExitCode, Stdio};

use crate::ChoreResult;

/// Runs the same words in several processes, each with a part of the cases; tells what all of them say.
pub(super) fn deal(words: &[String], n_jobs: usize) -> ChoreResult {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let start = |part: usize| {
        let mut command = Command::new(&here);
        command.args(["oracle", "terraform"]).args(words);
        command.args(["--part", &part.to_string(), "--of", &n_jobs.to_string()]);
        command.stdout(Stdio::piped()).spawn().map_err(|e| format!("{}: {e}", here.display()))
    };
    let children: Vec<Child> = (0..n_jobs).map(start).collect::<Result<_, _>>()?;
    let (mut sums, mut good) = ([0_usize; 3], true);
    for child in children {
        let output = child.wait_with_output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (said, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
        if !said.is_empty() {
            println!("{said}");
        }
        let numbers: Vec<usize> = last.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [cases, plans, different] = numbers[..] else { return Err(format!("a part failed: {text}")) };
        for (sum, n) in sums.iter_mut().zip([cases, plans, different]) {
            *sum += n;
        }
        good &= output.status.success();
    }
    println!("terraform: {} cases, {} plans, {} cases differ", sums[0], sums[1], sums[2]);
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

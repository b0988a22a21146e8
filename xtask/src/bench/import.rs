//! `cargo xtask bench import`: the OpenAPI document of Kubernetes as KCL. How long writing it takes, how many lines it has, and what
//! two resources that import it cost beside the wheel.
//!
//! Writing is wall-clock time of the whole process on a folder in memory; the two resources are CPU time, as in `bench kcl`.

use super::measure::{self, OnDisk, Scratch};
use super::{median, same_output, verdict};
use crate::ChoreResult;
use crate::oracle::Oracle;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use testkit::{Program, SourceText};

/// Seconds for writing, and lines that are written.
const WRITING: f64 = 2.0;
const LINES: usize = 70_000;
/// Share of the wheel's time that two resources may take.
const RATIO: f64 = 0.1;

const RESOURCES: &str = r#"import k8s.api.apps.v1 as apps
import k8s.api.core.v1 as core

deployment = apps.Deployment {
    metadata = {name = "web", labels = {app = "web"}}
    spec = {
        replicas = 3
        selector.matchLabels = {app = "web"}
        template = {
            metadata.labels = {app = "web"}
            spec.containers = [{
                name = "web"
                image = "nginx:1.27"
                ports = [{containerPort = 8080}]
                resources.limits = {cpu = "1", memory = "512Mi"}
            }]
        }
    }
}
service = core.Service {
    metadata.name = "web"
    spec = {
        selector = {app = "web"}
        ports = [{port = 80, targetPort = 8080}]
    }
}
"#;

pub(super) fn main(words: &[String]) -> ChoreResult {
    let samples = super::samples(words, "usage: cargo xtask bench import [--samples N]")?;
    let document = crate::import_proof::kubernetes_document()?;
    let scratch = Scratch::new("import")?;
    let kcl = measure::kcl_binary()?;
    let mut times = Vec::new();
    for _ in 0..samples {
        let begun = Instant::now();
        let mut command = Command::new(&kcl);
        command.args(["import", "--force", "--json", "-m", "openapi", "-o", "models"]).arg(&document);
        let output = command.current_dir(&scratch.folder).output().map_err(|e| e.to_string())?;
        times.push(begun.elapsed().as_secs_f64());
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    let program = program(&scratch.folder.join("models"))?;
    let lines: usize = program.files.iter().map(|file| file.text.lines().count()).sum();
    let seconds = median(&mut times);
    println!(
        "writing the Kubernetes package: {seconds:.3} s (limit {WRITING}): {}",
        verdict(seconds <= WRITING)
    );
    println!("its lines: {lines} (limit {LINES}): {}", verdict(lines <= LINES));
    let fast = resources(&program, samples)?;
    let good = seconds <= WRITING && lines <= LINES && fast;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The package with a program that uses it.
fn program(models: &Path) -> Result<Program, String> {
    let mut paths = Vec::new();
    crate::import_proof::walk(models, &mut paths)?;
    paths.sort();
    let mut program = Program::single(RESOURCES);
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let path = path.strip_prefix(models).unwrap_or(&path).display().to_string();
        program.files.push(SourceText { path, text, entry: false });
    }
    Ok(program)
}

fn resources(program: &Program, samples: usize) -> Result<bool, String> {
    let disk = OnDisk::new(program)?;
    let mut oracle = Oracle::new(Duration::from_secs(600), 16_000)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..samples {
        ours.push(disk.sample(1)?.cpu);
        let answer = oracle.ask(program, 1)?;
        if round == 0 {
            same_output(program, &answer.verdict)?;
        }
        theirs.push(answer.cpu);
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    let good = ours <= theirs * RATIO;
    println!(
        "two resources that import it: {ours:.3} s of CPU, the wheel {theirs:.3} s, ratio {:.3} (limit {RATIO}): {}",
        ours / theirs,
        verdict(good)
    );
    Ok(good)
}

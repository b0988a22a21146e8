//! `cargo xtask bench languages`: the same two documents made by KCL, Jsonnet (three implementations), CUE and `helm template`.
//!
//! Each is the CPU time of a whole process, the median of interleaved samples in one run, after all outputs were compared as values.
//! Jsonnet and CUE check what the KCL program checks; a chart of Helm checks nothing. The other programs are built once, from
//! package registries by name and version, and kept in the cache of the test environment.

use super::{measure, median, plot, workloads};
use crate::ChoreResult;
use crate::import_proof::json_of;
use crate::oracle::root;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask bench languages [--samples N] [--plot FILE]";
const RSJSONNET: &str = "0.5.1";
const RJSONNET: &str = "0.5.6";
/// Ours is to take this share of the fastest other one.
const GOAL: f64 = 0.6;

/// What is made: its title, the name of the sources, the row of `bench kcl`, the chart.
const DOCUMENTS: &[(&str, &str, usize, &str)] =
    &[("1,000 Deployments", "deployments", 1, "chart"), ("a map of 10,000 keys", "map", 0, "mapchart")];

/// Somebody who makes the documents.
struct Maker {
    name: String,
    command: Vec<PathBuf>,
    yaml: bool,
}

pub(super) fn main(words: &[String]) -> ChoreResult {
    let (mut samples, mut picture) = (9, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--samples" => samples = value.parse().map_err(|_| USAGE)?,
            "--plot" => picture = Some(value),
            _ => return Err(USAGE.into()),
        }
    }
    let peers = Peers::built()?;
    let mut panels = Vec::new();
    let mut good = true;
    for (title, name, row, chart) in DOCUMENTS {
        let folder = Folder::new(*row)?;
        let bars = row_of(&peers.makers(&folder.0, name, chart)?, samples)?;
        good &= told(title, &bars);
        panels.push(plot::Panel { title: (*title).to_owned(), bars });
    }
    if let Some(path) = picture {
        let text = plot::svg("CPU seconds of the whole process; less is better", &panels);
        std::fs::write(path, text).map_err(|e| format!("{path}: {e}"))?;
    }
    // The goal is published, met or not; what must hold is that all say the same.
    if !good {
        println!("the goal of {GOAL} of the fastest other one is missed");
    }
    Ok(ExitCode::SUCCESS)
}

/// The median CPU time of each, in the order of the makers; refuses outputs that differ.
fn row_of(makers: &[Maker], samples: usize) -> Result<Vec<(String, f64)>, String> {
    let mut wanted: Option<Value> = None;
    for maker in makers {
        let made = maker.output()?;
        match &wanted {
            None => wanted = Some(made),
            Some(wanted) if *wanted == made => {}
            Some(_) => return Err(format!("{} makes another document than {}", maker.name, makers[0].name)),
        }
    }
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); makers.len()];
    for _ in 0..samples {
        for (maker, times) in makers.iter().zip(&mut times) {
            let command: Vec<&Path> = maker.command.iter().map(PathBuf::as_path).collect();
            times.push(measure::command(Path::new("/"), &command)?.cpu);
        }
    }
    Ok(makers.iter().zip(&mut times).map(|(maker, times)| (maker.name.clone(), median(times))).collect())
}

/// Prints a row; true if the goal is met.
fn told(title: &str, bars: &[(String, f64)]) -> bool {
    println!("{title}");
    bars.iter().for_each(|(name, cpu)| println!("  {name:<18} {cpu:>8.3} s"));
    let ours = bars.first().map_or(f64::NAN, |bar| bar.1);
    let fastest = bars.iter().skip(1).map(|bar| bar.1).fold(f64::INFINITY, f64::min);
    println!("  ours / fastest other: {:.2} (goal {GOAL})", ours / fastest);
    ours <= fastest * GOAL
}

impl Maker {
    fn output(&self) -> Result<Value, String> {
        let mut command = Command::new(&self.command[0]);
        let done = command.args(&self.command[1..]).output().map_err(|e| format!("{}: {e}", self.name))?;
        let text = String::from_utf8_lossy(&done.stdout);
        if !done.status.success() {
            return Err(format!("{}: {}", self.name, String::from_utf8_lossy(&done.stderr)));
        }
        if !self.yaml {
            return serde_json::from_str(&text).map_err(|e| format!("{}: {e}", self.name));
        }
        let documents = base_yaml::parse_documents(&text, &base_yaml::Limits::default());
        let documents = documents.map_err(|e| format!("{}: {e:?}", self.name))?;
        documents.first().map(json_of).ok_or_else(|| format!("{} made nothing", self.name))
    }
}

/// The programs of the others.
struct Peers {
    rsjsonnet: PathBuf,
    /// The folder of the Python package.
    rjsonnet: PathBuf,
    jsonnet: PathBuf,
    cue: PathBuf,
    helm: PathBuf,
}

impl Peers {
    fn built() -> Result<Peers, String> {
        let go = |name: &str| testenv::build_program(name).map_err(|e| e.to_string());
        Ok(Peers {
            rsjsonnet: rsjsonnet()?,
            rjsonnet: rjsonnet()?,
            jsonnet: go("jsonnet")?,
            cue: go("cue")?,
            helm: go("helm")?,
        })
    }

    fn makers(&self, ours: &Path, name: &str, chart: &str) -> Result<Vec<Maker>, String> {
        let sources = root().join("xtask/bench/languages");
        let jsonnet = sources.join(format!("{name}.jsonnet"));
        let script = sources.join("rjsonnet.py");
        let maker = |name: &str, yaml: bool, words: &[&Path]| Maker {
            name: name.to_owned(),
            command: words.iter().map(|word| word.to_path_buf()).collect(),
            yaml,
        };
        let word = Path::new;
        let kcl = measure::kcl_binary()?;
        let main = ours.join("main.k");
        let json = [kcl.as_path(), word("run"), &main, word("--format"), word("json")];
        Ok(vec![
            maker("KCL (ours)", false, &json),
            maker("rsjsonnet", false, &[&self.rsjsonnet, &jsonnet]),
            maker("rjsonnet (Python)", false, &[&python(), &script, &self.rjsonnet, &jsonnet]),
            maker("helm template", true, &[&self.helm, word("template"), &sources.join(chart)]),
            maker("CUE", false, &[&self.cue, word("export"), &sources.join(format!("{name}.cue"))]),
            maker("go-jsonnet", false, &[&self.jsonnet, &jsonnet]),
        ])
    }
}

/// The full path of Python: what is measured is started without a search.
fn python() -> PathBuf {
    let name = std::env::var("KCL_ORACLE_PYTHON").unwrap_or_else(|_| "python3".into());
    let asked = Command::new(&name).args(["-c", "import sys; print(sys.executable)"]).output();
    let path = asked.map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned()).unwrap_or_default();
    PathBuf::from(if path.is_empty() { name } else { path })
}

fn rsjsonnet() -> Result<PathBuf, String> {
    let folder = testenv::cache_folder().join(format!("rsjsonnet-{RSJSONNET}"));
    let program = folder.join("bin/rsjsonnet");
    if !program.exists() {
        let mut install = Command::new("cargo");
        install.args(["install", "--locked", "rsjsonnet", "--version", RSJSONNET, "--root"]).arg(&folder);
        finished(&mut install)?;
    }
    Ok(program)
}

fn rjsonnet() -> Result<PathBuf, String> {
    let folder = testenv::cache_folder().join(format!("rjsonnet-{RJSONNET}"));
    if !folder.join("rjsonnet").exists() {
        let mut install = Command::new(python());
        let package = format!("rjsonnet=={RJSONNET}");
        install.args(["-m", "pip", "install", "--quiet", "--no-deps", &package, "--target"]).arg(&folder);
        finished(&mut install)?;
    }
    Ok(folder)
}

fn finished(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr))),
    }
}

/// Our program on the disk, in a folder that goes away with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(row: usize) -> Result<Folder, String> {
        let folder = std::env::temp_dir().join(format!("kcl-bench-languages-{}-{row}", std::process::id()));
        measure::write(&(workloads::WORKLOADS[row].make)(1), &folder)?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

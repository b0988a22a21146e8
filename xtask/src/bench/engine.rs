//! `cargo xtask bench engine`: ours beside kubectl and Helm, on one real API server, in one run.
//!
//! Client CPU, API-server CPU and wall time of whole processes. The objects are half ConfigMaps, a quarter Deployments of no
//! replica, a quarter Services, in one namespace per run. Without controllers, so that nobody else uses the API server.

use super::requests::Requests;
use crate::ChoreResult;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use testenv::{ControlPlane, Options};

const USAGE: &str = "usage: cargo xtask bench engine [--scale PERCENT] [--no-helm]";

pub(super) fn main(words: &[String]) -> ChoreResult {
    let (mut scale, mut with_helm) = (100, true);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--scale" => scale = words.next().and_then(|n| n.parse().ok()).ok_or(USAGE)?,
            "--no-helm" => with_helm = false,
            _ => return Err(USAGE.into()),
        }
    }
    if cfg!(debug_assertions) {
        eprintln!("note: a debug build measures nothing; use: cargo run --release -p xtask -- bench engine");
    }
    let plane = ControlPlane::start(Options { controllers: false, ..Options::default() })
        .map_err(|e| e.to_string())?;
    let helm =
        if with_helm { Some(testenv::build_program("helm").map_err(|e| e.to_string())?) } else { None };
    let folder = std::env::temp_dir().join(format!("engine-bench-{}", std::process::id()));
    let kusion = super::beside("kusion")?;
    let bench = Bench { plane: &plane, kusion, helm, folder: folder.clone(), scale, quiet: false };
    let result = bench.all();
    // A folder that stays behind in the temporary folder harms nobody.
    let _ = std::fs::remove_dir_all(folder);
    result
}

/// One `kusion` with its folder, on a plane.
pub(super) struct Bench<'p> {
    pub(super) plane: &'p ControlPlane,
    pub(super) kusion: PathBuf,
    pub(super) helm: Option<PathBuf>,
    pub(super) folder: PathBuf,
    pub(super) scale: usize,
    /// Whether single runs are not told.
    pub(super) quiet: bool,
}

/// What the records of one apply cost.
#[derive(Clone, Copy)]
struct RecordCost {
    seconds: f64,
    bytes: f64,
}

/// What one process cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    wall: f64,
    pub(super) cpu: f64,
    server: f64,
    peak_mb: u64,
}

impl Bench<'_> {
    fn all(&self) -> ChoreResult {
        println!("{:<44} {:>9} {:>9} {:>9} {:>7}", "work", "wall s", "client s", "server s", "MB");
        let mut good = self.apply_row(self.size(1000))?;
        good &= self.preview_rows(self.size(2000))?;
        good &= self.growth_row()?;
        Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn size(&self, full: usize) -> usize {
        (full * self.scale / 100).max(8)
    }

    /// New objects, then the same again.
    fn apply_row(&self, count: usize) -> Result<bool, String> {
        let objects = |namespace: &str| manifests(namespace, count, 0);
        let new = self.kusion(&format!("kusion apply, {count} new"), "ours", &objects("ours"), APPLY)?;
        let all = self.state()?;
        self.kubectl(&["create", "namespace", "theirs"])?;
        let file = self.manifest("theirs.json", &objects("theirs"))?;
        let server_side = ["apply", "--server-side", "-f", &file];
        let theirs = self.peer("kubectl apply --server-side", &self.plane.kubectl_path(), &server_side)?;
        let mut good = ratio("  client CPU, ours / kubectl", new.cpu / theirs.cpu, 0.5);
        good &= ratio("  wall, ours / kubectl", new.wall / theirs.wall, 0.8);
        if let Some(helm) = &self.helm {
            let chart = self.chart(&objects("charted"))?;
            self.kubectl(&["create", "namespace", "charted"])?;
            self.peer("helm install", helm, &["install", "bench", &chart, "-n", "charted"])?;
        }
        let before = Requests::read(self.plane)?;
        let ours =
            self.kusion(&format!("kusion apply, {count} unchanged"), "ours", &objects("ours"), APPLY)?;
        let writes = Requests::read(self.plane)?.since(&before).writes();
        let theirs = self.peer("kubectl apply --server-side", &self.plane.kubectl_path(), &server_side)?;
        good &= tenfold("ours / kubectl", ours, theirs, false);
        if let Some(helm) = &self.helm {
            let chart = self.folder.join("chart").display().to_string();
            let theirs = self.peer("helm upgrade", helm, &["upgrade", "bench", &chart, "-n", "charted"])?;
            good &= tenfold("ours / helm", ours, theirs, false);
        }
        println!("  writes by ours: {writes}{:>50} {}", "0", super::verdict(writes == 0));
        good &= self.state_row(all, new.wall, count)?;
        Ok(good && writes == 0)
    }

    fn preview_rows(&self, count: usize) -> Result<bool, String> {
        self.kusion(&format!("(kusion apply, {count} new)"), "plan", &manifests("plan", count, 0), APPLY)?;
        self.kubectl(&["create", "namespace", "diffed"])?;
        let file = self.manifest("diffed.json", &manifests("diffed", count, 0))?;
        self.peer(
            "(kubectl apply --server-side)",
            &self.plane.kubectl_path(),
            &["apply", "--server-side", "-f", &file],
        )?;
        let ours = self.kusion(
            &format!("kusion preview, {count} unchanged"),
            "plan",
            &manifests("plan", count, 0),
            PREVIEW,
        )?;
        let theirs = self.peer(
            "kubectl diff --server-side",
            &self.plane.kubectl_path(),
            &["diff", "--server-side", "-f", &file],
        )?;
        let good = tenfold("ours / kubectl", ours, theirs, true);
        let before = Requests::read(self.plane)?;
        self.kusion(
            &format!("kusion preview, 10 of {count} changed"),
            "plan",
            &manifests("plan", count, 10),
            PREVIEW,
        )?;
        let asked = Requests::read(self.plane)?.since(&before);
        // Three kinds in one namespace and the namespaces themselves, and a dry run for each change.
        let fair = asked.lists() + asked.gets() <= 4 && asked.writes() <= 10;
        println!(
            "  requests: {} reads, {} dry runs {:>46} {}",
            asked.lists() + asked.gets(),
            asked.writes(),
            "4 + 10",
            super::verdict(fair)
        );
        Ok(good && fair)
    }

    /// Ten times the objects.
    fn growth_row(&self) -> Result<bool, String> {
        let mut costs = Vec::new();
        for count in [self.size(500), self.size(5000)] {
            let name = format!("grow-{count}");
            let objects = manifests(&name, count, 0);
            self.kusion(&format!("(kusion apply, {count} new)"), &name, &objects, APPLY)?;
            let plans: Result<Vec<Cost>, String> = (0..3)
                .map(|_| self.kusion(&format!("kusion preview, {count}"), &name, &objects, PREVIEW))
                .collect();
            let best = plans?.into_iter().min_by(|a, b| a.cpu.total_cmp(&b.cpu)).unwrap_or_default();
            costs.push(best);
        }
        let (small, large) = (costs[0], costs[1]);
        let mut good = ratio("  CPU, ten times the objects", large.cpu / small.cpu, 12.0);
        good &= ratio("  wall, ten times the objects", large.wall / small.wall, 12.0);
        println!("  peak memory {} MB {:>51} {}", large.peak_mb, "200", super::verdict(large.peak_mb <= 200));
        Ok(good && large.peak_mb <= 200)
    }

    /// What the records of the whole stack cost, and those of ten objects of it: both as the command measured them itself.
    fn state_row(&self, whole: RecordCost, wall: f64, count: usize) -> Result<bool, String> {
        let changed = manifests("ours", count, 10);
        self.kusion(&format!("kusion apply, 10 of {count} changed"), "ours", &changed, APPLY)?;
        let few = self.state()?;
        let mut good = ratio("  state, share of the wall time", whole.seconds / wall, 0.02);
        let each = |state: RecordCost, objects: usize| state.bytes / objects as f64;
        println!("  state: {:.0} kB, then {:.0} kB for ten", whole.bytes / 1024.0, few.bytes / 1024.0);
        // A release has its own lines beside those of its objects: they weigh more on ten objects than on a thousand.
        good &= ratio("  bytes per object, ten / all", each(few, 10) / each(whole, count), 3.0);
        Ok(good)
    }

    /// The figures in the report that the last command printed.
    fn state(&self) -> Result<RecordCost, String> {
        let text = std::fs::read_to_string(self.output()).map_err(|e| e.to_string())?;
        let mut lines = text.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let report = lines.find(|line| line["event"] == "report").ok_or("no report")?;
        let number = |name: &str| report["state"][name].as_f64().ok_or(format!("no {name} in the report"));
        Ok(RecordCost { seconds: number("milliseconds")? / 1000.0, bytes: number("bytesWritten")? })
    }

    fn output(&self) -> PathBuf {
        self.folder.join("output")
    }

    pub(super) fn kusion(
        &self,
        name: &str,
        stack: &str,
        objects: &[Value],
        words: &[&str],
    ) -> Result<Cost, String> {
        let project = self.folder.join("project");
        let dir = project.join(stack);
        write(&project.join("project.yaml"), "name: bench\n")?;
        write(&dir.join("stack.yaml"), &format!("name: {stack}\n"))?;
        let spec = self.folder.join(format!("{stack}.spec.json"));
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": stack}});
        let resources: Vec<Value> = std::iter::once(&namespace).chain(objects).map(resource).collect();
        write(&spec, &json!({"resources": resources}).to_string())?;
        let (dir, spec) = (dir.display().to_string(), spec.display().to_string());
        let words: Vec<&str> =
            words.iter().copied().chain([dir.as_str(), "--spec-file", spec.as_str()]).collect();
        self.run(name, &self.kusion, &words)
    }

    fn peer(&self, name: &str, program: &Path, words: &[&str]) -> Result<Cost, String> {
        self.run(name, program, words)
    }

    fn run(&self, name: &str, program: &Path, words: &[&str]) -> Result<Cost, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/timed.py");
        let before = self.server_cpu();
        let mut command = Command::new("python3");
        command.arg(script).arg(self.output()).arg(program).args(words);
        command.env("KUBECONFIG", self.plane.kubeconfig()).env("KUSION_HOME", self.folder.join("home"));
        command.env("HOME", &self.folder).env("HELM_DRIVER", "secret");
        let output = command.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [wall, cpu, peak, code, _own] = numbers[..] else {
            return Err(format!("{name}: {text}{}", String::from_utf8_lossy(&output.stderr)));
        };
        if code != 0.0 {
            return Err(format!("{name} left with {code}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let cost = Cost { wall, cpu, server: self.server_cpu() - before, peak_mb: peak as u64 / 1024 };
        if !self.quiet {
            println!("{name:<44} {wall:>9.2} {cpu:>9.2} {:>9.2} {:>7}", cost.server, cost.peak_mb);
        }
        Ok(cost)
    }

    fn server_cpu(&self) -> f64 {
        self.plane
            .usage()
            .iter()
            .filter(|usage| usage.name.contains("apiserver"))
            .map(|usage| usage.cpu_seconds)
            .sum()
    }

    fn kubectl(&self, words: &[&str]) -> Result<(), String> {
        let output = self.plane.kubectl().args(words).output().map_err(|e| e.to_string())?;
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    fn manifest(&self, name: &str, objects: &[Value]) -> Result<String, String> {
        let path = self.folder.join(name);
        write(&path, &json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string())?;
        Ok(path.display().to_string())
    }

    fn chart(&self, objects: &[Value]) -> Result<String, String> {
        let chart = self.folder.join("chart");
        write(&chart.join("Chart.yaml"), "apiVersion: v2\nname: bench\nversion: 0.1.0\n")?;
        let documents: Vec<String> = objects.iter().map(|object| format!("---\n{object}\n")).collect();
        write(&chart.join("templates/all.yaml"), &documents.concat())?;
        Ok(chart.display().to_string())
    }
}

pub(super) const APPLY: &[&str] = &["apply", "-y", "--no-wait", "-o", "json"];
pub(super) const PREVIEW: &[&str] = &["preview"];

/// Half ConfigMaps, a quarter Deployments, a quarter Services; the first `changed` ConfigMaps have another value.
pub(super) fn manifests(namespace: &str, count: usize, changed: usize) -> Vec<Value> {
    (0..count).map(|number| manifest(namespace, number, (number / 4) * 2 + number % 4 < changed)).collect()
}

fn manifest(namespace: &str, number: usize, changed: bool) -> Value {
    let meta = json!({"name": format!("app-{number}"), "namespace": namespace, "labels": {"app": format!("app-{number}")}});
    let labels = json!({"app": format!("app-{number}")});
    match number % 4 {
        0 | 1 => {
            let value = if changed { "other" } else { "value" };
            let data = json!({"LOG_LEVEL": "info", "key": value, "text": "some lines\nof configuration\n"});
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
        }
        2 => json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{
                "name": "main", "image": "nginx:1.29", "ports": [{"containerPort": 80}],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            }]}},
        }}),
        _ => {
            json!({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": labels, "ports": [{"port": 80}]}})
        }
    }
}

fn resource(object: &Value) -> Value {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let names = [text("/apiVersion"), text("/kind"), text("/metadata/namespace"), text("/metadata/name")];
    let id: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    json!({"id": id.join(":"), "type": "Kubernetes", "attributes": object})
}

fn ratio(name: &str, ratio: f64, limit: f64) -> bool {
    println!("{name:<44} {ratio:>9.3} {limit:>29} {}", super::verdict(ratio <= limit));
    ratio <= limit
}

fn tenfold(name: &str, ours: Cost, theirs: Cost, with_wall: bool) -> bool {
    let mut good = ratio(&format!("  client CPU, {name}"), ours.cpu / theirs.cpu, 0.1);
    good &= ratio(&format!("  server CPU, {name}"), ours.server / theirs.server, 0.1);
    if with_wall {
        good &= ratio(&format!("  wall, {name}"), ours.wall / theirs.wall, 0.1);
    }
    good
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let problem = |e: std::io::Error| format!("{}: {e}", path.display());
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(problem)?;
    std::fs::write(path, text).map_err(problem)
}

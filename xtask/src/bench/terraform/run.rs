//! Running both sides and what it costs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::graph;
use crate::terraform_mirror;

/// What one command cost, with all processes that it started.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) cpu: f64,
    pub(super) wall: f64,
    /// The CPU of the command's own process.
    pub(super) own: f64,
    /// The peak of the command's own process.
    pub(super) mb: f64,
}

pub(super) fn median(costs: &[Cost]) -> Cost {
    let of = |part: fn(&Cost) -> f64| super::super::median(&mut costs.iter().map(part).collect::<Vec<f64>>());
    let (cpu, wall) = (of(|cost| cost.cpu), of(|cost| cost.wall));
    Cost { cpu, wall, own: of(|cost| cost.own), mb: of(|cost| cost.mb) }
}

pub(super) struct Bench {
    kusion: PathBuf,
    tofu: PathBuf,
    folder: PathBuf,
    settings: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A folder that stays behind in the temporary folder harms nobody.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// As many at once as tofu's default.
const PARALLEL: &str = "-parallelism=10";

impl Bench {
    pub(super) fn prepare() -> Result<Self, String> {
        let tofu = testenv::build_program("tofu").map_err(|error| error.to_string())?;
        let kusion = super::super::beside("kusion")?;
        let folder = std::env::temp_dir().join(format!("terraform-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let settings = terraform_mirror::lay_out(&folder)?;
        Ok(Bench { kusion, tofu, folder, settings })
    }

    /// Plan, apply, plan again, destroy with ours.
    pub(super) fn ours(&self, n: usize) -> Result<[Cost; 4], String> {
        let stack = self.stack("ours", &graph::spec(&graph::resources(n, &self.path("out"))))?;
        let plan = self.path("ours.plan");
        let spec = ["--spec-file", stack.spec.as_str()];
        let save = ["preview", stack.dir.as_str(), spec[0], spec[1], "--plan", plan.as_str()];
        let look = ["preview", stack.dir.as_str(), spec[0], spec[1]];
        let apply = ["apply", stack.dir.as_str(), spec[0], spec[1], "--plan", plan.as_str(), "-y"];
        let destroy = ["destroy", stack.dir.as_str(), "-y"];
        let life = [self.kusion(&save)?, self.kusion(&apply)?, self.kusion(&look)?, self.kusion(&destroy)?];
        self.nothing_left()?;
        Ok(life)
    }

    /// The same with tofu.
    pub(super) fn tofu(&self, n: usize, quiet: bool) -> Result<[Cost; 4], String> {
        let dir = self.fresh("tofu")?;
        let text = graph::main_file(&graph::resources(n, &self.path("out")));
        write(&dir.join("main.tf.json"), &text)?;
        let run = |words: &[&str]| self.timed(&self.tofu, words, &dir, quiet);
        run(&["init", "-input=false"])?;
        let life = [
            run(&["plan", "-input=false", PARALLEL, "-out=p"])?,
            run(&["apply", "-input=false", PARALLEL, "p"])?,
            run(&["plan", "-input=false", PARALLEL])?,
            run(&["destroy", "-input=false", PARALLEL, "-auto-approve"])?,
        ];
        self.nothing_left()?;
        Ok(life)
    }

    /// The mean cost of a tofu for one resource alone, which has to be set up each time.
    pub(super) fn per_resource(&self) -> Result<[Cost; 4], String> {
        let mut sums = [Cost::default(); 4];
        let mut resources = graph::resources(1, &self.path("out"));
        // Alone in the world: what it would refer to is written down.
        for (_, _, arguments) in &mut resources {
            *arguments =
                serde_json::from_str(&arguments.to_string().replace('@', "")).map_err(|e| e.to_string())?;
        }
        for at in 0..resources.len() {
            let dir = self.fresh("one")?;
            write(&dir.join("main.tf.json"), &graph::main_file(&resources[at..=at]))?;
            let run = |words: &[&str]| self.timed(&self.tofu, words, &dir, false);
            for (step, words) in [
                &["plan", "-input=false", "-out=p"][..],
                &["apply", "-input=false", "p"],
                &["plan", "-input=false"],
                &["destroy", "-input=false", "-auto-approve"],
            ]
            .iter()
            .enumerate()
            {
                let _ = fs::remove_dir_all(dir.join(".terraform"));
                for cost in [run(&["init", "-input=false"])?, run(words)?] {
                    sums[step].cpu += cost.cpu / resources.len() as f64;
                    sums[step].wall += cost.wall / resources.len() as f64;
                }
            }
        }
        Ok(sums)
    }

    /// Takes over texts that exist.
    pub(super) fn import(&self, n: usize) -> Result<Cost, String> {
        let stack = self.stack("import", &graph::import_spec(n))?;
        let apply = self.kusion(&["apply", &stack.dir, "--spec-file", &stack.spec, "-y"])?;
        self.kusion(&["destroy", &stack.dir, "-y"])?;
        Ok(apply)
    }

    fn stack(&self, name: &str, spec: &str) -> Result<Stack, String> {
        let project = self.fresh("project")?;
        let dir = project.join(name);
        write(&project.join("project.yaml"), "name: bench\n")?;
        write(&dir.join("stack.yaml"), &format!("name: {name}\n"))?;
        let file = project.join("spec.json");
        write(&file, spec)?;
        let _ = fs::remove_dir_all(self.folder.join("home"));
        Ok(Stack { dir: dir.display().to_string(), spec: file.display().to_string() })
    }

    fn kusion(&self, words: &[&str]) -> Result<Cost, String> {
        self.timed(&self.kusion, words, &self.folder, false)
    }

    fn timed(&self, program: &Path, words: &[&str], dir: &Path, quiet: bool) -> Result<Cost, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/timed.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(self.path("output")).arg(program).args(words).current_dir(dir);
        command.env("TF_CLI_CONFIG_FILE", &self.settings).env("TF_IN_AUTOMATION", "1");
        command.env("KUSION_HOME", self.folder.join("home")).env("HOME", &self.folder);
        command.env_remove("KUBECONFIG").env_remove("TF_LOG_SDK");
        if quiet {
            command.env("TF_LOG_SDK", "off");
        }
        let output = command.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let said = String::from_utf8_lossy(&output.stderr);
        match numbers[..] {
            [wall, cpu, peak, 0.0, own] => Ok(Cost { cpu, wall, own, mb: peak / 1024.0 }),
            _ => Err(format!("{} {}: {text}{said}", program.display(), words.join(" "))),
        }
    }

    /// A fast run that did not do its work is no run.
    fn nothing_left(&self) -> Result<(), String> {
        let left = fs::read_dir(self.folder.join("out")).map_or(0, Iterator::count);
        if left == 0 { Ok(()) } else { Err(format!("{left} files are left after a destroy")) }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn fresh(&self, name: &str) -> Result<PathBuf, String> {
        let dir = self.folder.join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        Ok(dir)
    }
}

struct Stack {
    dir: String,
    spec: String,
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let problem = |e: std::io::Error| format!("{}: {e}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(problem)?;
    fs::write(path, text).map_err(problem)
}

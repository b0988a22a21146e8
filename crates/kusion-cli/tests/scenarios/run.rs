//! Carries a scenario out in a folder of its own, and looks for secrets in everything that comes out.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::backend::{Backend, Sandbox};
use crate::script::{Call, Scenario, Step, What};
use crate::update::{self, Blocks};
use crate::{server, terminal};

/// A secret in a scenario starts like this; nothing may ever show one.
const CANARY: &str = "CANARY";

static NUMBER: AtomicUsize = AtomicUsize::new(0);

struct Runner<'a> {
    backend: Option<&'a dyn Backend>,
    folder: tempfile::TempDir,
    cwd: PathBuf,
    name: String,
    env: Vec<(String, String)>,
    background: Option<(Child, String)>,
    /// Every command, and what it printed.
    transcript: String,
    /// What was printed alone: a command line may name a secret.
    printed: String,
    /// Folders that are disks of their own.
    disks: Vec<PathBuf>,
    /// Clusters beside the backend; they end with the scenario.
    clusters: Vec<Sandbox>,
    /// With `UPDATE=1`: expectations to write anew.
    rewritten: Blocks,
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        for disk in &self.disks {
            let _ = Command::new("umount").arg(disk).status();
        }
    }
}

/// Runs a scenario; the error tells the step and what came instead. Returns the expectations that `UPDATE=1` found otherwise.
pub(crate) fn run(name: &str, scenario: &Scenario, backend: Option<&dyn Backend>) -> Result<Blocks, String> {
    let folder = tempfile::tempdir().unwrap();
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    let unique = format!("s{}x{number}", std::process::id());
    let mut runner = Runner {
        backend,
        cwd: folder.path().to_owned(),
        folder,
        name: unique,
        env: Vec::new(),
        background: None,
        transcript: String::new(),
        printed: String::new(),
        disks: Vec::new(),
        clusters: Vec::new(),
        rewritten: Blocks::new(),
    };
    for (file, text) in &scenario.files {
        let path = runner.folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, runner.fill(text)).unwrap();
    }
    for step in &scenario.steps {
        let done = runner.step(step).map_err(|problem| {
            format!("scenarios/{name}.txtar:{}: {problem}\n\ntranscript:\n{}", step.line, runner.transcript)
        })?;
        if done == Flow::Skip {
            testenv::skip(&format!(
                "scenarios/{name}.txtar from line {} on: no disk can be mounted",
                step.line
            ));
            break;
        }
    }
    runner
        .no_secret()
        .map_err(|problem| format!("scenarios/{name}.txtar: {problem}\n{}", runner.transcript))?;
    Ok(std::mem::take(&mut runner.rewritten))
}

/// Whether the scenario goes on.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Skip,
}

impl Runner<'_> {
    /// `@P@` is a name that no other scenario has.
    fn fill(&self, text: &str) -> String {
        text.replace("@P@", &self.name).replace("@DIR@", &self.folder.path().display().to_string())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.cwd.join(self.fill(name))
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn step(&mut self, step: &Step) -> Result<Flow, String> {
        if let What::SmallDisk(folder, size) = &step.what {
            return self.small_disk(folder, *size);
        }
        self.command_step(step).map(|()| Flow::On)
    }

    /// A disk in memory at a folder; who may not mount cannot play a full disk.
    fn small_disk(&mut self, folder: &str, size: u32) -> Result<Flow, String> {
        let path = self.path(folder);
        std::fs::create_dir_all(&path).map_err(|e| e.to_string())?;
        let size = format!("size={size}k,mode=700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            return Ok(Flow::Skip);
        }
        self.disks.push(path);
        Ok(Flow::On)
    }

    fn command_step(&mut self, step: &Step) -> Result<(), String> {
        match &step.what {
            What::Terminal { call, answers } => {
                let (code, text) = terminal::run(self.command(call)?, answers)?;
                self.judge(step.line, call, code, &text)
            }
            What::Command(call) => {
                let output = self.command(call)?.stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
                let text = format!("{}{}", lossy(&output.stdout), lossy(&output.stderr));
                self.judge(step.line, call, output.status.code(), &text)
            }
            What::Background { call, until } => {
                let mut child =
                    self.command(call)?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                let seen = read_until(&mut child, until, 1);
                self.background = Some((child, seen));
                Ok(())
            }
            What::Wait(call) => {
                let (child, seen) = self.background.take().ok_or("nothing runs in the background")?;
                let output = child.wait_with_output().unwrap();
                let text = format!("{seen}{}{}", lossy(&output.stdout), lossy(&output.stderr));
                self.judge(step.line, call, output.status.code(), &text)
            }
            What::KillAfter { call, count, text } => {
                let mut child =
                    self.command(call)?.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
                let seen = read_until(&mut child, text, *count);
                let _ = child.kill();
                let status = child.wait().unwrap();
                self.transcript.push_str(&format!("$ {} (killed)\n{seen}", call.words.join(" ")));
                self.printed.push_str(&seen);
                match status.code() {
                    None => Ok(()),
                    Some(code) => Err(format!("it ended with {code} before it could be killed")),
                }
            }
            What::InterruptAfter { call, count, text } => {
                let mut child =
                    self.command(call)?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                let seen = read_until(&mut child, text, *count);
                let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
                told.map_err(|e| e.to_string())?;
                let output = child.wait_with_output().unwrap();
                let text = format!("{seen}{}{}", lossy(&output.stdout), lossy(&output.stderr));
                self.judge(step.line, call, output.status.code(), &text)
            }
            other => self.file_step(other),
        }
    }

    fn file_step(&mut self, what: &What) -> Result<(), String> {
        let told = |e: std::io::Error| e.to_string();
        match what {
            What::Cd(folder) => self.cwd = self.folder.path().join(self.fill(folder)),
            What::Copy(from, to) => {
                std::fs::copy(self.folder.path().join(self.fill(from)), self.path(to)).map_err(told)?;
            }
            What::Remove(file) => std::fs::remove_file(self.path(file)).map_err(told)?,
            What::Replace { file, old, new } => {
                let text = std::fs::read_to_string(self.path(file)).map_err(told)?;
                let old = self.fill(old);
                if !text.contains(&old) {
                    return Err(format!("{file} has no `{old}`"));
                }
                std::fs::write(self.path(file), text.replace(&old, &self.fill(new))).map_err(told)?;
            }
            What::Env(name, value) => self.env.push((name.clone(), self.fill(value))),
            What::Cut(file, bytes) => {
                let path = self.path(file);
                let content = std::fs::read(&path).map_err(told)?;
                std::fs::write(&path, &content[..content.len().saturating_sub(*bytes)]).map_err(told)?;
            }
            What::ReadOnly(folder) => {
                let mut mount = Command::new("mount");
                let done = mount.args(["-o", "remount,ro"]).arg(self.path(folder)).status().map_err(told)?;
                if !done.success() {
                    return Err(format!("{folder} cannot be made read-only"));
                }
            }
            What::Fill(folder) => {
                // As much as goes on it: the write that fails is the last.
                use std::io::Write as _;
                let mut file = std::fs::File::create(self.path(folder).join("filler")).map_err(told)?;
                while file.write_all(&[0; 1024]).is_ok() {}
            }
            What::Chmod(file, mode) => {
                std::fs::set_permissions(self.path(file), std::fs::Permissions::from_mode(*mode))
                    .map_err(told)?;
            }
            What::Serve { status, kubeconfig, body } => {
                let body = body.as_ref().map(|file| std::fs::read_to_string(self.path(file)));
                let server = server::serve(*status, body.transpose().map_err(told)?);
                std::fs::write(self.path(kubeconfig), kubeconfig_of(&server)).map_err(told)?;
            }
            What::AnotherCluster(kubeconfig) => {
                let sandbox = Sandbox::start();
                std::fs::copy(sandbox.kubeconfig(), self.path(kubeconfig)).map_err(told)?;
                self.clusters.push(sandbox);
            }
            _ => unreachable!("commands are steps of their own"),
        }
        Ok(())
    }

    fn command(&self, call: &Call) -> Result<Command, String> {
        let words: Vec<String> = call.words.iter().map(|word| self.fill(word)).collect();
        let (program, words) = words.split_first().ok_or("an empty command")?;
        let mut command = match (program.as_str(), self.backend) {
            ("kusion", _) => Command::new(env!("CARGO_BIN_EXE_kusion")),
            ("kubectl", Some(backend)) => backend.kubectl(),
            ("helm", Some(_)) => self.helm()?,
            ("cat" | "ls" | "grep" | "test" | "git", _) => Command::new(program),
            _ => return Err(format!("`{program}` is not allowed in a scenario")),
        };
        command.args(words).current_dir(&self.cwd);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("KUSION_")) {
            command.env_remove(name);
        }
        command.env("KUSION_HOME", self.home()).env("KUSION_PROFILE", "sandbox");
        command.env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").env("USER", "tester");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "wang").env(format!("GIT_{who}_EMAIL"), "wang@corp");
        }
        if let Some(rc) = self.providers()? {
            command.env("TF_CLI_CONFIG_FILE", rc);
        }
        match self.backend {
            Some(backend) => command.env("KUBECONFIG", backend.kubeconfig()),
            None => command.env_remove("KUBECONFIG"),
        };
        command.envs(self.env.iter().cloned());
        Ok(command)
    }

    /// A CLI configuration with the providers of the test environment.
    fn providers(&self) -> Result<Option<PathBuf>, String> {
        let Some(bin) = providers() else { return Ok(None) };
        let rows = ["random", "time", "local", "tls", "http"]
            .map(|name| format!("    \"hashicorp/{name}\" = \"{}\"\n", bin.display()));
        let text = format!(
            "provider_installation {{\n  dev_overrides {{\n{}  }}\n  direct {{}}\n}}\n",
            rows.concat()
        );
        let rc = self.folder.path().join("providers.rc");
        std::fs::write(&rc, text).map_err(|e| e.to_string())?;
        Ok(Some(rc))
    }

    fn helm(&self) -> Result<Command, String> {
        let mut command = Command::new(helm().ok_or("there is no Helm")?);
        let folder = self.folder.path().join("helm");
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, &folder);
        }
        Ok(command)
    }

    fn judge(&mut self, line: usize, call: &Call, code: Option<i32>, text: &str) -> Result<(), String> {
        self.transcript.push_str(&format!("$ {}\n{text}", call.words.join(" ")));
        self.printed.push_str(text);
        let problem = match self.compare(call, code, text) {
            Ok(()) => return Ok(()),
            Err(problem) => problem,
        };
        let Some(code) = code.filter(|_| update::asked()) else { return Err(problem) };
        let folder = self.folder.path().display().to_string();
        let names = [(self.name.clone(), "@P@"), (folder, "@DIR@")];
        self.rewritten.insert(line, update::block(code, text, &call.absent, &names));
        Ok(())
    }

    fn compare(&self, call: &Call, code: Option<i32>, text: &str) -> Result<(), String> {
        if code != Some(call.code) {
            return Err(format!("left with {code:?}, not {}", call.code));
        }
        let mut lines = text.lines();
        for expected in &call.lines {
            let pattern = self.fill(expected);
            if !lines.any(|line| fits(&pattern, line.trim())) {
                return Err(format!("no line (any more) like: {pattern}"));
            }
        }
        match call.absent.iter().map(|absent| self.fill(absent)).find(|absent| text.contains(absent)) {
            Some(absent) => Err(format!("there is a text that must not be: {absent}")),
            None => Ok(()),
        }
    }

    /// No secret of the scenario is in what was printed, in the state or in a plan file.
    fn no_secret(&self) -> Result<(), String> {
        let coded = ["Q0FOQVJZ", "NBTkFSW", "DQU5BUl"];
        let has = |text: &str| text.contains(CANARY) || coded.iter().any(|code| text.contains(code));
        if has(&self.printed) {
            return Err("a secret was printed".to_owned());
        }
        let mut files = Vec::new();
        every_file(&self.home(), &mut files);
        files.extend(
            std::fs::read_dir(self.folder.path()).unwrap().flatten().map(|e| e.path()).filter(|p| {
                p.extension().is_some_and(|extension| extension == "plan" || extension == "json")
            }),
        );
        match files.iter().find(|file| std::fs::read(file).is_ok_and(|bytes| has(&lossy(&bytes)))) {
            Some(file) => Err(format!("a secret stands in {}", file.display())),
            None => Ok(()),
        }
    }
}

/// The folder of the Terraform providers, if they are built.
pub(crate) fn providers() -> Option<PathBuf> {
    Some(testenv::program("terraform-provider-random")?.parent()?.to_owned())
}

/// The pinned Helm, if it is built.
pub(crate) fn helm() -> Option<PathBuf> {
    std::env::var_os("KUSION_HELM").map(PathBuf::from).or_else(|| testenv::program("helm"))
}

fn every_file(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { every_file(&path, files) } else { files.push(path) }
    }
}

/// Reads lines until one has the text for the n-th time; returns what was read.
fn read_until(child: &mut Child, text: &str, mut count: usize) -> String {
    let stdout = child.stdout.as_mut().unwrap();
    let mut seen = String::new();
    let mut reader = BufReader::with_capacity(1, stdout.by_ref());
    while count > 0 {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            break;
        }
        count -= usize::from(line.contains(text));
        seen.push_str(&line);
    }
    seen
}

/// Whether a line is like a pattern; `*` stands for anything, spaces count once.
fn fits(pattern: &str, line: &str) -> bool {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (pattern, line) = (squeeze(pattern), squeeze(line));
    let mut parts = pattern.split('*');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let tail: Vec<&str> = parts.collect();
    let Some((last, middle)) = tail.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn kubeconfig_of(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: test\ncontexts:\n- name: test\n  context: {{cluster: test, user: test}}\n\
         clusters:\n- name: test\n  cluster: {{server: \"http://{server}\"}}\nusers:\n- name: test\n  user: {{token: none}}\n"
    )
}

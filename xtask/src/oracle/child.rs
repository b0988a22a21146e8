//! The black-box oracle: the released wheel in a Python child process, JSON lines over stdio.
//!
//! In: a program. Out: a verdict. The child may hang, abort or be killed by its own memory limit; each of these is a verdict
//! (`Broken`), and the next program gets a fresh child.

use super::read;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use testkit::{Output, Program, Runner, Verdict};

/// What the oracle said, with what it cost.
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    /// CPU seconds of the execute call.
    pub(crate) cpu: f64,
    /// Peak memory of the child, KiB.
    pub(crate) rss: u64,
}

/// How silence is told.
const HANG: &str = "hang";

/// A wheel that answers.
pub(crate) struct Oracle {
    folder: PathBuf,
    timeout: Duration,
    memory_mib: u32,
    line: Option<Line>,
}

/// A child that answers a line with a line.
pub(crate) struct Line {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<String>,
}

impl Drop for Line {
    fn drop(&mut self) {
        // Both fail only if the child is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Line {
    /// Starts a child.
    pub(crate) fn start(command: &mut Command) -> Result<Line, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start {command:?}: {e}"))?;
        let stdin = child.stdin.take().ok_or("the child has no stdin")?;
        let stdout = child.stdout.take().ok_or("the child has no stdout")?;
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for text in BufReader::new(stdout).lines() {
                let Ok(text) = text else { break };
                if send.send(text).is_err() {
                    break;
                }
            }
        });
        Ok(Line { child, stdin, answers })
    }

    /// Waits for a line; the error says how the child broke.
    pub(crate) fn heard(&mut self, timeout: Duration) -> Result<String, String> {
        match self.answers.recv_timeout(timeout) {
            Ok(text) => Ok(text),
            Err(RecvTimeoutError::Timeout) => Err(HANG.into()),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
                Err(format!("abort ({status})"))
            }
        }
    }

    /// Sends a line and waits for one.
    pub(crate) fn ask(&mut self, question: &str, timeout: Duration) -> Result<String, String> {
        match writeln!(self.stdin, "{question}").and_then(|()| self.stdin.flush()) {
            Ok(()) => self.heard(timeout),
            Err(_) => Err("died before the question".into()),
        }
    }
}

impl Oracle {
    /// Makes an oracle that keeps its files in a folder of its own.
    pub(crate) fn new(timeout: Duration, memory_mib: u32) -> Result<Oracle, String> {
        let base =
            if Path::new("/dev/shm").is_dir() { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
        let folder = base.join(format!("kcl-oracle-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Oracle { folder, timeout, memory_mib, line: None })
    }

    /// Runs a program `times` times in one child and returns the last answer, with the CPU time of all runs.
    pub(crate) fn ask(&mut self, program: &Program, times: u32) -> Result<Answer, String> {
        let on_disk = program.files.iter().any(|file| !file.entry);
        // Files in memory get an empty folder: the wheel looks up snippets on disk, and a stale file would move columns.
        let folder = self.folder.join(if on_disk { "disk" } else { "memory" });
        if on_disk {
            write_files(&folder, program)?;
        }
        let question = question(program, &folder, on_disk, times);
        // A slow machine is no hang: silence is believed only from a second child that was given more time.
        let mut told = self.exchange(&question, self.timeout)?;
        if told.as_ref().is_err_and(|broken| broken == HANG) {
            self.line = None;
            told = self.exchange(&question, self.timeout * 5)?;
        }
        let answer = match told {
            Ok(text) => text,
            Err(broken) => {
                self.line = None;
                return Ok(Answer { verdict: Verdict::Broken(broken), cpu: 0.0, rss: 0 });
            }
        };
        let value: Value =
            serde_json::from_str(&answer).map_err(|e| format!("oracle answered {answer:?}: {e}"))?;
        let text = |key: &str| value[key].as_str().unwrap_or("").to_string();
        let error = text("error");
        if read::is_panic(&error) {
            self.line = None; // what a panic leaves behind is not trusted
        }
        let verdict = if error.is_empty() {
            Verdict::Output(Output { yaml: text("yaml"), json: text("json"), log: text("log") })
        } else {
            read::fault(&error, &folder.to_string_lossy())
        };
        Ok(Answer {
            verdict,
            cpu: value["cpu"].as_f64().unwrap_or(0.0),
            rss: value["rss"].as_u64().unwrap_or(0),
        })
    }

    /// Asks what is known: a wheel that is missing, another version, or one that always says the same must not pass for agreement.
    pub(crate) fn shake_hands(&mut self) -> Result<(), String> {
        let good = self.ask(&Program::single("a = 1\nb = [a, \"x\"]\n"), 1)?.verdict;
        let bad = self.ask(&Program::single("a = 1\nb: int = \"x\"\n"), 1)?.verdict;
        let says_value = matches!(&good, Verdict::Output(out) if out.yaml.trim_end() == "a: 1\nb:\n- 1\n- x");
        let says_error = matches!(&bad, Verdict::Fault(fault) if fault.code == "E2G22" && fault.line == 2);
        if says_value && says_error {
            return Ok(());
        }
        Err(format!(
            "the oracle does not know what it must know:\n{good}\n{bad}\ninstall it with: pip install kcl-lib==0.12.4"
        ))
    }

    /// Sends one line and waits for one; the inner error says how the child broke.
    fn exchange(&mut self, question: &str, timeout: Duration) -> Result<Result<String, String>, String> {
        if self.line.is_none() {
            self.line = Some(start(self.memory_mib)?);
        }
        let line = self.line.as_mut().expect("started above");
        Ok(line.ask(question, timeout))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.line = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Runner for Oracle {
    fn run(&mut self, program: &Program) -> Verdict {
        match self.ask(program, 1) {
            Ok(answer) => answer.verdict,
            Err(message) => Verdict::Broken(message),
        }
    }
}

fn start(memory_mib: u32) -> Result<Line, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/worker.py");
    let python = std::env::var("KCL_ORACLE_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut line = Line::start(
        Command::new(&python)
            .arg(script)
            .env("ORACLE_MEMORY_MIB", memory_mib.to_string())
            .stderr(Stdio::null()),
    )?;
    match line.heard(Duration::from_secs(60)) {
        Ok(text) if text == "ready" => Ok(line),
        _ => Err("the oracle does not start; install it with: pip install kcl-lib==0.12.4".into()),
    }
}

fn write_files(folder: &Path, program: &Program) -> Result<(), String> {
    let problem = |e: std::io::Error| format!("{}: {e}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(problem)?;
    }
    std::fs::create_dir_all(folder).map_err(problem)?;
    for file in &program.files {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(problem)?;
        }
        std::fs::write(path, &file.text).map_err(problem)?;
    }
    Ok(())
}

fn question(program: &Program, folder: &Path, on_disk: bool, times: u32) -> String {
    let flags = &program.flags;
    let entries: Vec<String> =
        program
            .entries()
            .map(|file| {
                if on_disk {
                    folder.join(&file.path).to_string_lossy().into_owned()
                } else {
                    file.path.clone()
                }
            })
            .collect();
    let codes: Vec<&str> =
        if on_disk { Vec::new() } else { program.entries().map(|f| f.text.as_str()).collect() };
    json!({
        "dir": folder, "entries": entries, "codes": codes, "times": times,
        "flags": {
            "options": flags.options, "overrides": flags.overrides, "selectors": flags.selectors,
            "externals": flags.externals, "disable_none": flags.disable_none, "sort_keys": flags.sort_keys,
            "show_hidden": flags.show_hidden, "strict_range": flags.strict_range, "debug": flags.debug,
        },
    })
    .to_string()
}

//! Plugins: a child process per plugin, JSON-RPC 2.0 over its standard streams, one message per line.
//!
//! A plugin is started at its first call, only if the command line names it, and ends with the run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kcl::{DiskOutside, Outside};

/// How long a call may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The disk, and the plugins that the command line names.
pub(crate) struct Plugins {
    disk: DiskOutside,
    commands: BTreeMap<String, String>,
    running: Mutex<BTreeMap<String, Running>>,
}

struct Running {
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
    next_id: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Plugins {
    pub(crate) fn new(disk: DiskOutside, commands: &[(String, String)]) -> Self {
        Plugins { disk, commands: commands.iter().cloned().collect(), running: Mutex::default() }
    }

    fn call(&self, module: &str, function: &str, arguments: &str) -> Result<String, String> {
        let Some(command) = self.commands.get(module) else {
            return Err(format!(
                "the plugin `kcl_plugin.{module}` has no command; start it with --plugin {module}=COMMAND"
            ));
        };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.contains_key(module) {
            running.insert(module.to_owned(), start(command)?);
        }
        let Some(plugin) = running.get_mut(module) else { return Err("the plugin did not start".into()) };
        let answer = plugin.ask(module, function, arguments);
        if answer.is_err() {
            // A plugin that failed to answer is in an unknown state: the next call starts a new one.
            running.remove(module);
        }
        result_of(module, function, &answer?)
    }
}

impl Running {
    fn ask(&mut self, module: &str, function: &str, arguments: &str) -> Result<String, String> {
        self.next_id += 1;
        let request = format!(
            "{{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"{function}\", \"params\": {arguments}}}\n",
            self.next_id
        );
        let sent = self.input.write_all(request.as_bytes()).and_then(|()| self.input.flush());
        sent.map_err(|e| format!("the plugin `{module}` does not take requests: {e}"))?;
        match self.answers.recv_timeout(TIMEOUT) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "the plugin `{module}` did not answer `{function}` within {} s",
                TIMEOUT.as_secs()
            )),
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("the plugin `{module}` ended without an answer to `{function}`"))
            }
        }
    }
}

fn start(command: &str) -> Result<Running, String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start `{command}`: {e}"))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(format!("cannot talk to `{command}`"));
    };
    let (send, answers) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    Ok(Running { child, input, answers, next_id: 0 })
}

fn result_of(module: &str, function: &str, line: &str) -> Result<String, String> {
    let answer: serde_json::Value = serde_json::from_str(line)
        .map_err(|e| format!("the plugin `{module}` answered `{function}` with no JSON: {e}"))?;
    if let Some(error) = answer.get("error").filter(|e| !e.is_null()) {
        let message = error.get("message").and_then(|m| m.as_str()).unwrap_or("no message");
        return Err(format!("the plugin `{module}` failed in `{function}`: {message}"));
    }
    Ok(answer.get("result").unwrap_or(&serde_json::Value::Null).to_string())
}

impl Outside for Plugins {
    fn enter(&self, modules: &[&Path]) {
        self.disk.enter(modules);
    }

    fn read_file(&self, path: &Path) -> Result<Vec<u8>, kcl::Reason> {
        self.disk.read_file(path)
    }

    fn write_file(&self, path: &Path, data: &[u8], append: bool) -> Result<(), kcl::Reason> {
        self.disk.write_file(path, data, append)
    }

    fn file_op(&self, op: kcl::FileOp<'_>) -> Result<kcl::FileAnswer, kcl::Reason> {
        self.disk.file_op(op)
    }

    fn env(&self, name: &str) -> Option<String> {
        self.disk.env(name)
    }

    fn now(&self) -> (i64, u32, i32) {
        self.disk.now()
    }

    fn random(&self) -> Result<[u8; 16], kcl::Reason> {
        self.disk.random()
    }

    fn call_plugin(&self, module: &str, function: &str, arguments: &str) -> Result<String, String> {
        self.call(module, function, arguments)
    }
}

//! `cargo xtask oracle rpc`: a client that has the reference's own messages asks the wheels and our server the same questions.
//!
//! The messages come with the wheels (`xtask/oracle/rpc.py`); ours is asked over gRPC, JSON-RPC over HTTP, REST, and JSON-RPC on standard
//! streams. Answers are compared field by field (`testkit::rpc`). With `--update` the answers of the wheels are recorded anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::rpc::{self, Case};

use super::child::Line;
use super::root;
use crate::ChoreResult;
use crate::build::{built, ran, target};

/// The wheels, and how many methods each has that ours must have.
const WHEELS: [(&str, usize); 2] = [("0.12.4", 22), ("0.13.2", 28)];
/// Methods of 0.12.4 that the reference itself has removed.
const REMOVED: [&str; 2] = ["BuildProgram", "ExecArtifact"];
/// A question to a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn main(words: &[String]) -> ChoreResult {
    let update = match words {
        [] => false,
        [word] if word == "--update" => true,
        _ => return Err("usage: cargo xtask oracle rpc [--update]".into()),
    };
    let binary = built()?.join("kcl-server");
    let server = Server::start(&binary)?;
    let (mut cases, mut wrong) = (rpc::cases(), Vec::new());
    for (version, methods) in WHEELS {
        let mut client = Client::start(version, &server, &binary)?;
        wrong.extend(client.promises(methods));
        let asked: Vec<usize> = (0..cases.len()).filter(|at| cases[*at].wheel == version).collect();
        for at in &asked {
            let answer = rpc::asked(&cases[*at], |args| client.ask("wheel", &cases[*at].method, args));
            if update {
                cases[*at] = answer;
            } else {
                let told = |(_, how): (String, String)| {
                    format!("{}: the record is not what the wheel {version} says:\n{how}", answer.name)
                };
                wrong.extend(rpc::differences(&cases[*at], &answer).into_iter().map(told));
            }
        }
        let asked: Vec<Case> = asked.into_iter().map(|at| cases[at].clone()).collect();
        for carrier in client.carriers.clone() {
            let found = rpc::judge(&asked, |case, args| client.ask(&carrier, &case.method, args));
            wrong.extend(found.into_iter().map(|difference| format!("{carrier}: {difference}")));
        }
        let carriers = client.carriers.join(", ");
        eprintln!("oracle rpc: {} questions to {version} and to ours over {carriers}", asked.len());
    }
    if update {
        let text = serde_json::to_string_pretty(&cases).map_err(|e| e.to_string())?;
        std::fs::write(rpc::record(), text + "\n").map_err(|e| e.to_string())?;
    }
    match wrong.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(format!("{} differ:\n{}", wrong.len(), wrong.join("\n"))),
    }
}

/// Our server; it ends with the chore.
struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if the child is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(binary: &Path) -> Result<Server, String> {
        use std::io::BufRead as _;
        let mut child = Command::new(binary)
            .args(["--http", ":0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", binary.display()))?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("the server has no stdout")?;
        let read = std::io::BufReader::new(stdout).read_line(&mut line);
        read.map_err(|e| format!("the server said nothing: {e}"))?;
        let told: Value =
            serde_json::from_str(&line).map_err(|e| format!("the server said {line:?}: {e}"))?;
        let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
        Ok(Server { child, address: text("address"), token: text("token") })
    }
}

/// A client with the messages of one wheel.
struct Client {
    line: Line,
    hello: Value,
    /// The ways to our server.
    carriers: Vec<String>,
}

impl Client {
    fn start(version: &str, server: &Server, binary: &Path) -> Result<Client, String> {
        let root = root();
        let mut line = Line::start(
            Command::new(environment(version)?.join("bin/python"))
                .arg(root.join("xtask/oracle/rpc.py"))
                .args([&server.address, &server.token])
                .arg(binary)
                .arg(root.join("crates/kcl-api/proto/kcl.proto"))
                .stderr(Stdio::null()),
        )?;
        let told = line.heard(PATIENCE).map_err(|why| format!("the client of {version}: {why}"))?;
        let hello: Value =
            serde_json::from_str(&told).map_err(|e| format!("the client said {told:?}: {e}"))?;
        if hello["version"] != version {
            return Err(format!("the wheel {version} is not installed, but {}", hello["version"]));
        }
        let carriers = texts(&hello["carriers"]).filter(|name| name != "wheel").collect();
        Ok(Client { line, hello, carriers })
    }

    /// What the reference has and ours has not: fields of messages, methods.
    fn promises(&self, methods: usize) -> Vec<String> {
        let is_removed = |text: &String| REMOVED.iter().any(|name| text.contains(name));
        let mut wrong: Vec<String> =
            texts(&self.hello["lacking"]).filter(|field| !is_removed(field)).collect();
        let theirs: BTreeSet<String> =
            texts(&self.hello["methods"]).filter(|name| !is_removed(name)).collect();
        let asked: BTreeSet<String> = rpc::cases().into_iter().map(|case| case.method).collect();
        wrong.extend(theirs.difference(&asked).map(|name| format!("{name} is not asked")));
        if theirs.len() != methods {
            wrong.push(format!("the wheel has {} methods, not {methods}", theirs.len()));
        }
        wrong
    }

    fn ask(&mut self, carrier: &str, method: &str, args: &Value) -> Result<Value, String> {
        let question = json!({ "carrier": carrier, "method": method, "args": args }).to_string();
        let told = self.line.ask(&question, PATIENCE).map_err(|why| format!("the client broke: {why}"))?;
        let mut answer: Value =
            serde_json::from_str(&told).map_err(|e| format!("the client said {told:?}: {e}"))?;
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["result"].take()),
        }
    }
}

fn texts(list: &Value) -> impl Iterator<Item = String> {
    list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned))
}

/// A Python with one wheel; made once.
fn environment(version: &str) -> Result<PathBuf, String> {
    let folder = target().join("rpc-clients").join(version);
    if !folder.join("ready").exists() {
        ran(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        ran(Command::new(folder.join("bin/pip"))
            .args(["install", "-q", "--disable-pip-version-check", "grpcio>=1.60,<2"])
            .arg(format!("kcl-lib=={version}")))?;
        std::fs::write(folder.join("ready"), "").map_err(|e| e.to_string())?;
    }
    Ok(folder)
}

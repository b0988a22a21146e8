//! tofu with its own backends: the same servers, the same line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use testenv::services::{S3_BUCKET, S3_LOGIN};

use super::media::proxy;

/// What is done, in order: name, words, and the number of the text that the resources hold.
const WORK: [(&str, &[&str], u32); 3] = [
    ("create all", &["apply", "-input=false", "-auto-approve"], 0),
    ("change one", &["apply", "-input=false", "-auto-approve", "-refresh=false"], 1),
    ("plan, nothing to do", &["plan", "-input=false"], 1),
];

/// Measures tofu; without a tofu it says so.
pub(super) fn tofu(folder: &Path, n: usize) -> Result<(), String> {
    let Some(program) = testenv::program("tofu") else {
        println!("tofu: not built (cargo xtask testenv build tofu)");
        return Ok(());
    };
    let mut backends = vec![("local file", json!({"local": {}}))];
    if let Some(server) = testenv::services::postgres() {
        let socket = proxy(&format!("127.0.0.1:{}", server.port));
        let address = format!("postgres://test@{socket}/postgres?sslmode=disable");
        let schema = format!("tofu_{}", std::process::id());
        backends.push(("pg", json!({"pg": {"conn_str": address, "schema_name": schema}})));
    }
    if let Some(server) = testenv::services::s3() {
        let socket = proxy(server.endpoint.trim_start_matches("http://"));
        backends.push((
            "s3",
            json!({"s3": {
                "bucket": S3_BUCKET, "key": format!("tofu-{}", std::process::id()), "region": "us-east-1",
                "endpoints": {"s3": format!("http://{socket}")}, "use_path_style": true, "use_lockfile": true,
                "skip_credentials_validation": true, "skip_region_validation": true,
                "skip_requesting_account_id": true, "skip_metadata_api_check": true, "skip_s3_checksum": true,
            }}),
        ));
    }
    println!("tofu, {n} resources of the same size: wall ms (more than with a local file)");
    let mut local = [0.0; WORK.len()];
    for (name, backend) in backends {
        let dir = folder.join(format!("tofu-{}", name.replace(' ', "-")));
        let took = Peer { program: program.clone(), dir }.life(&backend, n)?;
        if name == "local file" {
            local = took;
        }
        for (((work, _, _), took), local) in WORK.iter().zip(took).zip(local) {
            println!("  {name:<12} {work:<29} {:>9.1} {:>+9.1}", took, took - local);
        }
    }
    Ok(())
}

struct Peer {
    program: PathBuf,
    dir: PathBuf,
}

impl Peer {
    fn life(&self, backend: &Value, n: usize) -> Result<[f64; WORK.len()], String> {
        fs::create_dir_all(&self.dir).map_err(|error| error.to_string())?;
        self.write(backend, n, 0)?;
        self.run(&["init", "-input=false"])?;
        let mut took = [0.0; WORK.len()];
        for (slot, (_, words, text)) in took.iter_mut().zip(WORK) {
            self.write(backend, n, text)?;
            *slot = self.run(words)?;
        }
        Ok(took)
    }

    /// Resources as large as ours; the first one holds a text that can change.
    fn write(&self, backend: &Value, n: usize, text: u32) -> Result<(), String> {
        let resource = |number: usize| {
            let changed = if number == 0 { text } else { 0 };
            let input =
                json!({"mode": "production", "number": number, "change": changed, "text": "x".repeat(200)});
            (format!("settings-{number}"), json!({"input": input}))
        };
        let all: serde_json::Map<String, Value> = (0..n).map(resource).collect();
        let main = json!({"terraform": {"backend": backend}, "resource": {"terraform_data": all}});
        fs::write(self.dir.join("main.tf.json"), main.to_string()).map_err(|error| error.to_string())
    }

    fn run(&self, words: &[&str]) -> Result<f64, String> {
        let begun = Instant::now();
        let output = Command::new(&self.program)
            .args(words)
            .current_dir(&self.dir)
            .env("HOME", &self.dir)
            .env("AWS_ACCESS_KEY_ID", S3_LOGIN.0)
            .env("AWS_SECRET_ACCESS_KEY", S3_LOGIN.1)
            .env("TF_IN_AUTOMATION", "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        if output.status.success() {
            return Ok(took);
        }
        Err(format!("tofu {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr)))
    }
}

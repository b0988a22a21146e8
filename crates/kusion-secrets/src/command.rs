//! Secrets from a program: the road to every vault that is not built in.
//!
//! The program gets one line of JSON on its input, `{"name", "property", "version"}`, and prints the value; one line break at
//! the end is not part of it. A file of a repository must not start programs by itself: the user allows them by name in the
//! variable [`COMMANDS`].

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base_secret::SecretValue;
use futures::future::BoxFuture;
use kusion_model::SecretRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::{LARGEST, Refusal, SecretError, SecretStore};

/// The variable that names the programs that may be started, with `:` between them; `*` allows all.
pub const COMMANDS: &str = "KUSION_SECRET_COMMANDS";
const USUAL_LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct CommandStore {
    command: Vec<String>,
    limit: Duration,
    folder: PathBuf,
}

impl CommandStore {
    pub(crate) fn new(command: Vec<String>, seconds: Option<u64>, folder: &Path) -> Self {
        let limit = seconds.map_or(USUAL_LIMIT, Duration::from_secs);
        CommandStore { command, limit, folder: folder.to_owned() }
    }

    fn program(&self) -> &str {
        self.command.first().map(String::as_str).unwrap_or_default()
    }

    async fn ask(&self, reference: &SecretRef) -> Result<SecretValue, SecretError> {
        let program = self.program();
        let unavailable =
            |what: String| SecretError::new(Refusal::Unavailable, format!("`{program}` {what}"));
        let mut command = Command::new(program);
        for name in base_secret::hidden_variables() {
            command.env_remove(name);
        }
        let mut child = command
            .args(&self.command[1..])
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| unavailable(format!("cannot be started: {e}")))?;
        log::debug!("program {program} started");
        let talk = talk(&mut child, reference);
        let answer = tokio::time::timeout(self.limit, talk).await;
        let answer =
            answer.map_err(|_| unavailable(format!("gave no answer within {} s", self.limit.as_secs())))?;
        let (mut value, errors) = answer.map_err(|e| unavailable(format!("cannot be talked to: {e}")))?;
        let status = child.wait().await.map_err(|e| unavailable(format!("did not end: {e}")))?;
        if !status.success() {
            let said = errors.lines().next().unwrap_or("it said nothing").trim();
            return Err(unavailable(format!("failed ({status}): {said}")));
        }
        if value.len() > LARGEST {
            return Err(SecretError::new(Refusal::Unusable, format!("`{program}` printed more than 1 MiB")));
        }
        if value.last() == Some(&b'\n') {
            value.pop();
        }
        if value.is_empty() {
            return Err(SecretError::new(Refusal::NotFound, format!("`{program}` printed nothing")));
        }
        Ok(SecretValue::new(value))
    }
}

/// Tells the program what is wanted and reads all that it says, no more than is useful.
async fn talk(child: &mut Child, reference: &SecretRef) -> std::io::Result<(Vec<u8>, String)> {
    let (name, property) = (&reference.name, &reference.property);
    let ask = serde_json::json!({"name": name, "property": property, "version": reference.version});
    if let Some(mut input) = child.stdin.take() {
        // A program that does not want to know has the right to close its input.
        let _ = input.write_all(format!("{ask}\n").as_bytes()).await;
    }
    let (mut value, mut errors) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let read_out = async {
        match out {
            Some(out) => out.take(LARGEST as u64 + 1).read_to_end(&mut value).await.map(|_| ()),
            None => Ok(()),
        }
    };
    let read_err = async {
        match err {
            Some(err) => err.take(4_096).read_to_end(&mut errors).await.map(|_| ()),
            None => Ok(()),
        }
    };
    let (out, err) = futures::future::join(read_out, read_err).await;
    out.and(err)?;
    Ok((value, String::from_utf8_lossy(&errors).into_owned()))
}

/// Whether the user lets this program be started.
fn is_allowed(program: &str, allowed: &str) -> bool {
    allowed.split(':').any(|name| name == "*" || (!name.is_empty() && name == program))
}

impl SecretStore for CommandStore {
    fn get<'a>(&'a self, reference: &'a SecretRef) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(async move {
            let program = self.program();
            if !is_allowed(program, &std::env::var(COMMANDS).unwrap_or_default()) {
                return Err(SecretError::new(
                    Refusal::Denied,
                    format!("the configuration wants to start `{program}`, and you have not allowed it"),
                )
                .next(format!("if you trust it: export {COMMANDS}={program}")));
            }
            self.ask(reference).await
        })
    }

    fn describe(&self) -> String {
        format!("command `{}`", self.program())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(script: &str, seconds: u64) -> CommandStore {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        CommandStore::new(command, Some(seconds), Path::new("/"))
    }

    fn wanted() -> SecretRef {
        SecretRef::parse("ref://team/db/password?version=7").unwrap().unwrap()
    }

    #[tokio::test]
    async fn the_program_is_told_what_is_wanted_and_its_output_is_the_value() {
        let value = store("read line; printf '%s\\n\\n' \"$line\"", 20).ask(&wanted()).await.unwrap();
        assert_eq!(
            value.expose_text(),
            Some("{\"name\":\"team/db\",\"property\":\"password\",\"version\":\"7\"}\n")
        );
    }

    #[tokio::test]
    async fn failures_silence_and_slowness_are_told() {
        let error = store("echo 'no such secret' >&2; exit 3", 20).ask(&wanted()).await.unwrap_err();
        assert!(
            error.kind == Refusal::Unavailable && error.message.ends_with("exit status: 3): no such secret"),
            "{error}"
        );
        assert_eq!(store("true", 20).ask(&wanted()).await.unwrap_err().kind, Refusal::NotFound);
        assert!(store("sleep 60", 1).ask(&wanted()).await.unwrap_err().message.contains("within 1 s"));
        let missing = CommandStore::new(vec!["/no/such/program".to_owned()], None, Path::new("/"));
        assert_eq!(missing.ask(&wanted()).await.unwrap_err().kind, Refusal::Unavailable);
    }

    #[test]
    fn a_program_is_started_only_if_the_user_names_it() {
        assert!(is_allowed("op", "pass:op") && is_allowed("op", "*"));
        assert!(!is_allowed("op", "") && !is_allowed("op", "op2") && !is_allowed("", ""));
    }
}

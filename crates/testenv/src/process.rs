//! One server of the control plane as a child process.
//!
//! In: an executable and its arguments. Out: a running child whose output goes to a log file.
//! Invariant: the child's standard input is a pipe that we hold and never write to; kubebox ends at its end of file.
//! The pipe closes when this value is dropped or this process dies, so no server is left behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{Context, Error};

pub(crate) struct Server {
    pub(crate) name: String,
    log: PathBuf,
    child: Child,
}

impl Server {
    /// Starts `bin/name`. `owned` is a folder that the child removes when its owner is gone.
    pub(crate) fn start(
        bin: &Path,
        name: &str,
        arguments: &[String],
        logs: &Path,
        owned: Option<&Path>,
    ) -> Result<Self, Error> {
        let log = logs.join(format!("{name}.log"));
        let output = File::create(&log).context(|| format!("creating {}", log.display()))?;
        let errors = output.try_clone().context(|| format!("opening {}", log.display()))?;
        let mut command = Command::new(bin.join(name));
        command
            .args(arguments)
            .env("KUBEBOX_LIFELINE", owned.unwrap_or(Path::new("")))
            .env_remove("KUBECONFIG")
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors);
        // A group of its own: Ctrl-C reaches the owner only, and the pipe does the rest.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().context(|| format!("starting {name}"))?;
        Ok(Self { name: name.into(), log, child })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An error with the end of the log if the server is no longer running.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                Err(Error::new(format!("{} ended with {status}\n{}", self.name, self.log_tail())))
            }
            Err(error) => Err(Error::new(format!("asking for {}: {error}", self.name))),
        }
    }

    pub(crate) fn log_text(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The last lines of the log.
    pub(crate) fn log_tail(&self) -> String {
        let text = self.log_text();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Server {
    /// The data is thrown away, so there is nothing to end gracefully.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

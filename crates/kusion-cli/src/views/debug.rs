//! `--debug`: what kusion asks of others, one line each, on standard error or in a file of its own.
//!
//! In: what our crates tell the facade `log`. Out: lines with the milliseconds since the start, without secrets. What other
//! people's libraries tell is not taken: nobody knows what stands in it.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use log::{LevelFilter, Log, Metadata, Record};

use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::{tell, without_secrets};

/// The crates that are listened to.
const OURS: &[&str] = &[
    "kcl_fetch",
    "kusion",
    "kusion_cli",
    "kusion_media",
    "kusion_runtime_k8s",
    "kusion_secrets",
    "kusion_store",
    "rim",
    "tf_host",
];

static LISTENER: OnceLock<Listener> = OnceLock::new();

struct Listener {
    start: Instant,
    /// None: standard error.
    file: Option<Mutex<File>>,
}

/// The flag that every command has.
pub(crate) fn debug_flag() -> Arg {
    let help = "tell each request to clusters, state, providers, secret stores: on stderr or in FILE";
    flag("debug", None, "FILE", help)
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("")
        .global(true)
}

/// Listens from now on, if the line, `KUSION_DEBUG` or the configuration says so.
pub(crate) fn listen(given: &Given, start: Instant) -> Result<(), Failure> {
    let file = match given.last("debug").as_deref() {
        None | Some("0" | "false" | "no" | "off") => return Ok(()),
        Some("" | "1" | "true" | "yes" | "on") => None,
        Some(path) => Some(Mutex::new(private(Path::new(path))?)),
    };
    let listener = LISTENER.get_or_init(|| Listener { start, file });
    if log::set_logger(listener).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
    Ok(())
}

/// Whether lines come between what is drawn on the terminal.
pub(crate) fn disturbs_pictures() -> bool {
    LISTENER.get().is_some_and(|listener| listener.file.is_none()) && std::io::stderr().is_terminal()
}

/// Lines are added to a file that is there: it may be the one of the command before. It is its owner's alone.
fn private(path: &Path) -> Result<File, Failure> {
    let open = || {
        let file = File::options().create(true).append(true).mode(0o600).open(path)?;
        let facts = file.metadata()?;
        if facts.is_file() && facts.permissions().mode() & 0o077 != 0 {
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        Ok::<File, std::io::Error>(file)
    };
    open().map_err(|error| {
        Failure::usage("the file for --debug cannot be written")
            .cause(error.to_string())
            .place(path.display().to_string())
            .next("name another one, or give --debug alone for standard error")
    })
}

impl Log for Listener {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        let name = of.target().split("::").next().unwrap_or_default();
        OURS.contains(&name)
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let line = line(self.start.elapsed().as_millis(), &record.args().to_string());
        match &self.file {
            None => tell(&line),
            // A full disk is no reason to stop.
            Some(file) => drop(file.lock().map(|mut file| file.write_all(line.as_bytes()))),
        }
    }

    fn flush(&self) {}
}

/// One line, whatever a provider has said: without secrets first, because a break inside would hide one from the search.
fn line(ms: u128, text: &str) -> String {
    let text = without_secrets(text);
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("[{ms:>6} ms] {}\n", plain.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_crates_are_listened_to() {
        let listener = Listener { start: Instant::now(), file: None };
        let heard = |target: &str| listener.enabled(&Metadata::builder().target(target).build());
        assert!(heard("tf_host::client") && heard("kusion"));
        assert!(
            !heard("kusion_evil::x") && !heard("rustls::client") && !heard("hyper") && !heard("kube_client")
        );
    }

    #[test]
    fn a_line_stays_a_line_without_secrets() {
        base_secret::Redactor::install();
        let secret = base_secret::SecretValue::from("two\nlines of canary".to_owned());
        let told = line(7, "provider x: warn: two\nlines of canary \x1b[31m");
        assert!(told.ends_with('\n') && told.lines().count() == 1, "{told}");
        assert!(told.starts_with("[     7 ms] provider x: warn: ") && !told.contains("canary"), "{told}");
        assert!(!told.contains('\x1b'), "{told}");
        drop(secret);
    }
}

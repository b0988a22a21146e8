//! Providers end when we end, also if we are killed.
//!
//! A provider does not notice that its host has gone: it listens for ever. Asking the kernel to end it with its parent
//! (`PR_SET_PDEATHSIG`) needs code between fork and exec, which Rust calls unsafe, and is bound to the thread that
//! started it. So one small shell for each host process reads the numbers of running providers from a pipe; when the pipe
//! closes, however we ended, it kills what is left and removes the folders. Numbers of providers that ended are taken
//! back at once, so nobody else's process is hit. One that was started when we ended, and whose number was not told yet,
//! ends by itself: nobody reads the pipe into which it says where it listens.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Reads `+ PID FOLDER` and `- PID FOLDER`; at the end kills the groups that are left. `kill -9 -- -PID` is no way to say
/// that: some shells take the `--` for a number.
const SCRIPT: &str = r#"
left=
while read -r sign pid folder; do
  case $sign in
    +) left="$left
$pid $folder" ;;
    -) left=$(printf '%s\n' "$left" | grep -v "^$pid ") ;;
  esac
done
printf '%s\n' "$left" | while read -r pid folder; do
  [ -n "$pid" ] || continue
  kill -s KILL -- "-$pid" 2>/dev/null
  case $folder in */tfp*) rm -rf -- "$folder" ;; esac
done
"#;

struct Guardian {
    pipe: ChildStdin,
    /// Ends by itself when the pipe closes.
    _shell: Child,
}

fn guardian() -> Option<&'static Mutex<Guardian>> {
    static ONE: OnceLock<Option<Mutex<Guardian>>> = OnceLock::new();
    ONE.get_or_init(|| {
        use std::os::unix::process::CommandExt as _;
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(SCRIPT).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // ^C in a terminal is for us, not for it.
        let mut shell = shell.process_group(0).env_clear().env("PATH", "/usr/bin:/bin").spawn().ok()?;
        let pipe = shell.stdin.take()?;
        Some(Mutex::new(Guardian { pipe, _shell: shell }))
    })
    .as_ref()
}

fn tell(sign: char, pid: u32, folder: &Path) {
    let Some(guardian) = guardian() else { return };
    let mut guardian = guardian.lock().unwrap_or_else(PoisonError::into_inner);
    // In one piece: we may end between two. Without a shell on this machine only the orderly end is left.
    let line = format!("{sign} {pid} {}\n", folder.display());
    let _ = guardian.pipe.write_all(line.as_bytes());
}

/// This process has to end with us.
pub(crate) fn watch(pid: u32, folder: &Path) {
    tell('+', pid, folder);
}

/// This process has ended.
pub(crate) fn forget(pid: u32, folder: &Path) {
    tell('-', pid, folder);
}

//! A provider's process: environment, folder, handshake, pipes, end.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::handshake::{self, Handshake, MAX_LINE, OFFERED};
use crate::log::{Lines, Logs};
use crate::tls::ClientTls;
use crate::{Failure, HandshakeError, HostError, guardian};

const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");
/// How long a provider may take to say where it listens.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take to end after it was told to.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long its last words may take after its end: a child of its own may hold the pipe.
const WORDS_LIMIT: Duration = Duration::from_millis(200);
/// How long the word of its end may take once it has said something that is no handshake: machines are busy.
const STATUS_LIMIT: Duration = Duration::from_secs(3);

/// What to start, and how.
#[derive(Clone)]
pub struct Launch {
    /// What people call it: its source address.
    pub name: String,
    pub program: PathBuf,
    /// The folder that it runs in: its relative paths begin there; none for that of this process.
    pub folder: Option<PathBuf>,
    /// Variables beside those that are inherited.
    pub env: Vec<(String, String)>,
    pub start_limit: Duration,
    /// The longest answer that is taken.
    pub message_limit: usize,
    /// How long each call may take, instead of what is usual for it; an apply is waited for always.
    pub patience: Option<Duration>,
    /// Whether the provider may put off what it cannot plan yet.
    pub deferral: bool,
    /// Mutual TLS from the start, and not only with a provider that insists on it.
    pub tls: bool,
    pub logs: Logs,
}

impl Launch {
    /// Starts with the usual limit and nothing but warnings in its log.
    #[must_use]
    pub fn new(name: &str, program: &Path) -> Self {
        Launch {
            name: name.to_owned(),
            program: program.to_owned(),
            folder: None,
            env: Vec::new(),
            start_limit: START_LIMIT,
            message_limit: crate::MESSAGE_LIMIT,
            patience: None,
            deferral: false,
            tls: false,
            logs: Logs::new(&label(name, program), crate::Level::Warn),
        }
    }
}

/// What a provider is called in lines: `random 3.9.0`, by its address and the name of its file.
fn label(name: &str, program: &Path) -> String {
    let short = name.rsplit('/').next().unwrap_or(name);
    let file = program.file_name().map(std::ffi::OsStr::to_string_lossy).unwrap_or_default();
    let version = file.split_once("_v").map(|(_, rest)| rest.split('_').next().unwrap_or(rest).to_owned());
    version.map_or_else(|| short.to_owned(), |version| format!("{short} {version}"))
}

/// A running provider. It ends when this is dropped, if nobody ended it before.
pub(crate) struct Process {
    pid: u32,
    logs: Logs,
    /// How it ended, when it has.
    ended: watch::Receiver<Option<String>>,
    kill: Mutex<Option<tokio::sync::oneshot::Sender<()>>>,
}

impl Process {
    /// Starts a program and reads its handshake.
    pub(crate) async fn start(
        launch: &Launch,
        tls: Option<&ClientTls>,
    ) -> Result<(Process, Handshake), HostError> {
        let fail = |kind| HostError::new(&launch.name, kind);
        let folder =
            folder().map_err(|e| fail(Failure::Start { why: format!("no folder for its socket: {e}") }))?;
        let mut child = command(launch, folder.path(), tls)
            .spawn()
            .map_err(|e| fail(Failure::Start { why: format!("{}: {e}", launch.program.display()) }))?;
        let pid = child.id().unwrap_or_default();
        ::log::debug!("program {} started, process {pid}", launch.program.display());
        guardian::watch(pid, folder.path());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (first_line, on_first) = tokio::sync::oneshot::channel();
        let out = stdout.map(|pipe| tokio::spawn(drain(pipe, launch.logs.clone(), Some(first_line))));
        let err = stderr.map(|pipe| tokio::spawn(drain(pipe, launch.logs.clone(), None)));
        let (tell, ended) = watch::channel(None);
        let (kill, killed) = tokio::sync::oneshot::channel();
        tokio::spawn(reap(child, pid, folder, killed, tell, [out, err]));
        let process = Process { pid, logs: launch.logs.clone(), ended, kill: Mutex::new(Some(kill)) };
        let line = match timeout(launch.start_limit, on_first).await {
            Ok(Ok(line)) => line,
            // The pipe closed without a line.
            Ok(Err(_)) => {
                let status = process.status(STATUS_LIMIT).await.unwrap_or_else(|| "it still runs".to_owned());
                return Err(fail(Failure::EndedEarly { status, words: launch.logs.last_words() }));
            }
            Err(_) => {
                let (waited, words) = (launch.start_limit, launch.logs.last_words());
                return Err(fail(Failure::Silent { waited, words }));
            }
        };
        match handshake::parse(&line) {
            Ok(handshake) => match (handshake.certificate.is_some(), tls.is_some()) {
                (true, false) => Err(fail(Failure::Tls { why: "it was not asked for".to_owned() })),
                (false, true) => Err(fail(Failure::Tls {
                    why: "it was asked for, and the handshake names no certificate".to_owned(),
                })),
                _ => Ok((process, handshake)),
            },
            Err(error) => Err(fail(process.no_handshake(error).await)),
        }
    }

    async fn no_handshake(&self, error: HandshakeError) -> Failure {
        // A program that is no provider often says why and ends.
        let status = match error {
            HandshakeError::NotOne(_) => self.status(STATUS_LIMIT).await,
            _ => None,
        };
        Failure::Handshake { error, status, words: self.logs.last_words() }
    }

    /// How it ended, if it has or is about to.
    pub(crate) async fn status(&self, limit: Duration) -> Option<String> {
        let mut ended = self.ended.clone();
        let known = timeout(limit, ended.wait_for(Option::is_some)).await;
        known.ok()?.ok()?.clone()
    }

    pub(crate) fn logs(&self) -> &Logs {
        &self.logs
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for an orderly end, and then ends it.
    pub(crate) async fn end(&self) {
        let mut ended = self.ended.clone();
        if timeout(END_LIMIT, ended.wait_for(Option::is_some)).await.is_err() {
            self.kill();
            let _ = timeout(END_LIMIT, ended.wait_for(Option::is_some)).await;
        }
    }

    pub(crate) fn kill(&self) {
        if let Some(kill) = self.kill.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = kill.send(());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended.borrow().is_none() {
            // The task that reaps may have no runtime left to run on: the signal is sent from here.
            end_group(self.pid);
        }
        self.kill();
    }
}

fn end_group(pid: u32) {
    let group = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// A folder that nobody else can look into, with a name short enough for the path of a socket.
fn folder() -> std::io::Result<TempDir> {
    const ROOM: usize = 70;
    let make = |base: &Path| tempfile::Builder::new().prefix("tfp").rand_bytes(8).tempdir_in(base);
    let usual = std::env::temp_dir();
    let made = if usual.as_os_str().len() <= ROOM { make(&usual)? } else { make(Path::new("/tmp"))? };
    #[cfg(unix)]
    std::fs::set_permissions(made.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(made)
}

fn command(launch: &Launch, folder: &Path, tls: Option<&ClientTls>) -> Command {
    // A relative path of the program would begin in its new folder.
    let program = std::path::absolute(&launch.program).unwrap_or_else(|_| launch.program.clone());
    let mut command = Command::new(program);
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    command
        .env(COOKIE.0, COOKIE.1)
        .env("PLUGIN_PROTOCOL_VERSIONS", OFFERED)
        .env("PLUGIN_MIN_PORT", "10000")
        .env("PLUGIN_MAX_PORT", "25000")
        .env("PLUGIN_UNIX_SOCKET_DIR", folder)
        .env("TMPDIR", folder)
        .env_remove("PLUGIN_CLIENT_CERT")
        .env_remove("TF_REATTACH_PROVIDERS");
    if let Some(tls) = tls {
        command.env("PLUGIN_CLIENT_CERT", &tls.pem);
    }
    // Otherwise a provider writes a trace of every call, values and all, and spends half of its time on it.
    if std::env::var_os("TF_LOG_SDK").is_none() {
        command.env("TF_LOG_SDK", "off");
    }
    if collects_too_often(&launch.program) && std::env::var_os("GOGC").is_none() {
        command.env("GOGC", "400");
    }
    for name in base_secret::hidden_variables() {
        // A provider logs in with the same credentials as a store of secrets may; it needs no other secret of ours.
        if !["AWS_", "VAULT_"].iter().any(|own| name.starts_with(own)) {
            command.env_remove(name);
        }
    }
    command.envs(launch.env.iter().map(|(name, value)| (name, value)));
    // Interrupts are for us: we tell it to stop in the words of the protocol.
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A small Go program keeps a heap of a few megabytes and collects garbage hundreds of times in a run: a quarter of its
/// time. Large ones have large heaps, which should not grow fourfold.
fn collects_too_often(program: &Path) -> bool {
    const SMALL: u64 = 100 << 20;
    std::fs::metadata(program).is_ok_and(|file| file.len() <= SMALL)
}

type Drain = tokio::task::JoinHandle<()>;

/// Waits for the end of a provider, or for the order to end it; then takes its folder away and tells how it ended.
async fn reap(
    mut child: Child,
    pid: u32,
    folder: TempDir,
    killed: tokio::sync::oneshot::Receiver<()>,
    tell: watch::Sender<Option<String>>,
    drains: [Option<Drain>; 2],
) {
    let status = tokio::select! {
        status = child.wait() => status,
        _ = killed => {
            end_group(pid);
            child.wait().await
        }
    };
    guardian::forget(pid, folder.path());
    // Whoever reports its end wants its last words, too.
    for drain in drains.into_iter().flatten() {
        let _ = timeout(WORDS_LIMIT, drain).await;
    }
    let status = status.map_or_else(|e| e.to_string(), |status| status.to_string());
    drop(folder);
    let _ = tell.send(Some(status));
}

/// Reads a pipe for ever: a full one would block the provider. The first line goes to who waits for it.
async fn drain(
    mut pipe: impl AsyncRead + Unpin,
    logs: Logs,
    mut first: Option<tokio::sync::oneshot::Sender<String>>,
) {
    let mut lines = Lines::default();
    let mut buffer = vec![0; 16 << 10];
    let mut take = |line: &[u8]| match first.take() {
        Some(first) => {
            let line = line.get(..MAX_LINE).unwrap_or(line);
            let _ = first.send(String::from_utf8_lossy(line).into_owned());
        }
        None => logs.take(line),
    };
    while let Ok(n) = pipe.read(&mut buffer).await {
        if n == 0 {
            break;
        }
        lines.feed(&buffer[..n], &mut take);
    }
    lines.end(&mut take);
}

//! PostgreSQL and an S3 server on loopback, each started once by a test process and gone with it.
//!
//! In: PostgreSQL as the system installs it; `versitygw` from the pinned programs. Out: an address that answers.
//! Invariant: a shell holds the pipe to the process that started it; at its end it ends the server and removes its folder.

use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::{Context, Error, cache, required, skip};

/// How long a server may take to answer: machines are busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Ends the server when nobody holds the pipe any more, however that came.
const LIFELINE: &str = r#"folder=$1; shift; "$@" </dev/null >"$folder/log" 2>&1 & server=$!; cat >/dev/null
kill -9 "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$folder""#;

/// A PostgreSQL server; every role may do everything, passwords are not asked for.
pub struct PostgresServer {
    pub port: u16,
    pub(crate) server: Server,
}

/// An S3 server with conditional writes and one bucket.
pub struct S3Server {
    pub endpoint: String,
    server: Server,
}

/// The login of the S3 server, and its bucket.
pub const S3_LOGIN: (&str, &str) = ("kusion-test", "kusion-test-secret");
pub const S3_BUCKET: &str = "state";

pub(crate) struct Server {
    _shell: Child,
    folder: PathBuf,
}

impl PostgresServer {
    /// Where it keeps everything: data, journals, its log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.server.folder()
    }

    /// The address of its database, without a password.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://test@127.0.0.1:{}/postgres", self.port)
    }

    /// What the server has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        self.server.log()
    }

    /// Starts one with more settings; what they need is made before, in the server's folder.
    pub(crate) fn start(more: impl Fn(&Path) -> Result<Vec<String>, Error>) -> Result<Self, Error> {
        let bin = postgres_bin()
            .ok_or_else(|| Error::new("PostgreSQL is not installed (apt-get install postgresql)"))?;
        let folder = fresh_folder("postgres")?;
        let data = folder.join("data");
        let made = as_nobody(&bin.join("initdb"))
            .args(["-U", "test", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .context(|| "starting initdb".into())?;
        if !made.status.success() {
            return Err(Error::new(format!("initdb: {}", String::from_utf8_lossy(&made.stderr))));
        }
        let (port, more) = (free_port()?, more(&folder)?);
        let mut words = as_nobody_words(&bin.join("postgres"));
        words.extend(["-D".to_owned(), data.display().to_string(), "-p".to_owned(), port.to_string()]);
        let settings = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("unix_socket_directories={}", folder.display()),
            "fsync=off".to_owned(),
            "full_page_writes=off".to_owned(),
            "max_connections=300".to_owned(),
        ];
        settings.into_iter().chain(more).for_each(|setting| words.extend(["-c".to_owned(), setting]));
        let server = Server::start(folder, &words, &[])?;
        // It says so when it takes connections; the port is open a moment earlier.
        server.wait_until(|server| server.log().contains("ready to accept connections"))?;
        Ok(PostgresServer { port, server })
    }
}

impl S3Server {
    /// Where it keeps everything: data, journals, its log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.server.folder()
    }

    /// What the server has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        self.server.log()
    }

    fn start(program: &Path) -> Result<Self, Error> {
        let folder = fresh_folder("s3")?;
        for sub in ["data/state", "side"] {
            fs::create_dir_all(folder.join(sub)).context(|| format!("creating {sub}"))?;
        }
        let port = free_port()?;
        let text = |path: &Path| path.display().to_string();
        let words = [
            text(program),
            "--port".to_owned(),
            format!("127.0.0.1:{port}"),
            "posix".to_owned(),
            "--sidecar".to_owned(),
            text(&folder.join("side")),
            text(&folder.join("data")),
        ];
        let login = [("ROOT_ACCESS_KEY", S3_LOGIN.0), ("ROOT_SECRET_KEY", S3_LOGIN.1)];
        let server = Server::start(folder, &words, &login)?;
        server.wait_until(|_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(S3Server { endpoint: format!("http://127.0.0.1:{port}"), server })
    }
}

impl Server {
    pub(crate) fn start(
        folder: PathBuf,
        words: &[String],
        variables: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let mut shell = Command::new("sh");
        shell.args(["-c", LIFELINE, "lifeline"]).arg(&folder).args(words);
        shell.envs(variables.iter().copied());
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own: Ctrl-C reaches the owner only, and the pipe does the rest.
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let shell = shell.spawn().context(|| format!("starting {}", words[0]))?;
        Ok(Server { _shell: shell, folder })
    }

    pub(crate) fn log(&self) -> String {
        let mut text = String::new();
        // A log that is not there yet is empty.
        let _ = fs::File::open(self.folder.join("log")).and_then(|mut file| file.read_to_string(&mut text));
        text
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn wait_until(&self, ready: impl Fn(&Self) -> bool) -> Result<(), Error> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if ready(self) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Error::new(format!("the server did not come up:\n{}", self.log())))
    }
}

/// The PostgreSQL that the tests of one process share; `None`, said on stderr, when the test is to be skipped.
///
/// # Panics
/// When it is required, or installed, and cannot be started.
pub fn postgres() -> Option<&'static PostgresServer> {
    static SERVER: OnceLock<Option<PostgresServer>> = OnceLock::new();
    SERVER.get_or_init(|| start_postgres(|_| Ok(Vec::new()))).as_ref()
}

pub(crate) fn start_postgres(more: impl Fn(&Path) -> Result<Vec<String>, Error>) -> Option<PostgresServer> {
    if postgres_bin().is_none() && !required() {
        skip("tests on PostgreSQL: it is not installed (apt-get install postgresql)");
        return None;
    }
    let server = twice(|| PostgresServer::start(&more));
    Some(server.unwrap_or_else(|error| panic!("the test database: {error}")))
}

/// The S3 server that the tests of one process share; `None`, said on stderr, when the test is to be skipped.
///
/// # Panics
/// When it is required, or built, and cannot be started.
pub fn s3() -> Option<&'static S3Server> {
    static SERVER: OnceLock<Option<S3Server>> = OnceLock::new();
    let start = || {
        let program = match cache::program("versitygw") {
            None if required() => cache::build_program("versitygw").map(Some),
            found => Ok(found),
        };
        let program = program.unwrap_or_else(|error| panic!("the test S3 server: {error}"));
        let Some(program) = program else {
            skip("tests on S3: versitygw is not built; set KUSION_REQUIRE_TESTENV=1 once");
            return None;
        };
        let server = twice(|| S3Server::start(&program));
        Some(server.unwrap_or_else(|error| panic!("the test S3 server: {error}")))
    };
    SERVER.get_or_init(start).as_ref()
}

/// The programs of the newest PostgreSQL that Debian has installed.
fn postgres_bin() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut found: Vec<_> =
        versions.filter_map(|entry| Some((number(&entry.path())?, entry.path()))).collect();
    found.sort();
    let bin = found.pop()?.1.join("bin");
    bin.join("initdb").is_file().then_some(bin)
}

pub(crate) fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&match fs::metadata("/proc/self") {
        Ok(own) => own,
        Err(_) => return false,
    }) == 0
}

/// PostgreSQL refuses to run as root.
fn as_nobody_words(program: &Path) -> Vec<String> {
    let program = program.display().to_string();
    if !is_root() {
        return vec![program];
    }
    let words = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"];
    words.map(str::to_owned).into_iter().chain([program]).collect()
}

fn as_nobody(program: &Path) -> Command {
    let words = as_nobody_words(program);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// A folder that the server's user owns, under a parent that he may walk through.
pub(crate) fn fresh_folder(name: &str) -> Result<PathBuf, Error> {
    let unique = format!("kusion-{name}-{}-{:?}", std::process::id(), Instant::now());
    let unique: String = unique.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let folder = Path::new("/tmp").join(unique);
    fs::create_dir(&folder).context(|| format!("creating {}", folder.display()))?;
    if is_root() && name == "postgres" {
        let status = Command::new("chown").arg("nobody").arg(&folder).status();
        status.context(|| "giving the folder to the server's user".into())?;
    }
    Ok(folder)
}

/// Ports are found free and then taken: another process may be quicker, and then a second try helps.
pub(crate) fn twice<T>(start: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    start().or_else(|_| start())
}

pub(crate) fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").context(|| "looking for a free port".into())?;
    Ok(listener.local_addr().context(|| "looking for a free port".into())?.port())
}

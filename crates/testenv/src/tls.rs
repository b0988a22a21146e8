//! A PostgreSQL that takes secret connections only, with a certificate of an authority that nobody else trusts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::services::{PostgresServer, is_root, start_postgres};
use crate::{Context, Error, installed};

/// A PostgreSQL that refuses connections in clear.
pub struct SecretPostgres {
    pub server: PostgresServer,
    /// The authority that has signed the server's certificate, which is for 127.0.0.1 and no name.
    pub authority: PathBuf,
    /// One that has signed nothing.
    pub stranger: PathBuf,
}

/// The one that the tests of one process share; `None`, said on stderr, when the test is to be skipped.
///
/// # Panics
/// When it is required, or installed, and cannot be started.
pub fn secret_postgres() -> Option<&'static SecretPostgres> {
    static SERVER: OnceLock<Option<SecretPostgres>> = OnceLock::new();
    let start = || {
        if !installed("openssl") {
            return None;
        }
        let server = start_postgres(certified)?;
        let file = |name: &str| server.server.folder().join(name);
        let (authority, stranger) = (file("ca.crt"), file("stranger.crt"));
        Some(SecretPostgres { server, authority, stranger })
    };
    SERVER.get_or_init(start).as_ref()
}

/// Makes the certificates, and says which settings use them.
fn certified(folder: &Path) -> Result<Vec<String>, Error> {
    for name in ["ca", "stranger"] {
        let (key, certificate) = (format!("{name}.key"), format!("{name}.crt"));
        let words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let more = ["-days", "2", "-subj", "/CN=kusion-test", "-keyout", &key, "-out", &certificate];
        openssl(folder, &[&words[..], &more].concat())?;
    }
    let write =
        |name: &str, text: &str| fs::write(folder.join(name), text).context(|| format!("writing {name}"));
    write("server.ext", "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")?;
    // Nothing is written in clear, whoever asks.
    write("hba.conf", "hostssl all all 127.0.0.1/32 trust\n")?;
    let words =
        ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=db"];
    openssl(folder, &[&words[..], &["-keyout", "server.key", "-out", "server.csr"]].concat())?;
    let words = ["x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
    let more = ["-days", "2", "-extfile", "server.ext", "-out", "server.crt"];
    openssl(folder, &[&words[..], &more].concat())?;
    if is_root() {
        let mut chown = Command::new("chown");
        let files = ["server.key", "server.crt", "hba.conf"].map(|name| folder.join(name));
        run(chown.arg("nobody").args(files))?;
    }
    let file = |name: &str| folder.join(name).display().to_string();
    Ok(vec![
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", file("server.crt")),
        format!("ssl_key_file={}", file("server.key")),
        format!("hba_file={}", file("hba.conf")),
        "log_connections=on".to_owned(),
    ])
}

fn openssl(folder: &Path, words: &[&str]) -> Result<(), Error> {
    run(Command::new("openssl").args(words).current_dir(folder))
}

fn run(command: &mut Command) -> Result<(), Error> {
    let shown = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output().context(|| format!("starting {shown}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::new(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr))))
}

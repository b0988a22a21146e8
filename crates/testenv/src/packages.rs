//! Servers that packages come from: the registry of Debian's package `docker-registry`, and Git repositories over HTTP.
//!
//! In: what the system installs. Out: an address that answers. Each is gone with the value that stands for it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::services::{Server, free_port, fresh_folder, twice};
use crate::{Context, Error, required, skip};

/// How a registry is started.
#[derive(Clone, Debug, Default)]
pub struct RegistryOptions {
    /// Certificate and key, as PEM files: the registry speaks TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// A file of names and passwords (htpasswd, bcrypt): strangers are refused.
    pub passwords: Option<PathBuf>,
}

/// A registry of packages.
pub struct RegistryServer {
    /// Host and port.
    pub host: String,
    server: Server,
}

impl RegistryServer {
    /// Starts a registry; `None`, said on stderr, when the test is to be skipped.
    ///
    /// # Panics
    /// When it is required, or installed, and cannot be started.
    #[must_use]
    pub fn start(options: &RegistryOptions) -> Option<RegistryServer> {
        let installed =
            Command::new("docker-registry").arg("--version").stdout(Stdio::null()).status().is_ok();
        if !installed && !required() {
            skip("tests on a registry: docker-registry is not installed (apt-get install docker-registry)");
            return None;
        }
        let server = twice(|| Self::started(options));
        Some(server.unwrap_or_else(|error| panic!("the test registry: {error}")))
    }

    fn started(options: &RegistryOptions) -> Result<RegistryServer, Error> {
        let folder = fresh_folder("registry")?;
        let host = format!("127.0.0.1:{}", free_port()?);
        let mut config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\n  delete: {{enabled: true}}\nhttp:\n  addr: {host}\n",
            folder.join("data").display()
        );
        if let Some((certificate, key)) = &options.tls {
            let (certificate, key) = (certificate.display(), key.display());
            config.push_str(&format!("  tls: {{certificate: {certificate}, key: {key}}}\n"));
        }
        if let Some(passwords) = &options.passwords {
            config.push_str(&format!("auth:\n  htpasswd: {{realm: test, path: {}}}\n", passwords.display()));
        }
        let file = folder.join("config.yml");
        fs::write(&file, config).context(|| format!("writing {}", file.display()))?;
        let words = ["docker-registry".to_owned(), "serve".to_owned(), file.display().to_string()];
        let server = Server::start(folder, &words, &[])?;
        server.wait_until(|_| TcpStream::connect(&host).is_ok())?;
        Ok(RegistryServer { host, server })
    }

    /// Every file of a blob or manifest that the registry keeps.
    #[must_use]
    pub fn blobs(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        walk(&self.server.folder().join("data"), &mut files);
        files.retain(|file| file.ends_with("data"));
        files
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}

/// The repositories of a folder, served by `git http-backend`.
pub struct GitServer {
    /// Host and port; a repository is `http://HOST/NAME/.git`, or `NAME.git` if it is bare.
    pub host: String,
    ended: Arc<AtomicBool>,
}

impl GitServer {
    /// Serves the repositories below a folder, to everybody or to a user with a password.
    ///
    /// # Panics
    /// Where no port can be had.
    #[must_use]
    pub fn start(root: &Path, login: Option<(&str, &str)>) -> GitServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let host = listener.local_addr().expect("an address").to_string();
        let ended = Arc::new(AtomicBool::new(false));
        let site = Site {
            root: root.to_path_buf(),
            basic: login.map(|(user, password)| base64(format!("{user}:{password}").as_bytes())),
        };
        let stop = ended.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let site = site.clone();
                // A client that goes away in the middle is its own affair.
                std::thread::spawn(move || drop(site.answer(stream)));
            }
        });
        GitServer { host, ended }
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for somebody.
        let _ = TcpStream::connect(&self.host);
    }
}

#[derive(Clone)]
struct Site {
    root: PathBuf,
    basic: Option<String>,
}

/// A request: method, path with query, headers in small letters, body.
struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    fn read(stream: &TcpStream) -> std::io::Result<Request> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let mut request = Request { method, path, headers, body: Vec::new() };
        if request.header("transfer-encoding").eq_ignore_ascii_case("chunked") {
            loop {
                let mut size = String::new();
                reader.read_line(&mut size)?;
                let size = u64::from_str_radix(size.trim(), 16).unwrap_or(0);
                (&mut reader).take(size).read_to_end(&mut request.body)?;
                reader.read_line(&mut String::new())?;
                if size == 0 {
                    break;
                }
            }
        } else {
            let size = request.header("content-length").parse().unwrap_or(0);
            reader.take(size).read_to_end(&mut request.body)?;
        }
        Ok(request)
    }
}

impl Site {
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let request = Request::read(&stream)?;
        let wanted = self.basic.as_ref().map(|basic| format!("Basic {basic}"));
        if wanted.is_some_and(|wanted| wanted != request.header("authorization")) {
            return stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"git\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let mut child = Command::new("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("PATH_INFO", path)
            .env("QUERY_STRING", query)
            .env("REQUEST_METHOD", &request.method)
            .env("CONTENT_TYPE", request.header("content-type"))
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("HTTP_GIT_PROTOCOL", request.header("git-protocol"))
            .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
            .env("REMOTE_USER", "test")
            .env("REMOTE_ADDR", "127.0.0.1")
            // The repository belongs to whoever runs the test.
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&request.body)?;
        }
        let said = child.wait_with_output()?.stdout;
        let end = said.windows(4).position(|part| part == b"\r\n\r\n").unwrap_or(said.len());
        let head = String::from_utf8_lossy(&said[..end]).into_owned();
        let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
        let rest: String = head
            .lines()
            .filter(|line| !line.starts_with("Status: "))
            .map(|line| format!("{line}\r\n"))
            .collect();
        let body = said.get(end + 4..).unwrap_or_default();
        let length = body.len();
        write!(stream, "HTTP/1.1 {status}\r\n{rest}content-length: {length}\r\nconnection: close\r\n\r\n")?;
        stream.write_all(body)
    }
}

/// What `Authorization: Basic` carries.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let byte = |at: usize| u32::from(part.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize] as char;
            out.push(if at > part.len() { '=' } else { letter });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_written_as_browsers_do() {
        assert_eq!(base64(b"team:open sesame"), "dGVhbTpvcGVuIHNlc2FtZQ==");
        assert_eq!((base64(b""), base64(b"abc")), (String::new(), "YWJj".to_owned()));
    }
}

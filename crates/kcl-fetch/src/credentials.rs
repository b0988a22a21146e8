//! Who we are for a registry: the Docker configuration with its helpers, as other tools of the user know it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base_secret::SecretValue;
use data_encoding::BASE64;
use serde_json::{Map, Value, json};

use crate::Trouble;

/// A name and a password; the password is never printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credentials {
    /// The user's name; `TOKEN` if the password is a token that is exchanged for others.
    pub user: String,
    /// The password or token.
    pub password: SecretValue,
}

/// What Docker's helpers call a user whose password is an identity token.
pub(crate) const TOKEN: &str = "<token>";

impl Credentials {
    /// Returns the value of an `Authorization` header.
    pub(crate) fn basic(&self) -> String {
        format!("Basic {}", BASE64.encode(&self.pair()))
    }

    /// `user:password`, as Docker writes it down.
    fn pair(&self) -> Vec<u8> {
        [self.user.as_bytes(), b":", self.password.expose()].concat()
    }
}

/// Returns the file of the Docker configuration: in `$DOCKER_CONFIG`, or in `.docker` of the home folder.
fn config_file() -> Option<PathBuf> {
    let folder = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".docker")))?;
    Some(folder.join("config.json"))
}

fn read_config(path: &Path) -> Result<Map<String, Value>, Trouble> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(e) => return Err(Trouble::new(format!("cannot read {}: {e}", path.display()))),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(config)) => Ok(config),
        Ok(_) => Err(Trouble::new(format!("{} is not a JSON object", path.display()))),
        Err(e) => Err(Trouble::new(format!("{}: {e}", path.display()))),
    }
}

/// How tools of the user write down a host.
fn names(host: &str) -> [String; 6] {
    let of = |scheme: &str, path: &str| format!("{scheme}{host}{path}");
    [
        of("", ""),
        of("https://", ""),
        of("http://", ""),
        of("https://", "/"),
        of("https://", "/v1/"),
        of("https://", "/v2/"),
    ]
}

/// Finds what is known for a host.
///
/// # Errors
/// A configuration that cannot be read, or a helper that fails in another way than "not found".
pub(crate) fn find(host: &str) -> Result<Option<Credentials>, Trouble> {
    let Some(path) = config_file() else { return Ok(None) };
    let config = read_config(&path)?;
    if let Some(helper) = helper(&config, host) {
        return from_helper(&helper, host);
    }
    let entry = config.get("auths").and_then(|auths| names(host).iter().find_map(|key| auths.get(key)));
    let text = |key: &str| entry.and_then(|entry| entry.get(key)).and_then(Value::as_str);
    if let Some(token) = text("identitytoken").filter(|token| !token.is_empty()) {
        return Ok(Some(Credentials { user: TOKEN.to_owned(), password: token.to_owned().into() }));
    }
    let Some(text) = text("auth") else { return Ok(None) };
    let damaged = || Trouble::new(format!("{}: the entry of {host} cannot be read", path.display()));
    let decoded = BASE64.decode(text.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let (user, password) = decoded.as_deref().and_then(|pair| pair.split_once(':')).ok_or_else(damaged)?;
    Ok(Some(Credentials { user: user.to_owned(), password: password.to_owned().into() }))
}

fn helper(config: &Map<String, Value>, host: &str) -> Option<String> {
    let own = config.get("credHelpers").and_then(|all| all.get(host)).and_then(Value::as_str);
    own.or_else(|| config.get("credsStore").and_then(Value::as_str))
        .map(|name| format!("docker-credential-{name}"))
}

fn from_helper(program: &str, host: &str) -> Result<Option<Credentials>, Trouble> {
    let (good, out) = run_helper(program, "get", host.as_bytes())?;
    if !good {
        // Helpers say so with this sentence and a failure.
        return if out.contains("credentials not found") {
            Ok(None)
        } else {
            Err(Trouble::new(format!("{program} failed for {host}")))
        };
    }
    let answer: Value = serde_json::from_str(&out)
        .map_err(|_| Trouble::new(format!("{program} did not answer with JSON")))?;
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Some(Credentials { user: text("Username"), password: text("Secret").into() }))
}

fn run_helper(program: &str, verb: &str, input: &[u8]) -> Result<(bool, String), Trouble> {
    let told = |e: std::io::Error| Trouble::new(format!("cannot run {program}: {e}"));
    let mut child = Command::new(program)
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(told)?;
    log::debug!("program {program} started");
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input).map_err(told)?;
    }
    let output = child.wait_with_output().map_err(told)?;
    Ok((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// Remembers credentials for a host, in the helper if the user has one. Returns where.
///
/// # Errors
/// A configuration that cannot be read or written.
pub fn login(host: &str, credentials: &Credentials) -> Result<String, Trouble> {
    let path =
        config_file().ok_or_else(|| Trouble::new("there is no home folder").next("set DOCKER_CONFIG"))?;
    let mut config = read_config(&path)?;
    if let Some(helper) = helper(&config, host) {
        let entry = json!({"ServerURL": host, "Username": credentials.user, "Secret": credentials.password.expose_text()});
        let (good, _) = run_helper(&helper, "store", entry.to_string().as_bytes())?;
        return if good {
            Ok(helper)
        } else {
            Err(Trouble::new(format!("{helper} did not take the credentials")))
        };
    }
    let auth = BASE64.encode(&credentials.pair());
    let auths = config.entry("auths").or_insert_with(|| json!({}));
    let auths = auths
        .as_object_mut()
        .ok_or_else(|| Trouble::new(format!("{}: `auths` is no object", path.display())))?;
    auths.insert(host.to_owned(), json!({ "auth": auth }));
    write_config(&path, &config)?;
    Ok(path.display().to_string())
}

/// Forgets the credentials of a host. Returns false if there were none.
///
/// # Errors
/// A configuration that cannot be read or written.
pub fn logout(host: &str) -> Result<bool, Trouble> {
    let Some(path) = config_file() else { return Ok(false) };
    let mut config = read_config(&path)?;
    if let Some(helper) = helper(&config, host) {
        // Under which name it was stored only the helper knows.
        let mut gone = false;
        for name in &names(host)[..2] {
            gone |= run_helper(&helper, "erase", name.as_bytes())?.0;
        }
        return Ok(gone);
    }
    let Some(auths) = config.get_mut("auths").and_then(Value::as_object_mut) else { return Ok(false) };
    let before = auths.len();
    auths.retain(|name, _| !names(host).contains(name));
    let removed = auths.len() < before;
    if removed {
        write_config(&path, &config)?;
    }
    Ok(removed)
}

fn write_config(path: &Path, config: &Map<String, Value>) -> Result<(), Trouble> {
    let told = |e: std::io::Error| Trouble::new(format!("cannot write {}: {e}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(told)?;
    }
    let text = serde_json::to_string_pretty(config).map_err(|e| Trouble::new(e.to_string()))?;
    crate::write::replace_private(path, text.as_bytes())
}

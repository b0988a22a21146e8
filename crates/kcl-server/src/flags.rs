//! The flags.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use base_secret::SecretValue;

pub(crate) const USAGE: &str = "\
Answers questions about KCL over gRPC, JSON-RPC 2.0 and REST (docs/rpc.md).

Examples:
  kcl server                            on 127.0.0.1:2021; prints a token
  kcl server --http :0                  on a free port; the line on standard output says which
  kcl server --unix /run/user/1000/kcl.sock
  kcl server --stdio                    JSON-RPC on standard input and output, one object per line

Usage: kcl server [flags]

      --http ADDR         listen on this loopback address (default: 127.0.0.1:2021)
      --unix PATH         listen on a Unix socket that only its owner may use
      --stdio             standard input and output
      --token-file FILE   the token that clients send as `Authorization: Bearer TOKEN` (default: a random one)
      --no-token          answer everybody on this machine
      --timeout SECONDS   a request that takes longer is stopped (default: 60)
      --max-body MIB      a larger request is refused (default: 16)
      --max-steps N       steps of work of a request
      --max-memory N      value cells of a request
      --jobs N            requests at a time (default: two per processor)
  -h, --help              print this

The first line on standard output is JSON: {\"address\": .., \"token\": ..}. Exit codes: 0, 1 wrong call.
";

/// Where questions come from.
pub(crate) enum Where {
    Stdio,
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// One call of the program.
pub(crate) struct Flags {
    pub(crate) place: Where,
    /// None asks for none; the flag says whether it was made here and has to be told.
    pub(crate) token: Option<(SecretValue, bool)>,
    pub(crate) timeout: Duration,
    pub(crate) max_body: usize,
    pub(crate) limits: kcl::Limits,
    pub(crate) jobs: usize,
}

impl Flags {
    pub(crate) fn read(words: &[String]) -> Result<Flags, String> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let mut flags = Flags {
            place: Where::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 2021))),
            token: None,
            timeout: Duration::from_secs(60),
            max_body: 16 << 20,
            limits: kcl::Limits::default(),
            jobs: 2 * cores,
        };
        let (mut token_file, mut no_token) = (None, false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let mut value =
                || inline.clone().or_else(|| words.next().cloned()).ok_or(format!("{name} takes a value"));
            match name {
                "--stdio" => flags.place = Where::Stdio,
                "--no-token" => no_token = true,
                "--http" => flags.place = Where::Tcp(address(&value()?)?),
                "--unix" => flags.place = Where::Unix(value()?.into()),
                "--token-file" => token_file = Some(value()?),
                "--timeout" => flags.timeout = Duration::from_secs(number(name, &value()?, 1, 86_400)?),
                "--max-body" => flags.max_body = number(name, &value()?, 1, 1024)? as usize * (1 << 20),
                "--max-steps" => flags.limits.steps = number(name, &value()?, 1, u64::MAX)?,
                "--max-memory" => flags.limits.cells = number(name, &value()?, 1, u64::MAX)?,
                "--jobs" => flags.jobs = number(name, &value()?, 1, 256)? as usize,
                other => return Err(format!("there is no flag `{other}`")),
            }
        }
        flags.token = match (&flags.place, token_file, no_token) {
            // The file system says who may use a socket, and whoever started us has our streams.
            (Where::Stdio | Where::Unix(_), None, _) | (_, None, true) => None,
            (_, Some(path), _) => Some((read_token(&path)?, false)),
            (Where::Tcp(_), None, false) => Some((random_token()?, true)),
        };
        Ok(flags)
    }
}

/// `:2021`, `2021`, `127.0.0.1:2021`, `localhost:2021`, `[::1]:2021`; loopback only.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let address: SocketAddr =
        text.parse().map_err(|_| format!("--http {text}: write 127.0.0.1:PORT or :PORT"))?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err(format!(
            "--http {text}: the server listens on loopback only; put a proxy in front of it for others"
        )),
    }
}

fn number(flag: &str, text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{flag} {text}: write a whole number from {least} to {most}"))
}

/// Characters of the shortest token that is taken from a file.
const SHORTEST_TOKEN: usize = 16;

fn read_token(path: &str) -> Result<SecretValue, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("--token-file {path}: {error}"))?;
    match text.trim() {
        "" => Err(format!("--token-file {path}: the file is empty")),
        token if !token.bytes().all(|byte| byte.is_ascii_graphic()) => Err(format!(
            "--token-file {path}: a token is one word of ASCII letters, digits and signs: no client could send this one"
        )),
        // Who guesses needs time, and a word of everyday texts would be taken out of them.
        token if token.len() < SHORTEST_TOKEN => Err(format!(
            "--token-file {path}: the token is too short: write {SHORTEST_TOKEN} characters or more, e.g. of `openssl rand -hex 24`"
        )),
        token => Ok(SecretValue::new(token.as_bytes().to_vec())),
    }
}

fn random_token() -> Result<SecretValue, String> {
    let mut bytes = [0u8; 24];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes for a token: {error}"))?;
    Ok(SecretValue::new(data_encoding::HEXLOWER.encode(&bytes).into_bytes()))
}

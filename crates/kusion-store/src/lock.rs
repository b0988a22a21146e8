//! What locks the keys of a stack: a key file, a passphrase, a key service, or a command that asks one.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use argon2::{Algorithm, Argon2, Params, Version};
use base_secret::{KeyService, SecretKey, SecretValue};
use zeroize::Zeroizing;

use crate::StoreError;
use crate::damage::Damage;
use crate::ring::{Slot, from_text, to_text, wrapping_of};
use crate::seal::{random, random_key};

/// What argon2id costs (memory in KiB); more than the recommendation of RFC 9106 for small machines.
const MEMORY: u32 = 64 * 1024;
const PASSES: u32 = 3;
/// What a ring may ask for at most: it is read from a medium.
const MAX_MEMORY: u32 = 1024 * 1024;
const MAX_PASSES: u32 = 64;
const MAX_LANES: u32 = 16;
/// How long a command may take, and how much it may say.
const PATIENCE: Duration = Duration::from_secs(60);
const MAX_ANSWER: u64 = 64 * 1024;

/// What locks the keys of a stack.
#[derive(Clone, Default)]
pub enum Lock {
    /// A key file of the stack's own, beside its log: for a medium that only this user reads.
    #[default]
    Beside,
    /// A key file elsewhere; made at first use, 0600.
    File(PathBuf),
    /// A passphrase.
    Passphrase(SecretValue),
    /// A command, called with `wrap` or `unwrap` behind its arguments: standard input to standard output.
    Command(Vec<String>),
    /// An age identity, or a key of Vault or AWS KMS.
    Service(Arc<dyn KeyService>),
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word())
    }
}

impl Lock {
    /// What it is, for people.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Lock::Beside => "the key file beside the log".to_owned(),
            Lock::File(path) => format!("the key file {}", path.display()),
            Lock::Passphrase(_) => "a passphrase".to_owned(),
            Lock::Command(words) => format!("the command `{}`", words.first().map_or("", String::as_str)),
            Lock::Service(service) => service.word(),
        }
    }

    /// A new slot and its wrapping key; [`Lock::Beside`] is the store's own business.
    pub(crate) fn make(&self) -> Result<(Slot, SecretKey), StoreError> {
        match self {
            Lock::Beside => Err(other(self, "a key file beside the log")),
            Lock::File(path) => {
                let key = read_key(path)?.map_or_else(|| make_key(path), Ok)?;
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                Ok((Slot::File { name: name.unwrap_or_default() }, wrapping_of(&key)))
            }
            Lock::Passphrase(phrase) => {
                let salt: [u8; 16] = random()?;
                let slot =
                    Slot::Passphrase { salt: to_text(&salt), memory: MEMORY, passes: PASSES, lanes: 1 };
                let key = stretch(phrase, &salt, (MEMORY, PASSES, 1))
                    .ok_or_else(|| failed(self, "it cannot be stretched"))?;
                Ok((slot, key))
            }
            Lock::Command(words) => {
                let key = random_key()?;
                let given = ask(words, "wrap", to_text(key.expose()).as_bytes())?;
                Ok((Slot::Command { given: to_text(&given) }, key))
            }
            Lock::Service(service) => {
                let key = random_key()?;
                let given = service.wrap(key.expose()).map_err(|why| failed(self, why))?;
                Ok((Slot::Service { kind: service.kind().to_owned(), given: to_text(&given) }, key))
            }
        }
    }

    /// The wrapping key that a slot asks for.
    pub(crate) fn open(&self, slot: &Slot) -> Result<SecretKey, Opening> {
        match (self, slot) {
            (Lock::File(path), Slot::File { .. }) => match read_key(path) {
                Ok(Some(key)) => Ok(wrapping_of(&key)),
                Ok(None) => Err(Opening::Damage(Damage::NoKey { needs: self.word() })),
                Err(error) => Err(error.into()),
            },
            (Lock::Passphrase(phrase), Slot::Passphrase { salt, memory, passes, lanes }) => {
                let bounded = *memory <= MAX_MEMORY && *passes <= MAX_PASSES && *lanes <= MAX_LANES;
                let key = from_text(salt).filter(|_| bounded).and_then(|salt| {
                    let cost = (*memory, *passes, *lanes);
                    stretch(phrase, &salt, cost)
                });
                key.ok_or(Opening::Damage(Damage::WrongKey { needs: slot.word() }))
            }
            (Lock::Command(words), Slot::Command { given }) => {
                let given = from_text(given).unwrap_or_default();
                let answer = Zeroizing::new(ask(words, "unwrap", &given)?);
                let text = std::str::from_utf8(&answer).unwrap_or_default().trim();
                let key = from_text(text).map(Zeroizing::new);
                let key = key.and_then(|key| SecretKey::read(&key));
                key.ok_or(Opening::Damage(Damage::WrongKey { needs: slot.word() }))
            }
            (Lock::Service(service), Slot::Service { kind, given }) if service.kind() == kind => {
                let given = from_text(given).unwrap_or_default();
                let key = service.unwrap(&given).map_err(|why| failed(self, why))?;
                SecretKey::read(&key).ok_or(Opening::Damage(Damage::WrongKey { needs: slot.word() }))
            }
            _ => Err(other(self, &slot.word()).into()),
        }
    }
}

/// Why a slot does not open.
pub(crate) enum Opening {
    Damage(Damage),
    Error(StoreError),
}

impl From<StoreError> for Opening {
    fn from(error: StoreError) -> Opening {
        Opening::Error(error)
    }
}

pub(crate) fn other(lock: &Lock, needs: &str) -> StoreError {
    StoreError::OtherLock { needs: needs.to_owned(), given: lock.word() }
}

fn failed(lock: &Lock, why: impl Into<String>) -> StoreError {
    StoreError::Lock { lock: lock.word(), why: why.into() }
}

fn stretch(phrase: &SecretValue, salt: &[u8], (memory, passes, lanes): (u32, u32, u32)) -> Option<SecretKey> {
    let params = Params::new(memory, passes, lanes, Some(32)).ok()?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    SecretKey::make(|key| argon.hash_password_into(phrase.expose(), salt, key)).ok()
}

/// The bytes of a key file, if they can be a key.
pub(crate) fn key_of(bytes: &[u8]) -> Option<SecretKey> {
    SecretKey::read(bytes).filter(|key| *key.expose() != [0; 32])
}

fn read_key(path: &Path) -> Result<Option<SecretKey>, StoreError> {
    match std::fs::read(path).map(Zeroizing::new) {
        Ok(bytes) => match key_of(&bytes) {
            Some(key) => Ok(Some(key)),
            None => Err(StoreError::Damaged { place: path.to_owned(), damage: Damage::Key }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

fn make_key(path: &Path) -> Result<SecretKey, StoreError> {
    let key = random_key()?;
    let write = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        file.write_all(key.expose())?;
        file.sync_all()
    };
    match write() {
        Ok(()) => Ok(key),
        // Another process was quicker: its key is the key.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read_key(path)?.ok_or_else(|| StoreError::io("read", path)(error))
        }
        Err(error) => Err(StoreError::io("write", path)(error)),
    }
}

/// Calls a command with a word behind its arguments; what it is told and what it answers stay off its arguments.
fn ask(words: &[String], word: &str, told: &[u8]) -> Result<Vec<u8>, StoreError> {
    let lock = Lock::Command(words.to_vec());
    let (program, arguments) = words.split_first().ok_or_else(|| failed(&lock, "it is empty"))?;
    let mut command = Command::new(program);
    for name in base_secret::hidden_variables() {
        command.env_remove(name);
    }
    let started = command
        .args(arguments)
        .arg(word)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    let mut child = started.map_err(|error| failed(&lock, error.to_string()))?;
    ::log::debug!("program {program} started");
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let told = Zeroizing::new(told.to_vec());
    let talk = std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            // Who does not listen answers without it, or fails.
            let _ = stdin.write_all(&told);
        }
        let mut answer = Vec::new();
        let read = stdout.map(|stdout| stdout.take(MAX_ANSWER).read_to_end(&mut answer));
        read.transpose().map(|_| answer)
    });
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                // It may have ended this very moment; either way there is no answer.
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(&lock, format!("`{word}` took longer than {} s", PATIENCE.as_secs())));
            }
            Err(error) => return Err(failed(&lock, error.to_string())),
        }
    };
    let answer = talk.join().map_err(|_| failed(&lock, "its answer is lost"))?;
    let answer = answer.map_err(|error| failed(&lock, error.to_string()))?;
    if !status.success() {
        return Err(failed(&lock, format!("`{word}` ended with {status}")));
    }
    if answer.is_empty() {
        return Err(failed(&lock, format!("`{word}` answered nothing")));
    }
    Ok(answer)
}

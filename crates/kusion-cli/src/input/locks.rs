//! What locks the keys of the state, as flags and variables say it.

use std::path::PathBuf;
use std::sync::Arc;

use kusion_secrets::{AgeKey, Kms, Transit};
use kusion_store::Lock;

use crate::input::flags::Given;
use crate::views::failure::Failure;

/// Where a passphrase comes from: never from the command line, which others can read.
const PASSPHRASE: &str = "KUSION_PASSPHRASE";
const NEW_PASSPHRASE: &str = "KUSION_NEW_PASSPHRASE";
/// What `--key` takes.
pub(crate) const HOW: &str = "file, file:PATH, passphrase, age:FILE, vault-transit:MOUNT/KEY, aws-kms:KEY, or command:PROGRAM ARGUMENTS";

/// What `--key` says; a key file beside the log if nothing does.
pub(crate) fn lock(given: &Given) -> Result<Lock, Failure> {
    given.last("key").map_or(Ok(Lock::Beside), |text| read(&text, PASSPHRASE))
}

/// What `--new-key` says; the same lock as before if nothing does.
pub(crate) fn new_lock(given: &Given) -> Result<Option<Lock>, Failure> {
    given.last("new-key").map(|text| read(&text, NEW_PASSPHRASE)).transpose()
}

fn read(text: &str, variable: &str) -> Result<Lock, Failure> {
    match text.split_once(':') {
        None if text == "file" => Ok(Lock::Beside),
        None if text == "passphrase" => {
            let phrase = std::env::var(variable).ok().filter(|phrase| !phrase.is_empty());
            phrase.map(|phrase| Lock::Passphrase(phrase.into())).ok_or_else(|| {
                Failure::usage("there is no passphrase").next(format!("put it into the variable {variable}"))
            })
        }
        Some(("file", path)) if !path.is_empty() => Ok(Lock::File(PathBuf::from(path))),
        Some(("command", line)) if !line.trim().is_empty() => {
            Ok(Lock::Command(line.split_whitespace().map(str::to_owned).collect()))
        }
        Some(("age", path)) if !path.is_empty() => {
            Ok(Lock::Service(Arc::new(AgeKey::new(PathBuf::from(path)))))
        }
        Some(("aws-kms", key)) if !key.is_empty() => Ok(Lock::Service(Arc::new(Kms::new(key)))),
        Some(("vault-transit", path)) => {
            let transit = Transit::from_environment(path).map_err(|error| {
                let failure = Failure::usage(error.message);
                failure.next(error.next.unwrap_or_default())
            })?;
            Ok(Lock::Service(Arc::new(transit)))
        }
        _ => Err(Failure::usage(format!("`{text}` is nothing that can lock a key")).next(HOW)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_locks() {
        let word = |text: &str| read(text, "KUSION_NO_SUCH_VARIABLE").map(|lock| lock.word());
        assert_eq!(word("file").unwrap(), "the key file beside the log");
        assert_eq!(word("file:/k").unwrap(), "the key file /k");
        assert_eq!(word("command:vault-wrap --mount x").unwrap(), "the command `vault-wrap`");
        assert_eq!(word("age:/id").unwrap(), "the age identity in /id");
        assert_eq!(word("aws-kms:alias/kusion").unwrap(), "the key `alias/kusion` of AWS KMS");
        assert!(word("vault-transit:kusion").unwrap_err().next.unwrap().contains("vault-transit:MOUNT/KEY"));
        assert!(word("passphrase").unwrap_err().next.unwrap().contains("KUSION_NO_SUCH_VARIABLE"));
        assert!(word("aes").is_err() && word("file:").is_err() && word("command: ").is_err());
    }
}

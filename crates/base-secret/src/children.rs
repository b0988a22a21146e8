//! Which variables of the environment hold secrets: programs that are started do not get them.
//!
//! The environment itself stays as it is: changing it is not safe while other threads read it.

use std::collections::BTreeSet;
use std::sync::Mutex;

/// Those that are secrets whoever asks.
const ALWAYS: [&str; 2] = ["KUSION_PASSPHRASE", "KUSION_NEW_PASSPHRASE"];

static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Remembers that a variable was read as a secret.
pub fn keep_from_children(name: &str) {
    if let Ok(mut known) = KNOWN.lock() {
        known.insert(name.to_owned());
    }
}

/// The variables that a program must not get, unless it is known to need them.
#[must_use]
pub fn hidden_variables() -> Vec<String> {
    let known = KNOWN.lock().map(|known| known.clone()).unwrap_or_default();
    known.into_iter().chain(ALWAYS.map(str::to_owned)).collect()
}

/// The variables in which people keep credentials of clouds, vaults and databases: for programs that log in nowhere. A command of a
/// secret store or of a key gets them, because it is the road to stores that only it can log in to.
pub const CREDENTIALS: [&str; 14] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_TOKEN",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "PGPASSWORD",
    "SOPS_AGE_KEY",
    "VAULT_SECRET_ID",
    "VAULT_TOKEN",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_as_a_secret_is_kept_from_children() {
        keep_from_children("KUSION_TEST_DB_PASSWORD");
        let hidden = hidden_variables();
        assert!(
            ["KUSION_TEST_DB_PASSWORD", "KUSION_PASSPHRASE"]
                .iter()
                .all(|name| hidden.iter().any(|it| it == name))
        );
    }
}

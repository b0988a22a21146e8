//! Packages from elsewhere.
//!
//! [`resolve`] walks from a module to everything it needs, takes what the lock and the store have, fetches the rest in parallel, and
//! returns which packages were chosen with the folder of each. [`Store`] keeps contents by their sums; `git` and `oci` bring them.
//! Every content goes through `kcl_mod::unpack`: what is kept is what was summed.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod credentials;
mod git;
mod oci;
mod oci_auth;
mod oci_push;
mod oci_signatures;
mod resolve;
mod store;
mod tree;
mod vendor;
mod watch;
mod write;

pub use credentials::{Credentials, login, logout};
pub use oci::{Client, Registry};
pub use resolve::{Kept, Options, Resolution, read_lock, resolve};
pub use store::{Store, compare, write_folder};
pub use tree::{read_kept, read_module};
pub use vendor::vendor;
pub use watch::Watch;
pub use write::replace;

/// Why something could not be had: a sentence, and what to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// What went wrong, with the place.
    pub what: String,
    /// What to do next.
    pub next: Option<String>,
}

impl Trouble {
    pub(crate) fn new(what: impl Into<String>) -> Trouble {
        Trouble { what: what.into(), next: None }
    }

    pub(crate) fn next(mut self, next: impl Into<String>) -> Trouble {
        self.next = Some(next.into());
        self
    }
}

impl From<String> for Trouble {
    fn from(what: String) -> Trouble {
        Trouble::new(what)
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

/// Returns `HOST/PATH` of packages that are named by their version only: `$KPM_REG/$KPM_REPO`.
pub fn default_registry() -> String {
    let text = |name: &str, default: &str| {
        std::env::var(name).ok().filter(|v| !v.is_empty()).unwrap_or(default.to_owned())
    };
    format!("{}/{}", text("KPM_REG", "ghcr.io"), text("KPM_REPO", "kcl-lang"))
}

/// How long a server may stand still: 30 seconds, or what `KCL_FETCH_TIMEOUT` says.
fn patience() -> Result<std::time::Duration, Trouble> {
    let Some(text) = std::env::var("KCL_FETCH_TIMEOUT").ok().filter(|text| !text.is_empty()) else {
        return Ok(std::time::Duration::from_secs(30));
    };
    match text.parse() {
        Ok(seconds) if seconds > 0 => Ok(std::time::Duration::from_secs(seconds)),
        _ => Err(Trouble::new(format!("KCL_FETCH_TIMEOUT: `{text}` is not a number of seconds"))
            .next("write a whole number above zero, or unset it: then it is 30")),
    }
}

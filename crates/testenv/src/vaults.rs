//! Servers that keep secrets and prove identities: Vault, moto (AWS), an OpenID provider. CI builds moto and the provider, not
//! Vault: its answers are recorded, and whoever has built it (`cargo xtask testenv build vault`) compares with the real ones.

use std::net::TcpStream;
use std::path::Path;
use std::sync::OnceLock;

use crate::services::{Server, free_port, fresh_folder, twice};
use crate::shared::no_peer;
use crate::{Error, cache, package, skip};

/// A server on loopback.
pub struct Served {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    server: Server,
}

/// The token that may do everything on the Vault of the tests.
pub const ROOT_TOKEN: &str = "root";

/// A question to Vault, and who asks: method, path, token, body.
pub type VaultAsk = (&'static str, &'static str, &'static str, &'static str);

/// What makes the Vault of the tests what the recorded answers are of. Values are made up.
pub const VAULT_SETUP: &[VaultAsk] = &[
    ("POST", "/v1/secret/data/team/db", ROOT_TOKEN, r#"{"data": {"password": "old-canary"}}"#),
    (
        "POST",
        "/v1/secret/data/team/db",
        ROOT_TOKEN,
        r#"{"data": {"password": "new-canary", "deep": {"key": [1, "x"]}}}"#,
    ),
    ("POST", "/v1/secret/data/deleted", ROOT_TOKEN, r#"{"data": {"x": "gone-canary"}}"#),
    ("DELETE", "/v1/secret/data/deleted", ROOT_TOKEN, ""),
    ("POST", "/v1/sys/mounts/kv", ROOT_TOKEN, r#"{"type": "kv", "options": {"version": "1"}}"#),
    ("POST", "/v1/kv/db", ROOT_TOKEN, r#"{"password": "flat-canary"}"#),
    ("POST", "/v1/sys/mounts/transit", ROOT_TOKEN, r#"{"type": "transit"}"#),
    ("POST", "/v1/transit/keys/kusion", ROOT_TOKEN, "{}"),
    ("POST", "/v1/sys/auth/approle", ROOT_TOKEN, r#"{"type": "approle"}"#),
    (
        "POST",
        "/v1/sys/policies/acl/team",
        ROOT_TOKEN,
        r#"{"policy": "path \"secret/data/team/*\" { capabilities = [\"read\"] }"}"#,
    ),
    ("POST", "/v1/auth/approle/role/shop", ROOT_TOKEN, r#"{"token_policies": "team"}"#),
    ("POST", "/v1/auth/approle/role/shop/role-id", ROOT_TOKEN, r#"{"role_id": "shop-role"}"#),
    (
        "POST",
        "/v1/auth/approle/role/shop/custom-secret-id",
        ROOT_TOKEN,
        r#"{"secret_id": "canary-secret-id"}"#,
    ),
];

/// The questions whose answers are recorded (`cargo xtask record vault`).
pub const VAULT_ASKS: &[VaultAsk] = &[
    ("GET", "/v1/secret/data/team/db", ROOT_TOKEN, ""),
    ("GET", "/v1/secret/data/team/db?version=1", ROOT_TOKEN, ""),
    ("GET", "/v1/secret/data/team/db", "wrong", ""),
    ("GET", "/v1/secret/data/deleted", ROOT_TOKEN, ""),
    ("GET", "/v1/secret/data/nowhere", ROOT_TOKEN, ""),
    ("GET", "/v1/kv/db", ROOT_TOKEN, ""),
    ("GET", "/v1/kv/nowhere", ROOT_TOKEN, ""),
    ("POST", "/v1/auth/approle/login", "", r#"{"role_id":"shop-role","secret_id":"canary-secret-id"}"#),
    ("POST", "/v1/auth/approle/login", "", r#"{"role_id":"shop-role","secret_id":"other-secret-id"}"#),
];

impl Served {
    /// Asks Vault.
    ///
    /// # Errors
    /// A server that does not answer.
    pub fn ask(&self, (method, path, token, body): VaultAsk) -> Result<crate::http::Response, Error> {
        let address = self.url.trim_start_matches("http://");
        let mut client = crate::http::Client::new(address);
        if !token.is_empty() {
            client = client.with_header("X-Vault-Token", token);
        }
        client.request(method, path, "application/json", body.as_bytes())
    }

    /// Makes Vault what the recorded answers are of.
    ///
    /// # Errors
    /// A step that is refused.
    pub fn set_up(&self) -> Result<(), Error> {
        for ask in VAULT_SETUP {
            let answer = self.ask(*ask)?;
            if answer.status >= 300 {
                return Err(Error::new(format!("{} {}: {}", ask.0, ask.1, answer.text())));
            }
        }
        Ok(())
    }

    /// What the server has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        self.server.log()
    }

    fn start(name: &str, words: impl Fn(&Path, u16) -> Vec<String>) -> Result<Self, Error> {
        twice(|| Self::start_once(name, &words))
    }

    fn start_once(name: &str, words: impl Fn(&Path, u16) -> Vec<String>) -> Result<Self, Error> {
        let (folder, port) = (fresh_folder(name)?, free_port()?);
        let words = words(&folder, port);
        let home = folder.display().to_string();
        let server = Server::start(folder, &words, &[("HOME", &home)])?;
        server.wait_until(|_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(Served { url: format!("http://127.0.0.1:{port}"), server })
    }
}

fn shared(
    slot: &'static OnceLock<Option<Served>>,
    (name, absent): (&'static str, fn(&str)),
    start: impl FnOnce() -> Option<Result<Served, Error>>,
) -> Option<&'static Served> {
    let start = || match start() {
        None => {
            absent(name);
            None
        }
        Some(served) => Some(served.unwrap_or_else(|error| panic!("{name}: {error}"))),
    };
    slot.get_or_init(start).as_ref()
}

/// What CI installs may not be missing there.
fn not_installed(name: &str) {
    skip(&format!("tests on {name}: it is not installed (cargo xtask testenv build {name})"));
}

/// The Vault that the tests of one process share; `None`, said on stderr, if it is not built. CI does not build it (eight
/// minutes): there the recorded answers are read.
///
/// # Panics
/// When it is built and cannot be started.
pub fn vault() -> Option<&'static Served> {
    static SERVER: OnceLock<Option<Served>> = OnceLock::new();
    shared(&SERVER, ("vault", no_peer), || {
        let program = cache::program("vault")?.display().to_string();
        Some(Served::start("vault", |_, port| {
            let words =
                ["server", "-dev", "-dev-no-store-token", "-dev-root-token-id=root"].map(str::to_owned);
            let address = format!("-dev-listen-address=127.0.0.1:{port}");
            [program.clone()].into_iter().chain(words).chain([address]).collect()
        }))
    })
}

/// Moto, which plays AWS; a simulation, as its name says.
///
/// # Panics
/// When it is installed and cannot be started.
pub fn moto() -> Option<&'static Served> {
    static SERVER: OnceLock<Option<Served>> = OnceLock::new();
    shared(&SERVER, ("moto", not_installed), || {
        let program = package("moto")?.display().to_string();
        Some(Served::start("moto", |_, port| {
            [program.clone(), "-H".to_owned(), "127.0.0.1".to_owned(), "-p".to_owned(), port.to_string()]
                .into()
        }))
    })
}

/// An OpenID provider with the client `pipeline`, password `s3cret`.
///
/// # Panics
/// When it is installed and cannot be started.
pub fn openid() -> Option<&'static Served> {
    static SERVER: OnceLock<Option<Served>> = OnceLock::new();
    shared(&SERVER, ("oidc-provider", not_installed), || {
        let entry = package("oidc-provider")?.display().to_string();
        Some(Served::start("openid", |_, port| ["node".to_owned(), entry.clone(), port.to_string()].into()))
    })
}

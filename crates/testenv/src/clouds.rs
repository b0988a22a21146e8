//! Stand-ins for the object stores of Google and Microsoft (`cargo xtask testenv build fake-gcs-server azurite`).

use std::net::TcpStream;
use std::sync::OnceLock;

use crate::services::{Server, free_port, fresh_folder, twice};
use crate::shared::skip;
use crate::{Error, cache, package};

/// An object store with one bucket or container.
pub struct CloudServer {
    /// `127.0.0.1:PORT`.
    pub socket: String,
    server: Server,
}

/// The bucket of the one, the container of the other.
pub const CLOUD_BUCKET: &str = "state";
/// The account and the key that Azurite is known for.
pub const AZURITE_LOGIN: (&str, &str) = (
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
);

impl CloudServer {
    /// What the server has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        self.server.log()
    }

    fn gcs(program: &str) -> Result<Self, Error> {
        let (folder, port) = (fresh_folder("gcs")?, free_port()?);
        let words = [program, &port.to_string(), CLOUD_BUCKET].map(str::to_owned);
        let server = Server::start(folder, &words, &[])?;
        server.wait_until(|_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(CloudServer { socket: format!("127.0.0.1:{port}"), server })
    }

    fn azurite(script: &str) -> Result<Self, Error> {
        let (folder, port) = (fresh_folder("azurite")?, free_port()?);
        let data = folder.join("data").display().to_string();
        let words = ["node", script, &port.to_string(), &data, CLOUD_BUCKET].map(str::to_owned);
        let server = Server::start(folder, &words, &[])?;
        server.wait_until(|server| server.log().lines().any(|line| line == "ready"))?;
        Ok(CloudServer { socket: format!("127.0.0.1:{port}"), server })
    }
}

fn shared(
    slot: &'static OnceLock<Option<CloudServer>>,
    name: &str,
    start: impl FnOnce() -> Option<Result<CloudServer, Error>>,
) -> Option<&'static CloudServer> {
    let start = || match start() {
        None => {
            skip(&format!("{name} is not built (cargo xtask testenv build {name})"));
            None
        }
        Some(served) => Some(served.unwrap_or_else(|error| panic!("{name}: {error}"))),
    };
    slot.get_or_init(start).as_ref()
}

/// The Google Cloud Storage that the tests of one process share; `None`, said on stderr, if it is not built.
///
/// # Panics
/// When it is built and cannot be started, or is not built where nothing may be skipped.
pub fn gcs() -> Option<&'static CloudServer> {
    static SERVER: OnceLock<Option<CloudServer>> = OnceLock::new();
    shared(&SERVER, "fake-gcs-server", || {
        let program = cache::program("fake-gcs-server")?.display().to_string();
        Some(twice(|| CloudServer::gcs(&program)))
    })
}

/// The Azure Blob Storage that the tests of one process share; `None`, said on stderr, if it is not installed.
///
/// # Panics
/// When it is installed and cannot be started, or is not installed where nothing may be skipped.
pub fn azure() -> Option<&'static CloudServer> {
    static SERVER: OnceLock<Option<CloudServer>> = OnceLock::new();
    shared(&SERVER, "azurite", || {
        let script = package("azurite")?.display().to_string();
        Some(twice(|| CloudServer::azurite(&script)))
    })
}

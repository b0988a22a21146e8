//! The real servers of the conformance suite, and a fresh corner on each of them for every test.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kusion_media::{Address, Patience, Surroundings, objects, open};
use kusion_store::{Plug, When, wait};
use testenv::clouds::{AZURITE_LOGIN, CLOUD_BUCKET};
use testenv::services::{S3_BUCKET, S3_LOGIN};

pub(crate) use crate::medium::*;

/// Of the steps at which a write can be interrupted, every so-manieth is tried; the long form tries all.
pub(crate) static STRIDE: std::sync::LazyLock<usize> =
    std::sync::LazyLock::new(|| if long() { 1 } else { 11 });

/// Whether the long forms run.
pub(crate) fn long() -> bool {
    std::env::var_os("KUSION_LONG_TESTS").is_some_and(|value| value != "0" && !value.is_empty())
}

/// A server, and how a corner of it is addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Postgres,
    S3,
    Kubernetes,
    Google,
    Azure,
}

pub(crate) const SERVERS: [Server; 5] =
    [Server::Postgres, Server::S3, Server::Kubernetes, Server::Google, Server::Azure];

impl Server {
    /// The host and port of the server; `None` if its tests are skipped.
    pub(crate) fn socket(self) -> Option<String> {
        match self {
            Server::Postgres => {
                testenv::services::postgres().map(|server| format!("127.0.0.1:{}", server.port))
            }
            Server::S3 => {
                testenv::services::s3().map(|server| server.endpoint.trim_start_matches("http://").to_owned())
            }
            Server::Kubernetes => Some(cluster().1.clone()),
            Server::Google => testenv::clouds::gcs().map(|server| server.socket.clone()),
            Server::Azure => testenv::clouds::azure().map(|server| server.socket.clone()),
        }
    }

    /// A corner that nobody has used, reached through a socket.
    pub(crate) fn corner(self, socket: &str) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = format!("c{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        match self {
            Server::Postgres => format!("postgres://test@{socket}/postgres?schema={n}&sslmode=disable"),
            Server::S3 => format!("s3://{S3_BUCKET}/{n}?endpoint=http://{socket}&region=us-east-1"),
            Server::Kubernetes => format!("kubernetes://default/{n}?kubeconfig={}", kubeconfig(socket)),
            Server::Google => format!("gs://{CLOUD_BUCKET}/{n}?endpoint=http://{socket}"),
            Server::Azure => {
                let account = AZURITE_LOGIN.0;
                format!("az://{CLOUD_BUCKET}/{n}?account={account}&endpoint=http://{socket}/{account}")
            }
        }
    }

    pub(crate) fn medium(self) -> Medium {
        let socket = self.socket().expect("the server runs");
        medium_at(&self.corner(&socket), Plug::default())
    }
}

/// What a client may look at; impatient, so that tests of faults are quick.
pub(crate) fn around(plug: &Plug) -> Surroundings {
    let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let variables = [
        ("AWS_ACCESS_KEY_ID", S3_LOGIN.0),
        ("AWS_SECRET_ACCESS_KEY", S3_LOGIN.1),
        ("GOOGLE_SKIP_SIGNATURE", "true"),
        ("AZURE_STORAGE_ACCOUNT_KEY", AZURITE_LOGIN.1),
    ];
    let variables = variables.map(pair).to_vec();
    let patience =
        Patience { at_most: Duration::from_secs(20), limit: Duration::from_secs(10), ..Patience::default() };
    Surroundings { variables, home: None, patience, plug: plug.clone() }
}

pub(crate) fn medium_at(address: &str, plug: Plug) -> Medium {
    let around = around(&plug);
    let address = Address::parse(address).unwrap();
    let backend = open(&address, &around).unwrap();
    let garble = move || {
        let objects = objects(&address, &around).unwrap();
        let leases = wait(objects.list("state/shop/dev/default/lease/")).unwrap();
        let name = leases.last().unwrap();
        let now = wait(objects.get(name)).unwrap().unwrap();
        wait(objects.put(name, b"garbage", When::Version(&now.version))).unwrap().unwrap();
    };
    Medium::on(backend, plug, garble)
}

/// The kubeconfig and the socket of a cluster: the real one, or the sandbox where that is not built.
pub(crate) fn cluster() -> &'static (String, String) {
    static CLUSTER: OnceLock<(String, String)> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let real = testenv::required() || testenv::attached().is_some() || testenv::binary().is_some();
        let file = match real.then(testenv::shared).flatten() {
            Some(plane) => plane.kubeconfig(),
            None => {
                testenv::skip("the real API server: it is not built, the sandbox takes its place");
                let folder = tempfile::tempdir().unwrap().keep();
                let setup = sandbox_server::Setup { folder, in_memory: true, ..Default::default() };
                let sandbox = sandbox_server::Sandbox::start(setup).unwrap();
                let file = sandbox.kubeconfig().to_owned();
                std::mem::forget(sandbox);
                file
            }
        };
        let text = std::fs::read_to_string(&file).unwrap();
        // As YAML or as JSON: the address is what follows the scheme.
        let server = text.split("https://").nth(1).unwrap();
        let socket = server.split(['"', '\'', '\n', '/', ',', '}', ' ']).next().unwrap().to_owned();
        (file.display().to_string(), socket)
    })
}

/// A kubeconfig for the cluster behind another socket.
fn kubeconfig(socket: &str) -> String {
    let (file, own) = cluster();
    if own == socket {
        return file.clone();
    }
    let text = std::fs::read_to_string(file).unwrap().replace(own.as_str(), socket);
    let copy = format!("{file}.{}", socket.rsplit(':').next().unwrap());
    std::fs::write(&copy, text).unwrap();
    copy
}

/// One test function on every server.
macro_rules! on_every_medium {
    ($($name:ident)*) => {
        mod on_postgres {
            $(#[test] fn $name() { crate::setup::run(crate::setup::Server::Postgres, super::$name) })*
        }
        mod on_s3 {
            $(#[test] fn $name() { crate::setup::run(crate::setup::Server::S3, super::$name) })*
        }
        mod on_kubernetes {
            $(#[test] fn $name() { crate::setup::run(crate::setup::Server::Kubernetes, super::$name) })*
        }
        mod on_google {
            $(#[test] fn $name() { crate::setup::run(crate::setup::Server::Google, super::$name) })*
        }
        mod on_azure {
            $(#[test] fn $name() { crate::setup::run(crate::setup::Server::Azure, super::$name) })*
        }
    };
}
pub(crate) use on_every_medium;

/// Runs a test unless its server is missing.
pub(crate) fn run(server: Server, test: fn(fn() -> Medium)) {
    if server.socket().is_none() {
        return;
    }
    test(match server {
        Server::Postgres => || Server::Postgres.medium(),
        Server::S3 => || Server::S3.medium(),
        Server::Kubernetes => || Server::Kubernetes.medium(),
        Server::Google => || Server::Google.medium(),
        Server::Azure => || Server::Azure.medium(),
    });
}

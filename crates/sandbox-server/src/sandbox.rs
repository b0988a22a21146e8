//! A whole sandbox on a thread of its own: world, pump, server, files.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use sandbox_world::faults::Faults;
use sandbox_world::{Time, World};
use tokio::sync::oneshot;

use crate::host::Host;
use crate::identity::{Identity, IdentityError};
use crate::keep::{KeepError, Keeper, write_private};
use crate::serve::{ServeError, serve_on};

/// How it runs.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Where identity, kubeconfig and objects are kept.
    pub folder: PathBuf,
    /// Forget the objects at the end.
    pub in_memory: bool,
    /// The port; the last one when it is free, else any, when none is given.
    pub port: Option<u16>,
    /// Where it listens; loopback when none is given. Another address is refused unless `beyond_loopback` says it is meant.
    pub address: Option<IpAddr>,
    pub beyond_loopback: bool,
    pub seed: Option<u64>,
    /// A fault script.
    pub fault: Option<String>,
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Keep(#[from] KeepError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("the fault script is not understood: {0}")]
    Fault(String),
    #[error("{path} cannot be written: {error}")]
    File { path: PathBuf, error: std::io::Error },
    #[error("the sandbox cannot start: {0}")]
    Thread(String),
}

/// A running sandbox; dropping it stops it.
pub struct Sandbox {
    address: SocketAddr,
    kubeconfig: PathBuf,
    host: Host,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sandbox {
    /// Starts one and returns when it answers.
    pub fn start(setup: Setup) -> Result<Sandbox, SandboxError> {
        let (ready, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(live(setup, ready, stopped)),
                Err(error) => drop(ready.send(Err(SandboxError::Thread(error.to_string())))),
            }
        };
        let thread = std::thread::Builder::new().name("sandbox".into()).spawn(run);
        let thread = thread.map_err(|error| SandboxError::Thread(error.to_string()))?;
        let gone = |_| SandboxError::Thread("its thread ended".to_owned());
        let (address, kubeconfig, host) = started.recv().map_err(gone)??;
        Ok(Sandbox { address, kubeconfig, host, stop: Some(stop), thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file that clients need.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub fn host(&self) -> &Host {
        &self.host
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}

type Started = Result<(SocketAddr, PathBuf, Host), SandboxError>;

async fn live(setup: Setup, ready: mpsc::Sender<Started>, stopped: oneshot::Receiver<()>) {
    match begin(&setup).await {
        Ok((listening, kubeconfig, host)) => {
            let _ = ready.send(Ok((listening.address(), kubeconfig, host)));
            // The sender is dropped to stop; nothing is ever sent.
            let _ = stopped.await;
        }
        Err(error) => drop(ready.send(Err(error))),
    }
}

async fn begin(setup: &Setup) -> Result<(crate::serve::Listening, PathBuf, Host), SandboxError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| SandboxError::File { path, error }
    };
    std::fs::create_dir_all(&setup.folder).map_err(failed(&setup.folder))?;
    let identity = Identity::open(&setup.folder)?;
    let fresh = || fresh_world(setup.seed, &identity);
    let faults = setup.fault.as_deref().map(Faults::parse).transpose().map_err(SandboxError::Fault)?;
    let (mut world, keeper) = match setup.in_memory {
        true => (fresh(), None),
        false => {
            let (mut world, keeper) = Keeper::open(&setup.folder.join("data"), fresh)?;
            world.set_admin_token(identity.token());
            // Time has passed while nobody kept it; what was due meanwhile is due now.
            world.tick(wall_now().since(world.now()));
            world.wake_all();
            (world, Some(keeper))
        }
    };
    world.set_faults(faults.unwrap_or_default());
    world.set_root_certificate(identity.root_certificate());
    let host = Host::start(world, keeper);
    let last = setup.folder.join("port");
    let wanted = setup.port.or_else(|| std::fs::read_to_string(&last).ok()?.trim().parse().ok());
    let ip = setup.address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let listen = |port| serve_on(host.clone(), &identity, SocketAddr::new(ip, port), setup.beyond_loopback);
    let listening = match (listen(wanted.unwrap_or(0)).await, setup.port) {
        (Err(ServeError::Listen { .. }), None) => listen(0).await?,
        (other, _) => other?,
    };
    let address = listening.address();
    write_private(&last, address.port().to_string().as_bytes()).map_err(failed(&last))?;
    let kubeconfig = setup.folder.join("kubeconfig");
    write_private(&kubeconfig, identity.kubeconfig(address).as_bytes()).map_err(failed(&kubeconfig))?;
    Ok((listening, kubeconfig, host))
}

/// A new world. Unless somebody asks for a seed, and so for the same world again, it is a cluster of its own.
fn fresh_world(seed: Option<u64>, identity: &Identity) -> World {
    let mut world = World::with_defaults(seed.unwrap_or(1), wall_now());
    world.add_addons();
    world.set_admin_token(identity.token());
    if seed.is_none() {
        world.set_identity(&cluster_uid(identity.root_certificate()));
    }
    world
}

/// The uid that a cluster is known by, from its own certificate.
fn cluster_uid(certificate: &str) -> String {
    let hash = |seed: u64| {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        certificate.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, step)
    };
    let (a, b) = (hash(1), hash(2));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    )
}

fn wall_now() -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(now.as_millis()).unwrap_or(0))
}

//! Starting, describing and ending one control plane.
//!
//! In: [`Options`]. Out: a [`ControlPlane`] that answers requests, in a folder of its own under the temporary folder.
//! Invariant: every port is on loopback; dropping an owned plane ends its servers and removes its folder.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::process::Server;
use crate::services::twice;
use crate::{Context, Error, Usage, cache, files, http, usage};

const FOLDER_PREFIX: &str = "kusion-testenv-";
const DESCRIPTION: &str = "plane";

/// What to start.
#[derive(Debug, Clone)]
pub struct Options {
    /// Controller manager, scheduler, simulated nodes and a storage class; without them only etcd and the API server.
    pub controllers: bool,
    /// Build the executable when it is not cached.
    pub build: bool,
    /// How long one try to start may take; there are two.
    pub deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { controllers: true, build: false, deadline: Duration::from_secs(180) }
    }
}

/// A running control plane.
pub struct ControlPlane {
    folder: PathBuf,
    bin: PathBuf,
    url: String,
    proxy: String,
    pids: BTreeMap<String, u32>,
    /// Empty for a plane that another process owns.
    servers: Vec<Server>,
}

impl ControlPlane {
    /// Starts a plane and waits until it is ready.
    pub fn start(options: Options) -> Result<Self, Error> {
        let bin = match cache::binary() {
            Some(bin) => bin,
            None if options.build => cache::build()?,
            None => {
                return Err(Error::new(
                    "the test control plane is not built; run `cargo xtask testenv build`",
                ));
            }
        };
        remove_abandoned();
        twice(|| start_once(&bin, &options))
    }

    /// A plane that another process owns, from its folder.
    pub fn attach(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(DESCRIPTION);
        let text = fs::read_to_string(&path).context(|| format!("reading {}", path.display()))?;
        let mut plane = Self {
            folder: folder.to_owned(),
            bin: PathBuf::new(),
            url: String::new(),
            proxy: String::new(),
            pids: BTreeMap::new(),
            servers: Vec::new(),
        };
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            match key {
                "bin" => plane.bin = PathBuf::from(value),
                "url" => plane.url = value.into(),
                "proxy" => plane.proxy = value.into(),
                _ => {
                    if let (Some(name), Ok(pid)) = (key.strip_prefix("pid."), value.parse()) {
                        plane.pids.insert(name.into(), pid);
                    }
                }
            }
        }
        Ok(plane)
    }

    /// The folder with kubeconfigs, certificates and `log/`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// The API server's address, `https://127.0.0.1:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A bearer token with every right.
    pub fn token(&self) -> &'static str {
        files::ADMIN_TOKEN
    }

    /// The certificate authority of [`Self::url`].
    pub fn ca_file(&self) -> PathBuf {
        self.folder.join("pki").join("ca.crt")
    }

    /// A client for the API in plain text, as administrator, through the plane's proxy.
    pub fn http(&self) -> http::Client {
        http::Client::new(&self.proxy)
    }

    /// `host:port` of the plane's plain-text proxy, which asks as administrator.
    pub fn proxy(&self) -> &str {
        &self.proxy
    }

    /// The real `kubectl` of the pinned version.
    pub fn kubectl_path(&self) -> PathBuf {
        self.bin.join("kubectl")
    }

    /// `kubectl` with this plane's kubeconfig.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(self.kubectl_path());
        command.env("KUBECONFIG", self.kubeconfig());
        command
    }

    /// CPU time and memory of each server that still runs.
    pub fn usage(&self) -> Vec<Usage> {
        self.pids.iter().filter_map(|(name, pid)| usage::of(name, *pid)).collect()
    }

    /// The environment of a program that is to use this plane.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let mut variables = vec![
            ("KUBECONFIG", self.kubeconfig()),
            ("KUSION_TESTENV", PathBuf::from("1")),
            ("KUSION_KUBECTL", self.kubectl_path()),
            (crate::ENV_PLANE, self.folder.clone()),
        ];
        variables.extend(cache::program("helm").map(|helm| ("KUSION_HELM", helm)));
        variables
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if self.servers.is_empty() {
            return;
        }
        while let Some(server) = self.servers.pop() {
            drop(server);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn start_once(bin: &Path, options: &Options) -> Result<ControlPlane, Error> {
    let mut starting = Starting::new(bin.to_owned(), Instant::now() + options.deadline)?;
    starting.api_server()?;
    if options.controllers {
        starting.controllers()?;
    }
    starting.finish()
}

/// A plane on its way up.
struct Starting {
    plane: ControlPlane,
    deadline: Instant,
}

impl Starting {
    fn new(bin: PathBuf, deadline: Instant) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}-{number}", std::process::id()));
        for part in ["pki", "log", "etcd"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).context(|| format!("creating {}", path.display()))?;
        }
        let port = free_port()?;
        let plane = ControlPlane {
            folder,
            bin,
            url: format!("https://127.0.0.1:{port}"),
            proxy: String::new(),
            pids: BTreeMap::new(),
            servers: Vec::new(),
        };
        Ok(Self { plane, deadline })
    }

    /// etcd, the API server and the plain-text proxy; returns when `/readyz` says ok.
    fn api_server(&mut self) -> Result<(), Error> {
        let folder = self.plane.folder.clone();
        let pki = folder.join("pki");
        run(Command::new(self.plane.bin.join("kubebox")).arg("pki").arg(&pki), "")?;
        files::write(&folder, &self.plane.url)?;
        let (folder, pki) = (folder.display(), pki.display());
        let etcd_port = free_port()?;
        let etcd = format!("http://127.0.0.1:{etcd_port}");
        self.launch(
            "etcd",
            &format!(
                "--name=default --data-dir={folder}/etcd --unsafe-no-fsync --log-level=warn
             --listen-client-urls={etcd} --advertise-client-urls={etcd}
             --listen-peer-urls=http://127.0.0.1:0 --initial-advertise-peer-urls=http://127.0.0.1:2380
             --initial-cluster=default=http://127.0.0.1:2380"
            ),
        )?;
        self.wait_for("etcd", |_| TcpStream::connect(("127.0.0.1", etcd_port)).is_ok())?;
        let port = self.plane.url.rsplit(':').next().unwrap_or_default().to_owned();
        self.launch(
            "kube-apiserver",
            &format!(
                "--etcd-servers={etcd} --bind-address=127.0.0.1 --secure-port={port} --cert-dir={folder}
             --tls-cert-file={pki}/apiserver.crt --tls-private-key-file={pki}/apiserver.key
             --client-ca-file={pki}/ca.crt --token-auth-file={folder}/tokens.csv
             --authorization-mode=Node,RBAC --allow-privileged=true
             --service-account-issuer=https://kubernetes.default.svc
             --service-account-key-file={pki}/sa.pub --service-account-signing-key-file={pki}/sa.key
             --service-cluster-ip-range=10.96.0.0/16"
            ),
        )?;
        self.launch("kubectl", &format!("proxy --port=0 --kubeconfig={folder}/admin.kubeconfig"))?;
        self.wait_for("the proxy", |plane| {
            let text = plane.servers.last().map(Server::log_text).unwrap_or_default();
            let Some((_, rest)) = text.split_once("Starting to serve on ") else {
                return false;
            };
            plane.proxy = rest.split_whitespace().next().unwrap_or_default().to_owned();
            rest.contains('\n')
        })?;
        self.wait_for("the API server", |plane| {
            plane.http().get("/readyz").is_ok_and(|answer| answer.status == 200)
        })
    }

    /// Controller manager, scheduler, kwok, two nodes and a storage class; returns when the nodes are ready.
    fn controllers(&mut self) -> Result<(), Error> {
        let folder = self.plane.folder.clone();
        let folder = folder.display();
        let (manager_port, scheduler_port) = (free_port()?, free_port()?);
        // The default of 20 requests a second makes the manager wait 4 s for its own service accounts.
        self.launch(
            "kube-controller-manager",
            &format!(
                "--kubeconfig={folder}/kcm.kubeconfig --bind-address=127.0.0.1 --secure-port={manager_port}
             --leader-elect=false --kube-api-qps=500 --kube-api-burst=1000 --service-account-private-key-file={folder}/pki/sa.key
             --root-ca-file={folder}/pki/ca.crt --use-service-account-credentials=true
             --cluster-signing-cert-file={folder}/pki/ca.crt --cluster-signing-key-file={folder}/pki/ca.key"
            ),
        )?;
        self.launch("kube-scheduler", &format!(
            "--kubeconfig={folder}/scheduler.kubeconfig --bind-address=127.0.0.1 --secure-port={scheduler_port}
             --leader-elect=false --kube-api-qps=500 --kube-api-burst=1000"
        ))?;
        self.launch("kwok", &format!(
            "--kubeconfig={folder}/kwok.kubeconfig --manage-all-nodes=true --node-ip=10.0.0.1 --cidr=10.1.0.0/16
             --config={folder}/kwok.yaml --node-lease-duration-seconds=40"
        ))?;
        self.kubectl(&["apply", "--server-side", "-f", "-"], files::NODES)?;
        let seconds = self.deadline.saturating_duration_since(Instant::now()).as_secs().max(1);
        let timeout = format!("--timeout={seconds}s");
        self.kubectl(&["wait", "--for=condition=Ready", "node", "--all", &timeout], "")?;
        self.kubectl(&["wait", "--for=create", "serviceaccount/default", "-n", "default", &timeout], "")
    }

    /// Writes the description that [`ControlPlane::attach`] reads.
    fn finish(self) -> Result<ControlPlane, Error> {
        let plane = self.plane;
        let mut text = format!("bin={}\nurl={}\nproxy={}\n", plane.bin.display(), plane.url, plane.proxy);
        for (name, pid) in &plane.pids {
            text.push_str(&format!("pid.{name}={pid}\n"));
        }
        files::write_file(&plane.folder.join(DESCRIPTION), &text)?;
        Ok(plane)
    }

    fn launch(&mut self, name: &str, arguments: &str) -> Result<(), Error> {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let folder = &self.plane.folder;
        let owned = (name == "etcd").then_some(folder.as_path());
        let server = Server::start(&self.plane.bin, name, &arguments, &folder.join("log"), owned)?;
        self.plane.pids.insert(name.into(), server.pid());
        self.plane.servers.push(server);
        Ok(())
    }

    fn kubectl(&self, arguments: &[&str], input: &str) -> Result<(), Error> {
        let mut command = self.plane.kubectl();
        run(command.args(arguments), input)
    }

    fn wait_for(&mut self, what: &str, mut done: impl FnMut(&mut ControlPlane) -> bool) -> Result<(), Error> {
        while !done(&mut self.plane) {
            for server in &mut self.plane.servers {
                server.check()?;
            }
            if Instant::now() > self.deadline {
                let logs: Vec<String> = self.plane.servers.iter().map(Server::log_tail).collect();
                return Err(Error::new(format!("{what} was not ready in time\n{}", logs.join("\n"))));
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

/// Runs a command to its end; its error output becomes the error.
fn run(command: &mut Command, input: &str) -> Result<(), Error> {
    let name = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context(|| format!("starting {name}"))?;
    if let Some(mut pipe) = child.stdin.take() {
        std::io::Write::write_all(&mut pipe, input.as_bytes()).context(|| format!("writing to {name}"))?;
    }
    let output = child.wait_with_output().context(|| format!("waiting for {name}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::new(format!(
        "{name} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    )))
}

fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").context(|| "looking for a free port".into())?;
    Ok(listener.local_addr().context(|| "looking for a free port".into())?.port())
}

/// Removes folders of owners that are gone and whose etcd could not do it (a machine that was switched off).
fn remove_abandoned() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(FOLDER_PREFIX))
            .and_then(|rest| rest.split_once('-'));
        let Some(Ok(pid)) = owner.map(|(pid, _)| pid.parse::<u32>()) else {
            continue;
        };
        if !Path::new(&format!("/proc/{pid}")).exists() && Path::new("/proc/self").exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

//! What the scenarios run on: anything with a kubeconfig and a kubectl.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use testenv::ControlPlane;

/// A cluster for scenarios.
pub(crate) trait Backend: Send + Sync {
    fn kubeconfig(&self) -> PathBuf;

    fn kubectl(&self) -> Command;
}

/// A name and a cluster; without a cluster only what needs none runs.
pub(crate) type Named = (&'static str, Option<Arc<dyn Backend>>);

/// The real control plane and the sandbox: a difference between the two is a bug of the sandbox.
/// `KUSION_SCENARIOS` = `real`, `sandbox` or `offline` narrows it.
pub(crate) fn start() -> Vec<Named> {
    let real = || ("real", testenv::shared().map(|plane| Arc::new(RealPlane(plane)) as Arc<dyn Backend>));
    let sandbox = || ("sandbox", Some(Arc::new(Sandbox::start()) as Arc<dyn Backend>));
    match std::env::var("KUSION_SCENARIOS").as_deref() {
        Ok("real") => vec![real()],
        Ok("sandbox") => vec![sandbox()],
        Ok("offline") => vec![("offline", None)],
        _ => vec![real(), sandbox()],
    }
}

struct RealPlane(&'static ControlPlane);

impl Backend for RealPlane {
    fn kubeconfig(&self) -> PathBuf {
        self.0.kubeconfig()
    }

    fn kubectl(&self) -> Command {
        self.0.kubectl()
    }
}

/// The sandbox as a process of its own.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    child: Child,
}

impl Sandbox {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_kusion"))
            .args(["sandbox", "start", "--foreground", "--memory", "--folder"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let sandbox = Sandbox { folder, child };
        for _ in 0..1200 {
            if sandbox.kubeconfig().is_file() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(sandbox.kubeconfig().is_file(), "the sandbox did not start");
        sandbox
    }
}

impl Backend for Sandbox {
    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    fn kubectl(&self) -> Command {
        let path = testenv::binary().map(|folder| folder.join("kubectl"));
        let mut command = Command::new(path.unwrap_or_else(|| PathBuf::from("kubectl")));
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

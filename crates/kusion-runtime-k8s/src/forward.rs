//! A connection to a port of a pod, through the API server and the kubelet.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::Portforwarder;
use kusion_runtime::{ErrorKind, RuntimeError};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::failure::from_client;
use crate::runtime::KubeRuntime;

/// An open connection to one port.
pub struct Forward {
    forwarder: Portforwarder,
    port: u16,
}

impl KubeRuntime {
    /// Opens a connection to a port of a pod.
    ///
    /// # Errors
    /// What the server says: a pod without a node, no kubelet behind the server, no right.
    pub async fn forward(&self, namespace: &str, pod: &str, port: u16) -> Result<Forward, RuntimeError> {
        let pods: Api<Pod> = Api::namespaced(self.api.client.clone(), namespace);
        let forwarder = pods.portforward(pod, &[port]).await.map_err(refused)?;
        Ok(Forward { forwarder, port })
    }
}

/// An answer without an upgrade is a refusal of the server, not a broken connection.
fn refused(error: kube::Error) -> RuntimeError {
    match error {
        kube::Error::UpgradeConnection(problem) => {
            let text = format!("the server does not open the port: {problem}");
            RuntimeError::new(ErrorKind::NotFound, text)
        }
        other => from_client(other),
    }
}

impl Forward {
    /// Carries bytes both ways until one side ends.
    ///
    /// # Errors
    /// What the pod's side says, e.g. that nobody listens on the port.
    pub async fn carry(
        mut self,
        local: &mut (impl AsyncRead + AsyncWrite + Unpin),
    ) -> Result<(), RuntimeError> {
        let broken = |text: String| RuntimeError::new(ErrorKind::Broken, text);
        let error = self.forwarder.take_error(self.port);
        let Some(mut stream) = self.forwarder.take_stream(self.port) else {
            return Err(broken("the port is not open".to_owned()));
        };
        // A broken pipe of the local program is its own business; what the pod says is told below.
        let _ = tokio::io::copy_bidirectional(local, &mut stream).await;
        drop(stream);
        self.forwarder.abort();
        let told = match error {
            Some(error) => error.await.filter(|text| !text.is_empty()),
            None => None,
        };
        told.map_or(Ok(()), |text| Err(broken(text)))
    }
}

//! The sandbox as a `kube::Client`, in process: the same requests, no sockets, no certificates.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderValue, Request, Response, header::AUTHORIZATION};
use kube::client::Body;
use tower::Service;

use crate::body::{Dropped, OutBody, carry};
use crate::host::Host;

/// A client whose server is this host.
pub fn in_process_client(host: &Host, token: &str, namespace: &str) -> kube::Client {
    kube::Client::new(InProcess::new(host, token), namespace)
}

/// The service below such a client, for tests that put something between.
#[derive(Clone)]
pub struct InProcess {
    host: Host,
    token: String,
}

impl InProcess {
    /// Requests carry this token.
    pub fn new(host: &Host, token: &str) -> InProcess {
        InProcess { host: host.clone(), token: token.to_owned() }
    }
}

impl Service<Request<Body>> for InProcess {
    type Response = Response<OutBody>;
    type Error = Dropped;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Dropped>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Dropped>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let host = self.host.clone();
        if let Ok(value) = HeaderValue::try_from(format!("Bearer {}", self.token)) {
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        Box::pin(async move { carry(&host, request).await })
    }
}

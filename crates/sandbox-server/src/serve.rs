//! Loopback HTTP with TLS: HTTP/1.1 and HTTP/2 by ALPN, one task per connection, all bounded.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::body::carry;
use crate::host::Host;
use crate::identity::Identity;

/// More connections than this wait in the kernel's queue.
const CONNECTIONS: usize = 4096;
/// A client that does not finish its handshake or its headers in this time is dropped.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why it does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "the sandbox listens on loopback only; {0} is not a loopback address, and whoever reaches it has one token to guess. To mean it, say so a second time: --beyond-loopback"
    )]
    NotLoopback(SocketAddr),
    #[error("the sandbox cannot listen on {address}: {error}")]
    Listen { address: SocketAddr, error: std::io::Error },
    #[error("the sandbox's certificate is not usable: {0}")]
    Certificate(#[from] rustls::Error),
}

/// A listening sandbox; dropping it stops listening and ends open connections.
pub struct Listening {
    address: SocketAddr,
    stop: watch::Sender<bool>,
}

impl Listening {
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

/// Serves a host on a loopback port; port 0 takes a free one.
pub async fn serve(host: Host, identity: &Identity, port: u16) -> Result<Listening, ServeError> {
    serve_on(host, identity, SocketAddr::from((Ipv4Addr::LOCALHOST, port)), false).await
}

/// Serves on an address; one that is not loopback must be meant.
pub async fn serve_on(
    host: Host,
    identity: &Identity,
    address: SocketAddr,
    beyond_loopback: bool,
) -> Result<Listening, ServeError> {
    if !address.ip().is_loopback() && !beyond_loopback {
        return Err(ServeError::NotLoopback(address));
    }
    let acceptor = TlsAcceptor::from(Arc::new(tls(identity)?));
    let failed = |error| ServeError::Listen { address, error };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let (stop, stopped) = watch::channel(false);
    let door = Arc::new(Door { host, acceptor });
    tokio::spawn(accept(listener, door, stopped));
    Ok(Listening { address, stop })
}

fn tls(identity: &Identity) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

struct Door {
    host: Host,
    acceptor: TlsAcceptor,
}

async fn accept(listener: TcpListener, door: Arc<Door>, mut stopped: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Out of file descriptors, most likely: give others time to go.
                Err(_) => { tokio::time::sleep(Duration::from_millis(50)).await; continue }
            },
            _ = stopped.changed() => return,
        };
        let (door, mut stopped) = (Arc::clone(&door), stopped.clone());
        tokio::spawn(async move {
            tokio::select! { () = connection(stream, door) => {}, _ = stopped.changed() => {} }
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, door: Arc<Door>) {
    // Small answers must not wait for more.
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, door.acceptor.accept(stream)).await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        let host = door.host.clone();
        async move { carry(&host, request).await }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(1000);
    // An error here is the client's or a fault's: the connection is over either way.
    let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
}

//! One listener for HTTP/1 and HTTP/2: gRPC, JSON-RPC and REST, told apart by content type and path.

use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tonic::body::Body;

use crate::flags::Flags;
use crate::guard::Guard;
use crate::work::Worker;
use crate::{grpc, jsonrpc, rest, say};

/// So many connections at a time.
const CONNECTIONS: usize = 512;
/// A client that sends its head or body slower than this is cut off.
const PATIENCE: Duration = Duration::from_secs(30);

/// What every request is answered with.
struct App {
    guard: Guard,
    worker: Worker,
    max_body: usize,
    connections: Arc<Semaphore>,
}

impl App {
    fn new(worker: Worker, flags: &Flags, is_tcp: bool) -> Arc<App> {
        let guard = Guard { token: flags.token.as_ref().map(|(token, _)| token.clone()), is_tcp };
        Arc::new(App {
            guard,
            worker,
            max_body: flags.max_body,
            connections: Arc::new(Semaphore::new(CONNECTIONS)),
        })
    }
}

pub(crate) async fn serve_tcp(address: SocketAddr, worker: Worker, flags: &Flags) -> Result<(), String> {
    let listener =
        TcpListener::bind(address).await.map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    tell(&address.to_string(), flags);
    let app = App::new(worker, flags, true);
    let mut end = End::new()?;
    loop {
        tokio::select! {
            () = end.reached() => return Ok(()),
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                let _ = stream.set_nodelay(true);
                spawn(&app, stream);
            } else {
                // No descriptors left, most likely: others will end.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

pub(crate) async fn serve_unix(path: &Path, worker: Worker, flags: &Flags) -> Result<(), String> {
    let told = |error: std::io::Error| format!("cannot listen on {}: {error}", path.display());
    free(path).await?;
    // Nobody may connect before only the owner may: the socket gets its name when its mode is right.
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let listener = UnixListener::bind(&fresh).map_err(told)?;
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o600)).map_err(told)?;
    std::fs::rename(&fresh, path).map_err(told)?;
    tell(&path.display().to_string(), flags);
    let app = App::new(worker, flags, false);
    let mut end = End::new()?;
    loop {
        tokio::select! {
            () = end.reached() => {
                let _ = std::fs::remove_file(path);
                return Ok(());
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => spawn(&app, stream),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

/// A socket that nobody listens on is left over; anything else is not ours to remove.
async fn free(path: &Path) -> Result<(), String> {
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(format!("{} is there and is no socket", path.display()));
    }
    if tokio::net::UnixStream::connect(path).await.is_ok() {
        return Err(format!("another server listens on {}", path.display()));
    }
    std::fs::remove_file(path).map_err(|error| format!("cannot remove {}: {error}", path.display()))
}

/// Says where we are, for people and programs. A token that was made here is told to whoever started us, here and nowhere else.
fn tell(address: &str, flags: &Flags) {
    let made = flags.token.as_ref().filter(|(_, made)| *made).and_then(|(token, _)| token.expose_text());
    println!("{}", serde_json::json!({ "address": address, "token": made }));
}

/// The signals that end us.
struct End(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

impl End {
    fn new() -> Result<End, String> {
        let told = |error: std::io::Error| format!("cannot wait for signals: {error}");
        Ok(End(
            signal(SignalKind::interrupt()).map_err(told)?,
            signal(SignalKind::terminate()).map_err(told)?,
        ))
    }

    async fn reached(&mut self) {
        tokio::select! { _ = self.0.recv() => (), _ = self.1.recv() => () }
    }
}

fn spawn(app: &Arc<App>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    // Who comes when all places are taken is turned away: the connection closes.
    let Ok(place) = app.connections.clone().try_acquire_owned() else { return };
    let app = app.clone();
    tokio::spawn(async move {
        let _place = place;
        let service = service_fn(move |request| {
            let app = app.clone();
            async move { Ok::<_, std::convert::Infallible>(app.answer(request).await) }
        });
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
        builder.http2().timer(TokioTimer::new()).max_concurrent_streams(64);
        // A client that breaks off is its own affair.
        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
    });
}

impl App {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if let Some((status, why)) = self.guard.refuses(request.uri(), request.headers()) {
            return refusal(status, why);
        }
        let kind = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        if kind.starts_with("application/grpc") {
            return grpc::answer(self.worker.clone(), self.max_body, request).await;
        }
        if request.method() != Method::POST {
            let help =
                "POST a JSON-RPC 2.0 object to /, a message to /api:protorpc/KclService.METHOD, or use gRPC";
            return refusal(StatusCode::METHOD_NOT_ALLOWED, help);
        }
        let path = request.uri().path().to_owned();
        let body = match self.body(request).await {
            Ok(body) => body,
            Err((status, why)) => return refusal(status, &why),
        };
        if let Some(method) = path.strip_prefix(rest::PREFIX) {
            let (status, answer) = rest::answer(&self.worker, method, body).await;
            return text(status, "application/json", answer);
        }
        match path.as_str() {
            "/" | "/rpc" => match jsonrpc::answer(&self.worker, &body).await {
                Some(answer) => text(StatusCode::OK, "application/json", answer),
                None => text(StatusCode::NO_CONTENT, "application/json", String::new()),
            },
            _ => refusal(StatusCode::NOT_FOUND, &format!("there is nothing at {path}")),
        }
    }

    async fn body(&self, request: Request<Incoming>) -> Result<Bytes, (StatusCode, String)> {
        let limited = Limited::new(request.into_body(), self.max_body).collect();
        match tokio::time::timeout(PATIENCE, limited).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                let why = format!("a request has at most {} MiB (--max-body)", self.max_body >> 20);
                Err((StatusCode::PAYLOAD_TOO_LARGE, why))
            }
            Ok(Err(error)) => Err((StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}"))),
            Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned())),
        }
    }
}

/// What is no answer of a method: a line for people.
fn refusal(status: StatusCode, why: &str) -> Response<Body> {
    text(status, "text/plain", say::clean(format!("{why}\n")))
}

fn text(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

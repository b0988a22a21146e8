//! The requests of `object_store` over the HTTP client and TLS that are here already.

use std::cell::Cell;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as Tcp;
use hyper_util::rt::TokioExecutor;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpResponseBody, HttpService,
};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// Makes clients; certificates as the system trusts them (`SSL_CERT_FILE` names others).
#[derive(Debug)]
pub(crate) struct Web;

impl HttpConnector for Web {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut tcp = Tcp::new();
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(rustls::crypto::ring::default_provider())
            .map_err(|error| object_store::Error::Generic { store: "TLS", source: Box::new(error) })?;
        let connector = tls.https_or_http().enable_http1().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(hyper_util::rt::TokioTimer::new())
            .build(connector);
        Ok(HttpClient::new(Over(client)))
    }
}

tokio::task_local! {
    /// The status of the last answer of an operation; none if nothing came.
    static STATUS: Cell<Option<u16>>;
}

/// Runs the requests of one operation, so that [`last_status`] can be asked inside of it. `object_store` says a status only in
/// the texts of its errors.
pub(crate) fn watched<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    STATUS.scope(Cell::new(None), work)
}

/// With which status the last request of this operation was answered.
pub(crate) fn last_status() -> Option<u16> {
    STATUS.try_with(Cell::get).ok().flatten()
}

fn note(status: Option<u16>) {
    // Requests outside of an operation (credentials) are nobody's.
    let _ = STATUS.try_with(|last| last.set(status));
}

#[derive(Debug)]
struct Over(Client<HttpsConnector<Tcp>, HttpRequestBody>);

#[async_trait]
impl HttpService for Over {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        note(None);
        let answer = self.0.request(request).await.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Interrupted };
            HttpError::new(kind, error)
        })?;
        let (parts, body) = answer.into_parts();
        note(Some(parts.status.as_u16()));
        // Half an answer is none, whatever its first line says.
        let body = body.map_err(|error| {
            note(None);
            HttpError::new(HttpErrorKind::Interrupted, error)
        });
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// How much an answer may hold.
const MOST_BYTES: usize = 256 * 1024 * 1024;
/// How long it may take.
const FETCH: Duration = Duration::from_secs(60);

/// Why an address could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("the address cannot be read: {0}")]
    Address(String),
    #[error("{0}")]
    Broken(String),
    #[error("the server answers {0}")]
    Status(u16),
    #[error("the answer is not text")]
    NotText,
}

/// Gets a text by HTTP, as upstream's HTTP backend gives its states; `None` for 404.
///
/// # Errors
/// A server that does not answer, or answers otherwise than with 200 or 404.
pub fn fetch(address: &str) -> Result<Option<String>, FetchError> {
    let client =
        Web.connect(&ClientOptions::default()).map_err(|error| FetchError::Broken(error.to_string()))?;
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    *request.uri_mut() = address.parse().map_err(|error| FetchError::Address(format!("{error}")))?;
    let work = async move {
        let answer = client.execute(request).await.map_err(|error| FetchError::Broken(error.to_string()))?;
        match answer.status().as_u16() {
            200 => {}
            404 => return Ok(None),
            other => return Err(FetchError::Status(other)),
        }
        let body = http_body_util::Limited::new(answer.into_body(), MOST_BYTES).collect().await;
        let bytes = body.map_err(|error| FetchError::Broken(error.to_string()))?.to_bytes();
        String::from_utf8(bytes.to_vec()).map(Some).map_err(|_| FetchError::NotText)
    };
    let rim = crate::Rim::start(crate::Patience::default()).map_err(|e| FetchError::Broken(e.to_string()))?;
    let limited = async move {
        tokio::time::timeout(FETCH, work)
            .await
            .unwrap_or_else(|_| Err(FetchError::Broken(format!("nothing came within {FETCH:?}"))))
    };
    rim.wait(limited).unwrap_or_else(|| Err(FetchError::Broken("the connection was not set up".to_owned())))
}

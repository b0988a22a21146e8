//! One connection to a provider: raw calls with limits, and what a failed call means.

use std::time::{Duration, Instant};

use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;

use crate::handshake::Address;
use crate::log::{Lines, Logs};
use crate::process::Process;
use crate::rpc::{Rpc, SHUTDOWN, STDIO};
use crate::subject::subject;
use crate::wire::{Empty, StdioData};
use crate::{Failure, HostError, Protocol};

/// The longest message that is taken: what current providers can send. Schemas of large providers have five megabytes.
pub const MESSAGE_LIMIT: usize = 256 << 20;
/// How long a socket may take that was just announced.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long the word of its end may take when its connection broke (machines are busy), and when it has answered.
const BROKEN: Duration = Duration::from_secs(3);
const ANSWERED: Duration = Duration::from_millis(200);
/// How much may be on its way before it is acknowledged: one large answer should not wait for round trips.
const WINDOW: u32 = 4 << 20;

/// A connection, and the process behind it unless somebody else owns that.
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    channel: Channel,
    pub(crate) process: Option<Process>,
    message_limit: usize,
    patience: Option<Duration>,
}

/// How to connect, and the limits of every call.
pub(crate) struct Connect {
    pub(crate) tls: Option<TlsConnector>,
    pub(crate) message_limit: usize,
    /// Instead of the limits that calls have by themselves.
    pub(crate) patience: Option<Duration>,
}

impl Default for Connect {
    fn default() -> Self {
        Connect { tls: None, message_limit: MESSAGE_LIMIT, patience: None }
    }
}

/// A connection to a provider, whatever carries it.
trait Pipe: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Pipe for T {}

async fn open(to: &Address, tls: Option<TlsConnector>) -> std::io::Result<Box<dyn Pipe>> {
    let plain: Box<dyn Pipe> = match to {
        Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
        Address::Tcp(at) => Box::new(TcpStream::connect(at).await?),
    };
    let Some(tls) = tls else { return Ok(plain) };
    let name = rustls::pki_types::ServerName::try_from(crate::tls::NAME).map_err(std::io::Error::other)?;
    Ok(Box::new(tls.connect(name, plain).await?))
}

impl Client {
    pub(crate) async fn connect(
        name: &str,
        protocol: Protocol,
        address: &Address,
        process: Option<Process>,
        how: Connect,
    ) -> Result<Self, HostError> {
        let unreachable =
            |why: String| HostError::new(name, Failure::Socket { address: address.to_string(), why });
        // The address of an HTTP request; the connector goes where the handshake says.
        let endpoint = Endpoint::from_static("http://localhost")
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .connect_timeout(CONNECT_LIMIT);
        let (to, tls) = (address.clone(), how.tls.clone());
        let connect = service_fn(move |_| {
            let (to, tls) = (to.clone(), tls.clone());
            async move { open(&to, tls).await.map(TokioIo::new) }
        });
        let connected = endpoint.connect_with_connector(connect).await;
        let channel = connected.map_err(|error| match (&how.tls, innermost(&error)) {
            (Some(_), why) => HostError::new(name, Failure::Tls { why }),
            (None, why) => unreachable(why),
        })?;
        let Connect { message_limit, patience, .. } = how;
        Ok(Client { name: name.to_owned(), protocol, channel, process, message_limit, patience })
    }

    /// Asks one question, and tells who listens that it was asked: never what.
    pub(crate) async fn call<Q, A>(&self, rpc: &Rpc, ask: Q) -> Result<A, HostError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let began = ::log::log_enabled!(::log::Level::Debug).then(Instant::now);
        let answer = self.answer(rpc, ask).await;
        if let Some(began) = began {
            let (who, ms) = (self.label(), began.elapsed().as_millis());
            let failed = if answer.is_err() { " failed" } else { "" };
            ::log::debug!("provider {who}: {}{}{failed} in {ms} ms", rpc.name, subject());
        }
        answer
    }

    /// As in the lines of its own log.
    fn label(&self) -> &str {
        self.process.as_ref().map_or(&self.name, |process| process.logs().of())
    }

    async fn answer<Q, A>(&self, rpc: &Rpc, ask: Q) -> Result<A, HostError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let answer = self.unary(rpc.path(self.protocol), ask);
        let answer = match rpc.limit.map(|limit| self.patience.unwrap_or(limit)) {
            Some(limit) => match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer,
                Err(_) => return Err(self.fail(Failure::Hangs { call: rpc.name, limit })),
            },
            None => answer.await,
        };
        match answer {
            Ok(answer) => Ok(answer),
            Err(status) => Err(self.failed(rpc.name, &status).await),
        }
    }

    async fn unary<Q, A>(&self, path: PathAndQuery, ask: Q) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = tonic::client::Grpc::new(self.channel.clone())
            .max_decoding_message_size(self.message_limit)
            .max_encoding_message_size(self.message_limit);
        grpc.ready().await.map_err(|error| Status::unavailable(innermost(&error)))?;
        let answer = grpc.unary(Request::new(ask), path, ProstCodec::<Q, A>::default()).await?;
        Ok(answer.into_inner())
    }

    pub(crate) fn fail(&self, kind: Failure) -> HostError {
        HostError::new(&self.name, kind)
    }

    /// What a status means: a provider that has ended answers nothing, in many words.
    async fn failed(&self, call: &'static str, status: &Status) -> HostError {
        let broken =
            matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled);
        if let Some(process) = self.process.as_ref().filter(|_| broken)
            && let Some(how) = process.status(patience(status)).await
        {
            let words = process.logs().last_words();
            return self.fail(Failure::Crashed { call, status: Some(how), words });
        }
        let too_large = status.message().contains("message length too large");
        self.fail(match status.code() {
            Code::Unimplemented => Failure::Unimplemented { call },
            Code::OutOfRange | Code::ResourceExhausted if too_large => {
                Failure::TooLarge { call, limit: self.message_limit }
            }
            Code::Unavailable => {
                let words = self.process.as_ref().map(|process| process.logs().last_words());
                Failure::Crashed { call, status: None, words: words.unwrap_or_default() }
            }
            code => Failure::Rpc { call, code: format!("{code:?}"), message: status.message().to_owned() },
        })
    }

    /// Reads for ever what the provider writes to its standard streams after the handshake; not having this is fine.
    pub(crate) fn follow_stdio(&self, logs: Logs) {
        let mut grpc = tonic::client::Grpc::new(self.channel.clone());
        tokio::spawn(async move {
            grpc.ready().await.ok()?;
            let path = PathAndQuery::from_static(STDIO);
            let codec = ProstCodec::<Empty, StdioData>::default();
            let answer = grpc.server_streaming(Request::new(Empty {}), path, codec).await.ok()?;
            let (mut stream, mut lines) = (answer.into_inner(), [Lines::default(), Lines::default()]);
            while let Ok(Some(piece)) = stream.message().await {
                let of = usize::from(piece.channel == 2);
                lines[of].feed(&piece.data, &mut |line| logs.take(line));
            }
            Some(())
        });
    }

    /// Tells the provider to end. The usual answer is none: it is faster at ending than at answering.
    pub(crate) async fn shut_down(&self) {
        let path = PathAndQuery::from_static(SHUTDOWN);
        let asked = self.unary::<Empty, Empty>(path, Empty {});
        let _ = tokio::time::timeout(Duration::from_secs(1), asked).await;
    }
}

/// The cause below all wrappers: "transport error" says nothing.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string()
}

/// How long the word of a provider's end is waited for. A connection that broke has an error of its own behind the status.
fn patience(status: &Status) -> Duration {
    match std::error::Error::source(status).is_some() || status.code() == Code::Unavailable {
        true => BROKEN,
        false => ANSWERED,
    }
}

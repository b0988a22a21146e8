//! What can go wrong with a provider as a process. What a provider says about a resource is a [`Diagnostic`](crate::Diagnostic),
//! never one of these.

use std::fmt;
use std::time::Duration;

use crate::HandshakeError;

/// A failure of a provider, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    pub provider: String,
    pub kind: Failure,
}

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The system did not start it.
    Start {
        why: String,
    },
    /// It ended before it said where it listens.
    EndedEarly {
        status: String,
        words: Vec<String>,
    },
    /// It said something else than a handshake.
    Handshake {
        error: HandshakeError,
        status: Option<String>,
        words: Vec<String>,
    },
    /// It said nothing.
    Silent {
        waited: Duration,
        words: Vec<String>,
    },
    /// It speaks TLS, and not as it has to.
    Tls {
        why: String,
    },
    Socket {
        address: String,
        why: String,
    },
    /// It ended in the middle of a call.
    Crashed {
        call: &'static str,
        status: Option<String>,
        words: Vec<String>,
    },
    /// No answer in time.
    Hangs {
        call: &'static str,
        limit: Duration,
    },
    TooLarge {
        call: &'static str,
        limit: usize,
    },
    /// It does not have this call.
    Unimplemented {
        call: &'static str,
    },
    /// The call failed as a call.
    Rpc {
        call: &'static str,
        code: String,
        message: String,
    },
    /// An answer that does not follow the protocol or the schema.
    Answer {
        call: &'static str,
        what: String,
    },
    /// Its schema contradicts itself.
    Schema {
        what: String,
    },
}

impl HostError {
    pub(crate) fn new(provider: &str, kind: Failure) -> Self {
        HostError { provider: provider.to_owned(), kind }
    }

    /// Returns whether it did not start because it speaks nothing but TLS.
    pub(crate) fn wants_tls(&self) -> bool {
        match &self.kind {
            Failure::Tls { .. } => true,
            Failure::EndedEarly { words, .. } => words.iter().any(|word| word.contains("PLUGIN_CLIENT_CERT")),
            _ => false,
        }
    }

    /// Returns whether the call may have happened although it failed.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        !matches!(
            self.kind,
            Failure::Start { .. }
                | Failure::EndedEarly { .. }
                | Failure::Handshake { .. }
                | Failure::Silent { .. }
                | Failure::Tls { .. }
                | Failure::Socket { .. }
                | Failure::Unimplemented { .. }
                | Failure::Schema { .. }
        )
    }

    /// Returns whether the provider cannot be asked anything more.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        matches!(self.kind, Failure::Crashed { .. }) || !self.is_uncertain()
    }
}

impl std::error::Error for HostError {}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.provider;
        match &self.kind {
            Failure::Start { why } => write!(f, "{name} could not be started: {why}"),
            Failure::EndedEarly { status, words } => {
                write!(f, "{name} did not start: it ended ({status}) before it said where it listens")?;
                say(f, words)
            }
            Failure::Handshake { error, status, words } => {
                write!(f, "{name} did not start: {error}")?;
                status.as_ref().map_or(Ok(()), |status| write!(f, " (it ended: {status})"))?;
                say(f, words)
            }
            Failure::Silent { waited, words } => {
                write!(f, "{name} did not start: it said nothing within {} s", waited.as_secs())?;
                say(f, words)
            }
            Failure::Tls { why } => write!(f, "{name} did not start: mutual TLS with it failed: {why}"),
            Failure::Socket { address, why } => {
                write!(f, "{name}: its socket {address} can not be reached: {why}")
            }
            Failure::Crashed { call, status, words } => {
                write!(f, "{name} crashed in {call}")?;
                status.as_ref().map_or(Ok(()), |status| write!(f, " ({status})"))?;
                say(f, words)
            }
            Failure::Hangs { call, limit } => {
                write!(f, "{name} did not answer {call} within {} s", limit.as_secs())
            }
            Failure::TooLarge { call, limit } => {
                write!(f, "{name}: the answer to {call} exceeds {} MiB, the limit for messages", limit >> 20)
            }
            Failure::Unimplemented { call } => write!(f, "{name} does not have {call}"),
            Failure::Rpc { call, code, message } => write!(f, "{name}: {call} failed ({code}): {message}"),
            Failure::Answer { call, what } => {
                write!(f, "{name} answered {call} with something invalid: {what}")
            }
            Failure::Schema { what } => write!(f, "{name} has a schema that cannot be used: {what}"),
        }
    }
}

fn say(f: &mut fmt::Formatter<'_>, words: &[String]) -> fmt::Result {
    words.iter().try_for_each(|word| write!(f, "\n  | {word}"))
}

//! The one line that a provider prints when it listens: `1|6|unix|/tmp/p/plugin1|grpc|`.
//!
//! Only the first line of its standard output counts. Everything that is not exactly what we can talk to has an error of
//! its own, because "does not start" is the failure that people meet first.

use std::fmt;

use data_encoding::BASE64_NOPAD;

/// What we offer in `PLUGIN_PROTOCOL_VERSIONS`.
pub(crate) const OFFERED: &str = "5,6";
/// Longer lines are no handshake: one with a certificate has about 830 characters.
pub(crate) const MAX_LINE: usize = 16 << 10;
/// Old providers put shorter things into the field of the certificate.
const SHORTEST_CERTIFICATE: usize = 50;

/// The version of the plugin protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    V5,
    V6,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::V5 => "5",
            Protocol::V6 => "6",
        })
    }
}

/// Where a provider listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(String),
    Tcp(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(at) | Address::Tcp(at) => f.write_str(at),
        }
    }
}

/// What the line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    pub protocol: Protocol,
    pub address: Address,
    /// The certificate of a provider that speaks TLS, as DER.
    pub certificate: Option<Vec<u8>>,
}

/// Why a line is no handshake that we can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    #[error("expected a handshake, got {}", shown(.0))]
    NotOne(String),
    #[error(
        "its handshake is of version `{0}` of the plugin system; 1 is needed: use another version of the provider"
    )]
    Core(String),
    #[error("speaks protocol {0}; 5 or 6 is needed: use a newer or older version of the provider")]
    Protocol(String),
    #[error("listens on `{0}`, which is neither `unix` nor `tcp`")]
    Network(String),
    #[error(
        "speaks protocol {protocol} over `{transport}`; 5 or 6 over grpc is needed: use a newer version of the provider"
    )]
    Transport { protocol: String, transport: String },
    #[error("names no address to listen on")]
    NoAddress,
    #[error("sent a certificate that is not base64")]
    Certificate,
}

/// Quotes the beginning of a line; what is no text is shown as such.
fn shown(line: &str) -> String {
    const SHOWN: usize = 200;
    let mut text: String = line.chars().take(SHOWN).flat_map(char::escape_default).collect();
    if line.chars().nth(SHOWN).is_some() {
        text.push('…');
    }
    format!("\"{text}\"")
}

/// Reads the line.
///
/// # Errors
/// What is not as it must be; the first thing that counts.
pub fn parse(line: &str) -> Result<Handshake, HandshakeError> {
    let line = line.trim();
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let [core, protocol, network, address, rest @ ..] = &fields[..] else {
        return Err(HandshakeError::NotOne(line.to_owned()));
    };
    if !core.bytes().all(|byte| byte.is_ascii_digit()) || core.is_empty() {
        return Err(HandshakeError::NotOne(line.to_owned()));
    }
    if *core != "1" {
        return Err(HandshakeError::Core((*core).to_owned()));
    }
    let transport = rest.first().copied().unwrap_or("netrpc");
    if transport != "grpc" {
        let (protocol, transport) = ((*protocol).to_owned(), transport.to_owned());
        return Err(HandshakeError::Transport { protocol, transport });
    }
    let protocol = match *protocol {
        "5" => Protocol::V5,
        "6" => Protocol::V6,
        other => return Err(HandshakeError::Protocol(other.to_owned())),
    };
    let address = match *network {
        _ if address.is_empty() => return Err(HandshakeError::NoAddress),
        "unix" => Address::Unix((*address).to_owned()),
        "tcp" => Address::Tcp((*address).to_owned()),
        other => return Err(HandshakeError::Network(other.to_owned())),
    };
    let certificate = rest.get(1).copied().filter(|text| text.len() > SHORTEST_CERTIFICATE);
    let certificate = certificate.map(|text| BASE64_NOPAD.decode(text.trim_end_matches('=').as_bytes()));
    let certificate = certificate.transpose().map_err(|_| HandshakeError::Certificate)?;
    Ok(Handshake { protocol, address, certificate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_real_providers_are_read() {
        let plain = |protocol, at: &str| Handshake {
            protocol,
            address: Address::Unix(at.to_owned()),
            certificate: None,
        };
        let table = [
            ("1|5|unix|/tmp/plugin2301280511|grpc|", plain(Protocol::V5, "/tmp/plugin2301280511")),
            ("1|6|unix|/tmp/plugin1791123402|grpc|\r\n", plain(Protocol::V6, "/tmp/plugin1791123402")),
            ("1|6|unix|/tmp/p|grpc||true", plain(Protocol::V6, "/tmp/p")),
            ("1|5|unix|/tmp/p|grpc", plain(Protocol::V5, "/tmp/p")),
            ("1|5|unix|/tmp/p|grpc|junk", plain(Protocol::V5, "/tmp/p")),
        ];
        for (line, expected) in table {
            assert_eq!(parse(line), Ok(expected), "{line}");
        }
        let tcp = parse("1|6|tcp|127.0.0.1:1234|grpc|").unwrap();
        assert_eq!(tcp.address, Address::Tcp("127.0.0.1:1234".into()));
        let with = format!("1|6|unix|/tmp/p|grpc|{}", BASE64_NOPAD.encode(&[7; 60]));
        assert_eq!(parse(&with).unwrap().certificate, Some(vec![7; 60]));
    }

    #[test]
    fn each_wrong_line_says_what_is_wrong() {
        let table = [
            ("hello world", "expected a handshake, got \"hello world\""),
            ("", "expected a handshake, got \"\""),
            ("1|5|unix", "expected a handshake"),
            ("a|b|c|d", "expected a handshake"),
            ("2|5|unix|/p|grpc", "version `2` of the plugin system"),
            ("1|4|unix|/p|netrpc", "protocol 4 over `netrpc`"),
            ("1|5|unix|/p", "protocol 5 over `netrpc`"),
            ("1|7|unix|/p|grpc", "speaks protocol 7; 5 or 6 is needed"),
            ("1|5|pipe|/p|grpc", "listens on `pipe`"),
            ("1|5|unix||grpc", "names no address"),
        ];
        for (line, expected) in table {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
        let odd = format!("1|6|unix|/tmp/p|grpc|{}", "?".repeat(60));
        assert_eq!(parse(&odd), Err(HandshakeError::Certificate));
        assert!(parse(&"x".repeat(1000)).unwrap_err().to_string().len() < 300);
    }
}

//! The fuzz targets of running providers: what a program prints that says it is one.

use tf_host::{Address, parse_handshake, reattached};

use crate::FuzzTarget;

/// All of them, by the names of their corpora.
pub const TARGETS: &[FuzzTarget] = &[("tf_handshake", tf_handshake)];

/// The first line of a provider, and the variable that names providers of others: read or refused in words.
pub fn tf_handshake(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match parse_handshake(&text) {
        Ok(read) => {
            let (Address::Unix(at) | Address::Tcp(at)) = &read.address;
            assert!(!at.is_empty() && !at.contains('|'));
            let network = if matches!(read.address, Address::Unix(_)) { "unix" } else { "tcp" };
            let plain = format!("1|{}|{network}|{at}|grpc|", read.protocol);
            let again = parse_handshake(&plain);
            assert!(
                again.is_ok_and(|again| again.address == read.address && again.protocol == read.protocol)
            );
        }
        // However long the line was, what people read is short.
        Err(error) => assert!(error.to_string().len() < 4096 + 10 * text.len().min(400)),
    }
    if let Err(why) = reattached(&text) {
        assert!(why.starts_with("TF_REATTACH_PROVIDERS"), "{why}");
    }
}

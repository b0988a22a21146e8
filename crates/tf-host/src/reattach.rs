//! Providers that somebody else started (a debugger, a test), named by `TF_REATTACH_PROVIDERS`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Address, Protocol};

/// Where such a provider listens. It is never told to end, and its version is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reattach {
    pub protocol: Protocol,
    pub address: Address,
}

/// Reads the variable: source address → where it listens.
///
/// # Errors
/// What is wrong with the text, for people.
pub fn reattached(text: &str) -> Result<BTreeMap<String, Reattach>, String> {
    let all: BTreeMap<String, Value> =
        serde_json::from_str(text).map_err(|e| format!("TF_REATTACH_PROVIDERS is not readable: {e}"))?;
    all.into_iter().map(|(name, entry)| Ok((name.clone(), one(&name, &entry)?))).collect()
}

fn one(name: &str, entry: &Value) -> Result<Reattach, String> {
    let wrong = |what: &str| format!("TF_REATTACH_PROVIDERS, {name}: {what}");
    let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str);
    if text("/Protocol") != Some("grpc") {
        return Err(wrong("`Protocol` must be `grpc`"));
    }
    let protocol = match entry.pointer("/ProtocolVersion").and_then(Value::as_u64).unwrap_or(0) {
        0 | 5 => Protocol::V5,
        6 => Protocol::V6,
        other => return Err(wrong(&format!("protocol {other}; 5 or 6 is needed"))),
    };
    let at = text("/Addr/String").ok_or_else(|| wrong("`Addr.String` is missing"))?.to_owned();
    let address = match text("/Addr/Network") {
        Some("unix") => Address::Unix(at),
        Some("tcp") => Address::Tcp(at),
        _ => return Err(wrong("`Addr.Network` must be `unix` or `tcp`")),
    };
    Ok(Reattach { protocol, address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_that_a_debugged_provider_prints_is_read() {
        let text = r#"{"registry.opentofu.org/a/b":{"Protocol":"grpc","ProtocolVersion":6,"Pid":1,"Test":true,
            "Addr":{"Network":"unix","String":"/tmp/p"}}}"#;
        let expected = Reattach { protocol: Protocol::V6, address: Address::Unix("/tmp/p".into()) };
        assert_eq!(reattached(text).unwrap()["registry.opentofu.org/a/b"], expected);
        for (wrong, says) in [
            ("[]", "not readable"),
            (r#"{"a":{}}"#, "`Protocol`"),
            (r#"{"a":{"Protocol":"grpc","ProtocolVersion":4}}"#, "protocol 4"),
            (r#"{"a":{"Protocol":"grpc","Addr":{"String":"x"}}}"#, "`Addr.Network`"),
        ] {
            assert!(reattached(wrong).unwrap_err().contains(says), "{wrong}");
        }
    }
}

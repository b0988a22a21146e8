//! What §H does not ask and users would notice. Numbers from 201.

use serde_json::{Value, json};

use crate::Statement;
use crate::ask::{Ask, Check};
use crate::wire::Reply;

pub const ALL: &[Statement] = &[(201, h201), (202, h202)];

fn service(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

/// Applies a Service and returns the message of the refusal, if there is one.
fn message(ask: &Ask<'_>, name: &str, spec: Value) -> String {
    let reply: Reply = ask.apply(&ask.core("services", name), "kusion", &service(name, spec));
    reply.json()["message"].as_str().unwrap_or_default().to_owned()
}

/// A node port that is asked for lies in the range, is free, and is shared by two protocols of one port only.
fn h201(ask: &Ask<'_>) -> Check {
    let with = |name: &str, ports: Value| message(ask, name, json!({"type": "NodePort", "ports": ports}));
    let range = "provided port is not in the valid range. The range of valid ports is 30000-32767";
    for port in [99, 70000] {
        let text =
            format!("Service \"a\" is invalid: spec.ports[0].nodePort: Invalid value: {port}: {range}");
        ensure_eq(&with("a", json!([{"port": 80, "nodePort": port}])), &text)?;
    }
    ensure_eq(&with("a", json!([{"port": 80, "nodePort": 31_777}])), "")?;
    ensure_eq(&with("a", json!([{"port": 81, "nodePort": 31_777}])), "")?;
    let taken = |at: usize| {
        let what = "provided port is already allocated";
        format!("Service \"b\" is invalid: spec.ports[{at}].nodePort: Invalid value: 31777: {what}")
    };
    ensure_eq(&with("b", json!([{"port": 80, "nodePort": 31_777}])), &taken(0))?;
    let pair = |second: i64| json!([{"port": 80, "nodePort": 31_778, "name": "one"}, {"port": second, "nodePort": 31_778, "name": "two", "protocol": "UDP"}]);
    ensure_eq(&with("b", pair(81)), &taken(1).replace("31777", "31778"))?;
    ensure_eq(&with("b", pair(80)), "")
}

/// An address that is asked for is one, lies in the range and is free.
fn h202(ask: &Ask<'_>) -> Check {
    let with = |name: &str, address: &str| {
        message(ask, name, json!({"clusterIP": address, "ports": [{"port": 80}]}))
    };
    let refused = |what: &str| format!("Service \"a\" is invalid: spec.clusterIPs{what}");
    let odd = "[0]: Invalid value: \"foo\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    ensure_eq(&with("a", "foo"), &refused(odd))?;
    let outside = ": Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided network does not match the current range";
    ensure_eq(&with("a", "1.2.3.4"), &refused(outside))?;
    ensure_eq(&with("b", "10.96.77.78"), "")?;
    ensure_eq(&with("b", "10.96.77.78"), "")?;
    let taken = ": Invalid value: [\"10.96.77.78\"]: failed to allocate IP 10.96.77.78: provided IP is already allocated";
    ensure_eq(&with("a", "10.96.77.78"), &refused(taken))
}

fn ensure_eq(found: &str, expected: &str) -> Check {
    if found == expected { Ok(()) } else { Err(format!("expected {expected:?}, found {found:?}")) }
}

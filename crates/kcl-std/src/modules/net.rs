//! `net`: addresses and endpoints (networks are in `cidr`). Nothing here touches the network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kcl_value::{Value, to_text};

use super::text;
use crate::{Args, EndPointFault, Error, Host, Missing, Mistake, NetMistake};

type Answer = Result<Value, Error>;

fn address(args: Args<'_>) -> Option<IpAddr> {
    text(args, 0, "ip").parse().ok()
}

/// `split_host_port(ip_end_point)`.
pub(crate) fn split_host_port(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let point = text(args, 0, "ip_end_point");
    let fail = |why| Err(NetMistake::BadEndPoint { text: point.into(), why }.into());
    let Some(colon) = point.rfind(':') else { return fail(EndPointFault::NoPort) };
    let (host, rest_from) = if point.starts_with('[') {
        let Some(end) = point.find(']') else { return fail(EndPointFault::OpenBracket) };
        if end + 1 != colon {
            return fail(EndPointFault::NoPort);
        }
        (&point[1..end], end + 1)
    } else {
        if point[..colon].contains(':') {
            return fail(EndPointFault::Colons);
        }
        (&point[..colon], 0)
    };
    let open_from = usize::from(point.starts_with('['));
    if point[open_from..].contains('[') {
        return fail(EndPointFault::Unexpected('['));
    }
    if point[rest_from..].contains(']') {
        return fail(EndPointFault::Unexpected(']'));
    }
    Ok(Value::from(vec![Value::from(host), Value::from(&point[colon + 1..])]))
}

/// `join_host_port(host, port)`: brackets around a host with colons.
pub(crate) fn join_host_port(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    if args.get(1, "port").is_none() {
        let said = Missing::Both("host", "port");
        return Err(Mistake::MissingArgument { function: "join_host_port", name: "port", said }.into());
    }
    let part = |at: usize, name: &str| args.get(at, name).map(to_text).unwrap_or_default();
    let (host, port) = (part(0, "host"), part(1, "port"));
    let is_text = matches!(args.get(0, "host"), Some(Value::Str(_)));
    Ok(Value::from(if is_text && host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }))
}

/// `fqdn(name="")`: names are not resolved; a name answers for itself.
pub(crate) fn fqdn(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let name = text(args, 0, "name");
    Ok(Value::from(if name.is_empty() { "localhost" } else { name }))
}

/// `parse_IP(ip)` and `IP_string(ip)`: canonical text, empty if invalid.
pub(crate) fn parse_ip(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(Value::from(address(args).map(|ip| ip.to_string()).unwrap_or_default()))
}

/// `to_IP4(ip)`: failures come back as text.
pub(crate) fn to_ip4(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let ip = text(args, 0, "ip");
    Ok(Value::from(match address(args) {
        Some(IpAddr::V4(v4)) => v4.to_string(),
        Some(IpAddr::V6(v6)) => match v6.to_ipv4() {
            Some(v4) => v4.to_string(),
            None => format!("can not parse {ip} ipv6 to ipv4!"),
        },
        None => format!("can not both parse {ip} to ipv6 and ipv4,err:invalid IPv6 address syntax"),
    }))
}

/// `to_IP6(ip)`: failures come back as text.
pub(crate) fn to_ip6(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let ip = text(args, 0, "ip");
    Ok(Value::from(match address(args) {
        Some(IpAddr::V4(v4)) => v4.to_ipv6_mapped().to_string(),
        Some(IpAddr::V6(v6)) => v6.to_string(),
        None => format!("can not both parse {ip} to ipv6 and ipv4,err:invalid IPv4 address syntax"),
    }))
}

fn question(args: Args<'_>, v4: fn(Ipv4Addr) -> bool, v6: fn(Ipv6Addr) -> bool) -> Answer {
    Ok(Value::Bool(match address(args) {
        Some(IpAddr::V4(ip)) => v4(ip),
        Some(IpAddr::V6(ip)) => v6(ip),
        None => false,
    }))
}

/// `is_IPv4(ip)`.
pub(crate) fn is_ipv4(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, |_| true, |_| false)
}

/// `is_IPv6(ip)`.
pub(crate) fn is_ipv6(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, |_| false, |_| true)
}

/// `is_IP(ip)`.
pub(crate) fn is_ip(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, |_| true, |_| true)
}

/// `is_loopback_IP(ip)`.
pub(crate) fn is_loopback(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, |ip| ip.is_loopback(), |ip| ip.is_loopback())
}

/// `is_unspecified_IP(ip)`.
pub(crate) fn is_unspecified(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, |ip| ip.is_unspecified(), |ip| ip.is_unspecified())
}

/// `is_multicast_IP(ip)`.
pub(crate) fn is_multicast(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, |ip| ip.is_multicast(), |ip| ip.is_multicast())
}

/// `is_interface_local_multicast_IP(ip)`: `ffx1::/16`.
pub(crate) fn is_interface_local_multicast(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, |_| false, |ip| ip.segments()[0] & 0xFF0F == 0xFF01)
}

/// `is_link_local_multicast_IP(ip)`: `224.0.0.0/24`, `ffx2::/16`.
pub(crate) fn is_link_local_multicast(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, |ip| ip.octets()[..3] == [224, 0, 0], |ip| ip.segments()[0] & 0xFF0F == 0xFF02)
}

/// `is_link_local_unicast_IP(ip)`: `169.254/16`, `fe80::/10`.
pub(crate) fn is_link_local_unicast(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, |ip| ip.is_link_local(), |ip| ip.segments()[0] & 0xFFC0 == 0xFE80)
}

/// `is_global_unicast_IP(ip)`: publicly routable and not multicast.
pub(crate) fn is_global_unicast(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, global_v4, global_v6)
}

fn global_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, d] = ip.octets();
    let special = ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_documentation();
    let shared = a == 100 && b & 0xC0 == 64;
    let protocol = [a, b, c] == [192, 0, 0] && d != 9 && d != 10;
    let benchmark = a == 198 && b & 0xFE == 18;
    !(special || shared || protocol || benchmark || a == 0 || a >= 224)
}

/// `2000::/3` but for the networks of benchmarks and of documentation; and what NAT64 (`64:ff9b::/96`) makes of a global address.
fn global_v6(ip: Ipv6Addr) -> bool {
    match ip.segments() {
        [0x0064, 0xFF9B, 0, 0, 0, 0, high, low] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            global_v4(Ipv4Addr::new(a, b, c, d))
        }
        [0x2001, 0x0002, 0, ..] | [0x2001, 0x0DB8, ..] => false,
        [first, ..] => first & 0xE000 == 0x2000,
    }
}

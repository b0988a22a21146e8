//! `net`: networks in prefix notation. An address is a number of 32 or 128 bits here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kcl_value::{Dict, Op, Value};

use super::{int, list, text, wrong};
use crate::{Args, Error, Host, MoreBits, NetMistake, NetworkFault, Wanted};

type Answer = Result<Value, Error>;

/// A network; bits behind the prefix are zero.
#[derive(Clone, Copy)]
struct Network {
    bits: u128,
    prefix: u32,
    v4: bool,
}

fn bits_of(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

impl Network {
    fn parse(cidr: &str) -> Result<Network, NetworkFault> {
        let (address, length) = match cidr.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (cidr, None),
        };
        let ip: IpAddr = address.parse().map_err(|_| NetworkFault::Address)?;
        let width = if ip.is_ipv4() { 32 } else { 128 };
        let prefix = match length {
            None => width,
            Some(text) => text.parse::<u8>().map_err(NetworkFault::Length)?.into(),
        };
        if prefix > width {
            return Err(NetworkFault::TooLong { prefix, width });
        }
        let network = Network { bits: bits_of(ip), prefix, v4: width == 32 };
        if network.bits & network.host_mask() != 0 {
            let bare = network.address(network.bits & !network.host_mask());
            return Err(NetworkFault::HostBits { network: bare, prefix });
        }
        Ok(network)
    }

    fn width(self) -> u32 {
        if self.v4 { 32 } else { 128 }
    }

    /// Ones where the host part is.
    fn host_mask(self) -> u128 {
        ones(self.width() - self.prefix)
    }

    fn address(self, bits: u128) -> IpAddr {
        if self.v4 { IpAddr::V4(Ipv4Addr::from(bits as u32)) } else { IpAddr::V6(Ipv6Addr::from(bits)) }
    }

    fn to_value(self) -> Value {
        Value::from(format!("{}/{}", self.address(self.bits), self.prefix))
    }

    /// Returns the longer prefix after `additional` bits.
    fn extended(self, function: &'static str, additional: i64) -> Result<u32, NetMistake> {
        if additional < 0 {
            return Err(NetMistake::BadExtension { function, why: MoreBits::Negative });
        }
        let (length, width) = (i128::from(self.prefix) + i128::from(additional), self.width());
        if length > i128::from(width) {
            return Err(NetMistake::BadExtension { function, why: MoreBits::TooLong { length, width } });
        }
        Ok(length as u32)
    }
}

fn ones(n: u32) -> u128 {
    if n >= 128 { u128::MAX } else { (1u128 << n) - 1 }
}

fn network(args: Args<'_>, at: usize, function: &'static str) -> Result<Network, NetMistake> {
    let text = text(args, at, "cidr");
    Network::parse(text).map_err(|why| NetMistake::BadNetwork { function, text: text.into(), why })
}

fn number(args: Args<'_>, at: usize, name: &'static str) -> Result<i64, Error> {
    int(args, at, name)?.ok_or_else(|| wrong(name, Wanted::Int, None))
}

/// `parse_CIDR(cidr)`: `{ip, mask}`, empty if invalid.
pub(crate) fn parse_cidr(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let mut dict = Dict::default();
    if let Ok(network) = Network::parse(text(args, 0, "cidr")) {
        dict.set("ip", Value::from(network.address(network.bits).to_string()), Op::Union);
        dict.set("mask", Value::Int(i64::from(network.prefix)), Op::Union);
    }
    Ok(Value::from(dict))
}

/// `is_IP_in_CIDR(ip, cidr)`.
pub(crate) fn is_ip_in_cidr(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    const FUNC: &str = "is_IP_in_CIDR";
    let ip = text(args, 0, "ip");
    let bad = |_| NetMistake::BadAddress { function: FUNC, text: ip.into() };
    let ip: IpAddr = ip.parse().map_err(bad)?;
    let network = network(args, 1, FUNC)?;
    // In an IPv6 network an IPv4 address counts in its mapped form.
    let ip = match ip {
        IpAddr::V4(v4) if !network.v4 => IpAddr::V6(v4.to_ipv6_mapped()),
        ip => ip,
    };
    let inside = ip.is_ipv4() == network.v4 && bits_of(ip) & !network.host_mask() == network.bits;
    Ok(Value::Bool(inside))
}

/// `CIDR_subnet(cidr, additional_bits, net_num)`.
pub(crate) fn subnet(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    const FUNC: &str = "CIDR_subnet";
    let base = network(args, 0, FUNC)?;
    let (additional, net_num) = (number(args, 1, "additional_bits")?, number(args, 2, "net_num")?);
    let prefix = base.extended(FUNC, additional)?;
    let Ok(net) = u128::try_from(net_num) else {
        return Err(NetMistake::NegativeSubnet.into());
    };
    let last = ones(prefix - base.prefix);
    if net > last {
        return Err(NetMistake::NoSubnet { additional, number: net_num, last }.into());
    }
    let shifted = if prefix == 0 { 0 } else { net << (base.width() - prefix) };
    Ok(Network { bits: base.bits | shifted, prefix, v4: base.v4 }.to_value())
}

/// `CIDR_subnets(cidr, additional_bits)`: one after the other, each aligned to its size.
pub(crate) fn subnets(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    const FUNC: &str = "CIDR_subnets";
    let base = network(args, 0, FUNC)?;
    let wanted = list(args, 1, "additional_bits")?;
    host.charge(wanted.len() as u64)?;
    let mut found: Vec<Value> = Vec::with_capacity(wanted.len());
    let mut last: Option<Network> = None;
    for bits in wanted {
        let Value::Int(additional) = bits else {
            return Err(wrong("additional_bits", Wanted::Ints, Some(bits)));
        };
        let prefix = base.extended(FUNC, *additional)?;
        let next = match last {
            None => Some(base.bits),
            Some(last) => after(last, prefix).filter(|bits| bits & !base.host_mask() == base.bits),
        };
        let Some(bits) = next else {
            let last = last.unwrap_or(base);
            let last = format!("{}/{}", last.address(last.bits), last.prefix);
            return Err(NetMistake::NetworkFull { prefix, last }.into());
        };
        let network = Network { bits, prefix, v4: base.v4 };
        found.push(network.to_value());
        last = Some(network);
    }
    Ok(Value::from(found))
}

/// Returns the first address behind a network at which one of the given prefix can start.
fn after(last: Network, prefix: u32) -> Option<u128> {
    let end = (last.bits | last.host_mask()).checked_add(1)?;
    if last.v4 && end > u128::from(u32::MAX) {
        return None;
    }
    let step = ones(last.width() - prefix);
    Some(end.checked_add(step)? & !step)
}

/// `CIDR_host(cidr, host_num)`: negative numbers count from the end.
pub(crate) fn host(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let network = network(args, 0, "CIDR_host")?;
    let wanted = number(args, 1, "host_num")?;
    let distance = u128::from(wanted.unsigned_abs());
    let last = network.host_mask();
    let host = if wanted >= 0 {
        Some(distance).filter(|n| *n <= last)
    } else {
        Some(distance - 1).filter(|n| *n <= last).map(|n| last - n)
    };
    let Some(host) = host else {
        return Err(NetMistake::NoHost { prefix: network.prefix, number: wanted }.into());
    };
    Ok(Value::from(network.address(network.bits | host).to_string()))
}

/// `CIDR_netmask(cidr)`: IPv4 only.
pub(crate) fn netmask(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let network = network(args, 0, "CIDR_netmask")?;
    if !network.v4 {
        return Err(NetMistake::NoMask.into());
    }
    Ok(Value::from(network.address(ones(32) & !network.host_mask()).to_string()))
}

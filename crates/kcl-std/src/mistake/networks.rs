//! What functions of addresses and networks refuse.

use std::net::IpAddr;
use std::num::ParseIntError;

use kcl_value::Str;

use crate::words::short;

base_diag::mistakes! {
    /// What is wrong with an address or a network.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub enum NetMistake;

    /// A text that is no `host:port`.
    BadEndPoint { text: Str, why: EndPointFault } = EVALUATION "bad-address" {
        sentence: format!("ip_end_point \"{text}\" {}", why.sentence()),
        title: format!("`{}` is no endpoint: {}", short(text), why.words()),
        help: "write a host and a port: `10.0.0.1:80`; an IPv6 address stands in brackets: `[::1]:80`",
    }
    /// A text that is no IP address.
    BadAddress { function: &'static str, text: Str } = EVALUATION "bad-address" {
        sentence: format!("{function}() invalid ip: invalid IP address syntax"),
        title: format!("`{}` is no IP address", short(text)),
    }
    /// A text that is no network.
    BadNetwork { function: &'static str, text: Str, why: NetworkFault } = EVALUATION "bad-address" {
        sentence: format!("{function}() invalid cidr: {}", why.sentence()),
        title: format!("`{}` is no network: {}", short(text), why.words()),
        help: why.help(),
    }
    /// A network that cannot have so many bits more.
    BadExtension { function: &'static str, why: MoreBits } = EVALUATION "no-such-subnet" {
        sentence: format!("{function}() invalid additional_bits: {}", why.sentence()),
        title: why.title(),
    }
    /// A number of a subnet below zero.
    NegativeSubnet = EVALUATION "no-such-subnet" {
        sentence: "CIDR_subnet() invalid net_num: cannot be negative",
        title: "`net_num` is negative: subnets are counted from 0",
    }
    /// A number of a subnet that there is not.
    NoSubnet { additional: i64, number: i64, last: u128 } = EVALUATION "no-such-subnet" {
        sentence: format!("CIDR_subnet() additional_bits of {additional} does not accommodate a net_num of {number}"),
        title: format!("there is no subnet {number}: the last one is {last}"),
    }
    /// Subnets that the network has no room for.
    NetworkFull { prefix: u32, last: String } = EVALUATION "no-such-subnet" {
        sentence: format!(
            "CIDR_subnets() not enough remaining address space for a subnet with a prefix of {prefix} bits after {last}"
        ),
        title: format!("the network has no room for a subnet of {prefix} bits after {last}"),
    }
    /// A number of an address that there is not.
    NoHost { prefix: u32, number: i64 } = EVALUATION "no-such-subnet" {
        sentence: format!("CIDR_host() prefix of {prefix} does not accommodate a host numbered {number}"),
        title: format!("a network of {prefix} bits has no address {number}"),
    }
    /// A mask of a network that has none.
    NoMask = EVALUATION "no-such-subnet" {
        sentence: "CIDR_netmask() IPv6 addresses cannot have a netmask",
        title: "only a network of IPv4 has a mask",
    }
}

/// Why a text is no network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NetworkFault {
    /// There is no address before the slash.
    Address,
    /// There is no number of bits after the slash.
    Length(ParseIntError),
    /// There are more bits after the slash than an address has.
    TooLong {
        /// The bits that are written.
        prefix: u32,
        /// The bits of an address.
        width: u32,
    },
    /// The address has bits behind the prefix.
    HostBits {
        /// The address without them.
        network: IpAddr,
        /// The bits of the network.
        prefix: u32,
    },
}

impl NetworkFault {
    fn sentence(&self) -> String {
        match self {
            NetworkFault::Address => {
                "couldn't parse address in network: invalid IP address syntax".to_owned()
            }
            NetworkFault::Length(why) => format!("couldn't parse length in network: {why}"),
            NetworkFault::TooLong { prefix, width } => format!(
                "invalid length for network: Network length {prefix} is too long for {} (maximum: {width})",
                if *width == 32 { "Ipv4" } else { "Ipv6" }
            ),
            NetworkFault::HostBits { .. } => "host part of address was not zero".to_owned(),
        }
    }

    fn words(&self) -> String {
        match self {
            NetworkFault::Address => "before `/` stands no IP address".to_owned(),
            NetworkFault::Length(_) => "after `/` stands no number of bits".to_owned(),
            NetworkFault::TooLong { width, .. } => format!("an address of this kind has {width} bits"),
            NetworkFault::HostBits { .. } => "the address has bits behind the prefix".to_owned(),
        }
    }

    fn help(&self) -> String {
        match self {
            NetworkFault::HostBits { network, prefix } => {
                format!("the network itself is `{network}/{prefix}`")
            }
            _ => "write an address, a slash and the bits of the network: `10.0.0.0/8`, `fd00::/8`".to_owned(),
        }
    }
}

/// Why a text is no endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndPointFault {
    /// No colon with a port.
    NoPort,
    /// A bracket that is not closed.
    OpenBracket,
    /// An IPv6 address without brackets.
    Colons,
    /// A bracket where none belongs.
    Unexpected(char),
}

impl EndPointFault {
    fn sentence(self) -> String {
        match self {
            EndPointFault::NoPort => "missing port".to_owned(),
            EndPointFault::OpenBracket => "missing ']'".to_owned(),
            EndPointFault::Colons => "too many colons".to_owned(),
            EndPointFault::Unexpected(bracket) => format!("unexpected '{bracket}'"),
        }
    }

    fn words(self) -> String {
        match self {
            EndPointFault::NoPort => "it has no port".to_owned(),
            EndPointFault::OpenBracket => "`[` is not closed".to_owned(),
            EndPointFault::Colons => "it has several colons and no brackets".to_owned(),
            EndPointFault::Unexpected(bracket) => format!("`{bracket}` does not belong there"),
        }
    }
}

/// Why a network cannot be given more bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoreBits {
    /// Less than none.
    Negative,
    /// More than an address has.
    TooLong {
        /// The bits that the network would have.
        length: i128,
        /// The bits that an address has.
        width: u32,
    },
}

impl MoreBits {
    fn sentence(self) -> String {
        match self {
            MoreBits::Negative => "cannot be negative".to_owned(),
            MoreBits::TooLong { length, width } => {
                let family = if width == 32 { "IPv4" } else { "IPv6" };
                format!("would extend network length to {length} bits, which is too long for {family}")
            }
        }
    }

    fn title(self) -> String {
        match self {
            MoreBits::Negative => {
                "`additional_bits` is negative: a subnet has at least the bits of its network".to_owned()
            }
            MoreBits::TooLong { length, width } => {
                format!("the subnet would have {length} bits, and an address has {width}")
            }
        }
    }
}

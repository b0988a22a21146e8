//! The name of a provider: a host, a namespace and a name.

use std::fmt;

/// The registry of OpenTofu; free for every tool, so it is the host of short names here.
pub const OPENTOFU: &str = "registry.opentofu.org";
/// The registry of Terraform.
pub const TERRAFORM: &str = "registry.terraform.io";
/// The host of what is part of the tools themselves.
const BUILT_IN: &str = "terraform.io";
/// Longest part of a name.
const MAX_PART: usize = 255;

/// `registry.opentofu.org/hashicorp/random`; every part is in its normal form and safe as a part of a path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    host: String,
    namespace: String,
    name: String,
}

impl Address {
    /// Reads an address: `host/namespace/name`, `namespace/name` (of `default_host`) or `name` (of `hashicorp` there).
    ///
    /// # Errors
    /// A sentence that says which part is wrong.
    pub fn parse(text: &str, default_host: &str) -> Result<Address, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, name) = match parts[..] {
            [name] => (default_host, "hashicorp", name),
            [namespace, name] => (default_host, namespace, name),
            [host, namespace, name] => (host, namespace, name),
            _ => return Err(format!("`{text}` is no address of a provider: HOST/NAMESPACE/NAME")),
        };
        let address =
            Address { host: host_name(host)?, namespace: part(namespace, text)?, name: part(name, text)? };
        match address.name.strip_prefix("terraform-provider-") {
            Some(short) if !short.is_empty() => Err(format!(
                "`{text}` is no address of a provider: without `terraform-provider-` it is `{}/{}/{short}`",
                address.host, address.namespace
            )),
            _ => Ok(address),
        }
    }

    /// The host of its registry.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Who publishes it.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The provider's own name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is part of the tools themselves, so that there is nothing to install.
    pub fn is_built_in(&self) -> bool {
        self.host == BUILT_IN && self.namespace == "builtin"
    }

    /// The same provider on another host.
    #[must_use]
    pub fn on(&self, host: &str) -> Address {
        Address { host: host.to_owned(), ..self.clone() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.host, self.namespace, self.name)
    }
}

/// The normal form of a host name with an optional port.
pub(crate) fn host_name(text: &str) -> Result<String, String> {
    let host = text.to_ascii_lowercase();
    let (name, port) = host.split_once(':').map_or((host.as_str(), None), |(name, port)| (name, Some(port)));
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let good = name.len() <= MAX_PART
        && name.split('.').all(label)
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if good { Ok(host) } else { Err(format!("`{text}` is no host name (write others in punycode)")) }
}

fn part(text: &str, whole: &str) -> Result<String, String> {
    let lower = text.to_ascii_lowercase();
    let good = !lower.is_empty()
        && lower.len() <= MAX_PART
        && !lower.starts_with(['-', '_'])
        && !lower.ends_with(['-', '_'])
        && lower.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
    if good {
        return Ok(lower);
    }
    Err(format!(
        "`{whole}` is no address of a provider: `{text}` is not made of letters, digits, `-` and `_`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_completed() {
        let read = |text| Address::parse(text, OPENTOFU).map(|a| a.to_string());
        assert_eq!(read("random").unwrap(), "registry.opentofu.org/hashicorp/random");
        assert_eq!(read("Acme/Thing").unwrap(), "registry.opentofu.org/acme/thing");
        assert_eq!(read("127.0.0.1:8443/acme/thing").unwrap(), "127.0.0.1:8443/acme/thing");
        assert!(Address::parse("terraform.io/builtin/terraform", OPENTOFU).unwrap().is_built_in());
    }

    #[test]
    fn nothing_in_an_address_leads_out_of_a_folder() {
        for text in [
            "",
            "/",
            "..",
            "../x",
            "a/../b",
            "../a/b",
            "./a/b",
            "a b",
            "a/b/c/d",
            "x/-a",
            "h:0/a/b",
            "h:99999/a/b",
            "a\\b",
        ] {
            assert!(Address::parse(text, OPENTOFU).is_err(), "{text}");
        }
        let error = Address::parse("acme/terraform-provider-x", OPENTOFU).unwrap_err();
        assert!(error.contains("registry.opentofu.org/acme/x"), "{error}");
    }
}

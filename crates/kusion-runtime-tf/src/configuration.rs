//! Configurations of providers, as states of Terraform and OpenTofu name them.

use std::collections::BTreeSet;

use tf_schema::state::{Instance, Mode, Resource, State};

/// A configuration of a provider. What is in it stands in no state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Configuration {
    /// `module.net`, or nothing.
    module: String,
    /// `host/namespace/name`.
    address: String,
    /// Nothing, if it has no name of its own.
    alias: String,
}

impl Configuration {
    /// Reads `module.net.provider["host/namespace/name"].alias`.
    pub(crate) fn of(resource: &Resource, instance: &Instance) -> Option<Self> {
        let text = instance.provider.as_deref().unwrap_or(&resource.provider);
        let (module, rest) = text.split_once("provider[\"")?;
        let (address, alias) = rest.split_once("\"]")?;
        let (module, alias) = (module.trim_end_matches('.'), alias.trim_start_matches('.'));
        Some(Configuration { module: module.into(), address: address.into(), alias: alias.into() })
    }

    /// All configurations of a state.
    #[must_use]
    pub fn all(state: &State) -> BTreeSet<Self> {
        let managed = state.resources.iter().filter(|resource| resource.mode == Mode::Managed);
        managed.flat_map(|one| one.instances.iter().filter_map(|instance| Self::of(one, instance))).collect()
    }

    pub(crate) fn is_default(&self) -> bool {
        self.module.is_empty() && self.alias.is_empty()
    }

    /// Whether a text means it: the name of the provider, with or without its host, with the module before it and the alias
    /// behind it.
    #[must_use]
    pub fn is_called(&self, text: &str) -> bool {
        let short = self.address.split_once('/').map_or("", |(_, rest)| rest);
        let only = short.strip_prefix("hashicorp/").unwrap_or(short);
        [&self.address, short, only].into_iter().any(|address| self.called(address) == text)
    }

    fn called(&self, address: &str) -> String {
        let parts = [self.module.as_str(), address, self.alias.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
    }

    /// The name under which it goes back.
    pub(crate) fn name(&self) -> Option<String> {
        let plain = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
        let modules = self.module.split('.').filter(|part| *part != "module" && !part.is_empty());
        let parts: Vec<&str> = modules.chain([self.alias.as_str()]).filter(|part| !part.is_empty()).collect();
        let name: String = parts.join("_").chars().map(plain).collect();
        (!self.is_default()).then(|| name.trim_end_matches('_').to_owned())
    }
}

impl std::fmt::Display for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = self.address.split_once('/').map_or(self.address.as_str(), |(_, rest)| rest);
        f.write_str(&self.called(short))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(provider: &str) -> Option<Configuration> {
        let resource = Resource { provider: provider.to_owned(), ..Resource::default() };
        Configuration::of(&resource, &Instance::default())
    }

    #[test]
    fn configurations_are_called_as_people_call_them() {
        let plain = of("provider[\"registry.opentofu.org/hashicorp/random\"]").unwrap();
        assert!(plain.is_default() && plain.name().is_none());
        for text in ["random", "hashicorp/random", "registry.opentofu.org/hashicorp/random"] {
            assert!(plain.is_called(text), "{text}");
        }
        let named = of("provider[\"registry.opentofu.org/acme/lab\"].us").unwrap();
        assert_eq!((named.to_string().as_str(), named.name().as_deref()), ("acme/lab.us", Some("us")));
        assert!(named.is_called("registry.opentofu.org/acme/lab.us"));
        assert!(!named.is_called("acme/lab") && !named.is_called("lab.us"));
        let inner = of("module.net.provider[\"registry.opentofu.org/acme/lab\"].us[\"a\"]").unwrap();
        assert!(inner.is_called("module.net.acme/lab.us[\"a\"]"));
        assert_eq!(inner.name().as_deref(), Some("net_us__a"));
        assert_eq!(of("provider.random"), None);
    }
}

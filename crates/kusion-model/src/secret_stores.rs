//! Which stores a stack takes secrets from: `secretStore` and `secretStores` in project.yaml, stack.yaml and the file of the
//! workspace.
//!
//! ```yaml
//! secretStore:                       # the default one, in upstream's form
//!   provider:
//!     vault: {server: "https://vault.example.com:8200", path: secret, version: v2}
//! secretStores:                      # others, for ref://…?store=NAME
//!   build: {provider: {env: {prefix: BUILD_}}}
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A store of secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct StoreConfig {
    pub provider: Provider,
}

/// What kind of store it is, with its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Provider {
    /// Variables of the environment: `PREFIX` + name and property in upper case, with `_` between.
    Env {
        #[serde(default)]
        prefix: String,
    },
    /// A YAML or JSON file that only its owner can read: name, then property, then value.
    File {
        path: String,
    },
    /// A program: gets `{"name", "property", "version"}` as JSON on its input, prints the value.
    Command {
        command: Vec<String>,
        #[serde(default)]
        timeout_seconds: Option<u64>,
    },
    /// Secrets of the stack's cluster; `namespace` for names without one.
    Kubernetes {
        #[serde(default)]
        namespace: Option<String>,
    },
    /// A YAML or JSON file that `age` has encrypted.
    Age {
        path: String,
        /// The file of identities; without it `KUSION_AGE_IDENTITY_FILE`.
        #[serde(default)]
        identity_file: Option<String>,
    },
    /// A YAML or JSON file that `sops` has encrypted, for an age recipient.
    Sops {
        path: String,
        /// The file of identities; without it `SOPS_AGE_KEY_FILE`, then the place where `sops` looks.
        #[serde(default)]
        identity_file: Option<String>,
    },
    Aws(AwsConfig),
    Vault(VaultConfig),
}

/// AWS Secrets Manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsConfig {
    /// Without it `AWS_REGION`, then `AWS_DEFAULT_REGION`, then that of the profile.
    #[serde(default)]
    pub region: Option<String>,
    /// The profile of the shared files; without it `AWS_PROFILE`.
    #[serde(default)]
    pub profile: Option<String>,
    /// Another address than Amazon's.
    #[serde(default)]
    pub endpoint: Option<String>,
}

/// HashiCorp Vault, key-value engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VaultConfig {
    /// `https://HOST:PORT`.
    pub server: String,
    /// Where the engine is mounted.
    #[serde(default = "mount")]
    pub path: String,
    /// Version of the engine: `v1` or `v2`.
    #[serde(default)]
    pub version: KvVersion,
    /// Vault's namespace.
    #[serde(default)]
    pub namespace: Option<String>,
    /// A PEM file of the authority that signed the server's certificate.
    #[serde(default)]
    pub ca_cert: Option<String>,
    #[serde(default)]
    pub auth: VaultAuth,
}

/// Version of the key-value engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KvVersion {
    V1,
    #[default]
    V2,
}

/// How to log in. Secrets themselves never stand in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum VaultAuth {
    /// A token from the environment (`VAULT_SERVER_TOKEN`, then `VAULT_TOKEN`, unless another is named) or a file.
    Token {
        #[serde(default)]
        env: Option<String>,
        #[serde(default)]
        file: Option<String>,
    },
    AppRole {
        role_id: String,
        /// The variable of the environment that has the secret id (`VAULT_SECRET_ID` if none is named).
        #[serde(default)]
        secret_id_env: Option<String>,
        #[serde(default)]
        secret_id_file: Option<String>,
        /// Where the method is mounted.
        #[serde(default)]
        mount: Option<String>,
    },
    /// The token of a service account, as it lies in every pod.
    Kubernetes {
        role: String,
        /// Another file than that of the pod.
        #[serde(default)]
        token_file: Option<String>,
        #[serde(default)]
        mount: Option<String>,
    },
}

impl Default for VaultAuth {
    fn default() -> Self {
        VaultAuth::Token { env: None, file: None }
    }
}

fn mount() -> String {
    "secret".to_owned()
}

impl TryFrom<Value> for StoreConfig {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        StoreConfig::from_value(&value)
    }
}

const OURS: [&str; 8] = ["env", "file", "command", "kubernetes", "vault", "aws", "age", "sops"];
/// Upstream's, which are not built.
const THEIRS: [&str; 5] = ["alicloud", "azure", "viettelcloud", "onpremises", "fake"];

impl StoreConfig {
    /// Reads the value of `secretStore`, strictly.
    ///
    /// # Errors
    /// What is wrong with it, and what may have been meant.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let map = one_key(value, "a store", &["provider"])?;
        let provider = &map["provider"];
        let map = one_key(provider, "`provider`", &OURS)?;
        if let Some((name, Value::Null)) = map.iter().next() {
            // `env:` with nothing after it is all defaults.
            return Self::from_value(&serde_json::json!({"provider": {name: {}}}));
        }
        let provider = serde_json::from_value(provider.clone()).map_err(|e| e.to_string())?;
        let store = StoreConfig { provider };
        store.check().map(|()| store)
    }

    fn check(&self) -> Result<(), String> {
        match &self.provider {
            Provider::Command { command, .. } if command.is_empty() => {
                Err("`command` is empty; write the program and its arguments as a list".to_owned())
            }
            Provider::File { path } | Provider::Age { path, .. } | Provider::Sops { path, .. }
                if path.is_empty() =>
            {
                Err("`path` is empty".to_owned())
            }
            Provider::Aws(AwsConfig { endpoint: Some(endpoint), .. }) => is_address(endpoint, "endpoint"),
            Provider::Vault(vault) => is_address(&vault.server, "server"),
            _ => Ok(()),
        }
    }
}

fn is_address(text: &str, key: &str) -> Result<(), String> {
    let known = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
    if known { Ok(()) } else { Err(format!("`{key}` must begin with https:// or http://")) }
}

/// A mapping with exactly one of the keys.
fn one_key<'v>(
    value: &'v Value,
    what: &str,
    known: &[&str],
) -> Result<&'v serde_json::Map<String, Value>, String> {
    let list = known.join(", ");
    let map = value.as_object().filter(|map| map.len() == 1);
    let map = map.ok_or_else(|| format!("{what} must be a mapping with exactly one of: {list}"))?;
    let key = map.keys().next().map(String::as_str).unwrap_or_default();
    if known.contains(&key) {
        return Ok(map);
    }
    if THEIRS.contains(&key) {
        return Err(format!("`{key}` is not built in; reach it with `command` (built in: {list})"));
    }
    let near = known.iter().find(|name| name.chars().next() == key.chars().next());
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(format!("{what} has no `{key}` (there is: {list}){near}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(provider: Value) -> Result<Provider, String> {
        StoreConfig::from_value(&json!({"provider": provider})).map(|store| store.provider)
    }

    #[test]
    fn stores_are_read_with_their_defaults() {
        assert_eq!(read(json!({"env": null})), Ok(Provider::Env { prefix: String::new() }));
        let Ok(Provider::Vault(vault)) = read(json!({"vault": {"server": "https://v:8200"}})) else {
            panic!("a vault")
        };
        assert_eq!(
            (vault.path.as_str(), vault.version, &vault.auth),
            ("secret", KvVersion::V2, &VaultAuth::default())
        );
        let role =
            json!({"vault": {"server": "http://v", "version": "v1", "auth": {"appRole": {"roleId": "r"}}}});
        assert_eq!(read(json!({"aws": {}})), Ok(Provider::Aws(AwsConfig::default())));
        assert!(matches!(
            read(role),
            Ok(Provider::Vault(VaultConfig { auth: VaultAuth::AppRole { .. }, .. }))
        ));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_was_meant() {
        let cases = [
            (json!({"vualt": {}}), "did you mean `vault`?"),
            (json!({"azure": {"vaultUrl": "x"}}), "reach it with `command`"),
            (json!({"aws": {"endpoint": "localhost"}}), "https://"),
            (json!({"sops": {"path": ""}}), "empty"),
            (json!({"age": {}}), "path"),
            (json!({"env": {}, "file": {"path": "x"}}), "exactly one"),
            (json!({"vault": {"server": "vault:8200"}}), "https://"),
            (json!({"vault": {"server": "https://v", "token": "hvs.x"}}), "unknown field `token`"),
            (json!({"vault": {}}), "server"),
            (json!({"command": {"command": []}}), "empty"),
            (json!("vault"), "exactly one"),
        ];
        for (provider, what) in cases {
            let error = read(provider.clone()).unwrap_err();
            assert!(error.contains(what), "{provider}: {error}");
        }
        assert!(
            StoreConfig::from_value(&json!({"providers": {}}))
                .unwrap_err()
                .contains("did you mean `provider`?")
        );
    }
}

//! What hides the keys of a state beside files, passphrases and commands: an age recipient, a key of Vault's transit engine,
//! a key of the AWS KMS protocol. Each is a [`KeyService`]: bytes in, bytes that only the service can turn back out.

use std::path::{Path, PathBuf};

use base_secret::KeyService;
use data_encoding::BASE64;
use http::{Method, StatusCode};
use kusion_model::{AwsConfig, VaultAuth};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::aws::Aws;
use crate::vault::{Vault, encoded};
use crate::{Refusal, SecretError, age, secret_of};

/// Calls something asynchronous from anywhere: the store that asks for a key runs on any executor, or none.
fn blocking<T: Send>(call: impl Future<Output = Result<T, SecretError>> + Send) -> Result<T, String> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| e.to_string())?;
        let limited = async { tokio::time::timeout(crate::LIMIT, call).await };
        let late = |_| format!("no answer within {} s", crate::LIMIT.as_secs());
        let answer = runtime.block_on(limited).map_err(late)?;
        answer.map_err(|error| match &error.next {
            Some(next) => format!("{error}; {next}"),
            None => error.to_string(),
        })
    };
    let lost = || "the question to the key service was lost".to_owned();
    std::thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| Err(lost()))
}

/// Vault's transit engine.
pub struct Transit {
    server: String,
    mount: String,
    key: String,
    auth: VaultAuth,
    namespace: Option<String>,
    authority: Option<PathBuf>,
}

impl Transit {
    /// `MOUNT/KEY` on the server that `VAULT_ADDR` names; login as Vault's own program finds it.
    ///
    /// # Errors
    /// What is missing.
    pub fn from_environment(path: &str) -> Result<Self, SecretError> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let unusable = |message: &str, next: &str| {
            Err(SecretError::new(Refusal::Unusable, message.to_owned()).next(next.to_owned()))
        };
        let Some((mount, key)) =
            path.rsplit_once('/').filter(|(mount, key)| !mount.is_empty() && !key.is_empty())
        else {
            return unusable("a key of Vault is a mount and a name", "vault-transit:MOUNT/KEY");
        };
        let Some(server) = set("VAULT_ADDR") else {
            return unusable("nobody says where Vault is", "export VAULT_ADDR=https://HOST:8200");
        };
        let auth = match (set("VAULT_ROLE_ID"), set("VAULT_KUBERNETES_ROLE")) {
            (Some(role_id), _) => {
                VaultAuth::AppRole { role_id, secret_id_env: None, secret_id_file: None, mount: None }
            }
            (None, Some(role)) => VaultAuth::Kubernetes { role, token_file: None, mount: None },
            (None, None) => VaultAuth::default(),
        };
        let (mount, key) = (mount.to_owned(), key.to_owned());
        let authority = set("VAULT_CACERT").map(PathBuf::from);
        Ok(Transit { server, mount, key, auth, namespace: set("VAULT_NAMESPACE"), authority })
    }

    /// One question with a session of its own: keys are asked for once or twice in a run.
    async fn ask(&self, verb: &str, body: Value, wanted: &str) -> Result<String, SecretError> {
        let vault = Vault::new(
            &self.server,
            self.namespace.clone(),
            self.authority.as_deref(),
            self.auth.clone(),
            Path::new("/"),
        )?;
        let path = format!("{}/{verb}/{}", encoded(&self.mount), encoded(&self.key));
        let body = Zeroizing::new(body.to_string());
        let answer = vault.ask(Method::POST, &path, Some(&body)).await?;
        if answer.status != StatusCode::OK {
            return Err(vault.refused(&answer, &format!("to {verb} with `{}`", self.key)));
        }
        let found = answer.body["data"][wanted].as_str().map(str::to_owned);
        found.ok_or_else(|| SecretError::new(Refusal::Unusable, format!("Vault's answer has no {wanted}")))
    }
}

impl KeyService for Transit {
    fn kind(&self) -> &'static str {
        "vault-transit"
    }

    fn word(&self) -> String {
        format!("the key `{}` of Vault's transit engine `{}`", self.key, self.mount)
    }

    fn wrap(&self, key: &[u8]) -> Result<Vec<u8>, String> {
        let body = json!({"plaintext": BASE64.encode(key)});
        blocking(self.ask("encrypt", body, "ciphertext")).map(String::into_bytes)
    }

    fn unwrap(&self, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let body = json!({"ciphertext": String::from_utf8_lossy(wrapped)});
        let text = Zeroizing::new(blocking(self.ask("decrypt", body, "plaintext"))?);
        decoded(&text)
    }
}

/// A key of the AWS KMS protocol.
pub struct Kms {
    key: String,
    config: AwsConfig,
}

/// What is told to the service beside the key, and must be told again: a wrapped key of something else does not open.
const CONTEXT: (&str, &str) = ("kusion", "state key");

impl Kms {
    /// A key by its id, alias or ARN; region, address and credentials as Amazon's tools find them.
    #[must_use]
    pub fn new(key: &str) -> Self {
        // An ARN names its region: arn:aws:kms:REGION:ACCOUNT:key/ID.
        let region = key.strip_prefix("arn:").and_then(|rest| rest.split(':').nth(2));
        let region = region.filter(|region| !region.is_empty()).map(str::to_owned);
        Kms { key: key.to_owned(), config: AwsConfig { region, ..AwsConfig::default() } }
    }

    async fn ask(&self, target: &str, mut body: Value, wanted: &str) -> Result<String, SecretError> {
        let aws = Aws::new(&self.config, "kms", "AWS_ENDPOINT_URL_KMS")?;
        body["KeyId"] = self.key.clone().into();
        body["EncryptionContext"] = json!({CONTEXT.0: CONTEXT.1});
        let answer = aws.call(target, &body, &format!("key `{}`", self.key)).await?;
        let found = answer[wanted].as_str().map(str::to_owned);
        found.ok_or_else(|| SecretError::new(Refusal::Unusable, format!("the answer of AWS has no {wanted}")))
    }
}

impl KeyService for Kms {
    fn kind(&self) -> &'static str {
        "aws-kms"
    }

    fn word(&self) -> String {
        format!("the key `{}` of AWS KMS", self.key)
    }

    fn wrap(&self, key: &[u8]) -> Result<Vec<u8>, String> {
        let body = json!({"Plaintext": BASE64.encode(key)});
        let text = blocking(self.ask("TrentService.Encrypt", body, "CiphertextBlob"))?;
        BASE64.decode(text.as_bytes()).map_err(|_| "the answer of AWS is no base64".to_owned())
    }

    fn unwrap(&self, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let body = json!({"CiphertextBlob": BASE64.encode(wrapped)});
        let text = Zeroizing::new(blocking(self.ask("TrentService.Decrypt", body, "Plaintext"))?);
        decoded(&text)
    }
}

/// An age identity in a file: its recipient hides, the identity opens.
pub struct AgeKey {
    file: PathBuf,
}

impl AgeKey {
    #[must_use]
    pub fn new(file: PathBuf) -> Self {
        AgeKey { file }
    }
}

impl KeyService for AgeKey {
    fn kind(&self) -> &'static str {
        "age"
    }

    fn word(&self) -> String {
        format!("the age identity in {}", self.file.display())
    }

    fn wrap(&self, key: &[u8]) -> Result<Vec<u8>, String> {
        let identities = age::identities(&self.file).map_err(|e| e.to_string())?;
        let recipients: Vec<_> = identities.iter().map(age::Identity::recipient).collect();
        age::encrypt(key, &recipients).map(String::into_bytes).map_err(|fault| fault.to_string())
    }

    fn unwrap(&self, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let identities = age::identities(&self.file).map_err(|e| e.to_string())?;
        age::decrypt(wrapped, &identities).map_err(|fault| fault.to_string())
    }
}

fn decoded(text: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    let value = secret_of(&Value::String(text.to_owned()));
    let bytes = value.and_then(|value| BASE64.decode(value.expose()).ok());
    bytes.map(Zeroizing::new).ok_or_else(|| "the answer of the key service is no base64".to_owned())
}

//! Amazon's services: whose credentials, where to, and secrets in Secrets Manager.
//!
//! Credentials are looked for as Amazon's own tools do: the environment, a profile of the shared files, the container's service.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base_secret::SecretValue;
use data_encoding::BASE64;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use kusion_model::{AwsConfig, SecretRef};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::sigv4::{CONTENT_TYPE, Credentials, Letter, authorization, stamp};
use crate::vault::property_of;
use crate::web::{Answer, Web, hidden, request};
use crate::{Refusal, SecretError, SecretStore, variable};

/// Where containers on Amazon's machines get credentials from, unless a whole address is given.
const CONTAINER_HOST: &str = "http://169.254.170.2";

/// One service of Amazon's, in one region.
pub(crate) struct Aws {
    service: &'static str,
    region: String,
    address: String,
    profile: String,
    web: Web,
    credentials: OnceCell<Credentials>,
}

/// A setting of the environment that is no secret.
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Aws {
    /// `variable` names the address of this service alone, as Amazon's tools have it.
    pub(crate) fn new(
        config: &AwsConfig,
        service: &'static str,
        variable: &str,
    ) -> Result<Self, SecretError> {
        let profile = config.profile.clone().or_else(|| setting("AWS_PROFILE"));
        let profile = profile.unwrap_or_else(|| "default".to_owned());
        let of_profile = || shared("AWS_CONFIG_FILE", "config", &profile).remove("region");
        let region = config.region.clone().or_else(|| setting("AWS_REGION"));
        let region =
            region.or_else(|| setting("AWS_DEFAULT_REGION")).or_else(of_profile).ok_or_else(|| {
                SecretError::new(Refusal::Unusable, "nobody says which region of AWS is meant")
                    .next("write `region` into the settings of the store, or export AWS_REGION")
            })?;
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if !region.chars().all(usable) {
            return Err(SecretError::new(Refusal::Unusable, format!("`{region}` is no region of AWS")));
        }
        let given = config.endpoint.clone().or_else(|| setting(variable));
        let given = given.or_else(|| setting("AWS_ENDPOINT_URL"));
        let address = given.unwrap_or_else(|| format!("https://{service}.{region}.amazonaws.com"));
        let address = address.trim_end_matches('/').to_owned();
        let web = Web::new(format!("AWS at {address}"), "check region and address, and the network", None)?;
        Ok(Aws { service, region, address, profile, web, credentials: OnceCell::new() })
    }

    /// Calls an operation. Refusals are told by what they are.
    pub(crate) async fn call(&self, target: &str, body: &Value, what: &str) -> Result<Value, SecretError> {
        let by = self.credentials.get_or_try_init(|| self.log_in()).await?;
        let body = Zeroizing::new(body.to_string());
        let host = self.address.split_once("://").map_or("", |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or_default();
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let time = stamp(since.as_secs());
        let letter = Letter {
            host,
            region: &self.region,
            service: self.service,
            target,
            body: body.as_bytes(),
            time: &time,
        };
        let unusable = || SecretError::new(Refusal::Denied, "the credentials for AWS cannot be sent");
        let signed = hidden(authorization(&letter, by).as_bytes()).ok_or_else(unusable)?;
        let mut asked = request(Method::POST, &format!("{}/", self.address))
            .header("content-type", CONTENT_TYPE)
            .header("x-amz-date", &time)
            .header("x-amz-target", target)
            .header("authorization", signed);
        if let Some(session) = &by.session {
            asked = asked.header("x-amz-security-token", hidden(session.expose()).ok_or_else(unusable)?);
        }
        let answer = self.web.send(asked, body.as_bytes()).await?;
        if answer.status == StatusCode::OK { Ok(answer.body) } else { Err(refused(&answer, what)) }
    }

    async fn log_in(&self) -> Result<Credentials, SecretError> {
        let from = |map: &BTreeMap<String, String>| {
            let secret = |name: &str| map.get(name).cloned().map(SecretValue::from);
            Some(Credentials {
                id: map.get("aws_access_key_id")?.clone(),
                key: secret("aws_secret_access_key")?,
                session: secret("aws_session_token"),
            })
        };
        if let (Some(id), Some(key)) = (setting("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            return Ok(Credentials { id, key, session: variable("AWS_SESSION_TOKEN") });
        }
        let files = [("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")];
        if let Some(found) = files.iter().find_map(|(name, file)| from(&shared(name, file, &self.profile))) {
            return Ok(found);
        }
        match self.of_container().await? {
            Some(found) => Ok(found),
            None => Err(SecretError::new(Refusal::Denied, "there are no credentials for AWS").next(
                "export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them into ~/.aws/credentials",
            )),
        }
    }

    /// The credentials of the container that this runs in.
    async fn of_container(&self) -> Result<Option<Credentials>, SecretError> {
        let relative = setting("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        let address = relative.map(|path| format!("{CONTAINER_HOST}{path}"));
        let Some(address) = address.or_else(|| setting("AWS_CONTAINER_CREDENTIALS_FULL_URI")) else {
            return Ok(None);
        };
        let mut asked = request(Method::GET, &address);
        let file = setting("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        let token = file.and_then(|file| std::fs::read_to_string(file).ok()).map(SecretValue::from);
        if let Some(token) = token.or_else(|| variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"))
            && let Some(value) = hidden(token.expose().trim_ascii())
        {
            asked = asked.header("authorization", value);
        }
        let answer = self.web.send(asked, b"").await?;
        let text = |name: &str| answer.body[name].as_str().map(str::to_owned);
        let key = text("SecretAccessKey").map(SecretValue::from);
        match (answer.status, text("AccessKeyId"), key) {
            (StatusCode::OK, Some(id), Some(key)) => {
                Ok(Some(Credentials { id, key, session: text("Token").map(SecretValue::from) }))
            }
            _ => Err(self.web.unavailable("has no credentials for this container")),
        }
    }
}

/// The settings of a profile in one of the shared files; nothing where there is no such file.
fn shared(variable: &str, file: &str, profile: &str) -> BTreeMap<String, String> {
    let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".aws").join(file));
    let path = std::env::var_os(variable).map(PathBuf::from).or_else(usual);
    let text = path.and_then(|path| std::fs::read_to_string(path).ok()).map(Zeroizing::new);
    text.map(|text| section(&text, profile)).unwrap_or_default()
}

/// The section of a profile: `[NAME]`, or `[profile NAME]` in the file `config`.
fn section(text: &str, profile: &str) -> BTreeMap<String, String> {
    let (mut found, mut inside) = (BTreeMap::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let name = name.trim();
            inside = name.strip_prefix("profile ").map_or(name, str::trim) == profile;
        } else if inside
            && !line.starts_with(['#', ';'])
            && let Some((key, value)) = line.split_once('=')
        {
            found.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    found
}

/// Amazon says what is wrong by the name of an exception.
fn refused(answer: &Answer, what: &str) -> SecretError {
    let kind = answer.body["__type"].as_str().unwrap_or_default();
    let kind = kind.rsplit(['#', '.']).next().unwrap_or_default();
    let said = ["message", "Message"].iter().find_map(|key| answer.body[*key].as_str()).unwrap_or_default();
    let said = format!("{kind} {said}").trim().to_owned();
    let said = if said.is_empty() { answer.status.to_string() } else { said };
    match kind {
        "ResourceNotFoundException" | "NotFoundException" => {
            SecretError::new(Refusal::NotFound, format!("AWS has no {what}: {said}"))
                .next("check name, version, region and account")
        }
        "InvalidCiphertextException" | "IncorrectKeyException" => {
            SecretError::new(Refusal::Unusable, format!("AWS cannot open {what}: {said}"))
        }
        _ if answer.status.is_server_error() || kind == "ThrottlingException" => {
            SecretError::new(Refusal::Unavailable, format!("AWS fails at {what}: {said}"))
        }
        _ => SecretError::new(Refusal::Denied, format!("AWS refuses {what}: {said}"))
            .next("check the credentials, and what they may do"),
    }
}

/// Secrets in Secrets Manager.
pub(crate) struct AwsStore {
    aws: Aws,
}

impl AwsStore {
    pub(crate) fn new(config: &AwsConfig) -> Result<Self, SecretError> {
        let aws = Aws::new(config, "secretsmanager", "AWS_ENDPOINT_URL_SECRETS_MANAGER")?;
        Ok(AwsStore { aws })
    }

    async fn fetch(&self, reference: &SecretRef) -> Result<SecretValue, SecretError> {
        let values = self.values(reference).await?;
        property_of(&values, &reference.property, &format!("secret `{}`", reference.name))
    }

    /// Writes one property as a new version; the others stay.
    async fn store(&self, reference: &SecretRef, value: &SecretValue) -> Result<(), SecretError> {
        let mut values = self.values(reference).await?;
        values[&reference.property] = value.expose_text().into();
        let text = Zeroizing::new(values.to_string());
        let ask = json!({"SecretId": reference.name, "SecretString": *text, "ClientRequestToken": token()?});
        let shown = format!("secret `{}`", reference.name);
        self.aws.call("secretsmanager.PutSecretValue", &ask, &shown).await.map(|_| ())
    }

    /// All properties of a secret.
    async fn values(&self, reference: &SecretRef) -> Result<Value, SecretError> {
        let shown = format!("secret `{}`", reference.name);
        let mut ask = json!({"SecretId": reference.name});
        match reference.version.as_deref().map(|version| (version.strip_prefix("uuid/"), version)) {
            Some((Some(id), _)) => ask["VersionId"] = id.into(),
            Some((None, stage)) => ask["VersionStage"] = stage.into(),
            None => {}
        }
        let answer = self.aws.call("secretsmanager.GetSecretValue", &ask, &shown).await?;
        let bytes = match (answer["SecretString"].as_str(), answer["SecretBinary"].as_str()) {
            (Some(text), _) => Zeroizing::new(text.as_bytes().to_vec()),
            (None, Some(text)) => Zeroizing::new(BASE64.decode(text.as_bytes()).unwrap_or_default()),
            (None, None) => Zeroizing::default(),
        };
        let values: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        if !values.is_object() {
            let message = format!("{shown} is no JSON document, so it has no `{}`", reference.property);
            let next = format!("keep it as {{\"{}\": …}}", reference.property);
            return Err(SecretError::new(Refusal::Unusable, message).next(next));
        }
        Ok(values)
    }
}

/// The name of a version to come: a request that is sent twice makes one.
fn token() -> Result<String, SecretError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| SecretError::new(Refusal::Unavailable, format!("there are no random numbers: {e}")))?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

impl SecretStore for AwsStore {
    fn get<'a>(&'a self, reference: &'a SecretRef) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(self.fetch(reference))
    }

    fn set<'a>(
        &'a self,
        reference: &'a SecretRef,
        value: &'a SecretValue,
    ) -> BoxFuture<'a, Result<(), SecretError>> {
        Box::pin(self.store(reference, value))
    }

    fn describe(&self) -> String {
        format!("aws secrets manager ({})", self.aws.region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_of_both_files() {
        let text =
            "[default]\naws_access_key_id = A\n# aws_access_key_id = B\n[profile prod]\nregion=eu-west-1\n";
        assert_eq!(section(text, "default")["aws_access_key_id"], "A");
        assert_eq!(section(text, "prod")["region"], "eu-west-1");
        assert!(section(text, "nobody").is_empty());
    }
}

//! From an address to a backend, with the credentials that each service's own tools would use.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use kusion_runtime_k8s::KubeChest;
use kusion_store::{Backend, LocalFolder, ObjectLog, Objects, Plug, Told};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{BackoffConfig, ObjectStore, RetryConfig, StaticCredentialProvider};

use crate::address::{Address, Kind};
use crate::pg_tls::Tls;
use crate::web::Web;
use crate::{Cloud, Cluster, Patience, Postgres, Rim, password_in, profile_in};

/// How long one request to a cluster may take.
const KUBE_LIMIT: Duration = Duration::from_secs(15);

/// What a backend may look at when it is opened.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The environment.
    pub variables: Vec<(String, String)>,
    /// The folder of the user, for the files of logins.
    pub home: Option<PathBuf>,
    pub patience: Patience,
    /// For tests.
    pub plug: Plug,
}

impl Surroundings {
    /// Those of this process.
    #[must_use]
    pub fn of_process(patience: Patience) -> Self {
        let text = |(key, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((key.into_string().ok()?, value.into_string().ok()?))
        };
        let variables: Vec<_> = std::env::vars_os().filter_map(text).collect();
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        Surroundings { variables, home, patience, plug: Plug::default() }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(key, value)| key == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// A file that a variable names, or that stands at a place in the user's folder; a missing one is empty.
    pub(crate) fn file(&self, variable: &str, place: &str) -> String {
        let named = self.variable(variable).map(PathBuf::from);
        let path = named.or_else(|| Some(self.home.as_ref()?.join(place)));
        path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
    }
}

/// A backend that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{place} cannot be used: {why}")]
pub struct OpenError {
    pub place: String,
    pub why: String,
}

/// Opens the backend at an address. Nothing is asked yet, except for the kubeconfig.
///
/// # Errors
/// Settings or credentials that cannot be used.
pub fn open(address: &Address, around: &Surroundings) -> Result<Arc<dyn Backend>, OpenError> {
    let plug = around.plug.clone();
    match address.folder() {
        Some(folder) => Ok(Arc::new(LocalFolder::with_plug(folder, plug))),
        None if log::log_enabled!(log::Level::Debug) => {
            Ok(Arc::new(ObjectLog::with_plug(Told(objects(address, around)?), plug)))
        }
        None => Ok(Arc::new(ObjectLog::with_plug(objects(address, around)?, plug))),
    }
}

/// Opens the medium below a shared backend: its objects.
///
/// # Errors
/// Settings or credentials that cannot be used; a folder, which has none.
pub fn objects(address: &Address, around: &Surroundings) -> Result<Arc<dyn Objects>, OpenError> {
    let shown = address.to_string();
    let failed = |why: String| OpenError { place: shown.clone(), why };
    let rim = Rim::start(around.patience.clone()).map_err(|error| failed(error.to_string()))?;
    let store = match address.kind {
        Kind::File => return Err(failed("a folder keeps files, not objects".to_owned())),
        Kind::Postgres => return Ok(Arc::new(postgres(address, around, rim).map_err(failed)?)),
        Kind::Kubernetes => return Ok(Arc::new(kubernetes(address, rim).map_err(failed)?)),
        Kind::Google => google(address, around),
        Kind::Azure => azure(address, around),
        Kind::S3 => s3(address, around),
    };
    let store = store.map_err(|error| failed(error.to_string()))?;
    let scheme = shown.split("://").next().unwrap_or_default();
    let bucket = format!("{scheme}://{}", address.root);
    Ok(Arc::new(Cloud::new(store, rim, &bucket, &address.prefix)))
}

/// No second tries inside: a lost answer must be seen here, or our own write would look like another's.
fn once() -> RetryConfig {
    RetryConfig { backoff: BackoffConfig::default(), max_retries: 0, retry_timeout: Duration::ZERO }
}

fn s3(address: &Address, around: &Surroundings) -> object_store::Result<Arc<dyn ObjectStore>> {
    let option = |name: &str| address.options.get(name).cloned();
    let mut builder = AmazonS3Builder::new();
    let profile = option("profile").or_else(|| around.variable("AWS_PROFILE").map(str::to_owned));
    let profile = profile.unwrap_or_else(|| "default".to_owned());
    let in_file = profile_in(&around.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"), &profile);
    let config = profile_in(&around.file("AWS_CONFIG_FILE", ".aws/config"), &profile);
    let region = in_file.region.or(config.region);
    let weakest = [
        (AmazonS3ConfigKey::Region, region),
        (AmazonS3ConfigKey::AccessKeyId, in_file.access_key_id),
        (AmazonS3ConfigKey::SecretAccessKey, in_file.secret_access_key),
        (AmazonS3ConfigKey::Token, in_file.session_token),
    ];
    // The file's login counts as a whole: half of it with half of the environment's would be neither.
    let named = around.variable("AWS_ACCESS_KEY_ID").is_some();
    for (key, value) in weakest {
        if let Some(value) = value.filter(|_| key == AmazonS3ConfigKey::Region || !named) {
            builder = builder.with_config(key, value);
        }
    }
    // AWS_REGION is stronger than AWS_DEFAULT_REGION.
    let default_region = around.variable("AWS_DEFAULT_REGION").map(|region| ("AWS_REGION", region));
    let variables = around.variables.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in
        default_region.into_iter().chain(variables.filter(|(key, _)| *key != "AWS_DEFAULT_REGION"))
    {
        if key.starts_with("AWS_")
            && let Ok(key) = AmazonS3ConfigKey::from_str(&key.to_ascii_lowercase())
        {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(region) = option("region") {
        builder = builder.with_region(region);
    }
    let endpoint = option("endpoint");
    if let Some(endpoint) = &endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let (Some(user), Some(password)) = (&address.login.user, &address.login.password) {
        builder = builder.with_access_key_id(user).with_secret_access_key(password);
    }
    let hosted = option("path-style").is_some_and(|value| matches!(value.as_str(), "false" | "0" | "no"));
    let store = builder
        .with_bucket_name(&address.root)
        .with_virtual_hosted_style_request(hosted)
        .with_allow_http(endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")))
        .with_retry(once())
        .with_http_connector(Web)
        .build()?;
    Ok(Arc::new(store))
}

fn google(address: &Address, around: &Surroundings) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = GoogleCloudStorageBuilder::new();
    for (key, value) in &around.variables {
        if key.starts_with("GOOGLE_")
            && let Ok(key) = GoogleConfigKey::from_str(&key.to_ascii_lowercase())
        {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(endpoint) = address.options.get("endpoint") {
        builder = builder.with_base_url(endpoint);
    }
    // The library asks for a token before each write all the same; a server on this machine wants none.
    if around.variable("GOOGLE_SKIP_SIGNATURE").is_some_and(|value| value == "true") {
        let nobody = StaticCredentialProvider::new(GcpCredential { bearer: String::new() });
        builder = builder.with_credentials(Arc::new(nobody));
    }
    let store =
        builder.with_bucket_name(&address.root).with_retry(once()).with_http_connector(Web).build()?;
    Ok(Arc::new(store))
}

fn azure(address: &Address, around: &Surroundings) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::new();
    for (key, value) in &around.variables {
        if key.starts_with("AZURE_")
            && let Ok(key) = AzureConfigKey::from_str(&key.to_ascii_lowercase())
        {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(account) = address.options.get("account") {
        builder = builder.with_account(account);
    }
    if let Some(endpoint) = address.options.get("endpoint") {
        builder = builder.with_endpoint(endpoint.clone()).with_allow_http(endpoint.starts_with("http://"));
    }
    let store =
        builder.with_container_name(&address.root).with_retry(once()).with_http_connector(Web).build()?;
    Ok(Arc::new(store))
}

fn postgres(address: &Address, around: &Surroundings, rim: Arc<Rim>) -> Result<Postgres, String> {
    let option = |name: &str| address.options.get(name).map(String::as_str);
    let variable = |name: &str| around.variable(name);
    let (host, port) = match address.root.rsplit_once(':') {
        Some((host, port)) => (host, port),
        None => (address.root.as_str(), variable("PGPORT").unwrap_or("5432")),
    };
    let host = if host.is_empty() { variable("PGHOST").unwrap_or("localhost") } else { host };
    let named = address.login.user.as_deref().or_else(|| variable("PGUSER")).or_else(|| variable("USER"));
    let (user, database) = (named.unwrap_or("postgres"), address.prefix.as_str());
    let password = address.login.password.clone().or_else(|| variable("PGPASSWORD").map(str::to_owned));
    let password =
        password.or_else(|| password_in(&around.file("PGPASSFILE", ".pgpass"), [host, port, database, user]));
    let address_of = |host: &str| host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    let near = host.starts_with('/')
        || host == "localhost"
        || address_of(host).is_ok_and(|address| address.is_loopback());
    let mode = option("sslmode").or_else(|| variable("PGSSLMODE"));
    // On this machine nobody listens in, and the certificate of a usual installation is signed by nobody.
    let mode = match mode.unwrap_or(if near { "disable" } else { "require" }) {
        "disable" => tokio_postgres::config::SslMode::Disable,
        "allow" | "prefer" => tokio_postgres::config::SslMode::Prefer,
        "require" | "verify-ca" | "verify-full" => tokio_postgres::config::SslMode::Require,
        other => return Err(format!("`{other}` is no sslmode; use disable, prefer or require")),
    };
    let mut config = tokio_postgres::Config::new();
    let seconds = option("connect_timeout")
        .map_or(Ok(5), |text| text.parse())
        .map_err(|_| "connect_timeout is no number of seconds")?;
    config
        .host(host.trim_matches(['[', ']']))
        .port(port.parse().map_err(|_| format!("`{port}` is no port"))?)
        .user(user)
        .dbname(database)
        .application_name(option("application_name").unwrap_or("kusion"))
        .connect_timeout(Duration::from_secs(seconds))
        .ssl_mode(mode);
    if let Some(password) = password {
        config.password(password);
    }
    let authorities = option("sslrootcert").or_else(|| variable("PGSSLROOTCERT")).map(Path::new);
    let tls = Tls::new(authorities)
        .map_err(|error| format!("the certificates to trust cannot be read: {error}"))?;
    let shown = format!("postgres://{}/{}", address.root, address.prefix);
    Ok(Postgres::new(config, tls, option("schema").unwrap_or("kusion"), rim, &shown))
}

fn kubernetes(address: &Address, rim: Arc<Rim>) -> Result<Cluster, String> {
    let (file, context) =
        (address.options.get("kubeconfig").cloned(), address.options.get("context").cloned());
    let connect =
        async move { kusion_runtime_k8s::connect(file.as_deref().map(Path::new), context.as_deref()).await };
    let connected =
        rim.wait(connect).ok_or("the connection was not set up")?.map_err(|error| error.to_string())?;
    let chest = KubeChest::new(connected.client, &address.root, KUBE_LIMIT);
    Ok(Cluster::new(chest, rim, &format!("kubernetes://{}", address.root), &address.prefix))
}

//! Finding the cluster: kubeconfig file and context.

use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kusion_model::sha256_hex;

/// A client and what people call it.
pub struct Connected {
    pub client: Client,
    /// The context that was chosen.
    pub context: String,
    pub server: String,
    pub namespace: String,
    /// SHA-256 of the authorities that the kubeconfig trusts for this server; absent if it names none.
    pub authority: Option<String>,
}

/// A cluster that cannot be named.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the kubeconfig cannot be read: {0}")]
    Kubeconfig(String),
    #[error("context `{wanted}` is not in the kubeconfig; there are: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    UnknownContext { wanted: String, known: Vec<String> },
    #[error("the kubeconfig names no current context; choose one with --context: {}", known.join(", "))]
    NoContext { known: Vec<String> },
    #[error("the client cannot be set up for context `{context}`: {message}")]
    Client { context: String, message: String },
}

/// Whom to act as, where the server allows it; empty: as the kubeconfig says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub user: Option<String>,
    pub groups: Vec<String>,
}

/// Opens the client of a context as whom the kubeconfig says.
///
/// # Errors
/// A kubeconfig or a context that cannot be used.
pub async fn connect(file: Option<&Path>, context: Option<&str>) -> Result<Connected, ConnectError> {
    connect_as(file, context, &Identity::default()).await
}

/// Opens the client of a context; `None` is the current context, no file means `$KUBECONFIG` or the default file.
/// Nothing is sent yet. Must be called inside a Tokio runtime.
///
/// # Errors
/// A kubeconfig or a context that cannot be used.
pub async fn connect_as(
    file: Option<&Path>,
    context: Option<&str>,
    identity: &Identity,
) -> Result<Connected, ConnectError> {
    let read = match file {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    let kubeconfig = read.map_err(|e| ConnectError::Kubeconfig(unread(&e)))?;
    let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let chosen = context.map(str::to_owned).or_else(|| kubeconfig.current_context.clone());
    let context =
        chosen.filter(|name| !name.is_empty()).ok_or(ConnectError::NoContext { known: known.clone() })?;
    if !known.contains(&context) {
        return Err(ConnectError::UnknownContext { wanted: context, known });
    }
    let failed = |message: String| ConnectError::Client { context: context.clone(), message };
    let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|e| failed(e.to_string()))?;
    // The executor retries, with its own clock and its own events.
    config.default_retry = false;
    if identity.user.is_some() {
        config.auth_info.impersonate.clone_from(&identity.user);
    }
    if !identity.groups.is_empty() {
        config.auth_info.impersonate_groups = Some(identity.groups.clone());
    }
    let (server, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
    let authority = config.root_cert.as_ref().map(|certificates| sha256_hex(&certificates.concat()));
    let client = crate::told::client(config, &context).map_err(|e| failed(e.to_string()))?;
    Ok(Connected { client, context, server, namespace, authority })
}

/// One context of a kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextInfo {
    pub name: String,
    pub server: String,
    /// The file's own current context.
    pub current: bool,
}

/// Lists the contexts of a kubeconfig; no file means `$KUBECONFIG` or the default file.
///
/// # Errors
/// A file that cannot be read.
pub fn contexts(file: Option<&Path>) -> Result<Vec<ContextInfo>, ConnectError> {
    let read = match file {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    let kubeconfig = read.map_err(|e| ConnectError::Kubeconfig(unread(&e)))?;
    let server = |name: &str| {
        let cluster = kubeconfig.clusters.iter().find(|cluster| cluster.name == name);
        cluster.and_then(|named| named.cluster.as_ref()?.server.clone()).unwrap_or_default()
    };
    let info = |named: &kube::config::NamedContext| ContextInfo {
        name: named.name.clone(),
        server: named.context.as_ref().map(|context| server(&context.cluster)).unwrap_or_default(),
        current: kubeconfig.current_context.as_ref() == Some(&named.name),
    };
    Ok(kubeconfig.contexts.iter().map(info).collect())
}

/// Why a kubeconfig cannot be read, without the quotes that come with a path inside a text.
fn unread(error: &kube::config::KubeconfigError) -> String {
    error.to_string().replace("'\"", "`").replace("\"'", "`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn impersonation_goes_with_every_request() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             clusters: [{{name: a, cluster: {{server: \"{server}\"}}}}]\nusers: [{{name: a, user: {{token: t}}}}]\n"
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let seen = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = vec![0; 4096];
            let count = stream.read(&mut bytes).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            String::from_utf8_lossy(&bytes[..count]).to_lowercase()
        });
        let identity = Identity { user: Some("li".into()), groups: vec!["ops".into(), "dev".into()] };
        let connected = connect_as(Some(file.path()), None, &identity).await.unwrap();
        let request = http::Request::get("/version").body(kube::client::Body::empty()).unwrap();
        connected.client.send(request).await.unwrap();
        let seen = seen.await.unwrap();
        for header in ["impersonate-user: li", "impersonate-group: ops", "impersonate-group: dev"] {
            assert!(seen.contains(header), "{header} in {seen}");
        }
    }
}

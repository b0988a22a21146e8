//! Vault, by the answers that its documentation shows: a small server on loopback gives them. No Vault runs here.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use kusion_model::{SecretRef, StoreConfig};
use kusion_secrets::{Refusal, SecretStore, open};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const TOKEN: &str = "hvs.canary-token";

/// What was asked: the first line, the token, the body.
type Asked = Arc<Mutex<Vec<(String, String, String)>>>;

/// Serves answers until the test ends.
async fn vault() -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = vec![0; 8_192];
            let mut used = 0;
            // Head and body come in one or two pieces.
            while let Ok(n) = stream.read(&mut bytes[used..]).await {
                used += n;
                let text = String::from_utf8_lossy(&bytes[..used]).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let field = |name: &str| {
                    let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
                    line.and_then(|line| line.split_once(": "))
                        .map(|(_, value)| value.to_owned())
                        .unwrap_or_default()
                };
                if body.len() < field("content-length").parse().unwrap_or(0) {
                    continue;
                }
                let first = head.lines().next().unwrap_or_default().to_owned();
                let (status, answer) = answer(&first, &field("x-vault-token"), body);
                seen.lock().unwrap().push((first, field("x-vault-token"), body.to_owned()));
                let reply = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
                    answer.len()
                );
                let _ = stream.write_all(reply.as_bytes()).await;
                break;
            }
        }
    });
    (format!("http://{address}"), asked)
}

fn answer(first: &str, token: &str, body: &str) -> (u16, String) {
    let path = first.split(' ').nth(1).unwrap_or_default();
    if path == "/v1/auth/approle/login" {
        return match serde_json::from_str::<Value>(body).unwrap()["secret_id"] == "canary-secret-id" {
            true => (200, json!({"auth": {"client_token": TOKEN, "lease_duration": 3600}}).to_string()),
            false => (400, json!({"errors": ["invalid role or secret ID"]}).to_string()),
        };
    }
    if token != TOKEN {
        return (403, json!({"errors": ["permission denied"]}).to_string());
    }
    let v2 = |data: Value| {
        json!({"request_id": "1", "data": {"data": data, "metadata": {"version": 2}}}).to_string()
    };
    match path {
        "/v1/secret/data/team/db" => (200, v2(json!({"password": "new-canary", "deep": {"key": [1, "x"]}}))),
        "/v1/secret/data/team/db?version=1" => (200, v2(json!({"password": "old-canary"}))),
        "/v1/secret/data/deleted" => (
            404,
            json!({"data": {"data": null, "metadata": {"deletion_time": "2026-01-01T00:00:00Z"}}})
                .to_string(),
        ),
        "/v1/kv/db" => (200, json!({"data": {"password": "flat-canary"}}).to_string()),
        "/v1/secret/data/page" => (200, "<html>login</html>".to_owned()),
        "/v1/secret/data/sealed" => (503, json!({"errors": ["Vault is sealed"]}).to_string()),
        _ => (404, json!({"errors": []}).to_string()),
    }
}

fn store(settings: Value, folder: &std::path::Path) -> Arc<dyn SecretStore> {
    let config = StoreConfig::from_value(&json!({"provider": {"vault": settings}})).unwrap();
    open(&config, folder).unwrap().unwrap()
}

async fn get(store: &Arc<dyn SecretStore>, text: &str) -> Result<String, (Refusal, String)> {
    let reference = SecretRef::parse(text).unwrap().unwrap();
    let value = store.get(&reference).await;
    value
        .map(|value| value.expose_text().unwrap().to_owned())
        .map_err(|e| (e.kind, format!("{} {:?}", e.message, e.next)))
}

#[tokio::test]
async fn both_engines_versions_and_properties() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), format!("{TOKEN}\n")).unwrap();
    let (server, asked) = vault().await;
    let auth = json!({"token": {"env": "KUSION_TEST_NO_SUCH_TOKEN", "file": "token"}});
    let v2 = store(json!({"server": server, "auth": auth}), folder.path());
    assert_eq!(get(&v2, "ref://team/db/password").await.unwrap(), "new-canary");
    assert_eq!(get(&v2, "ref://team/db/password?version=1").await.unwrap(), "old-canary");
    assert_eq!(get(&v2, "ref://team/db/deep.key.1").await.unwrap(), "x");
    assert_eq!(get(&v2, "ref://team/db/deep").await.unwrap(), r#"{"key":[1,"x"]}"#);
    let v1 = store(json!({"server": server, "path": "kv", "version": "v1", "auth": auth}), folder.path());
    assert_eq!(get(&v1, "ref://db/password").await.unwrap(), "flat-canary");
    assert!(asked.lock().unwrap().iter().all(|(_, token, _)| token == TOKEN));
    let (kind, text) = get(&v2, "ref://team/db/user").await.unwrap_err();
    assert!(kind == Refusal::NotFound && text.contains("it has: password, deep"), "{text}");
    assert!(!text.contains("canary"));
    assert_eq!(get(&v2, "ref://nowhere/x").await.unwrap_err().0, Refusal::NotFound);
    assert!(get(&v2, "ref://deleted/x").await.unwrap_err().1.contains("was deleted"));
    assert_eq!(get(&v2, "ref://sealed/x").await.unwrap_err().0, Refusal::Unavailable);
    assert_eq!(get(&v2, "ref://page/x").await.unwrap_err().0, Refusal::Unavailable);
    assert_eq!(get(&v1, "ref://db/password?version=1").await.unwrap_err().0, Refusal::Unusable);
    assert_eq!(get(&v2, "ref://db/password?version=x").await.unwrap_err().0, Refusal::Unusable);
}

#[tokio::test]
async fn an_app_role_logs_in_once_and_a_wrong_one_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("id"), "canary-secret-id").unwrap();
    std::fs::write(folder.path().join("wrong"), "other-secret-id").unwrap();
    let (server, asked) = vault().await;
    let role = |file: &str| json!({"appRole": {"roleId": "r", "secretIdEnv": "KUSION_TEST_NO_ID", "secretIdFile": file}});
    let good = store(json!({"server": server, "auth": role("id")}), folder.path());
    assert_eq!(get(&good, "ref://team/db/password").await.unwrap(), "new-canary");
    assert_eq!(get(&good, "ref://team/db/password").await.unwrap(), "new-canary");
    let logins = asked.lock().unwrap().iter().filter(|(first, ..)| first.contains("login")).count();
    assert_eq!(logins, 1);
    let bad = store(json!({"server": server, "auth": role("wrong")}), folder.path());
    let (kind, text) = get(&bad, "ref://team/db/password").await.unwrap_err();
    assert!(
        kind == Refusal::Denied && text.contains("invalid role") && !text.contains("other-secret-id"),
        "{text}"
    );
}

#[tokio::test]
async fn nobody_there_and_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let auth = json!({"token": {"env": "KUSION_TEST_NO_SUCH_TOKEN"}});
    let gone = store(json!({"server": "http://127.0.0.1:1", "auth": auth}), folder.path());
    assert_eq!(get(&gone, "ref://a/b").await.unwrap_err().0, Refusal::Denied);
    std::fs::write(folder.path().join("token"), TOKEN).unwrap();
    let auth = json!({"token": {"env": "KUSION_TEST_NO_SUCH_TOKEN", "file": "token"}});
    let gone = store(json!({"server": "http://127.0.0.1:1", "auth": auth}), folder.path());
    let (kind, text) = get(&gone, "ref://a/b").await.unwrap_err();
    assert!(kind == Refusal::Unavailable && text.contains("127.0.0.1:1"), "{text}");
}

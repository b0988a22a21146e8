//! A server that gives the recorded answers of Vault (`cargo xtask record vault`), and a few that a healthy Vault does not give.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testenv::vaults::ROOT_TOKEN;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// The token that a recorded login gives.
pub(crate) const LOGGED_IN: &str = "(client_token)";

/// What was asked: the first line, the token, the body.
pub(crate) type Asked = Arc<Mutex<Vec<(String, String, String)>>>;

/// Serves answers until the test ends.
pub(crate) async fn serve() -> (String, Asked) {
    let recorded: Vec<Value> = serde_json::from_str(include_str!("fixtures/vault.json")).unwrap();
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
                let (status, answer) = answer(&recorded, &first, &field("x-vault-token"), body);
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

fn answer(recorded: &[Value], first: &str, token: &str, body: &str) -> (u64, String) {
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match path {
        "/v1/secret/data/page" => return (200, "<html>login</html>".to_owned()),
        "/v1/secret/data/sealed" => return (503, json!({"errors": ["Vault is sealed"]}).to_string()),
        _ => {}
    }
    let known = token == ROOT_TOKEN || token == LOGGED_IN;
    let found = recorded.iter().find(|row| {
        let same_body = row["body"] == "" || row["body"] == body;
        row["method"] == method && row["path"] == path && same_body && row["known"] == known
    });
    match found {
        Some(row) => (row["status"].as_u64().unwrap(), row["answer"].to_string()),
        None => (599, json!({"errors": [format!("not recorded: {first}")]}).to_string()),
    }
}

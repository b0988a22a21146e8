//! Vault: the same questions to its recorded answers and, where it is built, to Vault itself.

use std::sync::{Arc, OnceLock};

use base_secret::{KeyService as _, SecretValue};
use kusion_secrets::{Refusal, SecretStore, Transit};
use serde_json::{Value, json};
use testenv::vaults::{ROOT_TOKEN, Served, vault};

use crate::replay::serve;
use crate::{get, reference};

fn store(settings: Value, folder: &std::path::Path) -> Arc<dyn SecretStore> {
    crate::store("vault", settings, folder)
}

/// Vault itself, made ready once.
fn live() -> Option<&'static Served> {
    static READY: OnceLock<()> = OnceLock::new();
    let server = vault()?;
    READY.get_or_init(|| server.set_up().unwrap());
    Some(server)
}

fn token_auth(folder: &std::path::Path, token: &str) -> Value {
    std::fs::write(folder.join("token"), format!("{token}\n")).unwrap();
    json!({"token": {"env": "KUSION_TEST_NO_SUCH_TOKEN", "file": "token"}})
}

/// What holds on recorded answers and on Vault.
async fn reads_both_engines(server: &str) {
    let folder = tempfile::tempdir().unwrap();
    let auth = token_auth(folder.path(), ROOT_TOKEN);
    let v2 = store(json!({"server": server, "auth": auth}), folder.path());
    assert_eq!(get(&v2, "ref://team/db/password").await.unwrap(), "new-canary");
    assert_eq!(get(&v2, "ref://team/db/password?version=1").await.unwrap(), "old-canary");
    assert_eq!(get(&v2, "ref://team/db/deep.key.1").await.unwrap(), "x");
    assert_eq!(get(&v2, "ref://team/db/deep").await.unwrap(), r#"{"key":[1,"x"]}"#);
    let v1 = store(json!({"server": server, "path": "kv", "version": "v1", "auth": auth}), folder.path());
    assert_eq!(get(&v1, "ref://db/password").await.unwrap(), "flat-canary");
    let (kind, text) = get(&v2, "ref://team/db/user").await.unwrap_err();
    assert!(kind == Refusal::NotFound && text.contains("it has: ") && text.contains("password"), "{text}");
    assert!(!text.contains("canary"));
    assert_eq!(get(&v2, "ref://nowhere/x").await.unwrap_err().0, Refusal::NotFound);
    assert!(get(&v2, "ref://deleted/x").await.unwrap_err().1.contains("was deleted"));
    assert_eq!(get(&v1, "ref://nowhere/x").await.unwrap_err().0, Refusal::NotFound);
    assert_eq!(get(&v1, "ref://db/password?version=1").await.unwrap_err().0, Refusal::Unusable);
    assert_eq!(get(&v2, "ref://db/password?version=x").await.unwrap_err().0, Refusal::Unusable);
    let auth = token_auth(folder.path(), "wrong");
    let stranger = store(json!({"server": server, "auth": auth}), folder.path());
    let (kind, text) = get(&stranger, "ref://team/db/password").await.unwrap_err();
    assert!(kind == Refusal::Denied && text.contains("permission denied"), "{text}");
}

/// The same.
async fn logs_in_by_role(server: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("id"), "canary-secret-id").unwrap();
    std::fs::write(folder.path().join("wrong"), "other-secret-id").unwrap();
    let role = |file: &str| json!({"appRole": {"roleId": "shop-role", "secretIdEnv": "KUSION_TEST_NO_ID", "secretIdFile": file}});
    let good = store(json!({"server": server, "auth": role("id")}), folder.path());
    assert_eq!(get(&good, "ref://team/db/password").await.unwrap(), "new-canary");
    assert_eq!(get(&good, "ref://team/db/password").await.unwrap(), "new-canary");
    let bad = store(json!({"server": server, "auth": role("wrong")}), folder.path());
    let (kind, text) = get(&bad, "ref://team/db/password").await.unwrap_err();
    assert!(kind == Refusal::Denied && text.contains("invalid"), "{text}");
    assert!(!text.contains("other-secret-id"));
}

#[tokio::test]
async fn recorded_answers_are_read() {
    let (server, asked) = serve().await;
    reads_both_engines(&server).await;
    assert!(asked.lock().unwrap().iter().all(|(_, token, _)| !token.is_empty()));
    let before = asked.lock().unwrap().len();
    logs_in_by_role(&server).await;
    let asked = asked.lock().unwrap();
    let logins = asked[before..].iter().filter(|(first, ..)| first.contains("login")).count();
    assert_eq!(logins, 2, "one for each store, however much is asked");
}

#[tokio::test]
async fn vault_itself_is_read() {
    let Some(server) = live() else { return };
    reads_both_engines(&server.url).await;
    logs_in_by_role(&server.url).await;
}

#[tokio::test]
async fn answers_that_are_none_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = serve().await;
    let auth = token_auth(folder.path(), ROOT_TOKEN);
    let v2 = store(json!({"server": server, "auth": auth}), folder.path());
    assert_eq!(get(&v2, "ref://sealed/x").await.unwrap_err().0, Refusal::Unavailable);
    assert_eq!(get(&v2, "ref://page/x").await.unwrap_err().0, Refusal::Unavailable);
    let auth = json!({"token": {"env": "KUSION_TEST_NO_SUCH_TOKEN"}});
    let gone = store(json!({"server": "http://127.0.0.1:1", "auth": auth}), folder.path());
    assert_eq!(get(&gone, "ref://a/b").await.unwrap_err().0, Refusal::Denied);
    let auth = token_auth(folder.path(), ROOT_TOKEN);
    let gone = store(json!({"server": "http://127.0.0.1:1", "auth": auth}), folder.path());
    let (kind, text) = get(&gone, "ref://a/b").await.unwrap_err();
    assert!(kind == Refusal::Unavailable && text.contains("127.0.0.1:1"), "{text}");
}

#[tokio::test]
async fn a_value_is_written_and_the_others_stay() {
    let Some(server) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let auth = token_auth(folder.path(), ROOT_TOKEN);
    let v2 = store(json!({"server": server.url, "auth": auth}), folder.path());
    let v1 = store(json!({"server": server.url, "path": "kv", "version": "v1", "auth": auth}), folder.path());
    for (name, store) in [("ref://written/one", &v2), ("ref://written/one", &v1)] {
        for value in ["first-canary", "second-canary"] {
            store.set(&reference(name), &SecretValue::from(value.to_owned())).await.unwrap();
            assert_eq!(get(store, name).await.unwrap(), value);
        }
        store.set(&reference("ref://written/two"), &SecretValue::from("x-canary".to_owned())).await.unwrap();
        assert_eq!(get(store, name).await.unwrap(), "second-canary", "the other property stays");
    }
    assert_eq!(get(&v2, "ref://written/one?version=1").await.unwrap(), "first-canary");
}

/// Vault's method for Kubernetes is not in its minimal build; that for signed tokens takes the same request (role, jwt) at the
/// same kind of address, so the login is carried out against it.
#[tokio::test]
async fn a_service_account_logs_in_with_its_token() {
    let Some(server) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let openssl = |arguments: &[&str]| {
        let done = std::process::Command::new("openssl").args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    openssl(&["genrsa", "-out", &at("key"), "2048"]);
    openssl(&["rsa", "-in", &at("key"), "-pubout", "-out", &at("pub")]);
    let encode = |bytes: &[u8]| data_encoding::BASE64URL_NOPAD.encode(bytes);
    let subject = "system:serviceaccount:shop:deployer";
    let claims = json!({"iss": "kubernetes", "sub": subject, "aud": "vault", "iat": 1, "nbf": 1, "exp": 4_000_000_000_u64});
    let signed = format!("{}.{}", encode(br#"{"alg":"RS256"}"#), encode(claims.to_string().as_bytes()));
    std::fs::write(folder.path().join("text"), &signed).unwrap();
    openssl(&["dgst", "-sha256", "-sign", &at("key"), "-out", &at("sig"), &at("text")]);
    let token = format!("{signed}.{}", encode(&std::fs::read(at("sig")).unwrap()));
    std::fs::write(folder.path().join("jwt"), token).unwrap();
    let public = std::fs::read_to_string(at("pub")).unwrap();
    let config = json!({"jwt_validation_pubkeys": [public]}).to_string();
    let role = json!({"role_type": "jwt", "user_claim": "sub", "bound_subject": subject, "bound_audiences": ["vault"], "token_policies": ["team"]});
    let setup = [
        ("/v1/sys/auth/cluster", json!({"type": "jwt"}).to_string()),
        ("/v1/auth/cluster/config", config),
        ("/v1/auth/cluster/role/shop", role.to_string()),
    ];
    for (path, body) in setup {
        let answer = server.ask(("POST", path, ROOT_TOKEN, Box::leak(body.into_boxed_str()))).unwrap();
        assert!(answer.status < 300, "{path}: {}", answer.text());
    }
    let auth = |role: &str| json!({"kubernetes": {"role": role, "mount": "cluster", "tokenFile": at("jwt")}});
    let good = store(json!({"server": server.url, "auth": auth("shop")}), folder.path());
    assert_eq!(get(&good, "ref://team/db/password").await.unwrap(), "new-canary");
    let other = store(json!({"server": server.url, "auth": auth("nobody")}), folder.path());
    assert_eq!(get(&other, "ref://team/db/password").await.unwrap_err().0, Refusal::Denied);
}

#[test]
fn transit_hides_a_key_and_gives_it_back() {
    let Some(server) = live() else { return };
    let environment = [("VAULT_ADDR", server.url.as_str()), ("VAULT_TOKEN", ROOT_TOKEN)];
    crate::in_a_process("vault::transit_in_its_process", &environment);
}

#[test]
#[ignore = "started by another test, with an environment of its own"]
fn transit_in_its_process() {
    let transit = Transit::from_environment("transit/kusion").unwrap();
    let wrapped = transit.wrap(&[7; 32]).unwrap();
    assert!(wrapped.starts_with(b"vault:v"), "{}", String::from_utf8_lossy(&wrapped));
    assert_eq!(transit.unwrap(&wrapped).unwrap().as_slice(), [7; 32]);
    // The key of the service is changed: what it hid before still opens.
    let address = std::env::var("VAULT_ADDR").unwrap();
    let mut client = testenv::http::Client::new(address.trim_start_matches("http://"));
    client = client.with_header("X-Vault-Token", ROOT_TOKEN);
    let answer = client.request("POST", "/v1/transit/keys/kusion/rotate", "application/json", b"{}").unwrap();
    assert!(answer.status < 300, "{}", answer.text());
    assert_eq!(transit.unwrap(&wrapped).unwrap().as_slice(), [7; 32]);
    assert_ne!(transit.wrap(&[7; 32]).unwrap()[..9], wrapped[..9], "the version of the key stands in front");
    let told = transit.unwrap(b"vault:v1:AAAA").unwrap_err();
    assert!(told.contains("Vault refuses"), "{told}");
    let missing = Transit::from_environment("transit/nobody").unwrap();
    assert!(missing.unwrap(&wrapped).is_err());
    assert!(Transit::from_environment("kusion").is_err());
}

//! Identity tokens: a real OpenID provider gives them, and every way to forge one is refused.

use kusion_model::Identity;
use kusion_secrets::oidc::{Expected, identify};
use serde_json::Value;
use testenv::vaults::openid;

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn a_token_of_a_provider_is_believed_and_a_forged_one_is_not() {
    let Some(server) = openid() else { return };
    let login = data_encoding::BASE64.encode(b"pipeline:s3cret");
    let mut client = testenv::http::Client::new(server.url.trim_start_matches("http://"))
        .with_header("Authorization", &format!("Basic {login}"));
    let body = b"grant_type=client_credentials";
    let answer = client.request("POST", "/token", "application/x-www-form-urlencoded", body).unwrap();
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let token = answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer} {}", server.log()));
    let wanted = Expected { issuer: Some(server.url.clone()), audience: Some("kusion".to_owned()) };
    let found = identify(token, now(), &wanted).await.unwrap();
    let Identity::Token { issuer, subject, .. } = &found else { panic!("{found:?}") };
    assert_eq!((issuer, subject.as_str()), (&server.url, "pipeline"));

    let refused = async |token: &str, at: u64, wanted: &Expected| {
        identify(token, at, wanted).await.unwrap_err().message
    };
    assert!(refused(token, now() + 3_600, &wanted).await.contains("expired"));
    let other = Expected { audience: Some("billing".to_owned()), ..wanted.clone() };
    assert!(refused(token, now(), &other).await.contains("not meant for"));
    let other = Expected { issuer: Some("https://elsewhere".to_owned()), ..wanted.clone() };
    assert!(refused(token, now(), &other).await.contains("expected issuer"));
    let parts: Vec<&str> = token.split('.').collect();
    let encode = |text: &str| data_encoding::BASE64URL_NOPAD.encode(text.as_bytes());
    let claims = data_encoding::BASE64URL_NOPAD.decode(parts[1].as_bytes()).unwrap();
    let claims = String::from_utf8(claims).unwrap().replace("pipeline", "director");
    let forged = format!("{}.{}.{}", parts[0], encode(&claims), parts[2]);
    assert!(refused(&forged, now(), &wanted).await.contains("not signed by a key"));
    let unsigned = format!("{}.{}.", encode(r#"{"alg":"none"}"#), parts[1]);
    assert!(refused(&unsigned, now(), &wanted).await.contains("not signed by a key"));
    assert!(refused("abc", now(), &wanted).await.contains("no signed token"));
    assert!(
        refused(
            &format!("{}.{}.{}", parts[0], encode(r#"{"iss":"http://far.example"}"#), parts[2]),
            now(),
            &Expected::default()
        )
        .await
        .contains("TLS")
    );
}

//! AWS Secrets Manager and KMS, as moto plays them. Moto does not check signatures: those are compared with botocore's.

use base_secret::{KeyService as _, SecretValue};
use kusion_secrets::{Kms, Refusal};
use serde_json::{Value, json};
use testenv::vaults::moto;

use crate::{get, in_a_process, reference, store};

fn ask(url: &str, target: &str, body: &Value) -> Value {
    // Moto chooses the service by the scope of the signature.
    let service = if target.starts_with("Trent") { "kms" } else { "secretsmanager" };
    let scope = format!("Credential=test/20260101/eu-west-1/{service}/aws4_request");
    let signed = format!("AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0");
    let mut client = testenv::http::Client::new(url.trim_start_matches("http://"))
        .with_header("X-Amz-Target", target)
        .with_header("Authorization", &signed);
    let answer =
        client.request("POST", "/", "application/x-amz-json-1.1", body.to_string().as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn secrets_manager_and_kms() {
    let Some(server) = moto() else { return };
    let secret = json!({"Name": "team/db", "SecretString": r#"{"password": "old-canary", "user": "app"}"#});
    let first = ask(&server.url, "secretsmanager.CreateSecret", &secret);
    ask(
        &server.url,
        "secretsmanager.CreateSecret",
        &json!({"Name": "plain", "SecretString": "no-json-canary"}),
    );
    let key = ask(&server.url, "TrentService.CreateKey", &json!({}));
    let environment = [
        ("AWS_ENDPOINT_URL", server.url.as_str()),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test-canary"),
        ("AWS_REGION", "eu-west-1"),
        ("FIRST_VERSION", first["VersionId"].as_str().unwrap()),
        ("KMS_KEY", key["KeyMetadata"]["Arn"].as_str().unwrap()),
    ];
    in_a_process("aws::secrets_in_their_process", &environment);
    in_a_process("aws::kms_in_its_process", &environment);
}

#[tokio::test]
#[ignore = "started by another test, with an environment of its own"]
async fn secrets_in_their_process() {
    let aws = store("aws", json!({}), std::path::Path::new("/"));
    assert_eq!(aws.describe(), "aws secrets manager (eu-west-1)");
    assert_eq!(get(&aws, "ref://team/db/password").await.unwrap(), "old-canary");
    aws.set(&reference("ref://team/db/password"), &SecretValue::from("new-canary".to_owned())).await.unwrap();
    assert_eq!(get(&aws, "ref://team/db/password").await.unwrap(), "new-canary");
    assert_eq!(get(&aws, "ref://team/db/user").await.unwrap(), "app", "the other property stays");
    assert_eq!(get(&aws, "ref://team/db/password?version=AWSPREVIOUS").await.unwrap(), "old-canary");
    let version = format!("ref://team/db/password?version=uuid/{}", std::env::var("FIRST_VERSION").unwrap());
    assert_eq!(get(&aws, &version).await.unwrap(), "old-canary");
    let (kind, text) = get(&aws, "ref://nowhere/x").await.unwrap_err();
    assert!(kind == Refusal::NotFound && text.contains("ResourceNotFoundException"), "{text}");
    let (kind, text) = get(&aws, "ref://plain/x").await.unwrap_err();
    assert!(kind == Refusal::Unusable && !text.contains("canary"), "{text}");
    let (kind, text) = get(&aws, "ref://team/db/nothing").await.unwrap_err();
    assert!(kind == Refusal::NotFound && text.contains("password, user"), "{text}");
}

#[test]
#[ignore = "started by another test, with an environment of its own"]
fn kms_in_its_process() {
    let kms = Kms::new(&std::env::var("KMS_KEY").unwrap());
    let wrapped = kms.wrap(&[7; 32]).unwrap();
    assert!(!wrapped.windows(8).any(|part| part == [7; 8]));
    assert_eq!(kms.unwrap(&wrapped).unwrap().as_slice(), [7; 32]);
    let mut flipped = wrapped.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert!(kms.unwrap(&flipped).is_err());
    let told = Kms::new("00000000-0000-0000-0000-000000000000").wrap(&[7; 32]).unwrap_err();
    assert!(told.contains("NotFoundException"), "{told}");
}

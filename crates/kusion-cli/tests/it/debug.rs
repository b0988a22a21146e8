//! `--debug`: every kind of request has its line, nothing else changes, and the file is its owner's alone.

use std::os::unix::fs::PermissionsExt as _;

use testenv::services::S3_LOGIN;

use crate::backends::addresses;
use crate::lab::{Lab, THING};
use crate::stage::Stage;
use crate::text;

const CANARY: &str = "canary-7Xq9-of-the-store";

/// A cluster, a secret store and a repository.
fn stage() -> Stage {
    let stage = Stage::new(&[
        ("project.yaml", "name: shop\nsecretStore: {provider: {env: {prefix: SHOP_}}}\n"),
        ("dev/stack.yaml", "name: dev\n"),
        (
            "dev/main.k",
            "resources = [\n    {apiVersion = \"v1\", kind = \"Namespace\", metadata.name = \"shop-dev\"}\n    \
             {apiVersion = \"v1\", kind = \"Secret\", metadata = {name = \"db\", namespace = \"shop-dev\"}, \
             stringData.password = \"ref://db/password\"}\n]\n",
        ),
    ]);
    std::fs::create_dir_all(stage.path(".git")).unwrap();
    stage
}

fn is_told(line: &str) -> bool {
    line.starts_with('[') && line.contains(" ms] ")
}

/// The lines of `--debug`, and the others.
fn told(stream: &[u8]) -> (Vec<String>, Vec<String>) {
    text(stream).lines().map(str::to_owned).partition(|line| is_told(line))
}

fn has(lines: &[String], parts: &[&str]) -> bool {
    lines.iter().any(|line| parts.iter().all(|part| line.contains(part)))
}

#[test]
fn every_request_to_cluster_state_and_secret_store_is_told() {
    for backend in [vec![String::new()], addresses("debug")].concat() {
        let stage = stage();
        let call = |words: &str| {
            let mut command = stage.command(words);
            command.env("SHOP_DB_PASSWORD", CANARY).env("KUSION_BACKEND", &backend);
            command.env("AWS_ACCESS_KEY_ID", S3_LOGIN.0).env("AWS_SECRET_ACCESS_KEY", S3_LOGIN.1);
            let output = command.output().unwrap();
            assert!(output.status.success(), "kusion {words}: {}", text(&output.stderr));
            assert!(!text(&output.stderr).contains("canary-7Xq9"), "{}", text(&output.stderr));
            output
        };
        let (lines, _) = told(&call("apply dev -y --debug").stderr);
        let wanted: &[&[&str]] = &[
            &["cluster kusion-sandbox", ": GET /api", " 200 in ", " ms"],
            &[
                "cluster kusion-sandbox",
                ": PATCH /api/v1/namespaces/shop-dev/secrets/db?",
                "fieldManager",
                " in ",
            ],
            &["state: append ", " in "],
            &["secret store environment (SHOP_…): get ref://db/password in "],
            &["program git started"],
        ];
        for parts in wanted {
            assert!(has(&lines, parts), "{backend} {parts:?}:\n{}", lines.join("\n"));
        }
        assert!(!lines.iter().any(|line| line.contains("fieldManager=")), "{}", lines.join("\n"));
        let medium = backend.split("://").next().unwrap();
        let is_shared = !medium.is_empty();
        assert_eq!(has(&lines, &["medium: put ", medium, " in "]), is_shared, "{}", lines.join("\n"));
    }
}

#[test]
fn documents_stay_documents_and_silence_stays_silence() {
    let stage = stage();
    let command = |words: &str| {
        let mut command = stage.command(words);
        command.env("SHOP_DB_PASSWORD", CANARY);
        command
    };
    let quiet = command("preview dev -o json").output().unwrap();
    assert_eq!(text(&quiet.stderr), "");
    let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    json(&quiet.stdout);
    // Before the command, by a variable, and in a file that anybody could read.
    let loud = command("--debug preview dev -o json").output().unwrap();
    json(&loud.stdout);
    let (lines, others) = told(&loud.stderr);
    assert!(!lines.is_empty() && others.is_empty(), "{}", text(&loud.stderr));
    let loud = command("preview dev").env("KUSION_DEBUG", "1").output().unwrap();
    assert!(!told(&loud.stderr).0.is_empty());
    let off = command("preview dev").env("KUSION_DEBUG", "0").output().unwrap();
    assert_eq!(text(&off.stderr), "");
    let log = stage.path("debug.log");
    std::fs::write(&log, "before\n").unwrap();
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o644)).unwrap();
    for _ in 0..2 {
        let filed = command("preview dev --debug=debug.log").output().unwrap();
        assert_eq!(text(&filed.stderr), "");
    }
    let content = std::fs::read_to_string(&log).unwrap();
    assert!(content.starts_with("before\n[") && content.contains("] cluster "), "{content}");
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    command("preview dev --debug=new.log").output().unwrap();
    assert_eq!(std::fs::metadata(stage.path("new.log")).unwrap().permissions().mode() & 0o777, 0o600);
    let refused = command("preview dev --debug=nowhere/debug.log").output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("the file for --debug cannot be written"));
}

#[test]
fn calls_of_providers_and_what_they_say_are_told_by_provider() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[(THING, "name = \"one\", secret = \"CANARY-5519\"", "")]);
    let quiet = lab.call("apply dev -y", 0);
    assert!(!quiet.lines().any(is_told), "{quiet}");
    // All that the library of the provider can say about its calls: values are in the fields of its lines.
    let all = [("KUSION_DEBUG", "1"), ("TF_LOG", "trace"), ("TF_LOG_SDK", "trace")];
    let loud = lab.call_in(&all, "destroy dev -y", 0);
    let lines: Vec<String> = loud.lines().filter(|line| is_told(line)).map(str::to_owned).collect();
    for parts in [
        &["program ", "terraform-provider-lab started, process "][..],
        &["provider lab: ReadResource ", THING, " in "],
        &["provider lab: ApplyResourceChange ", THING, " in "],
        &["provider lab: trace: sdk.proto: "],
    ] {
        assert!(has(&lines, parts), "{parts:?}:\n{loud}");
    }
    assert!(!loud.contains("CANARY") && !loud.contains("tf_req_id"), "{loud}");
    let usual = lab.call_in(&[("KUSION_DEBUG", "1")], "apply dev -y", 0);
    assert!(!usual.contains("provider lab: trace: "), "{usual}");
    let dying = [("KUSION_DEBUG", "1"), ("LAB_FAULT", "ReadResource:exit")];
    let dying = lab.call_in(&dying, "preview dev", 5);
    let says = format!("provider lab: ReadResource {THING} failed in ");
    assert!(dying.contains(&says), "{dying}");
    assert!(dying.contains("] provider lab: lab: ended in ReadResource as asked"), "{dying}");
}

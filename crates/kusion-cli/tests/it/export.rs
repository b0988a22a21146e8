//! A release leaves the house signed, and others check it with tools of their own.

use std::process::Command;

use serde_json::Value;

use crate::stage::Stage;
use crate::text;

const FILES: &[(&str, &str)] = &[
    ("project.yaml", "name: shop\n"),
    ("dev/stack.yaml", "name: dev\n"),
    (
        "dev/main.k",
        "resources = [\n    {apiVersion = \"v1\", kind = \"Namespace\", metadata.name = \"shop-dev\"}\n    {apiVersion = \"v1\", kind = \"PersistentVolumeClaim\", metadata = {name = \"data\", namespace = \"shop-dev\"}, spec = {accessModes = [\"ReadWriteOnce\"], resources.requests = {storage = \"1Gi\"}}}\n]\n",
    ),
];

fn git(stage: &Stage, words: &[&str]) {
    let identity = ["-c", "user.name=Li Wei", "-c", "user.email=li@example.com"];
    let mut command = Command::new("git");
    let done = command.arg("-C").arg(stage.folder.path()).args(identity).args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", text(&done.stderr));
}

fn repository() -> Stage {
    let stage = Stage::new(FILES);
    stage.write(".gitignore", "home\ntmp\naudit\n*.pem\n");
    git(&stage, &["init", "-q", "-b", "main"]);
    git(&stage, &["config", "user.name", "Li Wei"]);
    git(&stage, &["config", "user.email", "li@example.com"]);
    git(&stage, &["add", "."]);
    git(&stage, &["commit", "-q", "-m", "first"]);
    stage
}

#[test]
fn a_release_says_who_from_what_and_is_checked_without_us() {
    let stage = repository();
    stage.call("apply dev -y --no-wait", 0);
    let shown: Value = serde_json::from_str(&stage.out("release show dev -o json", 0)).unwrap();
    let release = &shown["release"];
    assert_eq!(release["by"]["identity"]["author"], "Li Wei <li@example.com>", "{release}");
    assert_eq!(
        (&release["source"]["clean"], &release["source"]["branch"]),
        (&true.into(), &"main".into()),
        "{release}"
    );
    assert_eq!(release["source"]["commit"].as_str().map(str::len), Some(40), "{release}");
    assert!(release["models"]["."].as_str().is_some_and(|sum| sum.starts_with("sha256:")), "{release}");
    assert_eq!(release["approvals"][0]["how"], "beforehand", "{release}");
    assert_eq!(release["approvals"][0]["planHash"], release["planHash"], "{release}");
    let proved = stage.out("release verify dev", 0);
    assert!(proved.contains("digests that are recorded") && !proved.contains("no "), "{proved}");

    stage.call("release export dev --to audit", 0);
    let (file, sig) =
        (stage.path("audit/shop-dev-release-1.json"), stage.path("audit/shop-dev-release-1.json.sig"));
    std::fs::write(stage.path("shop.pem"), stage.out("release key dev", 0)).unwrap();
    let openssl = || {
        let mut command = Command::new("openssl");
        command.args(["pkeyutl", "-verify", "-pubin", "-rawin", "-inkey"]).arg(stage.path("shop.pem"));
        command.arg("-in").arg(&file).arg("-sigfile").arg(&sig).output().unwrap().status.success()
    };
    assert!(openssl(), "openssl verifies it");
    python(&stage);
    let with_key = "release verify audit/shop-dev-release-1.json --public-key shop.pem";
    assert!(stage.out(with_key, 0).contains("the signature fits"));
    assert!(stage.out(&format!("{with_key} dev"), 0).contains("the state of the stack says the same"));
    // One character is enough.
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, whole.replacen("Li Wei", "Li Wej", 1)).unwrap();
    assert!(!openssl(), "openssl refuses what was changed");
    stage.call(with_key, 1);
    std::fs::write(&file, whole).unwrap();

    // A key that is changed leaves the signatures what they are.
    stage.call("state rotate dev", 0);
    assert_eq!(stage.out("release key dev", 0), std::fs::read_to_string(stage.path("shop.pem")).unwrap());
    stage.write("dev/other.k", "x = 1\n");
    stage.call("destroy dev -y", 0);
    let shown: Value = serde_json::from_str(&stage.out("release show dev -o json", 0)).unwrap();
    assert_eq!(shown["release"]["source"]["clean"], false, "{shown}");
    let listed = stage.out("release list dev", 0);
    assert!(listed.lines().nth(1).is_some_and(|line| line.contains('+')), "{listed}");
}

/// The commands of docs/releases.md, as they stand there.
fn python(stage: &Stage) {
    let page = std::fs::read_to_string(crate::root().join("docs/releases.md")).unwrap();
    let script = page.split("<<'END'\n").nth(1).and_then(|rest| rest.split("END\n").next()).unwrap();
    let script = script.replace("shop-dev-release-3", "audit/shop-dev-release-1");
    let moto = testenv::package("moto").map(|entry| entry.with_file_name("python"));
    let python = moto.unwrap_or_else(|| "python3".into());
    let known = Command::new(&python).args(["-c", "import cryptography"]).output();
    if !known.is_ok_and(|done| done.status.success()) {
        testenv::skip("the check of an export by Python: its package cryptography is not installed");
        return;
    }
    let done = Command::new(&python).args(["-c", &script]).current_dir(stage.folder.path()).output().unwrap();
    assert_eq!(text(&done.stdout).trim(), "ok", "{}", text(&done.stderr));
}

#[test]
fn a_rollback_says_what_cannot_come_back() {
    let stage = repository();
    stage.call("apply dev -y --no-wait", 0);
    let whole = std::fs::read_to_string(stage.path("dev/main.k")).unwrap();
    let without: String = whole
        .lines()
        .filter(|line| !line.contains("PersistentVolumeClaim"))
        .map(|line| format!("{line}\n"))
        .collect();
    stage.write("dev/main.k", &without);
    stage.call("apply dev -y --no-wait", 0);
    // Without -y and without a terminal nothing happens, and everything is said before.
    let asked = stage.out("rollback dev --to 1", 1);
    assert!(asked.contains("This cannot come back:"), "{asked}");
    assert!(
        asked.contains("v1:PersistentVolumeClaim:shop-dev:data is made anew: the data of the volume"),
        "{asked}"
    );
    let events = stage.out("rollback dev --to 1 -y --no-wait -o json", 0);
    let mut lines = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(lines.next().unwrap()["event"], "planned", "{events}");
    let second = lines.next().unwrap();
    assert_eq!(second["event"], "cannot-come-back", "before anything is done: {events}");
    let loss = &second["losses"][0];
    assert_eq!(loss["id"], "v1:PersistentVolumeClaim:shop-dev:data", "{events}");
    assert_eq!((&loss["how"], &loss["what"]), (&"is made anew".into(), &"the data of the volume".into()));
    let shown: Value = serde_json::from_str(&stage.out("release show dev -o json", 0)).unwrap();
    assert_eq!(shown["release"]["rollbackTo"], 1, "{shown}");
    assert_eq!(shown["resources"].as_array().map(Vec::len), Some(2), "{shown}");
}

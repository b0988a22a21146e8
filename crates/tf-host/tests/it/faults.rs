//! Programs that are no providers, each wrong in its own way: each has an error of its own.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tf_host::{Failure, HandshakeError, HostError, Launch, Provider};

/// A program that does what a shell script says.
fn script(dir: &Path, body: &str) -> PathBuf {
    let path = dir.join("provider");
    // Another process writes it: a child of another test may inherit what is open for writing here, and then it is busy.
    let mut writer = Command::new("sh");
    writer.args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(&path);
    let mut writer = writer.stdin(Stdio::piped()).spawn().unwrap();
    write!(writer.stdin.take().unwrap(), "#!/bin/sh\n{body}\n").unwrap();
    assert!(writer.wait().unwrap().success());
    path
}

async fn start(body: &str) -> HostError {
    start_within(Duration::from_secs(20), body).await
}

async fn start_within(limit: Duration, body: &str) -> HostError {
    let dir = tempfile::tempdir().unwrap();
    let mut launch = Launch::new("lab/bad", &script(dir.path(), body));
    launch.start_limit = limit;
    Provider::start(&launch, None).await.err().unwrap()
}

#[tokio::test]
async fn a_greeting_is_no_handshake() {
    let error = start("echo hello world; echo 'cannot go on: no license' >&2; exit 3").await;
    let text = error.to_string();
    assert!(text.contains("lab/bad did not start: expected a handshake, got \"hello world\""), "{text}");
    assert!(text.contains("exit status: 3") && text.contains("no license"), "{text}");
    assert!(!error.is_uncertain() && error.is_dead());
}

#[tokio::test]
async fn an_early_end_shows_its_status_and_its_last_words() {
    let text = start("echo 'missing libfoo' >&2; exit 7").await.to_string();
    assert!(text.contains("exit status: 7") && text.contains("| missing libfoo"), "{text}");
}

#[tokio::test]
async fn half_a_handshake_is_none() {
    let error = start("printf '1|6|un'; exit 0").await;
    assert!(matches!(error.kind, Failure::Handshake { error: HandshakeError::NotOne(_), .. }), "{error}");
}

#[tokio::test]
async fn silence_is_waited_for_and_told() {
    let error = start_within(Duration::from_secs(2), "sleep 60").await;
    assert!(matches!(error.kind, Failure::Silent { .. }), "{error}");
}

#[tokio::test]
async fn other_protocols_transports_and_sockets_are_told_apart() {
    let table = [
        ("echo '1|4|unix|/nowhere|netrpc'", "protocol 4 over `netrpc`"),
        ("echo '1|7|unix|/nowhere|grpc'", "speaks protocol 7"),
        ("echo '2|6|unix|/nowhere|grpc'", "version `2` of the plugin system"),
        ("echo '1|6|unix|/nowhere|grpc|'; sleep 5", "socket /nowhere can not be reached"),
    ];
    for (body, says) in table {
        let text = start(body).await.to_string();
        assert!(text.contains(says), "{body}: {text}");
    }
    let certificate = "A".repeat(100);
    let tls = start(&format!("echo '1|6|unix|/nowhere|grpc|{certificate}'; sleep 5")).await;
    assert!(matches!(tls.kind, Failure::Tls { .. }), "{tls}");
}

#[tokio::test]
async fn a_program_that_is_none_cannot_be_started() {
    let error =
        Provider::start(&Launch::new("lab/none", "/nowhere/at/all".as_ref()), None).await.err().unwrap();
    assert!(error.to_string().contains("could not be started: /nowhere/at/all"), "{error}");
}

#[tokio::test]
async fn nothing_is_left_of_what_did_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("place");
    let body = format!("echo $$ $TMPDIR > {}; echo no; sleep 60", place.display());
    let launch = Launch::new("lab/bad", &script(dir.path(), &body));
    assert!(Provider::start(&launch, None).await.is_err());
    let said = std::fs::read_to_string(&place).unwrap();
    let (pid, folder) = said.trim().split_once(' ').unwrap();
    let gone = || !Path::new(folder).exists() && !alive(pid);
    for _ in 0..100 {
        if gone() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{pid} or {folder} is still there");
}

/// Whether a process runs; one that only waits to be reaped does not.
pub(crate) fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z') && !rest.is_empty())
}

//! The real program, asked over every carrier.
#![allow(clippy::unwrap_used)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kcl_api::messages::{ExecProgramArgs, ExecProgramResult, PingArgs, PingResult};
use serde_json::{Value, json};
use support::{Server, exchange, program, rpc};

/// Two hundred million steps: longer than any test waits.
/// It keeps nothing, so that only steps and time run out.
const ENDLESS: &str = "f = lambda n: int -> int { 1 if n < 2 else f(n - 1) + f(n - 2) }\na = f(60)";

#[test]
fn rest_and_json_rpc_answer_alike() {
    let server = Server::start(&["--http", ":0"]);
    let args = program("a = 1\nprint(\"x\")");
    let rest = server.rest("KclService.ExecProgram", &args);
    assert_eq!(rest["error"], "");
    assert_eq!(rest["result"]["yaml_result"], "a: 1");
    assert_eq!(rest["result"]["log_message"], "x\n");
    let (status, text) =
        server.ask("/", &server.auth(), &rpc(7, "KclService.ExecProgram", &args).to_string());
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &answer["id"], &answer["result"]), (200, &json!(7), &rest["result"]));
    // What does not compile is an error of the application.
    let wrong = program("a: int = \"x\"");
    let rest = server.rest("KclService.ExecProgram", &wrong);
    assert!(rest["error"].as_str().unwrap().contains("expected int, got str(x)"));
    let (_, text) = server.ask("/", &server.auth(), &rpc(8, "KclService.ExecProgram", &wrong).to_string());
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&answer["error"]["code"], &answer["error"]["message"]), (&json!(0x4B434C), &rest["error"]));
    let batch = json!([
        rpc(1, "KclService.Ping", &json!({ "value": "a" })),
        rpc(2, "KclService.Nope", &json!({})),
        3
    ]);
    let (_, text) = server.ask("/", &server.auth(), &batch.to_string());
    let answers: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answers[0]["result"]["value"], "a");
    assert_eq!(
        (&answers[1]["error"]["code"], &answers[2]["error"]["code"]),
        (&json!(-32601), &json!(-32600))
    );
    let notified = json!({ "jsonrpc": "2.0", "method": "KclService.Ping" }).to_string();
    assert_eq!(server.ask("/", &server.auth(), &notified), (204, String::new()));
}

#[test]
fn who_may_not_ask_is_refused() {
    let server = Server::start(&["--http", ":0", "--max-body", "1"]);
    let ping = "/api:protorpc/KclService.Ping";
    let host = format!("Host: {}\r\n", server.address);
    assert_eq!(server.ask(ping, &host, "{}").0, 401);
    assert_eq!(server.ask(ping, &format!("{host}Authorization: Bearer x\r\n"), "{}").0, 401);
    let auth = format!("Authorization: Bearer {}\r\n", server.token);
    assert_eq!(server.ask(ping, &format!("Host: evil.example\r\n{auth}"), "{}").0, 403);
    assert_eq!(server.ask(ping, &format!("{host}Origin: http://evil.example\r\n{auth}"), "{}").0, 403);
    assert_eq!(
        server.ask(ping, &server.auth(), "{}"),
        (200, "{\"error\":\"\",\"result\":{\"value\":\"\"}}".into())
    );
    assert_eq!(server.ask(ping, &server.auth(), &"x".repeat(2 << 20)).0, 413);
    assert_eq!(server.ask(ping, &server.auth(), "{").0, 400);
    assert_eq!(server.ask("/api:protorpc/KclService.Nope", &server.auth(), "{}").0, 404);
    assert_eq!(server.ask("/elsewhere", &server.auth(), "{}").0, 404);
    let refused =
        Command::new(env!("CARGO_BIN_EXE_kcl-server")).args(["--http", "0.0.0.0:0"]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("loopback"));
}

#[test]
fn a_request_that_runs_away_is_stopped_and_the_server_goes_on() {
    let server =
        Server::start(&["--http", ":0", "--timeout", "4", "--jobs", "1", "--max-steps", "100000000000"]);
    let started = Instant::now();
    let answer = server.rest("KclService.ExecProgram", &program(ENDLESS));
    assert!(answer["error"].as_str().unwrap().contains("longer than 4 s"), "{answer}");
    assert!(started.elapsed() < Duration::from_secs(60));
    // There is one place: it is free again.
    assert_eq!(server.rest("KclService.ExecProgram", &program("a = 1"))["result"]["yaml_result"], "a: 1");
    let limited = Server::start(&["--http", ":0", "--max-steps", "10000"]);
    let answer = limited.rest("KclService.ExecProgram", &program(ENDLESS));
    assert!(answer["result"]["err_message"].as_str().unwrap().contains("steps"), "{answer}");
}

#[test]
fn a_request_whose_client_has_gone_is_stopped() {
    let server =
        Server::start(&["--http", ":0", "--timeout", "600", "--jobs", "1", "--max-steps", "100000000000"]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let body = program(ENDLESS).to_string();
    let head = format!(
        "POST /api:protorpc/KclService.ExecProgram HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{body}",
        server.auth(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    drop(stream);
    let started = Instant::now();
    assert_eq!(server.rest("KclService.ExecProgram", &program("a = 1"))["result"]["yaml_result"], "a: 1");
    assert!(started.elapsed() < Duration::from_secs(20), "the place of the request was not given back");
}

#[test]
fn a_grpc_client_gets_the_messages_of_the_reference() {
    let server = Server::start(&["--http", ":0"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let channel = tonic::transport::Channel::from_shared(format!("http://{}", server.address))
            .unwrap()
            .connect()
            .await
            .unwrap();
        let mut client = tonic::client::Grpc::new(channel);
        let token: tonic::metadata::MetadataValue<_> = format!("Bearer {}", server.token).parse().unwrap();
        for service in ["gpyrpc.KclService", "com.kcl.api.KclService"] {
            client.ready().await.unwrap();
            let mut request = tonic::Request::new(PingArgs { value: "hello".into() });
            request.metadata_mut().insert("authorization", token.clone());
            let codec = tonic_prost::ProstCodec::<PingArgs, PingResult>::default();
            let path = format!("/{service}/Ping").parse().unwrap();
            assert_eq!(client.unary(request, path, codec).await.unwrap().into_inner().value, "hello");
        }
        let exec = |code: &str| ExecProgramArgs {
            k_filename_list: vec!["a.k".into()],
            k_code_list: vec![code.into()],
            ..Default::default()
        };
        let path: http::uri::PathAndQuery = "/com.kcl.api.KclService/ExecProgram".parse().unwrap();
        let codec = || tonic_prost::ProstCodec::<ExecProgramArgs, ExecProgramResult>::default();
        client.ready().await.unwrap();
        let mut request = tonic::Request::new(exec("a = 1"));
        request.metadata_mut().insert("authorization", token.clone());
        assert_eq!(
            client.unary(request, path.clone(), codec()).await.unwrap().into_inner().yaml_result,
            "a: 1"
        );
        client.ready().await.unwrap();
        let mut request = tonic::Request::new(exec("a ="));
        request.metadata_mut().insert("authorization", token.clone());
        let status = client.unary(request, path.clone(), codec()).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::Unknown);
        assert!(status.message().contains("InvalidSyntax"), "{status}");
        client.ready().await.unwrap();
        assert!(client.unary(tonic::Request::new(exec("a = 1")), path, codec()).await.is_err(), "no token");
    });
}

#[test]
fn a_unix_socket_is_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kcl.sock");
    let server = Server::start(&["--unix", path.to_str().unwrap()]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let (status, body) =
        exchange(stream, "/api:protorpc/KclService.Ping", "Host: kcl\r\n", "{\"value\":\"a\"}");
    assert_eq!((status, body.as_str()), (200, "{\"error\":\"\",\"result\":{\"value\":\"a\"}}"));
    let second = Command::new(env!("CARGO_BIN_EXE_kcl-server"))
        .args(["--unix", path.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&second.stderr).contains("another server"));
    drop(server);
    // What a killed server left is taken over.
    let again = Server::start(&["--unix", path.to_str().unwrap()]);
    assert_eq!(again.address, path.display().to_string());
}

fn resident(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn ten_thousand_requests_on_standard_streams_do_not_make_it_grow() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kcl-server"))
        .args(["--stdio", "--jobs", "2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let text = "import math\nschema P:\n    n: int\n    check:\n        n > 0\np = [P {n = i + 1} for i in range(20)]\n";
    let questions = [
        rpc(1, "KclService.ExecProgram", &program(text)),
        rpc(2, "KclService.ExecProgram", &program("a: int = \"x\"")),
        rpc(3, "KclService.FormatCode", &json!({ "source": "a=1" })),
        rpc(
            4,
            "KclService.ValidateCode",
            &json!({ "code": "schema S:\n    a: int", "data": "{\"a\": 1}", "format": "json" }),
        ),
        rpc(5, "KclService.ListOptions", &json!({ "paths": ["a.k"], "sources": ["a = option(\"x\")"] })),
    ];
    let batch = Value::Array(questions.iter().cycle().take(100).cloned().collect()).to_string() + "\n";
    let mut sizes = Vec::new();
    for round in 0..100 {
        input.write_all(batch.as_bytes()).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap().as_array().unwrap().len(), 100);
        if round == 19 || round == 99 {
            sizes.push(resident(child.id()));
        }
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(sizes[1] <= sizes[0] + 4_096, "KiB after 2,000 and after 10,000 requests: {sizes:?}");
}

#[test]
fn a_word_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let word = std::ffi::OsStr::from_bytes(b"--\xff");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_kcl-server")).arg(word).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("is not UTF-8 text") && !told.contains("panicked"), "{told}");
}

#[test]
fn the_token_is_in_nothing_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let token = "tok-4f1c9a77e2d0";
    std::fs::write(&file, format!("{token}\n")).unwrap();
    let mut server = Server::start(&["--http", ":0", "--token-file", file.to_str().unwrap()]);
    assert_eq!(server.token, "", "the first line tells no token of a file");
    server.token = token.to_owned();
    let asks = [
        (format!("/{token}"), "{}".to_owned()),
        (format!("/api:protorpc/KclService.{token}"), "{}".to_owned()),
        ("/".to_owned(), rpc(1, &format!("KclService.{token}"), &json!({})).to_string()),
        (
            "/api:protorpc/KclService.ExecProgram".to_owned(),
            json!({ "k_filename_list": [format!("/nowhere/{token}.k")] }).to_string(),
        ),
    ];
    for (path, body) in asks {
        let (status, text) = server.ask(&path, &server.auth(), &body);
        assert!(status != 401 && !text.is_empty(), "{path}: {status} {text}");
        assert!(!text.contains(token) && text.contains("(secret)"), "{path}: {status} {text}");
    }
    // A token that no header can carry would lock everybody out, a short one is guessed.
    for wrong in ["two words of a text", "schlüssel-schlüssel", "a\nb", " \n", "x9?", "tok-4f1c9a77e2d"] {
        std::fs::write(&file, wrong).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_kcl-server"))
            .args(["--http", ":0", "--token-file", file.to_str().unwrap()])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{wrong:?}: {told}");
        assert!(told.contains("--token-file"), "{told}");
        assert!(wrong.trim().is_empty() || !told.contains(wrong), "{told}");
    }
}

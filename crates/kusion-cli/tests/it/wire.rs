//! What stands between the program and a cluster may answer anything. None of it proves that an object is gone: nothing is planned,
//! nothing is forgotten, and the command ends soon.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::stage::Stage;
use crate::text;

const MAIN: &str = r#"resources = [
    {apiVersion = "v1", kind = "Namespace", metadata.name = "wire"}
    {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "a", namespace = "wire"}, data = {x = "1"}}
    {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "b", namespace = "wire"}, data = {x = "1"}}
]
"#;

/// Each with a name; the bytes that follow any request.
fn answers() -> Vec<(&'static str, Vec<u8>)> {
    let with = |head: &str, body: &[u8]| {
        let mut out = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        out.extend_from_slice(body);
        out
    };
    let raw = |text: &str| text.as_bytes().to_vec();
    let list = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;
    let gone = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}"#;
    let json = "200 OK\r\nContent-Type: application/json";
    let twice = list.replace("\"items\"", "\"kind\":\"Namespace\",\"items\"");
    let (half, whole) = (&list[..40], list.len());
    vec![
        ("gzip that is none", with(&format!("{json}\r\nContent-Encoding: gzip"), list.as_bytes())),
        ("an encoding nobody knows", with(&format!("{json}\r\nContent-Encoding: br"), b"\x8b\x02\x80")),
        (
            "chunks without an end",
            raw(&format!("HTTP/1.1 {json}\r\nTransfer-Encoding: chunked\r\n\r\n28\r\n{half}\r\n")),
        ),
        ("half of the length", raw(&format!("HTTP/1.1 {json}\r\nContent-Length: {whole}\r\n\r\n{half}"))),
        (
            "two lengths",
            raw(&format!("HTTP/1.1 {json}\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{{}}abc")),
        ),
        ("HTTP/1.0, cut", raw(&format!("HTTP/1.0 {json}\r\n\r\n{half}"))),
        ("another protocol", raw("SSH-2.0-OpenSSH_9.9\r\n")),
        ("nothing", Vec::new()),
        ("a head that breaks off", raw("HTTP/1.1 200 OK\r\nContent-Ty")),
        ("a redirect to itself", with("302 Found\r\nLocation: /api/v1/namespaces/kube-system", b"")),
        ("a redirect elsewhere", with("307 X\r\nLocation: http://127.0.0.1:1/", b"")),
        ("not modified", with("304 Not Modified", b"")),
        ("no content", raw("HTTP/1.1 204 No Content\r\n\r\n")),
        ("a part", with("206 Partial Content\r\nContent-Range: bytes 0-39/99", half.as_bytes())),
        ("gone, again and again", with("410 Gone\r\nContent-Type: application/json", gone.as_bytes())),
        ("come back in eleven days", with("429 X\r\nRetry-After: 999999", b"{}")),
        ("come back before now", with("503 X\r\nRetry-After: -5", b"")),
        ("a gateway's teapot", with("418 X", b"short and stout")),
        ("a list of another kind", with(json, list.as_bytes())),
        ("a kind that stands twice", with(json, twice.as_bytes())),
        ("nested without end", with(json, "[".repeat(300_000).as_bytes())),
        ("UTF-16", with(json, &list.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())),
        ("two documents", with(json, format!("{list}{list}").as_bytes())),
        ("zeros", with(json, &[0; 4096])),
    ]
}

/// Answers every request on every connection with the same bytes, then hangs up.
fn serve(listener: &TcpListener, answer: &[u8]) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        if !read_head(&mut stream) {
            return;
        }
        let _ = stream.write_all(answer);
    }
}

/// Whether it was a request; a connection without one ends the server.
fn read_head(stream: &mut TcpStream) -> bool {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

#[test]
fn no_answer_on_the_wire_makes_a_destroy_forget() {
    let stage = Stage::new(&[
        ("project.yaml", "name: wire\n"),
        ("dev/stack.yaml", "name: dev\n"),
        ("dev/main.k", MAIN),
    ]);
    stage.call("apply dev -y", 0);
    let listed = stage.out("ls dev -o json", 0);
    let (stage, answers) = (&stage, answers());
    assert!(answers.len() >= 24);
    std::thread::scope(|scope| {
        for (at, (name, answer)) in answers.iter().enumerate() {
            scope.spawn(move || {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                let config = format!("config-{at}");
                stage.write(
                    &config,
                    &format!(
                        "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{{name: x, context: {{cluster: x, user: x}}}}]\n\
                         clusters: [{{name: x, cluster: {{server: \"http://{address}\"}}}}]\nusers: [{{name: x, user: {{}}}}]\n"
                    ),
                );
                std::thread::scope(|inner| {
                    inner.spawn(|| serve(&listener, answer));
                    let begun = Instant::now();
                    let words = format!("destroy dev -y --kubeconfig {config}");
                    let ended = stage.command(&words).output().unwrap();
                    // A connection without a request ends the server.
                    drop(TcpStream::connect(address));
                    let told = text(&ended.stdout) + &text(&ended.stderr);
                    assert!(!told.contains("deleted") && !told.contains("Plan "), "{name}: {told}");
                    assert_eq!(ended.status.code(), Some(5), "{name}: {told}");
                    assert!(told.contains("next"), "{name}: {told}");
                    assert!(begun.elapsed() < Duration::from_secs(60), "{name}: {:?}", begun.elapsed());
                });
            });
        }
    });
    assert_eq!(stage.out("ls dev -o json", 0), listed, "nothing is forgotten");
    stage.call("preview dev --exit-code", 0);
}

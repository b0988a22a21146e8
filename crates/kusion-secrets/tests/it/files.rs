//! Files of age and SOPS: what we write the real programs read, and the other way round; files that they made are kept as
//! fixtures, so that reading them is checked everywhere.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kusion_secrets::age::{self, Identity, Recipient};
use kusion_secrets::{AgeKey, Refusal};
use serde_json::json;

use base_secret::KeyService as _;

use crate::{get, private, store};

/// The identity of the fixtures: made for them, and of nothing else.
const IDENTITY: &str = "AGE-SECRET-KEY-1XMWWC06LY3EE5RYTXM9MFLAZ2U56JJJ36S0MYPDRWSVLUL66MV4QX3S7F6";
const PLAIN: &str = "db:\n  password: canary-of-a-file\n  port: 5432\n  tls: true\n  empty: \"\"\nlist:\n- one\n- two\nnote_unencrypted: in clear\n";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures")
}

fn run(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Beside the reading: a program that answers before it has heard all would wait for us, and we for it.
    let done = std::thread::scope(|scope| {
        scope.spawn(move || std::io::Write::write_all(&mut stdin, input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

#[tokio::test]
async fn files_that_the_programs_made_are_read() {
    let folder = tempfile::tempdir().unwrap();
    private(&folder.path().join("id"), &format!("# a comment\n{IDENTITY}\n"));
    private(&folder.path().join("other"), &Identity::generate().unwrap().to_text());
    for (provider, file) in [
        ("age", "secrets.yaml.age"),
        ("age", "secrets.armour.age"),
        ("sops", "secrets.sops.yaml"),
        ("sops", "secrets.sops.json"),
    ] {
        let settings = |id: &str| json!({"path": fixtures().join(file), "identityFile": id});
        let mine = store(provider, settings("id"), folder.path());
        assert_eq!(get(&mine, "ref://db/password").await.unwrap(), "canary-of-a-file", "{file}");
        assert_eq!(get(&mine, "ref://db/port").await.unwrap(), "5432", "{file}");
        assert_eq!(get(&mine, "ref://db/tls").await.unwrap(), "true", "{file}");
        assert_eq!(get(&mine, "ref://db/user").await.unwrap_err().0, Refusal::NotFound, "{file}");
        let strangers = store(provider, settings("other"), folder.path());
        let (kind, text) = get(&strangers, "ref://db/password").await.unwrap_err();
        assert!(kind == Refusal::Denied && text.contains("none of the identities"), "{file}: {text}");
    }
}

#[tokio::test]
async fn a_changed_sops_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    private(&folder.path().join("id"), IDENTITY);
    let whole = std::fs::read_to_string(fixtures().join("secrets.sops.yaml")).unwrap();
    let line =
        |word: &str| whole.lines().find(|line| line.trim_start().starts_with(word)).unwrap().to_owned();
    let value = |line: &str| line.split_once(": ").unwrap().1.to_owned();
    let (password, port) = (line("password:"), line("port:"));
    let cases = [
        (
            "changed",
            whole.replace(&value(&password), &value(&password).replacen("data:", "data:A", 1)),
            "db.password",
        ),
        ("exchanged", whole.replace(&value(&password), &value(&port)), "db.password"),
        ("removed", whole.replace(&format!("{password}\n"), ""), "added, removed or exchanged"),
        ("in clear", whole.replace(&value(&password), "known"), "added, removed or exchanged"),
        (
            "added",
            whole.replace("note_unencrypted: in clear", "note_unencrypted: other"),
            "added, removed or exchanged",
        ),
        ("no digest", whole.replace(&format!("{}\n", line("mac:")), ""), "sops.mac"),
        ("no sops", whole.replace("\nsops:", "\nspos:"), "`sops` is missing"),
    ];
    for (name, text, told) in cases {
        assert_ne!(text, whole, "{name}");
        std::fs::write(folder.path().join("file"), text).unwrap();
        let settings = json!({"path": "file", "identityFile": "id"});
        let found = get(&store("sops", settings, folder.path()), "ref://db/port").await;
        let (kind, message) = found.unwrap_err();
        assert!(kind == Refusal::Unusable && message.contains(told), "{name}: {message}");
        assert!(!message.contains("canary"), "{name}");
    }
}

#[test]
fn what_we_encrypt_age_decrypts_and_the_other_way_round() {
    let (Some(age_program), Some(keygen)) = (testenv::needed("age"), testenv::needed("age-keygen")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let made = run(Command::new(keygen).arg("-o").arg(folder.path().join("made")), b"");
    assert!(made.is_empty());
    let theirs = age::identities(&folder.path().join("made")).unwrap();
    for length in [0, 1, 65_535, 65_536, 65_537, 200_000] {
        let plain: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let ours = age::encrypt(&plain, &[theirs[0].recipient()]).unwrap();
        let opened = run(
            Command::new(&age_program).arg("-d").arg("-i").arg(folder.path().join("made")),
            ours.as_bytes(),
        );
        assert!(opened == plain, "{length}");
        for armour in [false, true] {
            let mut command = Command::new(&age_program);
            command.args(["-e", "-r", &theirs[0].recipient().to_string()]).args(armour.then_some("-a"));
            let sealed = run(&mut command, &plain);
            assert!(*age::decrypt(&sealed, &theirs).unwrap() == plain, "{length} {armour}");
        }
    }
    let text = theirs[0].recipient().to_string();
    assert_eq!(Recipient::parse(&text), Some(theirs[0].recipient()));
}

#[tokio::test]
async fn what_sops_encrypts_is_read() {
    let Some(sops) = testenv::peer("sops") else { return };
    let folder = tempfile::tempdir().unwrap();
    private(&folder.path().join("id"), IDENTITY);
    let recipient = Identity::parse(IDENTITY).unwrap().recipient().to_string();
    let rules = ["", "mac_only_encrypted: true", "encrypted_regex: '^(password|port|tls)$'"];
    for (at, rule) in rules.iter().enumerate() {
        let file = folder.path().join(format!("plain-{at}.yaml"));
        std::fs::write(&file, PLAIN).unwrap();
        let config = folder.path().join("sops-config.yaml");
        std::fs::write(&config, format!("creation_rules:\n- age: {recipient}\n  {rule}\n")).unwrap();
        let mut command = Command::new(&sops);
        command.arg("--config").arg(config).arg("encrypt").arg(&file).env("HOME", folder.path());
        let path = folder.path().join(format!("sealed-{at}.yaml"));
        std::fs::write(&path, run(&mut command, b"")).unwrap();
        let mine = store("sops", json!({"path": path, "identityFile": "id"}), folder.path());
        assert_eq!(get(&mine, "ref://db/password").await.unwrap(), "canary-of-a-file", "{rule}");
        assert_eq!(get(&mine, "ref://db/port").await.unwrap(), "5432", "{rule}");
    }
}

#[test]
fn an_age_identity_hides_a_key_and_gives_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("id");
    private(&file, IDENTITY);
    let service = AgeKey::new(file.clone());
    let wrapped = service.wrap(&[7; 32]).unwrap();
    assert_eq!(service.unwrap(&wrapped).unwrap().as_slice(), [7; 32]);
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert!(service.unwrap(&wrapped).unwrap_err().contains("others can read"));
    private(&file, &Identity::generate().unwrap().to_text());
    assert!(service.unwrap(&wrapped).unwrap_err().contains("none of the identities"));
    assert!(AgeKey::new(folder.path().join("none")).wrap(&[7; 32]).is_err());
}

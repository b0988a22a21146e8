//! Planted secrets: through every command, in no stream, file, temporary file, argument or environment of another program, in any
//! form in which programs write values.

use std::path::{Path, PathBuf};

use kusion_media::{Address, Surroundings, objects};
use kusion_store::wait;
use testenv::services::S3_LOGIN;

use crate::backends::addresses;
use crate::stage::{Stage, every_file};
use crate::text;

/// Values with everything that escapes trip over.
const PLAIN: &str = "canary/Plain+7Xq9";
const QUOTED: &str = "canary \"quoted\" \\ back & <tag> 4Kz";
const LINES: &str = "canary-line-one-Zz81\ncanary-line-two-Qp52\ncanary-line-three";
const PHRASE: &str = "canary passphrase of the state 61";
const BUILD: &str = "canary-build-token-0x3F";

/// Writes what it was started with, then does its work.
const SPY: &str = "#!/bin/sh\n{ echo \"$0 $*\"; env; ulimit -c; } >> SPIED\n";

fn stage() -> Stage {
    let yaml = serde_json::json!({"db": {"plain": PLAIN, "quoted": QUOTED, "lines": LINES}}).to_string();
    let stage = Stage::new(&[
        (
            "project.yaml",
            "name: shop\nsecretStore: {provider: {file: {path: planted/secrets.yaml}}}\nsecretStores:\n  build: {provider: {env: {prefix: SHOP_}}}\n  tool: {provider: {command: {command: [./planted/tool]}}}\n",
        ),
        ("dev/stack.yaml", "name: dev\n"),
        (
            "dev/main.k",
            "_r = [\"ref://db/plain\", \"ref://db/quoted\", \"ref://db/lines\", \"ref://api/token?store=build\", \"ref://a/b?store=tool\"]\nresources = [\n    {apiVersion = \"v1\", kind = \"Namespace\", metadata.name = \"shop-dev\"}\n    {apiVersion = \"v1\", kind = \"Secret\", metadata = {name = \"db\", namespace = \"shop-dev\"}, stringData = {\"k${i}\" = r for i, r in _r}}\n]\n",
        ),
        ("planted/secrets.yaml", &yaml),
    ]);
    let spied = stage.path("spied").display().to_string();
    let spy = SPY.replace("SPIED", &spied);
    stage.write("planted/tool", &format!("{spy}cat > /dev/null; echo canary-of-the-tool-9F\n"));
    stage.write("bin/git", &format!("{spy}exit 1\n"));
    std::fs::create_dir_all(stage.path(".git")).unwrap();
    stage
}

/// All forms of a value: as it is, escaped for JSON and YAML, for addresses, in base64 at each offset, in hexadecimal.
fn forms(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let url: String =
        value
            .bytes()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect();
    let mut all = vec![value.to_owned(), json.trim_matches('"').to_owned(), value.replace('\'', "''"), url];
    for offset in 0..3 {
        let shifted = [vec![b'x'; offset], value.as_bytes().to_vec()].concat();
        let coded = data_encoding::BASE64_NOPAD.encode(&shifted);
        // The first and last characters depend on what stands around.
        all.push(coded[(offset * 4).div_ceil(3)..coded.len() - 2].to_owned());
    }
    all.push(data_encoding::HEXLOWER.encode(value.as_bytes()));
    all.extend(value.lines().filter(|_| value.contains('\n')).map(str::to_owned));
    all.retain(|form| form.len() >= 8);
    all
}

/// The first form of a value that stands in a text, also if the text is broken into lines.
fn found(text: &str) -> Option<String> {
    let joined: String = text.replace("\\n", "").chars().filter(|c| !c.is_whitespace()).collect();
    for value in [PLAIN, QUOTED, LINES, PHRASE, BUILD, "canary-of-the-tool-9F"] {
        for form in forms(value) {
            let close: String = form.chars().filter(|c| !c.is_whitespace()).collect();
            if text.contains(&form) || joined.contains(&close) {
                return Some(form);
            }
        }
    }
    None
}

#[test]
fn the_search_finds_what_it_looks_for() {
    for value in [PLAIN, QUOTED, LINES] {
        for form in forms(value) {
            assert!(found(&format!("a {form} b")).is_some(), "{form}");
            let broken: String = form
                .chars()
                .enumerate()
                .map(|(at, c)| if at % 7 == 6 { format!("{c}\n") } else { c.to_string() })
                .collect();
            assert!(found(&broken).is_some(), "{form}");
        }
    }
    assert!(found("nothing here").is_none());
}

/// Commands of every kind, in an order in which each has something to do.
const COMMANDS: &[(&str, i32)] = &[
    ("secret ls dev", 0),
    ("secret check dev", 0),
    ("secret check dev -o json", 0),
    ("secret show dev ref://db/plain", 0),
    ("secret show dev ref://db/quoted -o json", 0),
    ("secret rotate dev ref://db/plain -y", 1),
    ("generate dev", 0),
    ("generate dev -o json", 0),
    ("graph dev", 0),
    ("preview dev --detail all", 0),
    ("preview dev -o json", 0),
    ("preview dev --plan saved.plan", 0),
    ("apply dev --plan saved.plan", 0),
    ("status dev -o json", 0),
    ("drift dev", 0),
    ("diff dev", 0),
    ("why dev Secret/db data.k0", 0),
    ("ls dev -o json", 0),
    ("output dev", 0),
    ("release list dev -o json", 0),
    ("release show dev", 0),
    ("release show dev -o json", 0),
    ("release diff dev", 0),
    ("release verify dev", 0),
    ("release export dev --to audit", 0),
    ("state list dev -o json", 0),
    ("state show dev v1:Secret:shop-dev:db -o json", 0),
    ("state pull dev", 0),
    ("state repair dev", 0),
    ("state rotate dev", 0),
    ("state unlock dev", 0),
    ("config explain", 0),
    ("logs dev", 0),
];

#[test]
fn nothing_shows_a_planted_secret() {
    let stage = stage();
    on_the_way(&stage, "", "debug.txt");
    let files = left(&stage);
    assert!(files.iter().any(|file| file.ends_with("log")), "{files:?}");
    let told = std::fs::read_to_string(stage.path("debug.txt")).unwrap();
    assert!(told.contains("] cluster ") && told.contains("ref://db/lines in "), "{told}");
}

#[test]
fn no_backend_gets_a_planted_secret() {
    for address in addresses("canary") {
        let stage = stage();
        on_the_way(&stage, &address, "1");
        let files = left(&stage);
        assert!(
            !files.iter().any(|file| file.ends_with("log")),
            "{address}: nothing is kept here: {files:?}"
        );
        let login = [("AWS_ACCESS_KEY_ID", S3_LOGIN.0), ("AWS_SECRET_ACCESS_KEY", S3_LOGIN.1)];
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let around = Surroundings { variables: login.map(pair).to_vec(), ..Surroundings::default() };
        let medium = objects(&Address::parse(&address).unwrap(), &around).unwrap();
        let names = wait(medium.list("")).unwrap();
        assert!(names.iter().any(|name| name.contains("/log/")), "{address}: {names:?}");
        for name in names {
            let object = wait(medium.get(&name)).unwrap().unwrap();
            let held = format!("{name}\n{}", String::from_utf8_lossy(&object.bytes));
            assert!(found(&held).is_none(), "{address}: {name} holds {:?}", found(&held));
        }
    }
    // What the servers have written down beside it: journals, indexes, logs.
    let folders = [
        testenv::services::postgres().map(testenv::services::PostgresServer::folder),
        testenv::services::s3().map(testenv::services::S3Server::folder),
    ];
    for folder in folders.into_iter().flatten() {
        let mut files = Vec::new();
        every_file(folder, &mut files);
        assert!(!files.is_empty(), "{}", folder.display());
        files.iter().for_each(|file| holds_nothing(file));
    }
}

/// What is left in the folder of a stage, all of it searched.
fn left(stage: &Stage) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    every_file(stage.folder.path(), &mut files);
    files.retain(|file| !file.starts_with(stage.path("planted")));
    files.iter().for_each(|file| holds_nothing(file));
    files
}

fn holds_nothing(file: &Path) {
    let bytes = std::fs::read(file).unwrap_or_default();
    let shown = found(&String::from_utf8_lossy(&bytes));
    assert!(shown.is_none(), "{} holds {shown:?}", file.display());
}

/// Everything that can be done with a stack whose state is on a backend, with `--debug`; every stream is searched.
fn on_the_way(stage: &Stage, backend: &str, debug: &str) {
    let path = format!("{}:{}", stage.path("bin").display(), std::env::var("PATH").unwrap());
    let planted = |words: &str| {
        let mut command = stage.command(words);
        command.env("PATH", &path).env("KUSION_KEY", "passphrase").env("KUSION_PASSPHRASE", PHRASE);
        command.env("SHOP_API_TOKEN", BUILD).env("KUSION_SECRET_COMMANDS", "./planted/tool");
        command.env("AWS_ACCESS_KEY_ID", S3_LOGIN.0).env("AWS_SECRET_ACCESS_KEY", S3_LOGIN.1);
        command.env("KUSION_DEBUG", debug);
        if !backend.is_empty() {
            command.env("KUSION_BACKEND", backend);
        }
        command
    };
    let check = |words: &str, code: Option<i32>| {
        let done = planted(words).output().unwrap();
        let told = format!("{}\n{}", text(&done.stdout), text(&done.stderr));
        assert!(found(&told).is_none(), "`kusion {words}` shows {:?}", found(&told));
        if let Some(code) = code {
            assert_eq!(done.status.code(), Some(code), "{backend}: kusion {words}: {told}");
        }
        told
    };
    COMMANDS.iter().for_each(|(words, code)| drop(check(words, Some(*code))));
    // A changed value is a change without a value; a rollback goes back over it.
    let file = stage.path("planted/secrets.yaml");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, before.replace("Plain+7", "plain+8")).unwrap();
    let told = check("preview dev", Some(0));
    assert!(told.contains("(secret changed)"), "{told}");
    check("apply dev -y -o json", Some(0));
    check("rollback dev --to 1 -y", Some(0));
    // Mistakes and refusals of every kind.
    for words in [
        "preview dev -D x=canary/Plain+7Xq9",
        "secret show dev ref://db/none",
        "apply dev --plan nowhere.plan",
        "preview nowhere",
    ] {
        check(words, None);
    }
    check("destroy dev -y", Some(0));
    let spied = std::fs::read_to_string(stage.path("spied")).unwrap();
    assert!(spied.contains("planted/tool") && spied.contains("bin/git"), "both were started:\n{spied}");
    assert!(spied.lines().any(|line| line == "0"), "core dumps are switched off:\n{spied}");
}

//! Signatures that cosign's own program has made, in both of its forms, by a key and by a certificate: made anew on a real registry
//! where the program is built (`cargo xtask testenv build cosign`), and replayed from `cosign.json` everywhere. `UPDATE=1` records them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use data_encoding::BASE64;
use kcl_fetch::{Client, Options, Registry};
use rcgen::KeyPair;
use serde_json::{Value, json};
use testenv::packages::{RegistryOptions, RegistryServer};

use crate::faults::{authority, certificate, module, refused, serve};
use crate::lab::Lab;

const FORMS: [&str; 2] = ["--new-bundle-format=true", "--new-bundle-format=false"];

fn record() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cosign.json")
}

/// A program of cosign, and the keys of one signer and of a stranger.
struct Cosign {
    program: PathBuf,
    lab: Lab,
}

impl Cosign {
    fn run(&self, words: &[&str]) {
        let mut command = Command::new(&self.program);
        let output =
            command.args(words).current_dir(self.lab.path("keys")).env("COSIGN_PASSWORD", "").output();
        let output = output.unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn text(&self, name: &str) -> String {
        crate::lab::text(&self.lab.path("keys"), name)
    }

    /// The policy of a signer by a key, what it trusts, what a stranger's would be, and how to sign.
    fn by_key(&self) -> (Value, Vec<&'static str>) {
        for name in ["own", "other"] {
            self.run(&["generate-key-pair", "--output-key-prefix", name]);
        }
        let told = json!({
            "policy": "[signatures]\nkeys = [\"trusted.pem\"]\n",
            "trusted": self.text("own.pub"),
            "stranger": self.text("other.pub"),
            "signer": "key ",
            "refusal": "a key that kcl.mod does not name",
        });
        (told, vec!["--key", "own.key"])
    }

    /// The same of a signer by a certificate.
    fn by_certificate(&self) -> (Value, Vec<&'static str>) {
        let (root, trusted) = authority("root");
        let (_, stranger) = authority("root");
        let key = KeyPair::generate().unwrap();
        for (name, text) in [
            ("leaf.pem", certificate(&key, &root)),
            ("root.pem", trusted.clone()),
            ("leaf.key", key.serialize_pem()),
        ] {
            self.lab.write(&format!("keys/{name}"), &text);
        }
        self.run(&["import-key-pair", "--key", "leaf.key", "--output-key-prefix", "signer"]);
        let told = json!({
            "policy": "[signatures]\nroots = [\"trusted.pem\"]\nidentities = [{ subject = \"https://example.org/build\", \
                issuer = \"https://login.example.org\" }]\n",
            "trusted": trusted,
            "stranger": stranger,
            "signer": "identity https://example.org/build",
            "refusal": "nobody that kcl.mod trusts vouches",
        });
        (told, vec!["--key", "signer.key", "--certificate", "leaf.pem", "--certificate-chain", "root.pem"])
    }
}

/// Everything that a registry has of the package: its tags, and what their manifests name.
fn pages(host: &str) -> Value {
    let get = |path: &str| {
        let kinds =
            ["image.manifest", "image.index"].map(|kind| format!("application/vnd.oci.{kind}.v1+json"));
        let asked = ureq::get(format!("http://{host}{path}")).header("accept", kinds.join(", "));
        asked.call().unwrap().body_mut().read_to_vec().unwrap()
    };
    let read = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap();
    let listed = |value: &Value, list: &str, key: &str, place: &str| -> Vec<String> {
        let all = value[list].as_array().cloned().unwrap_or_default();
        let name = |item: &Value| item.get(key).unwrap_or(item).as_str().unwrap().to_owned();
        all.iter().map(|item| format!("/v2/team/web/{place}/{}", name(item))).collect()
    };
    let mut open = listed(&read(&get("/v2/team/web/tags/list")), "tags", "", "manifests");
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    while let Some(path) = open.pop() {
        if found.contains_key(&path) {
            continue;
        }
        let body = get(&path);
        if path.contains("/manifests/") {
            open.extend(listed(&read(&body), "manifests", "digest", "manifests"));
            open.extend(listed(&read(&body), "layers", "digest", "blobs"));
        }
        found.insert(path, BASE64.encode(&body));
    }
    json!(found)
}

fn told<'v>(case: &'v Value, key: &str) -> &'v str {
    case[key].as_str().unwrap()
}

/// A module that needs the package and trusts a file of the case.
fn trusting(host: &str, case: &Value, who: &str) -> Lab {
    let lab = Lab::new();
    module(&lab, host, told(case, "policy"));
    lab.write("app/trusted.pem", told(case, who));
    lab
}

/// A registry with the unsigned package and one with the signed one: each is refused or taken as it should be.
#[track_caller]
fn judge(case: &Value, unsigned: &str, signed: &str) {
    refused(&trusting(unsigned, case, "trusted"), "it is not signed");
    refused(&trusting(signed, case, "stranger"), told(case, "refusal"));
    let lab = trusting(signed, case, "trusted");
    let resolution = lab.resolve("app", &Options::default()).unwrap_or_else(|why| panic!("{case}: {why:?}"));
    let signer = resolution.lock.entries[0].signed_by.as_deref().unwrap();
    assert!(signer.starts_with(told(case, "signer")), "{signer}");
}

fn registry() -> Option<(RegistryServer, String)> {
    let server = RegistryServer::start(&RegistryOptions::default())?;
    let lab = Lab::new();
    lab.module("web", "1.0.0", "");
    let (package, content) = kcl_fetch::read_module(&lab.path("web"), false).unwrap();
    let digest =
        Client::with(Registry::new(&server.host), None).push("team/web", &package, &content, false).unwrap();
    Some((server, digest))
}

#[test]
fn what_cosign_signs_is_accepted_and_what_another_signs_is_not() {
    let Some(program) = testenv::peer("cosign") else { return };
    let cosign = Cosign { program, lab: Lab::new() };
    cosign.lab.write("keys/README", "keys of this test\n");
    let Some((unsigned, _)) = registry() else { return };
    let mut cases = Vec::new();
    for (mut case, signer) in [cosign.by_key(), cosign.by_certificate()] {
        for form in FORMS {
            let Some((server, digest)) = registry() else { return };
            let image = format!("{}/team/web@{digest}", server.host);
            let words = ["sign", "--yes", "--tlog-upload=false", "--use-signing-config=false", form];
            cosign.run(&[&words, &signer[..], &["--allow-http-registry", &image]].concat());
            judge(&case, &unsigned.host, &server.host);
            case["form"] = form.into();
            case["unsigned"] = pages(&unsigned.host);
            case["signed"] = pages(&server.host);
            cases.push(case.clone());
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(record(), serde_json::to_string_pretty(&cases).unwrap() + "\n").unwrap();
    }
}

#[test]
fn what_cosign_has_signed_is_accepted_and_what_another_has_signed_is_not() {
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(record()).unwrap()).unwrap();
    assert_eq!(cases.len(), 2 * FORMS.len());
    for case in cases {
        let serve = |which: &str| {
            let pages = case[which].as_object().unwrap().iter();
            let page = |(path, body): (&String, &Value)| {
                (path.clone(), BASE64.decode(body.as_str().unwrap().as_bytes()).unwrap())
            };
            serve(pages.map(page).collect(), None)
        };
        judge(&case, &serve("unsigned").host, &serve("signed").host);
    }
}

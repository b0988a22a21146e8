//! Signatures that cosign's own program makes, where it is built (`cargo xtask testenv build cosign`): by a key, in both of its forms.

use std::path::Path;
use std::process::Command;

use kcl_fetch::{Client, Options, Registry};
use testenv::packages::{RegistryOptions, RegistryServer};

use crate::lab::Lab;

fn cosign(program: &Path, folder: &Path, words: &[&str]) {
    let output =
        Command::new(program).args(words).current_dir(folder).env("COSIGN_PASSWORD", "").output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_cosign_signs_is_accepted_and_what_another_key_signs_is_not() {
    let Some(program) = testenv::peer("cosign") else { return };
    for form in ["--new-bundle-format=true", "--new-bundle-format=false"] {
        let lab = Lab::new();
        let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
        for keys in ["own", "other"] {
            std::fs::create_dir_all(lab.path(keys)).unwrap();
            cosign(&program, &lab.path(keys), &["generate-key-pair"]);
        }
        lab.module("web", "1.0.0", "");
        let (package, content) = kcl_fetch::read_module(&lab.path("web"), false).unwrap();
        let mut client = Client::with(Registry::new(&server.host), None);
        let digest = client.push("team/web", &package, &content).unwrap();
        let need = format!("web = {{ oci = \"oci://{}/team/web\", tag = \"1.0.0\" }}", server.host);
        lab.module(
            "app",
            "0.1.0",
            &format!("[dependencies]\n{need}\n[signatures]\nkeys = [\"cosign.pub\"]\n"),
        );
        let trust = |keys: &str| {
            std::fs::copy(lab.path(&format!("{keys}/cosign.pub")), lab.path("app/cosign.pub")).unwrap();
            lab.resolve("app", &Options::default())
        };
        assert!(trust("own").unwrap_err().what.contains("it is not signed"), "{form}");
        let image = format!("{}/team/web@{digest}", server.host);
        let words =
            ["sign", "--yes", "--key", "cosign.key", "--tlog-upload=false", "--use-signing-config=false"];
        cosign(&program, &lab.path("own"), &[&words[..], &[form, "--allow-http-registry", &image]].concat());
        assert!(trust("other").unwrap_err().what.contains("a key that kcl.mod does not name"), "{form}");
        let signed = trust("own").unwrap();
        assert!(signed.lock.entries[0].signed_by.as_deref().unwrap().starts_with("key "), "{form}");
    }
}

//! Packages on the registry of Debian's package `docker-registry`, over loopback.
//!
//! Without it the test is skipped with a line on stderr; with `KUSION_REQUIRE_TESTENV=1` it fails.

use kcl_fetch::{Client, Credentials, Options, Registry};
use testenv::packages::{RegistryOptions, RegistryServer};

use crate::lab::{Lab, names};

fn push(lab: &Lab, client: &mut Client, module: &str) {
    let (package, content) = kcl_fetch::read_module(&lab.path(module), false).unwrap();
    client.push(&format!("team/{}", package.name), &package, &content, false).unwrap();
}

#[test]
fn what_is_pushed_is_listed_pulled_and_compared() {
    let lab = Lab::new();
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    let mut client = Client::with(Registry::new(&server.host), None);
    for version in ["1.2.0", "1.10.0"] {
        lab.module("web", version, "");
        push(&lab, &mut client, "web");
    }
    let mut tags = client.tags("team/web").unwrap();
    tags.sort();
    assert_eq!(tags, ["1.10.0", "1.2.0"]);
    let spec = |rest: &str| {
        lab.module(
            "app",
            "0.1.0",
            &format!("[dependencies]\nweb = {{ oci = \"oci://{}/team/web\"{rest} }}", server.host),
        );
        lab.resolve("app", &Options::default())
    };
    assert_eq!(names(&spec(", tag = \"1.2.0\"").unwrap()), ["web@1.2.0"]);
    let newest = spec("").unwrap();
    assert_eq!(names(&newest), ["web@1.10.0"]);
    lab.write_lock("app", &newest);
    assert!(spec(", tag = \"9\"").unwrap_err().what.contains("does not exist"));
    // The default registry is the same road.
    lab.module("app", "0.1.0", "[dependencies]\nweb = \"1.10.0\"\n");
    let options = Options { default_registry: format!("{}/team", server.host), ..Options::default() };
    let resolution = lab.resolve("app", &options).unwrap();
    assert_eq!(names(&resolution), ["web@1.10.0"]);
    lab.write_lock("app", &resolution);
    drop(server);
    let offline = Options { offline: true, ..options };
    assert_eq!(lab.resolve("app", &offline).unwrap().lock, resolution.lock);
}

#[test]
fn a_damaged_blob_is_refused_and_nothing_is_kept() {
    let lab = Lab::new();
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    lab.module("web", "1.0.0", "");
    push(&lab, &mut Client::with(Registry::new(&server.host), None), "web");
    for entry in server.blobs() {
        let bytes = std::fs::read(&entry).unwrap();
        if bytes.len() > 1024 {
            let mut changed = bytes;
            changed[600] ^= 1;
            std::fs::write(&entry, changed).unwrap();
        }
    }
    lab.module(
        "app",
        "0.1.0",
        &format!("[dependencies]\nweb = {{ oci = \"oci://{}/team/web\", tag = \"1.0.0\" }}", server.host),
    );
    let told = lab.resolve("app", &Options::default()).unwrap_err();
    assert!(told.what.contains("what came is not what was promised"), "{told}");
    assert!(!lab.path("store/store").exists());
}

#[test]
fn a_password_is_asked_for_and_a_wrong_one_is_told() {
    let lab = Lab::new();
    // User `team`, password `open sesame`, bcrypt.
    lab.write("passwords", "team:$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW\n");
    let options = RegistryOptions { passwords: Some(lab.path("passwords")), ..RegistryOptions::default() };
    let Some(server) = RegistryServer::start(&options) else { return };
    let stranger = Client::with(Registry::new(&server.host), None).check().unwrap_err();
    assert!(stranger.next.unwrap().contains("kcl registry login"));
    let right = Credentials { user: "team".to_owned(), password: "open sesame".to_owned().into() };
    let mut known = Client::with(Registry::new(&server.host), Some(right));
    known.check().unwrap();
    lab.module("web", "1.0.0", "");
    push(&lab, &mut known, "web");
    assert_eq!(known.tags("team/web").unwrap(), ["1.0.0"]);
    let wrong = Credentials { user: "team".to_owned(), password: "no".to_owned().into() };
    let told = Client::with(Registry::new(&server.host), Some(wrong)).check().unwrap_err();
    assert!(told.what.contains("does not take the credentials") && !told.what.contains("no:"), "{told}");
}

#[test]
fn a_version_that_holds_something_else_is_replaced_only_by_force() {
    let lab = Lab::new();
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    let mut client = Client::with(Registry::new(&server.host), None);
    let mut again = |force: bool| {
        let (package, content) = kcl_fetch::read_module(&lab.path("web"), false).unwrap();
        client.push("team/web", &package, &content, force)
    };
    lab.module("web", "1.2.0", "");
    let first = again(false).unwrap();
    assert_eq!(again(false).unwrap(), first, "the same once more is no change");
    lab.write("web/web.k", "version = \"another\"\n");
    let told = again(false).unwrap_err();
    assert!(told.what.contains("team/web:1.2.0 is there already"), "{told}");
    assert!(told.next.unwrap().contains("--force"));
    assert_ne!(again(true).unwrap(), first);
}

//! Mirrors: folders, packed and not, and behind HTTPS.

use std::collections::BTreeMap;

use tf_install::Kind;

use crate::lab::{Lab, left_in};
use crate::server::{Reply, Server};
use crate::site::{H1, package, sum};

const NAME: &str = "registry.opentofu.org/acme/x";

fn folder_lab() -> Lab {
    let mut lab = Lab::new("");
    lab.config = "provider_installation { filesystem_mirror { path = \"mirror\" } }".to_owned();
    std::fs::create_dir_all(lab.folder.path().join("mirror").join(NAME)).unwrap();
    lab
}

#[test]
fn an_unpacked_folder_is_used_where_it_lies() {
    let mut lab = folder_lab();
    let place = lab.folder.path().join("mirror").join(NAME).join("1.0.0/linux_amd64");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("terraform-provider-x_v1.0.0"), "hello\n").unwrap();
    let found = lab.install("acme/x", "").unwrap();
    assert_eq!(found.folder, place);
    assert_eq!(
        found.hashes.into_iter().collect::<Vec<_>>(),
        ["h1:TH2UijXm21NIPW4/f5wiuw73s8o6ut6DIWdH/wElwqY="]
    );
    // The mirror was changed: the lock does not know that.
    std::fs::write(place.join("terraform-provider-x_v1.0.0"), "jello\n").unwrap();
    assert_eq!(lab.install("acme/x", "").unwrap_err().kind, Kind::Locked);
}

#[test]
fn a_packed_folder_is_unpacked_into_the_cache() {
    let mut lab = folder_lab();
    let place = lab.folder.path().join("mirror").join(NAME);
    std::fs::write(place.join("terraform-provider-x_1.0.0_linux_amd64.zip"), package()).unwrap();
    std::fs::write(place.join("terraform-provider-x_1.2.0_darwin_arm64.zip"), "other").unwrap();
    let found = lab.install("acme/x", "").unwrap();
    assert!(found.folder.starts_with(lab.cache()));
    assert_eq!(found.hashes.into_iter().collect::<Vec<_>>(), [H1]);
    assert!(lab.warnings()[0].contains("unverified"));
    let error = lab.install("acme/y", "").unwrap_err();
    assert_eq!(error.kind, Kind::Unknown);
    // No `direct`: a mirror that is not there is an error, not a reason to ask elsewhere.
    lab.config = "provider_installation { filesystem_mirror { path = \"missing\" } }".to_owned();
    assert_eq!(lab.install("acme/y", "").unwrap_err().kind, Kind::Disk);
}

fn network(replies: &[(&str, Reply)]) -> (Server, Lab) {
    let replies: BTreeMap<String, Reply> =
        replies.iter().map(|(path, reply)| (format!("/m/{NAME}/{path}"), reply.clone())).collect();
    let server = Server::start(replies);
    let mut lab = Lab::new(&server.pem);
    lab.config =
        format!("provider_installation {{ network_mirror {{ url = \"https://{}/m\" }} }}", server.host);
    (server, lab)
}

fn index() -> (&'static str, Reply) {
    ("index.json", Reply::Json(r#"{"versions": {"1.0.0": {}, "0.9.0": {}}}"#.into()))
}

fn archives(hashes: &str) -> (&'static str, Reply) {
    (
        "1.0.0.json",
        Reply::Json(format!(r#"{{"archives": {{"linux_amd64": {{"url": "x.zip", "hashes": {hashes}}}}}}}"#)),
    )
}

#[test]
fn a_network_mirror_is_asked_and_compared() {
    let zip = ("x.zip", Reply::Bytes(package()));
    for hashes in [format!("[\"{H1}\"]"), format!("[\"zh:{}\", \"h1:other=\"]", sum(&package()))] {
        let (_server, mut lab) = network(&[index(), archives(&hashes), zip.clone()]);
        lab.install("acme/x", "").unwrap();
        assert!(lab.warnings().is_empty());
    }
    let (_server, mut lab) = network(&[index(), archives("[]"), zip.clone()]);
    lab.install("acme/x", "").unwrap();
    assert!(lab.warnings()[0].contains("unverified"));
    let (_server, mut lab) = network(&[index(), archives("[\"h1:other=\"]"), zip]);
    assert_eq!(lab.install("acme/x", "").unwrap_err().kind, Kind::Checksum);
    assert_eq!(left_in(&lab.cache()), Vec::<String>::new());
}

#[test]
fn a_network_mirror_that_answers_wrongly_is_told() {
    let (_server, mut lab) = network(&[("index.json", Reply::Bytes(br#"{"versions": {}}"#.to_vec()))]);
    let error = lab.install("acme/x", "").unwrap_err();
    assert!(error.kind == Kind::Answer && error.what.contains("application/json"), "{error}");
    let (_server, mut lab) = network(&[index(), ("1.0.0.json", Reply::Json(r#"{"archives": {}}"#.into()))]);
    assert_eq!(lab.install("acme/x", "").unwrap_err().kind, Kind::Platform);
    let (_server, mut lab) = network(&[]);
    assert_eq!(lab.install("acme/x", "").unwrap_err().kind, Kind::Unknown);
}

#[test]
fn versions_of_all_places_are_compared() {
    let (_server, mut lab) = network(&[index(), archives("[]"), ("x.zip", Reply::Bytes(package()))]);
    let network = lab.config.trim_start_matches("provider_installation {").trim_end_matches('}').to_owned();
    lab.config = format!("provider_installation {{ filesystem_mirror {{ path = \"mirror\" }} {network} }}");
    let place = lab.folder.path().join("mirror").join(NAME).join("0.9.0/linux_amd64");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("terraform-provider-x"), "old").unwrap();
    assert_eq!(lab.install("acme/x", "").unwrap().version.unwrap().to_string(), "1.0.0");
    lab.lock = tf_install::Lock::default();
    // The first place that has the version gives it.
    assert_eq!(lab.install("acme/x", "0.9.0").unwrap().folder, place);
}

#[test]
fn a_mirror_that_was_made_serves_as_a_folder_and_behind_https() {
    let registry = crate::site::Site::new().start();
    let mut lab = Lab::new(&registry.pem);
    let name = format!("{}/acme/x", registry.host);
    let address = tf_install::Address::parse(&name, "").unwrap();
    let root = lab.folder.path().join("made");
    let wanted = tf_install::Constraints::parse("~> 1.0").unwrap();
    let mut lock = tf_install::Lock::default();
    let made = lab.installer().mirror(&address, &wanted, &mut lock, &root, &|_| {}).unwrap();
    assert_eq!(std::fs::read(&made).unwrap(), package());
    // The same again changes nothing, and nothing else is left.
    let text = lock.to_text();
    lab.installer().mirror(&address, &wanted, &mut lock, &root, &|_| {}).unwrap();
    assert_eq!(lock.to_text(), text);
    let names: Vec<String> =
        left_in(&root).iter().map(|path| path.rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(names, ["1.0.0.json", "index.json", "terraform-provider-x_1.0.0_linux_amd64.zip"]);

    lab.config = "provider_installation { filesystem_mirror { path = \"made\" } }".to_owned();
    lab.lock = lock.clone();
    assert_eq!(lab.install(&name, "~> 1.0").unwrap().hashes.into_iter().next().as_deref(), Some(H1));

    let mut replies = BTreeMap::new();
    for path in left_in(&root) {
        let bytes = std::fs::read(&path).unwrap();
        let at = path.strip_prefix(&root.display().to_string()).unwrap().to_owned();
        let reply = match at.ends_with(".json") {
            true => Reply::Json(String::from_utf8(bytes).unwrap()),
            false => Reply::Bytes(bytes),
        };
        replies.insert(format!("/m{at}"), reply);
    }
    let server = Server::start(replies);
    let mut other = Lab::new(&server.pem);
    other.config =
        format!("provider_installation {{ network_mirror {{ url = \"https://{}/m/\" }} }}", server.host);
    other.lock = lock;
    assert!(other.install(&name, "~> 1.0").is_ok());
    assert!(other.warnings().is_empty());
}

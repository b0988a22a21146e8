//! What goes wrong: each has its own clear failure, and nothing is left.

use std::io::{Cursor, Write};
use std::time::Duration;

use tf_install::{Kind, Lock, OPENTOFU};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::lab::{Lab, left_in};
use crate::server::Reply;
use crate::sign::Publisher;
use crate::site::{DISCOVERY, DOWNLOAD, SIGNATURE, SUMS, Site, VERSIONS, ZIP, package, sum, zipped};

/// Installs from a registry that has a fault; nothing may be left in the cache or the lock.
fn fails(site: Site, kind: Kind, told: &str) {
    fails_with(site, kind, told, "", |_| {});
}

fn fails_with(site: Site, kind: Kind, told: &str, constraints: &str, change: impl FnOnce(&mut Lab)) {
    let server = site.start();
    let mut lab = Lab::new(&server.pem);
    change(&mut lab);
    let error = lab.install(&format!("{}/acme/x", server.host), constraints).unwrap_err();
    assert!(error.kind == kind && error.what.contains(told), "{:?}: {error}", error.kind);
    assert_eq!(left_in(&lab.cache()), Vec::<String>::new(), "{error}");
    assert_eq!(lab.lock, Lock::default());
}

#[test]
fn wrong_sums() {
    let mut site = Site::new();
    let mut damaged = package();
    let at = damaged.len() / 2;
    damaged[at] ^= 1;
    site.set(ZIP, Reply::Bytes(damaged));
    fails(site, Kind::Checksum, "what came is not what was promised: sha256 ");

    let mut site = Site::new();
    site.tell(|told| told["shasum"] = sum(b"other").into());
    fails(site, Kind::Checksum, "its list of sums");

    let mut site = Site::new();
    site.tell(|told| told["filename"] = "other.zip".into());
    fails(site, Kind::Checksum, "no line for `other.zip`");

    let mut site = Site::new();
    site.tell(|told| told["packages"] = serde_json::json!({"linux_amd64": {"package_size": 3}}));
    fails(site, Kind::Checksum, "instead of 3");

    let mut site = Site::new();
    site.tell(|told| {
        told["packages"] = serde_json::json!({"linux_amd64": {"hashes": [format!("zh:{}", sum(b"other"))]}})
    });
    fails(site, Kind::Checksum, "it hashes to h1:");
}

#[test]
fn wrong_signatures() {
    let mut site = Site::new();
    site.publish("1.0.0", &package(), &Publisher::new(1), &Publisher::new(2));
    fails(site, Kind::Signature, "keys that may sign: ");

    let mut site = Site::new();
    site.set(SIGNATURE, Reply::Bytes(b"garbage".to_vec()));
    fails(site, Kind::Signature, "it is no OpenPGP signature");

    let mut site = Site::new();
    site.tell(|told| told["signing_keys"] = serde_json::json!({"gpg_public_keys": []}));
    fails(site, Kind::Signature, "keys that may sign: none");

    // Sums that somebody changed together with the package.
    let mut site = Site::new();
    let other = zipped(&[("terraform-provider-x", "evil")]);
    let name = "terraform-provider-x_1.0.0_linux_amd64.zip";
    site.set(SUMS, Reply::Bytes(format!("{}  {name}\n", sum(&other)).into_bytes()));
    site.tell(|told| told["shasum"] = sum(&other).into());
    site.set(ZIP, Reply::Bytes(other));
    fails(site, Kind::Signature, "is not signed by its publisher");
}

#[test]
fn redirects_that_must_not_be() {
    let mut site = Site::new();
    site.set(ZIP, Reply::Redirect("http://127.0.0.1:9/a.zip".into()));
    fails(site, Kind::Redirect, "which is not https");

    let mut site = Site::new();
    site.set(ZIP, Reply::Redirect(ZIP.into()));
    fails(site, Kind::Redirect, "lead in a circle");

    let mut site = Site::new();
    site.tell(|told| told["download_url"] = "http://127.0.0.1:9/a.zip".into());
    fails(site, Kind::Redirect, "no address that begins with https://");

    let mut site = Site::new();
    site.tell(|told| told["shasums_url"] = "file:///etc/passwd".into());
    fails(site, Kind::Redirect, "no address that begins with https://");
}

#[test]
fn downloads_that_end_early_or_stand_still() {
    let mut site = Site::new();
    site.set(ZIP, Reply::Cut(package()));
    fails(site, Kind::Truncated, "broke off");

    let mut site = Site::new();
    let half = package()[..100].to_vec();
    site.publish("1.0.0", &half, &Publisher::new(1), &Publisher::new(1));
    fails(site, Kind::Archive, "cannot be unpacked");

    let mut site = Site::new();
    site.set(ZIP, Reply::Stall);
    let soon = |lab: &mut Lab| lab.patience = Duration::from_millis(1500);
    fails_with(site, Kind::Stalled, "does not answer in time", "", soon);

    let mut site = Site::new();
    site.set(VERSIONS, Reply::Silence);
    fails_with(site, Kind::Stalled, "does not answer in time", "", soon);
}

#[test]
fn hosts_that_do_not_have_it() {
    for (path, status, kind, told) in [
        (DISCOVERY, 404, Kind::Unknown, "offers no registry of providers"),
        (DISCOVERY, 500, Kind::Unreachable, "answered 500"),
        (VERSIONS, 404, Kind::Unknown, "no provider localhost:"),
        (VERSIONS, 401, Kind::Credentials, "asks for credentials"),
        (VERSIONS, 403, Kind::Credentials, "asks for credentials"),
        (DOWNLOAD, 404, Kind::Platform, "there is no package of"),
        (SUMS, 404, Kind::Answer, "says that there is no"),
        (ZIP, 403, Kind::Credentials, "asks for credentials"),
    ] {
        let mut site = Site::new();
        site.set(path, Reply::Status(status));
        fails(site, kind, told);
    }
    let mut site = Site::new();
    site.set(DISCOVERY, Reply::Json("{}".into()));
    fails(site, Kind::Unknown, "offers no registry of providers");
    let mut site = Site::new();
    site.set(VERSIONS, Reply::Json("<html>".into()));
    fails(site, Kind::Answer, "the answer is no JSON");
    let mut site = Site::new();
    site.versions(&[("1.0.0", "4.0")]);
    fails(site, Kind::Version, "speaks protocol 5 or 6");
    fails_with(Site::new(), Kind::Version, "fits `>= 2.0.0`", ">= 2", |_| {});
    fails_with(Site::new(), Kind::Unreachable, "cannot reach", "", |lab| lab.pem = other_root());
}

fn other_root() -> String {
    rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap().cert.pem()
}

#[test]
fn archives_that_must_not_be_unpacked() {
    for (zip, told) in [
        (zipped(&[("terraform-provider-x", ""), ("../evil", "")]), "contains `..`"),
        (zipped(&[("terraform-provider-x", ""), ("/evil", "")]), "is absolute"),
        (linked(), "is a link or a device"),
        (doubled(), "stands in it twice"),
        (zipped(&[("README", "")]), "there is no program `terraform-provider-x`"),
        (b"PK no archive".to_vec(), "cannot be unpacked"),
    ] {
        fails(Site::with(&zip), Kind::Archive, told);
    }
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("terraform-provider-x", SimpleFileOptions::default()).unwrap();
    zip.write_all(&vec![0; 3 << 20]).unwrap();
    let bomb = zip.finish().unwrap().into_inner();
    assert!(bomb.len() < 10_000);
    fails_with(Site::with(&bomb), Kind::Archive, "which no package of", "", |lab| lab.limits.small = 1 << 20);
}

/// An archive with a link that leads out.
fn linked() -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("terraform-provider-x", SimpleFileOptions::default()).unwrap();
    zip.add_symlink("link", "/etc", SimpleFileOptions::default()).unwrap();
    zip.finish().unwrap().into_inner()
}

/// An archive in which a name stands twice.
fn doubled() -> Vec<u8> {
    let text = zipped(&[("terraform-provider-x", "a"), ("terraform-provider-y", "b")]);
    let (from, to) = (b"terraform-provider-y", b"terraform-provider-x");
    let mut out = text.clone();
    for at in 0..text.len() - from.len() {
        if text[at..].starts_with(from) {
            out[at..at + to.len()].copy_from_slice(to);
        }
    }
    out
}

#[test]
fn a_package_that_the_lock_does_not_name() {
    let server = Site::new().start();
    let mut lab = Lab::new(&server.pem);
    let name = format!("{}/acme/x", server.host);
    lab.lock = Lock::parse(&format!(
        "provider \"{name}\" {{\n version = \"1.0.0\"\n hashes = [\"h1:other=\", \"zh:{}\"]\n}}",
        sum(b"other")
    ))
    .unwrap();
    let before = lab.lock.clone();
    let error = lab.install(&name, "1.0.0").unwrap_err();
    assert!(error.kind == Kind::Locked && error.what.contains("h1:"), "{error}");
    assert_eq!(left_in(&lab.cache()), Vec::<String>::new());
    assert_eq!(lab.lock, before);
    // The hash of the archive alone is enough.
    lab.lock = Lock::parse(&format!(
        "provider \"{name}\" {{\n version = \"1.0.0\"\n hashes = [\"zh:{}\"]\n}}",
        sum(&package())
    ))
    .unwrap();
    lab.install(&name, "1.0.0").unwrap();
}

#[test]
fn an_expired_key_is_a_warning_unless_it_must_not_be() {
    let old = (include_str!("../keys/old.asc"), include_bytes!("../keys/old.sig"));
    let make = || {
        let mut site = Site::new();
        let zip = b"no matter";
        let sums = include_bytes!("../keys/SUMS");
        let hex = std::str::from_utf8(&sums[..64]).unwrap().to_owned();
        site.set(SUMS, Reply::Bytes(sums.to_vec()));
        site.set(SIGNATURE, Reply::Bytes(old.1.to_vec()));
        site.set(ZIP, Reply::Bytes(zip.to_vec()));
        site.tell(|told| {
            told["shasum"] = hex.into();
            told["signing_keys"] = serde_json::json!({"gpg_public_keys": [{"ascii_armor": old.0}]});
        });
        site
    };
    fails_with(make(), Kind::Signature, "is over", "", |lab| lab.strictness.fresh = true);
    // The signature holds, so the package itself is looked at.
    fails(make(), Kind::Checksum, "what came is not what was promised");
}

#[test]
fn built_in_providers_are_not_installed() {
    let mut lab = Lab::new("");
    assert_eq!(lab.install("terraform.io/builtin/terraform", "").unwrap_err().kind, Kind::Usage);
    lab.config = "provider_installation { }".to_owned();
    let error = lab.install(&format!("{OPENTOFU}/acme/x"), "").unwrap_err();
    assert_eq!(error.kind, Kind::Configuration);
}

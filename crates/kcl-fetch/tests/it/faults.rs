//! What goes wrong between us and a registry: each fault has its own words, nothing is kept, and nothing stays locked.
//!
//! The registry is that of Debian's package `docker-registry`; what it would never say itself is said by a server of a few lines.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use data_encoding::{BASE64, HEXLOWER};
use kcl_fetch::Options;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType,
};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use testenv::packages::{RegistryOptions, RegistryServer};

use crate::lab::{Lab, names};

/// A registry with one package: paths and bodies; `cut` answers of blobs end after so many bytes unless the rest is asked for.
pub(crate) struct Fake {
    pub(crate) host: String,
    asked: Arc<AtomicUsize>,
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(bytes)))
}

pub(crate) fn serve(pages: Vec<(String, Vec<u8>)>, cut: Option<usize>) -> Fake {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(AtomicUsize::new(0));
    let (pages, counted) = (Arc::new(pages), asked.clone());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (pages, counted) = (pages.clone(), counted.clone());
            std::thread::spawn(move || answer(stream, &pages, cut, &counted));
        }
    });
    Fake { host, asked }
}

fn answer(mut stream: TcpStream, pages: &[(String, Vec<u8>)], cut: Option<usize>, asked: &AtomicUsize) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.fetch_add(1, Ordering::Relaxed);
    let Some((_, body)) = pages.iter().find(|(known, _)| path.ends_with(known)) else {
        let _ =
            stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        return;
    };
    let from =
        head.split("range: bytes=").nth(1).and_then(|rest| rest.split('-').next()?.parse::<usize>().ok());
    let rest = &body[from.unwrap_or(0).min(body.len())..];
    let status = if from.is_some() { "206 Partial Content" } else { "200 OK" };
    let _ =
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", rest.len());
    let blob = path.contains("/blobs/");
    let sent = cut.filter(|_| blob).map_or(rest, |cut| &rest[..cut.min(rest.len())]);
    let _ = stream.write_all(sent);
}

fn manifest(layer: &[u8]) -> Vec<u8> {
    let kind = "application/vnd.oci.image.layer.v1.tar";
    json!({"schemaVersion": 2, "layers": [{"mediaType": kind, "digest": digest(layer), "size": layer.len()}]})
        .to_string()
        .into_bytes()
}

fn pages(layer: &[u8]) -> Vec<(String, Vec<u8>)> {
    vec![
        ("/v2/team/web/manifests/1.0.0".to_owned(), manifest(layer)),
        (format!("/v2/team/web/blobs/{}", digest(layer)), layer.to_vec()),
    ]
}

/// A module that needs the package of a registry, with more lines in its manifest.
pub(crate) fn module(lab: &Lab, host: &str, rest: &str) {
    lab.module(
        "app",
        "0.1.0",
        &format!("[dependencies]\nweb = {{ oci = \"oci://{host}/team/web\", tag = \"1.0.0\" }}\n{rest}"),
    );
}

#[track_caller]
pub(crate) fn refused(lab: &Lab, says: &str) {
    let told = lab.resolve("app", &Options::default()).unwrap_err();
    assert!(told.what.contains(says), "{told:?}");
    let kept = std::fs::read_dir(lab.path("store/store")).map_or(0, Iterator::count);
    assert_eq!(kept, 0, "nothing is kept, not even a part");
    // The lock of the source is free again.
    for entry in std::fs::read_dir(lab.path("store/locks")).unwrap() {
        let lock = std::fs::File::open(entry.unwrap().path()).unwrap();
        // Another test of this process that starts a program at this moment shares the lock with it until it runs.
        let begun = std::time::Instant::now();
        while lock.try_lock().is_err() {
            assert!(begun.elapsed().as_secs() < 20, "the lock stays");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn entry(kind: tar::EntryType, path: &str, body: &[u8], link: Option<&str>) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_size(body.len() as u64);
    if let Some(link) = link {
        header.set_link_name(link).unwrap();
    }
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    bytes
}

fn package() -> Vec<u8> {
    let files = [("kcl.mod", "[package]\nname = \"web\"\nversion = \"1.0.0\"\n"), ("web.k", "a = 1\n")];
    let content = kcl_mod::Content::new(files.map(|(p, t)| (p.to_owned(), t.as_bytes().to_vec()))).unwrap();
    kcl_mod::pack(&content).unwrap()
}

#[test]
fn what_no_package_holds_is_refused() {
    let bomb = {
        // Ten gigabytes of zeros in ten megabytes: one flushed piece of a stream, again and again.
        let mut piece = flate2::Compress::new(flate2::Compression::best(), false);
        let mut packed = Vec::with_capacity(1 << 20);
        let head = {
            let mut header = tar::Header::new_gnu();
            header.set_path("bomb.k").unwrap();
            header.set_size(10 << 30);
            header.set_cksum();
            header.as_bytes().to_vec()
        };
        piece.compress_vec(&head, &mut packed, flate2::FlushCompress::Full).unwrap();
        let mut stream = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        stream.extend_from_slice(&packed);
        let mut zeros = Vec::with_capacity(1 << 20);
        let mut fresh = flate2::Compress::new(flate2::Compression::best(), false);
        fresh.compress_vec(&vec![0; 1 << 20], &mut zeros, flate2::FlushCompress::Full).unwrap();
        for _ in 0..10 << 10 {
            stream.extend_from_slice(&zeros);
        }
        stream
    };
    let file = tar::EntryType::Regular;
    let table: Vec<(Vec<u8>, &str)> = vec![
        (entry(file, "../x.k", b"x", None), "leads out of the package"),
        (entry(file, "a/../../x.k", b"x", None), "leads out of the package"),
        (entry(file, "/etc/x.k", b"x", None), "is absolute"),
        (entry(tar::EntryType::Symlink, "x.k", b"", Some("/etc/passwd")), "is a link"),
        (entry(tar::EntryType::Symlink, "x.k", b"", Some("../../x")), "is a link"),
        (entry(tar::EntryType::Link, "x.k", b"", Some("/etc/passwd")), "is a link"),
        (entry(tar::EntryType::Char, "x", b"", None), "neither a file nor a folder"),
        (entry(tar::EntryType::Block, "x", b"", None), "neither a file nor a folder"),
        (entry(tar::EntryType::Fifo, "x", b"", None), "neither a file nor a folder"),
        (bomb, "unpacks to more than"),
        (b"no archive at all".repeat(100), "the archive is damaged"),
        (package()[..700].to_vec(), "the archive is damaged"),
        (entry(file, "x.k", b"x", None), "there is no kcl.mod in it"),
    ];
    let Some(server) = RegistryServer::start(&RegistryOptions::default()) else { return };
    for (layer, says) in table {
        let lab = Lab::new();
        publish(&server.host, &layer);
        module(&lab, &server.host, "");
        refused(&lab, says);
    }
}

/// Puts a package on a real registry, whatever its layer holds.
fn publish(host: &str, layer: &[u8]) {
    let config = b"{}";
    for bytes in [layer, config] {
        let begun = ureq::post(format!("http://{host}/v2/team/web/blobs/uploads/")).send_empty().unwrap();
        let place = begun.headers().get("location").unwrap().to_str().unwrap().to_owned();
        let put = ureq::put(format!("{place}&digest={}", digest(bytes)));
        put.header("content-type", "application/octet-stream").send(bytes).unwrap();
    }
    let mut told: Value = serde_json::from_slice(&manifest(layer)).unwrap();
    let kind = "application/vnd.oci.image.manifest.v1+json";
    told["mediaType"] = kind.into();
    told["config"] =
        json!({"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(config), "size": 2});
    let put = ureq::put(format!("http://{host}/v2/team/web/manifests/1.0.0")).header("content-type", kind);
    put.send(told.to_string().as_bytes()).unwrap();
}

#[test]
fn what_a_registry_says_wrongly_is_refused() {
    let lab = Lab::new();
    let mut changed = pages(&package());
    changed[1].1[600] ^= 1;
    module(&lab, &serve(changed, None).host, "");
    refused(&lab, "what came is not what was promised");
    // A blob that does not end, and one that ends too soon.
    let mut endless = pages(&package());
    endless[1].1.extend([0; 100_000]);
    let lab = Lab::new();
    module(&lab, &serve(endless, None).host, "");
    refused(&lab, "is larger than");
    let mut short = pages(&package());
    short[1].1.truncate(600);
    let lab = Lab::new();
    module(&lab, &serve(short, None).host, "");
    refused(&lab, "600 bytes came instead of");
    let lab = Lab::new();
    module(&lab, &serve(Vec::new(), None).host, "");
    refused(&lab, "does not exist");
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_was() {
    let lab = Lab::new();
    let fake = serve(pages(&package()), Some(1000));
    module(&lab, &fake.host, "");
    assert_eq!(names(&lab.resolve("app", &Options::default()).unwrap()), ["web@1.0.0"]);
    assert!(fake.asked.load(Ordering::Relaxed) > 3, "it was asked for in pieces");
}

/// A signer of our own: the key, and the form of cosign's tag.
struct Signer {
    key: EcdsaKeyPair,
    random: ring::rand::SystemRandom,
}

impl Signer {
    fn new(pkcs8: &[u8]) -> Signer {
        let random = ring::rand::SystemRandom::new();
        Signer {
            key: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8, &random).unwrap(),
            random,
        }
    }

    fn sign(&self, message: &[u8]) -> String {
        BASE64.encode(self.key.sign(&self.random, message).unwrap().as_ref())
    }

    /// The pages of the tag `sha256-….sig`.
    fn tag(&self, about: &str, named: &str, certificates: Option<(&str, &str)>) -> Vec<(String, Vec<u8>)> {
        let payload = json!({"critical": {"identity": {"docker-reference": ""}, "image": {"docker-manifest-digest": named},
            "type": "cosign container image signature"}, "optional": null});
        let payload = payload.to_string().into_bytes();
        let mut notes = json!({"dev.cosignproject.cosign/signature": self.sign(&payload)});
        if let (Some((certificate, chain)), Value::Object(notes)) = (certificates, &mut notes) {
            notes.insert("dev.sigstore.cosign/certificate".to_owned(), certificate.into());
            notes.insert("dev.sigstore.cosign/chain".to_owned(), chain.into());
        }
        let layer = json!({"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", "digest": digest(&payload),
            "size": payload.len(), "annotations": notes});
        let manifest = json!({"schemaVersion": 2, "layers": [layer]}).to_string().into_bytes();
        vec![
            (format!("/manifests/{}.sig", about.replace(':', "-")), manifest),
            (format!("/blobs/{}", digest(&payload)), payload),
        ]
    }
}

#[test]
fn unsigned_and_wrongly_signed_packages_are_refused_before_they_are_fetched() {
    let layer = package();
    let about = digest(&manifest(&layer));
    let (own, other) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let signer = Signer::new(&own.serialize_der());
    let policy = "[signatures]\nkeys = [\"cosign.pub\"]\n";
    let try_with = |more: Vec<(String, Vec<u8>)>, key: &KeyPair| {
        let lab = Lab::new();
        let all: Vec<_> = pages(&layer).into_iter().chain(more).collect();
        module(&lab, &serve(all, None).host, policy);
        lab.write("app/cosign.pub", &key.public_key_pem());
        lab
    };
    refused(&try_with(Vec::new(), &own), "it is not signed");
    refused(&try_with(signer.tag(&about, &about, None), &other), "a key that kcl.mod does not name");
    let elsewhere = signer.tag(&about, &digest(b"another"), None);
    refused(&try_with(elsewhere, &own), "about something else");
    let lab = try_with(signer.tag(&about, &about, None), &own);
    let resolution = lab.resolve("app", &Options::default()).unwrap();
    assert!(resolution.lock.entries[0].signed_by.as_deref().unwrap().starts_with("key "));
    lab.write_lock("app", &resolution);
    let offline = Options { offline: true, ..Options::default() };
    assert_eq!(lab.resolve("app", &offline).unwrap().lock, resolution.lock);
    // What was locked without a signature, or with the word of somebody, is looked at again.
    let key = resolution.lock.entries[0].signed_by.clone().unwrap();
    for lock in [
        resolution.lock.write().replace("signed_by", "other"),
        resolution.lock.write().replace(&key, "key 0123456789abcdef"),
    ] {
        lab.write("app/kcl.mod.lock", &lock);
        assert!(lab.resolve("app", &offline).unwrap_err().what.contains("looked at its signature"));
        assert_eq!(lab.resolve("app", &Options::default()).unwrap().lock, resolution.lock);
        let locked = Options { locked: true, ..Options::default() };
        assert!(lab.resolve("app", &locked).unwrap_err().what.contains("does not fit"));
    }
    // A word in the lock proves nothing on a machine that has not looked.
    lab.write_lock("app", &resolution);
    std::fs::remove_dir_all(lab.path("store/signed")).unwrap();
    assert!(lab.resolve("app", &offline).unwrap_err().what.contains("looked at its signature"));
    lab.resolve("app", &Options::default()).unwrap();
    assert!(lab.resolve("app", &offline).is_ok());
    // What is vendored takes its proof with it: a machine that has only the checkout asks no registry.
    kcl_fetch::vendor(&lab.path("app"), &lab.store(), &resolution).unwrap();
    std::fs::remove_dir_all(lab.path("store")).unwrap();
    assert_eq!(lab.resolve("app", &offline).unwrap().lock, resolution.lock);
    let proof =
        lab.path("app").join("vendor").join(format!("{}.proof", resolution.packages[0].locked.full_name()));
    std::fs::remove_dir_all(lab.path("store")).unwrap();
    std::fs::write(&proof, "{}").unwrap();
    assert!(lab.resolve("app", &offline).unwrap_err().what.contains("looked at its signature"));
    lab.resolve("app", &Options::default()).unwrap();
    // Another policy: who was trusted is not any more.
    lab.write("app/cosign.pub", &other.public_key_pem());
    for options in [Options::default(), Options { locked: true, ..Options::default() }] {
        let told = lab.resolve("app", &options).unwrap_err();
        assert!(told.what.contains("a key that kcl.mod does not name"), "{told}");
    }
}

/// What a bundle says that is a signature.
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

/// The pages of a bundle: first the list of what refers to the manifest.
fn bundle(about: &str, key: &KeyPair, says: &str) -> Vec<(String, Vec<u8>)> {
    let subject = json!([{"digest": {"sha256": about[7..]}}]);
    let statement =
        json!({"_type": "https://in-toto.io/Statement/v1", "subject": subject, "predicateType": says});
    let statement = statement.to_string();
    let kind = "application/vnd.in-toto+json";
    let message = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
    let signature = Signer::new(&key.serialize_der()).sign(message.as_bytes());
    let bundle = json!({"verificationMaterial": {"publicKey": {"hint": ""}}, "dsseEnvelope": {"payload":
        BASE64.encode(statement.as_bytes()), "payloadType": kind, "signatures": [{"sig": signature}]}});
    let bundle = bundle.to_string().into_bytes();
    let inner = json!({"layers": [{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "digest": digest(&bundle)}]});
    let inner = inner.to_string().into_bytes();
    let index = json!({"manifests": [{"digest": digest(&inner)}]}).to_string().into_bytes();
    vec![
        (format!("/manifests/{}", about.replace(':', "-")), index),
        (format!("/manifests/{}", digest(&inner)), inner),
        (format!("/blobs/{}", digest(&bundle)), bundle),
    ]
}

#[test]
fn a_bundle_counts_as_a_signature() {
    let layer = package();
    let about = digest(&manifest(&layer));
    let key = KeyPair::generate().unwrap();
    let lab = Lab::new();
    let all: Vec<_> = pages(&layer).into_iter().chain(bundle(&about, &key, SIGNED)).collect();
    module(&lab, &serve(all, None).host, "[signatures]\nkeys = [\"k.pub\"]\n");
    lab.write("app/k.pub", &key.public_key_pem());
    assert!(lab.resolve("app", &Options::default()).unwrap().lock.entries[0].signed_by.is_some());
    // What the same key says about a package beside that is none: a bill of material, a list of its weaknesses.
    let lab = Lab::new();
    let other = bundle(&about, &key, "https://cosign.sigstore.dev/attestation/vuln/v1");
    let all: Vec<_> = pages(&layer).into_iter().chain(other).collect();
    module(&lab, &serve(all, None).host, "[signatures]\nkeys = [\"k.pub\"]\n");
    lab.write("app/k.pub", &key.public_key_pem());
    refused(&lab, "it is not signed");
}

#[test]
fn a_registry_that_lists_what_refers_to_a_manifest_is_asked() {
    let layer = package();
    let about = digest(&manifest(&layer));
    let key = KeyPair::generate().unwrap();
    let mut more = bundle(&about, &key, SIGNED);
    let (_, index) = more.remove(0);
    more.push((format!("/referrers/{about}"), index));
    let lab = Lab::new();
    let all: Vec<_> = pages(&layer).into_iter().chain(more).collect();
    module(&lab, &serve(all, None).host, "[signatures]\nkeys = [\"k.pub\"]\n");
    lab.write("app/k.pub", &key.public_key_pem());
    assert!(lab.resolve("app", &Options::default()).unwrap().lock.entries[0].signed_by.is_some());
}

/// Somebody who vouches for others, with the certificate that says so.
pub(crate) fn authority(name: &str) -> (Issuer<'static, KeyPair>, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap().pem();
    (Issuer::new(params, key), certificate)
}

/// The certificate of a signer: `https://example.org/build`, known to `https://login.example.org`.
pub(crate) fn certificate(key: &KeyPair, root: &Issuer<'_, KeyPair>) -> String {
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![SanType::URI("https://example.org/build".try_into().unwrap())];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
    let issuer = CustomExtension::from_oid_content(
        &[1, 3, 6, 1, 4, 1, 57264, 1, 1],
        b"https://login.example.org".to_vec(),
    );
    params.custom_extensions = vec![issuer];
    params.signed_by(key, root).unwrap().pem()
}

#[test]
fn an_identity_is_whom_a_root_vouches_for() {
    let layer = package();
    let about = digest(&manifest(&layer));
    let (root, root_pem) = authority("root");
    let (_, stranger_pem) = authority("root");
    let key = KeyPair::generate().unwrap();
    let leaf = certificate(&key, &root);
    let more = Signer::new(&key.serialize_der()).tag(&about, &about, Some((&leaf, &root_pem)));
    let try_with = |subject: &str, issuer: &str, root: &str| {
        let lab = Lab::new();
        let all: Vec<_> = pages(&layer).into_iter().chain(more.clone()).collect();
        let policy = format!(
            "[signatures]\nroots = [\"root.pem\"]\nidentities = [{{ subject = \"{subject}\", issuer = \"{issuer}\" }}]\n"
        );
        module(&lab, &serve(all, None).host, &policy);
        lab.write("app/root.pem", root);
        lab
    };
    let (who, known) = ("https://example.org/build", "https://login.example.org");
    let lab = try_with(who, known, &root_pem);
    let resolution = lab.resolve("app", &Options::default()).unwrap();
    assert_eq!(resolution.lock.entries[0].signed_by.as_deref(), Some("identity https://example.org/build"));
    refused(&try_with("https://example.org/other", known, &root_pem), "whom kcl.mod does not name");
    refused(&try_with(who, "https://other.example.org", &root_pem), "whom kcl.mod does not name");
    refused(&try_with(who, known, &stranger_pem), "nobody that kcl.mod trusts vouches");
}

#[test]
fn a_mirror_is_asked_instead() {
    let lab = Lab::new();
    let fake = serve(pages(&package()), None);
    module(&lab, "reg.example.org", &format!("[mirrors]\n\"reg.example.org\" = \"{}\"\n", fake.host));
    let resolution = lab.resolve("app", &Options::default()).unwrap();
    assert!(resolution.lock.write().contains("reg = \"reg.example.org\""), "the lock keeps the original");
}

//! A registry with one provider, as paths and answers; tests change what they want to see fail.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::server::{Reply, Server};
use crate::sign::Publisher;

pub(crate) const DOWNLOAD: &str = "/v1/providers/acme/x/1.0.0/download/linux/amd64";
pub(crate) const ZIP: &str = "/files/terraform-provider-x_1.0.0_linux_amd64.zip";
pub(crate) const SUMS: &str = "/files/SHA256SUMS";
pub(crate) const SIGNATURE: &str = "/files/SHA256SUMS.sig";
pub(crate) const VERSIONS: &str = "/v1/providers/acme/x/versions";
pub(crate) const DISCOVERY: &str = "/.well-known/terraform.json";

/// An archive of files.
pub(crate) fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(*name, SimpleFileOptions::default().unix_permissions(0o644)).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The package that everything here is about.
pub(crate) fn package() -> Vec<u8> {
    zipped(&[("terraform-provider-x_v1.0.0", "hello\n"), ("LICENSE", "license\n"), ("docs/a.md", "")])
}

/// What that package hashes to.
pub(crate) const H1: &str = "h1:dvyuX5+VDA8p+5K6TEQOkPrFAyuH9I8PpRTruOgetao=";

pub(crate) fn sum(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

pub(crate) struct Site {
    pub(crate) replies: BTreeMap<String, Reply>,
}

impl Site {
    /// A registry with the package of `acme/x` 1.0.0, signed.
    pub(crate) fn new() -> Site {
        Site::with(&package())
    }

    /// A registry with an archive.
    pub(crate) fn with(zip: &[u8]) -> Site {
        let mut site = Site { replies: BTreeMap::new() };
        site.set(DISCOVERY, Reply::Json(r#"{"providers.v1": "/v1/providers/"}"#.into()));
        site.versions(&[("1.0.0", "5.0"), ("2.0.0-beta1", "6.0"), ("3.0.0", "4.0")]);
        site.publish("1.0.0", zip, &Publisher::new(1), &Publisher::new(1));
        site
    }

    pub(crate) fn set(&mut self, path: &str, reply: Reply) {
        self.replies.insert(path.to_owned(), reply);
    }

    pub(crate) fn versions(&mut self, versions: &[(&str, &str)]) {
        let rows: Vec<String> = versions
            .iter()
            .map(|(version, protocol)| format!(r#"{{"version": "{version}", "protocols": ["{protocol}"], "platforms": [{{"os": "linux", "arch": "amd64"}}]}}"#))
            .collect();
        self.set(
            VERSIONS,
            Reply::Json(format!(r#"{{"versions": [{}], "warnings": null}}"#, rows.join(", "))),
        );
    }

    /// Publishes an archive; what signs may be another than whose key is told.
    pub(crate) fn publish(&mut self, version: &str, zip: &[u8], told: &Publisher, signs: &Publisher) {
        let name = format!("terraform-provider-x_{version}_linux_amd64.zip");
        let sums = format!(
            "{}  {name}\n{}  terraform-provider-x_{version}_darwin_arm64.zip\n",
            sum(zip),
            sum(b"darwin")
        );
        let told = serde_json::json!({
            "protocols": ["5.0"], "os": "linux", "arch": "amd64", "filename": name, "shasum": sum(zip),
            "download_url": format!("/files/{name}"), "shasums_url": SUMS, "shasums_signature_url": "../../../../../../../../files/SHA256SUMS.sig",
            "signing_keys": {"gpg_public_keys": [{"key_id": "X", "ascii_armor": told.armor()}]},
        });
        self.set(
            &format!("/v1/providers/acme/x/{version}/download/linux/amd64"),
            Reply::Json(told.to_string()),
        );
        self.set(&format!("/files/{name}"), Reply::Bytes(zip.to_vec()));
        self.set(SUMS, Reply::Bytes(sums.clone().into_bytes()));
        self.set(SIGNATURE, Reply::Bytes(signs.sign(sums.as_bytes())));
    }

    /// Changes what the registry says about the package.
    pub(crate) fn tell(&mut self, change: impl FnOnce(&mut serde_json::Value)) {
        let Some(Reply::Json(text)) = self.replies.get(DOWNLOAD) else { panic!("no package") };
        let mut told = serde_json::from_str(text).unwrap();
        change(&mut told);
        self.set(DOWNLOAD, Reply::Json(told.to_string()));
    }

    pub(crate) fn start(self) -> Server {
        Server::start(self.replies)
    }
}

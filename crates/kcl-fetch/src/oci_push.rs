//! Uploads of packages to a registry.

use kcl_mod::{Content, Package, pack, sum};
use kcl_sign::digest;
use serde_json::{Value, json};
use ureq::http::StatusCode;

use crate::Trouble;
use crate::oci::{ACCEPTED, Client};

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

impl Client {
    /// Uploads a package under its version and returns the digest of its manifest. A version that holds something else is replaced only
    /// where that is asked for: others have locked it.
    ///
    /// # Errors
    /// A registry that refuses or does not answer, or a version that is taken.
    pub fn push(
        &mut self,
        repository: &str,
        package: &Package,
        content: &Content,
        replace: bool,
    ) -> Result<String, Trouble> {
        let layer = pack(content)?;
        let config = b"{}".to_vec();
        let (layer_digest, config_digest) = (digest(&layer), digest(&config));
        if !replace {
            self.refuse_other(repository, package, (&layer_digest, &sum(content)))?;
        }
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config_digest, "size": config.len()},
            "layers": [{"mediaType": LAYER, "digest": layer_digest, "size": layer.len()}],
            "annotations": {
                "org.kcllang.package.name": package.name,
                "org.kcllang.package.version": package.version,
                "org.kcllang.package.description": package.description,
                "org.kcllang.package.sum": sum(content),
            },
        });
        self.upload(repository, &config_digest, config)?;
        self.upload(repository, &layer_digest, layer)?;
        let bytes = manifest.to_string().into_bytes();
        let digest = digest(&bytes);
        let url = self.registry.url(&format!("{repository}/manifests/{}", package.version));
        let answer = self.ask("PUT", &url, Some(bytes), &[("content-type", MANIFEST)])?;
        self.expect(answer, repository, &[StatusCode::CREATED])?;
        Ok(digest)
    }

    /// Refuses if the version is there with another layer and another sum: the same files may be packed in another way.
    fn refuse_other(
        &mut self,
        repository: &str,
        package: &Package,
        (layer, sum): (&str, &str),
    ) -> Result<(), Trouble> {
        let version = &package.version;
        let url = self.registry.url(&format!("{repository}/manifests/{version}"));
        let answer = self.ask("GET", &url, None, &[("accept", ACCEPTED)])?;
        // Whoever may not read may still write: the upload says what is wrong.
        if matches!(answer.status(), StatusCode::NOT_FOUND | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        {
            return Ok(());
        }
        let answer = self.expect(answer, repository, &[StatusCode::OK])?;
        let there = self.json(answer, repository)?;
        let text = |place: &str| there.pointer(place).and_then(Value::as_str);
        if text("/layers/0/digest") == Some(layer)
            || text("/annotations/org.kcllang.package.sum") == Some(sum)
        {
            return Ok(());
        }
        let host = &self.registry.host;
        Err(Trouble::new(format!("{host}/{repository}:{version} is there already and holds something else"))
            .next("change the version in kcl.mod; `--force` replaces what others may have locked"))
    }

    fn upload(&mut self, repository: &str, digest: &str, bytes: Vec<u8>) -> Result<(), Trouble> {
        let there =
            self.ask("HEAD", &self.registry.url(&format!("{repository}/blobs/{digest}")), None, &[])?;
        if there.status() == StatusCode::OK {
            return Ok(());
        }
        let answer = self.ask(
            "POST",
            &self.registry.url(&format!("{repository}/blobs/uploads/")),
            Some(Vec::new()),
            &[],
        )?;
        let answer = self.expect(answer, repository, &[StatusCode::ACCEPTED])?;
        let place =
            answer.headers().get("location").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let base = self.registry.url("");
        let host = base.trim_end_matches("v2/").trim_end_matches('/');
        let place = if place.starts_with('/') { format!("{host}{place}") } else { place.to_owned() };
        if !place.starts_with(host) {
            return Err(Trouble::new(format!(
                "{repository}: the registry sends the upload elsewhere: {place}"
            )));
        }
        let joined = if place.contains('?') { '&' } else { '?' };
        let url = format!("{place}{joined}digest={digest}");
        let answer = self.ask("PUT", &url, Some(bytes), &[("content-type", "application/octet-stream")])?;
        self.expect(answer, repository, &[StatusCode::CREATED]).map(|_| ())
    }
}

//! Where a registry keeps the signatures of a manifest: below the tag of cosign, and among what refers to the manifest.

use serde_json::Value;
use ureq::http::StatusCode;

use crate::Trouble;
use crate::oci::Client;
use kcl_sign::{Evidence, Signed, Trust};

/// Signatures of one manifest that are read.
const MAX_SIGNATURES: usize = 16;
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";

impl Client {
    /// Who signed a manifest, of those that are trusted, and everything that was found about it.
    pub(crate) fn signer(
        &mut self,
        repository: &str,
        digest: &str,
        shown: &str,
        trust: &Trust,
    ) -> Result<(String, Vec<Evidence>), Trouble> {
        let evidence = self.signatures(repository, digest, shown)?;
        let found: Vec<Signed> = evidence.iter().filter_map(Evidence::signed).collect();
        let who = trust.signer(digest, &found).map_err(|why| {
            Trouble::new(format!("{shown} is refused by [signatures] of kcl.mod: {why}")).next(
                "nothing was fetched; ask its author for a signature, or change the policy if you trust it",
            )
        })?;
        Ok((who, evidence))
    }

    fn signatures(&mut self, repository: &str, digest: &str, shown: &str) -> Result<Vec<Evidence>, Trouble> {
        let mut found = Vec::new();
        let tag = digest.replace(':', "-");
        for layer in self.layers_below(repository, &format!("{tag}.sig"), shown)? {
            let payload = self.blob(repository, told(&layer, "digest"), size(&layer), shown)?;
            let annotations = layer.get("annotations").cloned().unwrap_or_default();
            found.extend(String::from_utf8(payload).ok().map(|text| Evidence::Layer(annotations, text)));
        }
        for manifest in self.referring(repository, digest, &tag, shown)? {
            for layer in self.layers_below(repository, told(&manifest, "digest"), shown)? {
                if told(&layer, "mediaType").starts_with(BUNDLE) {
                    let bundle = self.blob(repository, told(&layer, "digest"), size(&layer), shown)?;
                    found.extend(String::from_utf8(bundle).ok().map(Evidence::Bundle));
                }
            }
        }
        Ok(found)
    }

    /// What refers to a manifest: the registry lists it, or, where it cannot, whoever pushed it keeps a list below a tag.
    fn referring(
        &mut self,
        repository: &str,
        digest: &str,
        tag: &str,
        shown: &str,
    ) -> Result<Vec<Value>, Trouble> {
        let url = self.registry.url(&format!("{repository}/referrers/{digest}"));
        let answer = self.ask("GET", &url, None, &[("accept", INDEX)])?;
        let listed = match answer.status() {
            StatusCode::OK => self.json(answer, shown)?,
            _ => Value::Null,
        };
        let index = match listed.get("manifests") {
            Some(_) => Some(listed),
            None => self.optional_manifest(repository, tag, shown)?,
        };
        let all = index.as_ref().and_then(|index| index.get("manifests")).and_then(Value::as_array).cloned();
        let mut all = all.unwrap_or_default();
        // What says that it is a bundle is looked at before bills of material and the like.
        all.sort_by_key(|manifest| !told(manifest, "artifactType").starts_with(BUNDLE));
        all.truncate(MAX_SIGNATURES);
        Ok(all)
    }

    fn layers_below(
        &mut self,
        repository: &str,
        reference: &str,
        shown: &str,
    ) -> Result<Vec<Value>, Trouble> {
        let manifest = self.optional_manifest(repository, reference, shown)?.unwrap_or_default();
        let layers = manifest.get("layers").and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(layers.into_iter().take(MAX_SIGNATURES).collect())
    }

    fn optional_manifest(
        &mut self,
        repository: &str,
        reference: &str,
        shown: &str,
    ) -> Result<Option<Value>, Trouble> {
        let url = self.registry.url(&format!("{repository}/manifests/{reference}"));
        let answer = self.ask("GET", &url, None, &[("accept", ACCEPTED)])?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = self.expect(answer, shown, &[StatusCode::OK])?;
        self.json(answer, shown).map(Some)
    }
}

fn told<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn size(layer: &Value) -> Option<u64> {
    layer.get("size").and_then(Value::as_u64)
}

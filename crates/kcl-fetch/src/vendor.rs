//! Copies of packages in the module that needs them.

use std::path::{Path, PathBuf};

use crate::{Resolution, Store, Trouble};

/// Copies every package that was fetched into `vendor`, and beside it the proof that it was signed, if the policy asked for one: then
/// another machine needs no registry. Returns names in imports and folders.
///
/// # Errors
/// A disk that does not take them.
pub fn vendor(
    root: &Path,
    store: &Store,
    resolution: &Resolution,
) -> Result<Vec<(String, PathBuf)>, Trouble> {
    let mut copies = Vec::new();
    for kept in &resolution.packages {
        let Some(sum) = &kept.locked.sum else { continue };
        let folder = root.join("vendor").join(kept.locked.full_name());
        // What is there already and right may be what it would be copied from.
        if crate::compare(&folder, sum).is_err() {
            let (_, content) = crate::read_kept(&kept.folder)?;
            crate::write_folder(&folder, &content)?;
        }
        let signed = kept.locked.signed_by.as_ref();
        if let Some(proof) = signed.and_then(|_| store.proof(sum)) {
            let place = root.join(kcl_mod::vendored_proof(&kept.locked.full_name()));
            crate::replace(&place, proof.as_bytes())?;
        }
        copies.push((kept.locked.name.clone(), folder));
    }
    Ok(copies)
}

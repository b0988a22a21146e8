//! What a package weighs: one sum over its files, equal on every machine.

use data_encoding::{BASE64, HEXLOWER};
use sha2::{Digest, Sha256};

use crate::archive::Content;

/// Sums of ours begin so; a sum of another tool (it has no prefix) cannot be compared.
const PREFIX: &str = "h1:";

/// Returns the sum of a package: SHA-256 over the lines `<SHA-256 of a file> <path>`, in the order of paths.
pub fn sum(content: &Content) -> String {
    let mut all = Sha256::new();
    for (path, bytes) in content.files() {
        all.update(HEXLOWER.encode(&Sha256::digest(bytes)));
        all.update("  ");
        all.update(path);
        all.update("\n");
    }
    format!("{PREFIX}{}", BASE64.encode(&all.finalize()))
}

/// Returns the name of the folder that holds the content of a sum in a package store; none if the sum is not one of ours.
pub fn folder_name(sum: &str) -> Option<String> {
    let bytes = BASE64.decode(sum.strip_prefix(PREFIX)?.as_bytes()).ok()?;
    (bytes.len() == 32).then(|| HEXLOWER.encode(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_depends_on_names_and_bytes_and_on_nothing_else() {
        let content = |files: &[(&str, &str)]| {
            Content::new(files.iter().map(|(p, t)| ((*p).to_owned(), t.as_bytes().to_vec()))).unwrap()
        };
        let one = sum(&content(&[("a.k", "x"), ("b/c.k", "y")]));
        assert_eq!(one, sum(&content(&[("b/c.k", "y"), ("a.k", "x")])));
        assert_ne!(one, sum(&content(&[("a.k", "y"), ("b/c.k", "x")])));
        assert_ne!(one, sum(&content(&[("a.k", "x"), ("c.k", "y")])));
        assert_eq!(folder_name(&one).unwrap().len(), 64);
        assert_eq!(folder_name("tF1q="), None);
        assert_eq!(folder_name("h1:../.."), None);
    }
}

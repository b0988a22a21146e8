//! Whether an image can be pulled, and in whose words it cannot.

use std::time::Duration;

use crate::controllers::hash::fnv_text;
use crate::pace::Pace;

/// Why a pull fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PullError {
    /// `ErrImagePull`, `RegistryUnavailable`, `SignatureValidationFailed`.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// How an image name fails: a piece of it, and what the runtime says.
const TELLING: [(&str, &str); 6] = [
    ("typo", "not-found"),
    ("missing", "not-found"),
    ("not-found", "not-found"),
    ("denied", "denied"),
    ("registry-down", "down"),
    ("unsigned", "signature"),
];

/// The name with registry and tag, as a runtime reports it.
pub(crate) fn full_reference(image: &str) -> String {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let first = name.split('/').next().unwrap_or_default();
    let has_host = name.contains('/') && (first.contains('.') || first.contains(':') || first == "localhost");
    let path = match (has_host, name.contains('/')) {
        (true, _) => name.to_owned(),
        (false, true) => format!("docker.io/{name}"),
        (false, false) => format!("docker.io/library/{name}"),
    };
    let last = path.rsplit('/').next().unwrap_or_default();
    match digest {
        Some(digest) => format!("{path}@{digest}"),
        None if last.contains(':') => path,
        None => format!("{path}:latest"),
    }
}

/// Whether the text is an image name at all.
pub(crate) fn is_valid(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let (path, tag) = match name.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
        _ => (name, None),
    };
    let mut pieces = path.split('/').collect::<Vec<&str>>();
    let host = pieces.len() > 1 && (pieces[0].contains(['.', ':']) || pieces[0] == "localhost");
    if host {
        pieces.remove(0);
    }
    let good = |piece: &&str| {
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        edge(piece.chars().next())
            && edge(piece.chars().next_back())
            && piece.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
    };
    let tag_good = |tag: &str| {
        !tag.is_empty()
            && tag.len() <= 128
            && tag.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    !pieces.is_empty()
        && pieces.iter().all(good)
        && tag.is_none_or(tag_good)
        && digest.is_none_or(|digest| digest.starts_with("sha256:") && digest.len() == 71)
}

/// Why this image cannot be pulled, if it cannot.
pub(crate) fn pull_error(image: &str) -> Option<PullError> {
    let how = TELLING.iter().find(|(piece, _)| image.contains(piece)).map(|(_, how)| *how)?;
    let full = full_reference(image);
    let unpack =
        format!("failed to pull and unpack image \"{full}\": failed to resolve reference \"{full}\": ");
    let host = full.split('/').next().unwrap_or_default();
    let (reason, message) = match how {
        "not-found" => {
            ("ErrImagePull", format!("rpc error: code = NotFound desc = {unpack}{full}: not found"))
        }
        "denied" => (
            "ErrImagePull",
            format!(
                "{unpack}pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed"
            ),
        ),
        "down" => (
            "RegistryUnavailable",
            format!(
                "{unpack}failed to do request: Head \"https://{host}/v2/\": dial tcp: lookup {host}: no such host"
            ),
        ),
        _ => ("SignatureValidationFailed", format!("image {full} has no valid signature")),
    };
    Some(PullError { reason, message })
}

/// How long the pull takes: the same for the same image.
pub(crate) fn pull_time(image: &str, pace: &Pace) -> Duration {
    let spread = u64::try_from(pace.pull_spread.as_millis()).unwrap_or(0);
    let more = u64::from(fnv_text(image)).checked_rem(spread).unwrap_or(0);
    pace.pull + Duration::from_millis(more)
}

/// A size that looks like one, the same for the same image.
pub(crate) fn size(image: &str) -> u64 {
    20_000_000 + u64::from(fnv_text(image)) % 100_000_000
}

/// What `imageID` says.
pub(crate) fn id(image: &str) -> String {
    let full = full_reference(image);
    if full.contains('@') {
        return full;
    }
    let last_colon = full.rfind(':').filter(|at| !full[*at..].contains('/')).unwrap_or(full.len());
    format!("{}@sha256:{}", &full[..last_colon], digest(&full))
}

/// 64 hexadecimal digits from a text.
pub(crate) fn digest(text: &str) -> String {
    (0..8).map(|at| format!("{:08x}", fnv_text(&format!("{at}{text}")))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_completed_as_a_runtime_does() {
        assert_eq!(full_reference("nginx"), "docker.io/library/nginx:latest");
        assert_eq!(full_reference("a/b:1"), "docker.io/a/b:1");
        assert_eq!(full_reference("localhost:5000/b"), "localhost:5000/b:latest");
        assert!(is_valid("ghcr.io/a/b-c:v1.2") && is_valid("nginx") && is_valid("localhost:5000/x"));
        assert!(!is_valid("Nginx") && !is_valid("a b") && !is_valid("nginx:") && !is_valid("nginx:a:b"));
        assert_eq!(pull_error("shop:v3-typo").unwrap().reason, "ErrImagePull");
        assert_eq!(pull_error("shop:v3"), None);
    }
}

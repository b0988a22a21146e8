//! Why an image cannot be pulled: rows 9 to 14 of the priority table.
//!
//! In: the waiting reason and every text known about the pull. Out: a cause. Invariant: `ErrImagePull` and
//! `ImagePullBackOff` of one container are one cause with one key.

use super::{Cause, Weight, shorten};
use crate::profile::Profile;

/// Is this waiting reason about the image?
pub(crate) fn is_image_reason(reason: &str) -> bool {
    matches!(
        reason,
        "InvalidImageName"
            | "ErrImageNeverPull"
            | "ErrImagePull"
            | "ImagePullBackOff"
            | "RegistryUnavailable"
            | "ImageInspectError"
            | "SignatureValidationFailed"
    )
}

pub(crate) struct Pull<'a> {
    pub reason: &'a str,
    pub image: &'a str,
    pub node: &'a str,
    pub container: &'a str,
    /// Names of imagePullSecrets, for advice.
    pub secrets: String,
    /// Messages of the state and of the pod's events, most telling first.
    pub texts: Vec<&'a str>,
}

pub(crate) fn read(pull: &Pull<'_>, profile: &Profile) -> Cause {
    let image = pull.image;
    let cause = match pull.reason {
        "InvalidImageName" => {
            Cause::new(9, pull.reason, format!("\"{image}\" is not a valid image name"), Weight::Terminal)
                .next("correct the name")
        }
        "ErrImageNeverPull" => {
            let node =
                if pull.node.is_empty() { "the node".to_owned() } else { format!("node {}", pull.node) };
            let sentence = format!("image {image} is not on {node} and pulling is switched off");
            Cause::new(10, pull.reason, sentence, Weight::Terminal).next("use IfNotPresent or load the image")
        }
        "SignatureValidationFailed" => {
            let text = pull.texts.first().map_or("", |text| last_part(text));
            let sentence =
                format!("pulling {image} fails: its signature is not accepted {}", shorten(text, 200));
            Cause::new(14, pull.reason, sentence.trim_end().to_owned(), Weight::Terminal)
        }
        _ => pulled(pull, profile),
    };
    cause.key(format!("image:{}:{image}", pull.container))
}

fn pulled(pull: &Pull<'_>, profile: &Profile) -> Cause {
    let image = pull.image;
    let all = pull.texts.join("\n").to_lowercase();
    let any = |words: &[&str]| words.iter().any(|word| all.contains(word));
    let slow = Weight::Grace { grace: profile.image_grace, armed: true, snapshot_fails: true };
    if any(&["no match for platform", "no matching manifest for"]) {
        let sentence = format!("image {image} has no build for this node's platform");
        return Cause::new(13, pull.reason, sentence, Weight::Terminal)
            .next("build for that platform or select other nodes");
    }
    if any(&["not found", "manifest unknown", "name unknown"]) && !any(&["no such host"]) {
        let sentence = format!("image {image} does not exist (it cannot be pulled: not found)");
        return Cause::new(11, pull.reason, sentence, slow).next("check name and tag; was it pushed?");
    }
    let rights = [
        "unauthorized",
        "denied",
        "forbidden",
        "no basic auth",
        "authorization failed",
        "insufficient_scope",
        "imagepullsecret",
    ];
    if any(&rights) {
        let given = if pull.secrets.is_empty() { "none given" } else { pull.secrets.as_str() };
        return Cause::new(12, pull.reason, format!("no right to pull {image}"), slow)
            .next(format!("add imagePullSecrets ({given}) for that registry"));
    }
    let tail = pull.texts.iter().map(|text| last_part(text)).find(|text| !text.is_empty());
    let sentence = match tail {
        Some(tail) => format!("pulling {image} fails: {}", shorten(tail, 200)),
        None => format!("image {image} cannot be pulled"),
    };
    let slow = Weight::Grace { grace: profile.deadline, armed: false, snapshot_fails: true };
    Cause::new(14, pull.reason, sentence, slow)
        .next("look at the registry and the network; the pull is retried by itself")
}

/// The end of a chain of errors; the back-off's own words say nothing.
fn last_part(text: &str) -> &str {
    let text = text.trim();
    if text.starts_with("Back-off pulling image") && !text.contains("ErrImagePull:") {
        return "";
    }
    if text == "Error: ErrImagePull" || text == "Error: ImagePullBackOff" {
        return "";
    }
    text.rsplit("desc = ").next().unwrap_or(text).rsplit("ErrImagePull: ").next().unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(reason: &str, text: &str) -> u8 {
        let pull = Pull {
            reason,
            image: "shop:v1",
            node: "n1",
            container: "main",
            secrets: String::new(),
            texts: vec![text],
        };
        read(&pull, &Profile::default()).rank
    }

    #[test]
    fn texts_of_registries_are_told_apart() {
        let cases = [
            (
                "rpc error: code = NotFound desc = failed to pull and unpack image \"shop:v1\": shop:v1: not found",
                11,
            ),
            ("manifest unknown: manifest unknown", 11),
            ("pull access denied, repository does not exist or may require authorization", 12),
            ("failed to authorize: failed to fetch anonymous token: 403 Forbidden", 12),
            ("no match for platform in manifest", 13),
            ("toomanyrequests: You have reached your pull rate limit", 14),
            ("dial tcp: lookup reg.example on 10.0.0.2:53: no such host", 14),
            ("x509: certificate signed by unknown authority", 14),
        ];
        for (text, expected) in cases {
            assert_eq!(rank("ErrImagePull", text), expected, "{text}");
        }
        assert_eq!(rank("InvalidImageName", ""), 9);
        assert_eq!(rank("ErrImageNeverPull", ""), 10);
    }
}

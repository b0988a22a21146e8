//! Hiding secret values in everything a person reads.
//!
//! Problem: a termination message or an event may quote a password. In: the Secrets of the snapshot. Out: texts in which
//! their values read `(secret)`. Invariant: values of six characters or more are hidden wherever they occur, plain or base64.

use crate::verdict::Verdict;
use crate::view::View;
use serde_json::Value;

/// Shorter values (`true`, `8080`) would hide ordinary words.
const SHORTEST: usize = 6;
const HIDDEN: &str = "(secret)";

/// The values of one Secret, plain and encoded, longest first.
pub(crate) fn values(secret: View<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let texts = |pointer: &str| -> Vec<String> {
        let map = secret.get(pointer).and_then(Value::as_object);
        map.into_iter().flat_map(|map| map.values()).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    for encoded in texts("/data") {
        if let Some(plain) = decode(&encoded).and_then(|bytes| String::from_utf8(bytes).ok()) {
            found.extend(pieces(&plain));
        }
        found.push(encoded);
    }
    for plain in texts("/stringData") {
        found.extend(pieces(&plain));
    }
    found.retain(|value| value.chars().count() >= SHORTEST);
    found.sort_by_key(|value| std::cmp::Reverse(value.len()));
    found.dedup();
    found
}

/// The value itself and, for files of several lines, each line: a message may quote one.
fn pieces(plain: &str) -> Vec<String> {
    let mut found = vec![plain.trim().to_owned()];
    if plain.trim().contains('\n') {
        found.extend(plain.lines().take(200).map(|line| line.trim().to_owned()));
    }
    found
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for ch in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let digit = match ch {
            b'A'..=b'Z' => ch - b'A',
            b'a'..=b'z' => ch - b'a' + 26,
            b'0'..=b'9' => ch - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// A text without any of the values.
pub(crate) fn hide<'v>(text: &str, values: impl IntoIterator<Item = &'v String>) -> String {
    let mut text = text.to_owned();
    for value in values {
        if text.contains(value.as_str()) {
            text = text.replace(value.as_str(), HIDDEN);
        }
    }
    text
}

/// A verdict without any of the values.
pub(crate) fn hide_in(mut verdict: Verdict, values: &[&String]) -> Verdict {
    if values.is_empty() {
        return verdict;
    }
    let clean = |text: &mut String| *text = hide(text, values.iter().copied());
    clean(&mut verdict.reason);
    clean(&mut verdict.message);
    verdict.cause.iter_mut().for_each(clean);
    verdict.next.iter_mut().for_each(clean);
    let lists = [&mut verdict.also, &mut verdict.evidence, &mut verdict.warnings];
    lists.into_iter().flatten().for_each(clean);
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Snapshot, judge_all};
    use serde_json::json;

    #[test]
    fn base64_is_read() {
        assert_eq!(decode("aHVudGVyMg==").as_deref(), Some(&b"hunter2"[..]));
        assert_eq!(decode("?"), None);
    }

    #[test]
    fn a_secret_quoted_by_a_crash_is_hidden_everywhere() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "shop"},
            "data": {"password": "aHVudGVyMi1jYW5hcnk=", "short": "eA=="}, "stringData": {"file": "first-line-canary\nsecond-line-canary\n"}});
        let message = "login with hunter2-canary failed (aHVudGVyMi1jYW5hcnk=), second-line-canary";
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"},
            "spec": {"nodeName": "n", "containers": [{"name": "m"}]}, "status": {"phase": "Running", "containerStatuses": [{"name": "m",
            "restartCount": 5, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1, "message": message}}}]}});
        let snapshot = Snapshot::of([secret, pod]);
        let rows = judge_all(&snapshot, &Profile::default(), None, None);
        let told = format!("{:?}", rows[1].1);
        assert!(told.contains("login with (secret) failed ((secret)), (secret)"), "{told}");
        assert!(!told.contains("canary") && !told.contains("aHVudGVy"), "{told}");
    }
}

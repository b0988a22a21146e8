//! Hiding secret values in everything a person reads.
//!
//! Problem: a termination message or an event may quote a password. In: the Secrets of the snapshot. Out: texts in which
//! their values read `(secret)`, whatever form they are written in. How values are found is `base_secret::Redactor`.

use crate::verdict::Verdict;
use crate::view::View;
use base_secret::{Redactor, SecretValue};
use serde_json::Value;

/// Tells the values of one Secret, as they stand in it: base64 is looked for in both forms.
pub(crate) fn learn(secret: View<'_>, redactor: &Redactor) {
    for pointer in ["/data", "/stringData"] {
        let map = secret.get(pointer).and_then(Value::as_object);
        let texts = map.into_iter().flat_map(|map| map.values()).filter_map(Value::as_str);
        texts.for_each(|text| redactor.add(&SecretValue::from(text.to_owned())));
    }
}

/// A verdict without any of the values.
pub(crate) fn hide_in(mut verdict: Verdict, redactor: &Redactor) -> Verdict {
    let clean = |text: &mut String| {
        if let std::borrow::Cow::Owned(cleaned) = redactor.clean(text) {
            *text = cleaned;
        }
    };
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
    use crate::{Profile, Snapshot, judge_all};
    use serde_json::json;

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

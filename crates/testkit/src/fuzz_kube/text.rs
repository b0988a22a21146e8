//! Selectors in query strings, and bodies in protobuf.

use super::feed::{Feed, SAMPLES};
use super::world::{answer, fresh};
use kube_meaning::selectors::{FieldSelector, LabelSelector, Operator, Requirement, selector_text};
use serde_json::{Value, json};

/// The first line is a label selector, the second a field selector, the third a selector object; all are then asked from a
/// world.
pub fn kube_selectors(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (labels, fields, object) = (line(), line(), line());
    let object: Value = serde_json::from_str(object).unwrap_or_default();
    let bearer = json!({"a": "b", "app": "web", "n": "7", "": ""});
    if let Ok(selector) = LabelSelector::parse(labels) {
        for requirement in &selector.0 {
            opposites(requirement, &bearer);
        }
        let _ = selector.matches(bearer.as_object());
    }
    if let Ok(selector) = LabelSelector::from_json(&object) {
        let text = selector_text(&object);
        // A selector object may hold what the text form cannot say; what can be said means the same.
        if let Ok(again) = LabelSelector::parse(&text)
            && again.0.len() == selector.0.len()
            && selector.0.iter().all(sayable)
        {
            assert_eq!(again.matches(bearer.as_object()), selector.matches(bearer.as_object()), "{text}");
        }
    }
    if let Ok(selector) = FieldSelector::parse(fields) {
        let _ = (selector.matches(&SAMPLES[1]), selector.matches(&Value::Null), selector.fields().count());
    }
    let query = format!("labelSelector={}&fieldSelector={}", encoded(labels), encoded(fields));
    let mut world = fresh();
    for path in ["/api/v1/namespaces/default/configmaps", "/api/v1/pods", "/api/v1/events"] {
        answer(&mut world, "GET", path, &query, "", b"");
        answer(&mut world, "GET", path, &format!("{query}&watch=1"), "", b"");
    }
    answer(&mut world, "GET", "/api/v1/nodes", labels, "", b"");
}

/// `in` and `notin` of the same values are never both true; nor are presence and absence.
fn opposites(requirement: &Requirement, labels: &Value) {
    let twin = match &requirement.operator {
        Operator::In(values) => Operator::NotIn(values.clone()),
        Operator::NotIn(values) => Operator::In(values.clone()),
        Operator::Exists => Operator::Absent,
        Operator::Absent => Operator::Exists,
        Operator::GreaterThan(_) | Operator::LessThan(_) => return,
    };
    let holds = |operator: Operator| {
        let key = requirement.key.clone();
        LabelSelector(vec![Requirement { key, operator }]).matches(labels.as_object())
    };
    assert_ne!(holds(requirement.operator.clone()), holds(twin), "{requirement:?}");
}

fn sayable(requirement: &Requirement) -> bool {
    let plain =
        |text: &String| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'));
    let values = match &requirement.operator {
        Operator::In(values) | Operator::NotIn(values) => !values.is_empty() && values.iter().all(plain),
        _ => true,
    };
    plain(&requirement.key) && !requirement.key.is_empty() && values
}

/// For a query string.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
    let one = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// A body in protobuf for one of the kinds; with its envelope made here, or as the bytes say.
pub fn protobuf(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    let schema = kube_meaning::builtin();
    let resource = &schema.resources()[feed.below(schema.resources().len())];
    let namespace = resource.namespaced.then_some("default");
    let path = kube_meaning::api_path::collection_path(resource, namespace);
    let wrapped = !feed.byte().is_multiple_of(8);
    let raw = feed.rest();
    let body = match wrapped {
        true => envelope(&resource.api_version(), &resource.kind, raw),
        false => [b"k8s\0", raw].concat(),
    };
    let mut world = fresh();
    let kind = "application/vnd.kubernetes.protobuf";
    answer(&mut world, "POST", &path, "", kind, &body);
    answer(&mut world, "PUT", &format!("{path}/a"), "fieldManager=m", kind, &body);
    answer(&mut world, "DELETE", &format!("{path}/a"), "", kind, &body);
}

/// `runtime.Unknown` with the object in it.
fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let member = |number: u8, bytes: &[u8]| {
        let mut out = vec![number << 3 | 2];
        let mut length = bytes.len();
        while length > 127 {
            out.push((length & 127) as u8 | 128);
            length >>= 7;
        }
        out.push(length as u8);
        out.extend_from_slice(bytes);
        out
    };
    let head = [member(1, api_version.as_bytes()), member(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), member(1, &head), member(2, raw)].concat()
}

//! Label selectors and field selectors: parse, match, print.
//!
//! In: `a=b,c!=d,e in (f,g),!h`, a LabelSelector object, or `metadata.name=x`. Out: a list of requirements that an object
//! either meets or not. Bad text is refused with the server's kind of message, never guessed at.

use crate::reach::Reach;
use serde_json::{Map, Value};

/// How a value is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    GreaterThan(i64),
    LessThan(i64),
}

/// One requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub key: String,
    pub operator: Operator,
}

/// All requirements must hold; none = everything matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(pub Vec<Requirement>);

impl LabelSelector {
    /// Parses the text form of query parameters.
    pub fn parse(text: &str) -> Result<LabelSelector, String> {
        let mut rest = text.trim();
        let mut out = Vec::new();
        while !rest.is_empty() {
            let (requirement, next) = parse_requirement(rest)?;
            out.push(requirement);
            rest = match next.trim_start() {
                "" => "",
                more => more
                    .strip_prefix(',')
                    .ok_or_else(|| format!("found '{more}', expected: ',' or 'end of string'"))?
                    .trim_start(),
            };
        }
        Ok(LabelSelector(out))
    }

    /// Reads a LabelSelector object (`matchLabels`, `matchExpressions`) or a plain map of labels.
    pub fn from_json(value: &Value) -> Result<LabelSelector, String> {
        let mut out = Vec::new();
        let structured = value.get("matchLabels").is_some() || value.get("matchExpressions").is_some();
        let labels = if structured { value.get("matchLabels") } else { Some(value) };
        for (key, wanted) in labels.and_then(Value::as_object).into_iter().flatten() {
            let wanted = wanted.as_str().unwrap_or_default().to_owned();
            out.push(Requirement { key: key.clone(), operator: Operator::In(vec![wanted]) });
        }
        for expression in value.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let key = expression["key"].as_str().unwrap_or_default().to_owned();
            let values = || -> Vec<String> {
                expression["values"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect()
            };
            let operator = match expression["operator"].as_str().unwrap_or_default() {
                "In" => Operator::In(values()),
                "NotIn" => Operator::NotIn(values()),
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::Absent,
                other => return Err(format!("{other:?} is not a valid label selector operator")),
            };
            out.push(Requirement { key, operator });
        }
        Ok(LabelSelector(out))
    }

    /// Whether a set of labels meets all requirements.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.0.iter().all(|r| r.matches(labels.and_then(|l| l.get(&r.key)).and_then(Value::as_str)))
    }

    /// Whether an object's labels meet all requirements.
    pub fn matches_object(&self, object: &Value) -> bool {
        self.matches(object.at("/metadata/labels").and_then(Value::as_object))
    }

    /// Whether there is no requirement.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        match (&self.operator, value) {
            (Operator::In(values), Some(v)) => values.iter().any(|w| w == v),
            (Operator::NotIn(values), Some(v)) => !values.iter().any(|w| w == v),
            (Operator::NotIn(_) | Operator::Absent, None) | (Operator::Exists, Some(_)) => true,
            (Operator::GreaterThan(n), Some(v)) => v.parse::<i64>().is_ok_and(|v| v > *n),
            (Operator::LessThan(n), Some(v)) => v.parse::<i64>().is_ok_and(|v| v < *n),
            _ => false,
        }
    }
}

/// The text of a LabelSelector object, as `status.selector` of a Scale has it.
pub fn selector_text(selector: &Value) -> String {
    let Ok(LabelSelector(mut requirements)) = LabelSelector::from_json(selector) else {
        return String::new();
    };
    requirements.sort_by(|a, b| a.key.cmp(&b.key));
    let texts = requirements.iter().map(|r| match &r.operator {
        Operator::In(values) if values.len() == 1 => format!("{}={}", r.key, values[0]),
        Operator::In(values) => format!("{} in ({})", r.key, sorted(values)),
        Operator::NotIn(values) => format!("{} notin ({})", r.key, sorted(values)),
        Operator::Exists => r.key.clone(),
        Operator::Absent => format!("!{}", r.key),
        Operator::GreaterThan(n) => format!("{}>{n}", r.key),
        Operator::LessThan(n) => format!("{}<{n}", r.key),
    });
    texts.collect::<Vec<_>>().join(",")
}

fn sorted(values: &[String]) -> String {
    let mut values = values.to_vec();
    values.sort();
    values.join(",")
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    text.split_at(end)
}

fn parse_requirement(text: &str) -> Result<(Requirement, &str), String> {
    let (negated, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let (key, rest) = word(text);
    if key.is_empty() {
        return Err(format!(
            "unable to parse requirement: found '{text}', expected: !, identifier, or 'end of string'"
        ));
    }
    let key = key.to_owned();
    if negated {
        return Ok((Requirement { key, operator: Operator::Absent }, rest));
    }
    let rest = rest.trim_start();
    for (sign, negative) in [("!=", true), ("==", false), ("=", false)] {
        if let Some(after) = rest.strip_prefix(sign) {
            let (value, next) = word(after.trim_start());
            let values = vec![value.to_owned()];
            let operator = if negative { Operator::NotIn(values) } else { Operator::In(values) };
            return Ok((Requirement { key, operator }, next));
        }
    }
    if let Some(after) = rest.strip_prefix(['>', '<']) {
        let (value, next) = word(after.trim_start());
        let number = value
            .parse()
            .map_err(|_| format!("for 'Gt', 'Lt' operators, the value must be an integer: {value:?}"))?;
        let operator =
            if rest.starts_with('>') { Operator::GreaterThan(number) } else { Operator::LessThan(number) };
        return Ok((Requirement { key, operator }, next));
    }
    let (verb, after) = word(rest);
    match verb {
        "in" | "notin" => {
            let (values, next) = parse_values(after.trim_start())?;
            let operator = if verb == "in" { Operator::In(values) } else { Operator::NotIn(values) };
            Ok((Requirement { key, operator }, next))
        }
        "" => Ok((Requirement { key, operator: Operator::Exists }, rest)),
        other => Err(format!(
            "unable to parse requirement: found '{other}', expected: in, notin, =, ==, !=, gt, lt"
        )),
    }
}

fn parse_values(text: &str) -> Result<(Vec<String>, &str), String> {
    let inner = text
        .strip_prefix('(')
        .ok_or_else(|| format!("unable to parse requirement: found '{text}', expected: '('"))?;
    let (list, next) = inner.split_once(')').ok_or("unable to parse requirement: expected: ')'")?;
    let values: Vec<String> = list.split(',').map(|v| v.trim().to_owned()).collect();
    match values.iter().all(|v| v.chars().all(is_word)) {
        true => Ok((values, next)),
        false => Err(format!("unable to parse requirement: found '{list}', expected: identifier")),
    }
}

/// A field selector: `metadata.name=x,status.phase!=Running`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(pub Vec<(String, bool, String)>);

impl FieldSelector {
    /// Parses the text form; each part is (path, equal, value).
    pub fn parse(text: &str) -> Result<FieldSelector, String> {
        let mut out = Vec::new();
        for part in text.split(',').filter(|p| !p.is_empty()) {
            let found = [("!=", false), ("==", true), ("=", true)]
                .into_iter()
                .find_map(|(sign, equal)| part.split_once(sign).map(|(path, value)| (path, equal, value)));
            let Some((path, equal, value)) = found else {
                return Err(format!("invalid field selector: {text:?}; can't understand {part:?}"));
            };
            out.push((path.to_owned(), equal, value.replace("\\,", ",").replace("\\=", "=")));
        }
        Ok(FieldSelector(out))
    }

    /// Whether an object meets all parts; absent fields are the empty string.
    pub fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|(path, equal, wanted)| {
            let mut at = object;
            for key in path.split('.') {
                at = at.get(key).unwrap_or(&Value::Null);
            }
            let found = match at {
                Value::String(s) => s.clone(),
                Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
                other => other.to_string(),
            };
            (found == *wanted) == *equal
        })
    }

    /// The fields that are asked for.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(path, _, _)| path.as_str())
    }
}

/// Whether the server selects objects of a kind by this field.
pub fn supports_field(kind: &str, path: &str) -> bool {
    if path == "metadata.name" || path == "metadata.namespace" {
        return true;
    }
    let more: &[&str] = match kind {
        "Pod" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        "Event" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        "Secret" => &["type"],
        "Namespace" => &["status.phase"],
        "Node" => &["spec.unschedulable"],
        "ReplicaSet" | "ReplicationController" => &["status.replicas"],
        "Job" => &["status.successful"],
        "Service" => &["spec.clusterIP", "spec.type"],
        "CertificateSigningRequest" => &["spec.signerName"],
        _ => &[],
    };
    more.contains(&path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn label_selectors_match_like_the_server() {
        let labels = json!({"a": "b", "e": "g", "n": "7"});
        let matches = |text: &str| LabelSelector::parse(text).unwrap().matches(labels.as_object());
        for yes in ["", "a=b", "a==b,c!=d", "e in (f,g)", "!h", "a", "x notin (y)", "n>6", "n < 8"] {
            assert!(matches(yes), "{yes}");
        }
        for no in ["a=c", "e notin (f, g)", "!a", "h", "n>7", "a=b,h", "a="] {
            assert!(!matches(no), "{no}");
        }
        for bad in ["=b", "a in b", "a in (b", "a b", "a=b c", "a>x", "a,,b"] {
            assert!(LabelSelector::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn selector_objects_print_as_text() {
        let selector = json!({"matchLabels": {"b": "1", "a": "2"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["y", "x"]}]});
        assert_eq!(selector_text(&selector), "a=2,b=1,c in (x,y)");
    }

    #[test]
    fn field_selectors_compare_paths() {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"hostNetwork": true}});
        assert!(
            FieldSelector::parse("metadata.name=p,status.phase!=Running,spec.hostNetwork=true")
                .unwrap()
                .matches(&pod)
        );
        assert!(!FieldSelector::parse("metadata.name==q").unwrap().matches(&pod));
        assert!(FieldSelector::parse("nonsense").is_err());
        assert!(supports_field("Pod", "status.phase") && !supports_field("ConfigMap", "status.phase"));
    }
}

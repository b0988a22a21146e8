//! References from one resource's attributes to another's, parsed once into data.
//!
//! ```text
//! $kusion_path.apps/v1:Deployment:ns:web.metadata.name     plain: the whole value
//! $kusion_path["<id>"].a["b.c"][0]                         quoted: the whole value
//! http://${kusion_path["<id>"].spec.clusterIP}:80          embedded in text
//! $kusion_path["project/stack#<id>"].a                     an output of another stack
//! ref://NAME/PROPERTY                                      a secret in a store: the whole value
//! ```
//! In the plain form the id ends at the first unescaped `.` after its first `:`, so dotted API groups work.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Attr, DigestKey, FieldPath, ResourceId, Secret, SecretRef};

const MARK: &str = "kusion_path";

/// A stack named by a reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackRef {
    pub project: String,
    pub stack: String,
}

/// A pointer to a field of a resource, in this stack or another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    pub stack: Option<StackRef>,
    pub id: ResourceId,
    pub path: FieldPath,
}

/// A piece of a text with references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Ref(Reference),
    /// A secret in a store; always the whole value.
    Stored(SecretRef),
}

/// A string value that holds at least one reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    source: String,
    pub parts: Vec<Part>,
}

/// A template and the field it stands in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceUse {
    pub at: FieldPath,
    pub template: Template,
    /// The field is secret, whatever is filled in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

/// A reference that cannot be read or filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefError {
    #[error("reference `{text}` is not readable: {what}")]
    Unreadable { text: String, what: String },
    #[error("reference `{text}` names a resource but no field of it")]
    NoField { text: String },
    #[error("`{reference}` is a {found} and cannot stand inside a text")]
    NotScalar { reference: String, found: &'static str },
    #[error("attributes are nested too deeply")]
    TooDeep,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(stack) = &self.stack {
            write!(f, "{}/{}#", stack.project, stack.stack)?;
        }
        write!(f, "{}", self.id)?;
        let path = self.path.to_string();
        if path.starts_with('[') { write!(f, "{path}") } else { write!(f, ".{path}") }
    }
}

impl Template {
    /// Reads a string value; `None` if it holds no reference.
    pub fn parse(text: &str) -> Option<Result<Template, RefError>> {
        if let Some(stored) = SecretRef::parse(text) {
            let whole = |stored| Template { source: text.to_owned(), parts: vec![Part::Stored(stored)] };
            return Some(stored.map(whole));
        }
        if !text.contains(MARK) {
            return None;
        }
        let whole = text.strip_prefix('$').and_then(|rest| rest.strip_prefix(MARK));
        if let Some(rest) = whole.filter(|rest| rest.starts_with(['.', '['])) {
            let parts = parse_target(rest, text).map(|reference| vec![Part::Ref(reference)]);
            return Some(parts.map(|parts| Template { source: text.to_owned(), parts }));
        }
        match parse_embedded(text) {
            Ok(parts) if parts.iter().all(|part| matches!(part, Part::Text(_))) => None,
            parts => Some(parts.map(|parts| Template { source: text.to_owned(), parts })),
        }
    }

    /// Returns the references in order of appearance.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            Part::Ref(reference) => Some(reference),
            Part::Text(_) | Part::Stored(_) => None,
        })
    }

    /// Returns the secret of a store that the value is.
    #[must_use]
    pub fn stored(&self) -> Option<&SecretRef> {
        match self.parts.as_slice() {
            [Part::Stored(stored)] => Some(stored),
            _ => None,
        }
    }

    /// Returns whether the value is one reference and nothing else.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.parts.as_slice(), [Part::Ref(_) | Part::Stored(_)])
    }

    /// Returns the text as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Fills in the references; a whole-value reference keeps the type of what it points to, and a text that a secret
    /// goes into is a secret. `None` from `lookup` means "not known yet" and makes the whole result `None`, as does a value
    /// that is not known or a secret whose value nobody has.
    pub fn fill(
        &self,
        key: &DigestKey,
        mut lookup: impl FnMut(&Reference) -> Option<Attr>,
    ) -> Result<Option<Attr>, RefError> {
        if let [Part::Ref(reference)] = self.parts.as_slice() {
            return Ok(lookup(reference).filter(Attr::is_known));
        }
        let (mut out, mut secret) = (String::new(), false);
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                // Stores are asked before the plan is made; here nobody can.
                Part::Stored(_) => return Ok(None),
                Part::Ref(reference) => match lookup(reference).filter(Attr::is_known) {
                    None => return Ok(None),
                    Some(Attr::Secret(value)) => match value.text() {
                        None => return Ok(None),
                        Some(text) => {
                            out.push_str(text);
                            secret = true;
                        }
                    },
                    Some(value) => out.push_str(&scalar_text(&value, reference)?),
                },
            }
        }
        let filled = Attr::text(out);
        Ok(Some(if secret { Attr::Secret(Secret::new(&filled, key)) } else { filled }))
    }
}

fn scalar_text(value: &Attr, reference: &Reference) -> Result<String, RefError> {
    match value {
        Attr::Text(text) => Ok(text.to_string()),
        Attr::Number(number) => Ok(number.to_string()),
        Attr::Bool(value) => Ok(value.to_string()),
        other => Err(RefError::NotScalar { reference: reference.to_string(), found: other.what() }),
    }
}

/// Reads what follows `kusion_path`: `.id.path` or `["id"]path`.
fn parse_target(rest: &str, text: &str) -> Result<Reference, RefError> {
    let unreadable = |what: String| RefError::Unreadable { text: text.to_owned(), what };
    let (stack, id, path) = if let Some(quoted) = rest.strip_prefix('[') {
        let mut stream = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
        let Some(Ok(name)) = stream.next() else {
            return Err(unreadable("expected a quoted id after `[`".to_owned()));
        };
        let after = &quoted[stream.byte_offset()..];
        let path = after.strip_prefix(']').ok_or_else(|| unreadable("expected `]`".to_owned()))?;
        let (stack, id) = split_stack(&name);
        (stack, ResourceId::parse(id), path.strip_prefix('.').unwrap_or(path).to_owned())
    } else {
        let (id, path) = split_plain(&rest[1..]);
        (None, ResourceId::parse(id), path.strip_prefix('.').unwrap_or(path).to_owned())
    };
    let id = id.map_err(|e| unreadable(e.to_string()))?;
    let path = FieldPath::parse(&path).map_err(|e| unreadable(e.to_string()))?;
    if path.0.is_empty() {
        return Err(RefError::NoField { text: text.to_owned() });
    }
    Ok(Reference { stack, id, path })
}

/// Splits `id.path` at the first unescaped `.` or `[` after the first `:`.
fn split_plain(text: &str) -> (&str, &str) {
    let mut after_colon = !text.contains(':');
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ':' => after_colon = true,
            '.' | '[' if after_colon => return text.split_at(at),
            _ => {}
        }
    }
    (text, "")
}

/// Splits `project/stack#id`; anything else before a `#` belongs to the id.
fn split_stack(quoted: &str) -> (Option<StackRef>, &str) {
    let named = quoted.split_once('#').and_then(|(stack, id)| Some((stack.split_once('/')?, id)));
    match named {
        Some(((project, stack), id)) if !project.contains(':') && !stack.contains([':', '/']) => {
            (Some(StackRef { project: project.to_owned(), stack: stack.to_owned() }), id)
        }
        _ => (None, quoted),
    }
}

fn parse_embedded(text: &str) -> Result<Vec<Part>, RefError> {
    let open = format!("${{{MARK}");
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(&open) {
        let body = &rest[at + open.len()..];
        if !body.starts_with(['.', '[']) {
            parts.push(Part::Text(rest[..at + open.len()].to_owned()));
            rest = body;
            continue;
        }
        if at > 0 {
            parts.push(Part::Text(rest[..at].to_owned()));
        }
        let end = end_of_embedded(body).ok_or_else(|| RefError::Unreadable {
            text: text.to_owned(),
            what: "`${` is not closed by `}`".to_owned(),
        })?;
        parts.push(Part::Ref(parse_target(&body[..end], text)?));
        rest = &body[end + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

/// Returns where the closing brace is, outside of quotes.
fn end_of_embedded(body: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns every reference in a tree of attributes, in order.
#[must_use]
pub fn references_in(attributes: &Attr) -> Vec<ReferenceUse> {
    let mut found = Vec::new();
    if !attributes.any(&|leaf| matches!(leaf, Attr::Reference(_))) {
        return found;
    }
    attributes.for_each_leaf(&mut |at, leaf| {
        if let Attr::Reference(template) = leaf {
            found.push(ReferenceUse { at: at.clone(), template: Template::clone(template), secret: false });
        }
    });
    found
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match Template::parse(&text) {
            Some(template) => template.map_err(serde::de::Error::custom),
            None => Err(serde::de::Error::custom("a reference was expected")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KEY: DigestKey = DigestKey::new([1; 32]);

    fn one(text: &str) -> Reference {
        let template = Template::parse(text).unwrap().unwrap();
        let mut all: Vec<_> = template.references().cloned().collect();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn plain_form_finds_the_end_of_an_id_with_a_dotted_group() {
        let reference = one("$kusion_path.networking.k8s.io/v1:Ingress:shop:web.spec.rules[0].host");
        assert_eq!(reference.id.as_str(), "networking.k8s.io/v1:Ingress:shop:web");
        assert_eq!(reference.path.to_string(), "spec.rules[0].host");
    }

    #[test]
    fn plain_form_honours_escaped_names() {
        let reference = one(r"$kusion_path.v1:ConfigMap:shop:ca\.crt.metadata.name");
        assert_eq!(reference.id.parts().last().unwrap(), "ca.crt");
        assert_eq!(reference.path.to_string(), "metadata.name");
    }

    #[test]
    fn quoted_form_takes_unescaped_names_and_dotted_keys() {
        let reference = one(r#"$kusion_path["v1:ConfigMap:shop:ca.crt"].data["tls.crt"]"#);
        assert_eq!(reference.id.parts().last().unwrap(), "ca.crt");
        assert_eq!(reference.path, FieldPath::keys(["data", "tls.crt"]));
    }

    #[test]
    fn other_stack_is_named_before_the_hash() {
        let reference = one(r#"$kusion_path["net/prod#v1:Service:net-prod:dns"].spec.clusterIP"#);
        assert_eq!(reference.stack, Some(StackRef { project: "net".into(), stack: "prod".into() }));
        assert_eq!(reference.to_string(), "net/prod#v1:Service:net-prod:dns.spec.clusterIP");
    }

    #[test]
    fn embedded_references_are_joined_with_their_text() {
        let text = r#"http://${kusion_path["v1:Service:a:b"].spec.clusterIP}:${kusion_path["v1:Service:a:b"].spec.ports[0].port}/"#;
        let template = Template::parse(text).unwrap().unwrap();
        let service = Attr::from(json!({"spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}}));
        let filled = template.fill(&KEY, |reference| reference.path.get(&service).cloned()).unwrap();
        assert_eq!(filled, Some(Attr::text("http://10.0.0.1:80/")));
        assert_eq!(template.fill(&KEY, |_| None).unwrap(), None);
        assert_eq!(template.fill(&KEY, |_| Some(Attr::Unknown)).unwrap(), None);
        assert!(matches!(template.fill(&KEY, |_| Some(service.clone())), Err(RefError::NotScalar { .. })));
    }

    #[test]
    fn whole_value_keeps_its_type() {
        let template = Template::parse("$kusion_path.v1:Service:a:b.spec.ports").unwrap().unwrap();
        let ports = Attr::from(json!([80, 443]));
        assert_eq!(template.fill(&KEY, |_| Some(ports.clone())).unwrap(), Some(ports.clone()));
    }

    #[test]
    fn a_text_that_a_secret_goes_into_is_a_secret() {
        let template = Template::parse(r#"pw=${kusion_path["v1:Secret:a:b"].data.pw}"#).unwrap().unwrap();
        let secret = Attr::Secret(Secret::new(&Attr::text("canary"), &KEY));
        let filled = template.fill(&KEY, |_| Some(secret.clone())).unwrap().unwrap();
        assert_eq!(filled, Attr::Secret(Secret::new(&Attr::text("pw=canary"), &KEY)));
        let digest = Attr::Secret(Secret::known_by("0123456789abcdef0123456789abcdef").unwrap());
        assert_eq!(template.fill(&KEY, |_| Some(digest.clone())).unwrap(), None);
    }

    #[test]
    fn text_that_only_mentions_the_word_is_no_reference() {
        assert_eq!(Template::parse("see kusion_path in the manual"), None);
        assert_eq!(Template::parse("$kusion_pathology.x"), None);
        assert_eq!(Template::parse("${kusion_paths} and more"), None);
    }

    #[test]
    fn broken_references_are_errors_not_literals() {
        for text in [
            "$kusion_path.",
            "$kusion_path[\"v1:A:b\".x",
            "$kusion_path.v1:Namespace:x",
            "a ${kusion_path[\"v1:A:b\"].x",
            "$kusion_path[v1].x",
        ] {
            assert!(Template::parse(text).unwrap().is_err(), "{text}");
        }
    }

    #[test]
    fn each_use_is_named_by_its_field() {
        let attributes = json!({"a": {"b.c": ["x", "$kusion_path.v1:Service:a:b.spec.clusterIP"]}});
        let uses = references_in(&Attr::read(attributes, &mut Vec::new()));
        assert_eq!(uses.len(), 1);
        assert_eq!(uses[0].at.to_string(), r#"a["b.c"][1]"#);
    }
}

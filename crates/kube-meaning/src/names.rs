//! Names, labels and other short texts with a fixed grammar.

/// A check of a text: the server's complaint, if any.
pub type NameCheck = fn(&str) -> Option<String>;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn is_label(text: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = text.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

fn too_long(text: &str, max: usize) -> Option<String> {
    (text.len() > max).then(|| format!("must be no more than {max} bytes"))
}

/// RFC 1123 subdomain, at most 253 bytes.
pub fn subdomain(text: &str) -> Option<String> {
    too_long(text, 253).or_else(|| (!text.split('.').all(is_label)).then(|| SUBDOMAIN.to_owned()))
}

/// RFC 1123 label, at most 63 bytes.
pub fn label(text: &str) -> Option<String> {
    too_long(text, 63).or_else(|| (!is_label(text)).then(|| LABEL.to_owned()))
}

/// RFC 1035 label: also starts with a letter.
pub fn label_1035(text: &str) -> Option<String> {
    let good = is_label(text) && text.as_bytes()[0].is_ascii_lowercase();
    too_long(text, 63).or_else(|| (!good).then(|| LABEL_1035.to_owned()))
}

/// A name that may be a segment of a path (RBAC).
pub fn path_segment(text: &str) -> Option<String> {
    match text {
        "." => Some("may not be '.'".to_owned()),
        ".." => Some("may not be '..'".to_owned()),
        _ if text.contains('/') => Some("may not contain '/'".to_owned()),
        _ if text.contains('%') => Some("may not contain '%'".to_owned()),
        _ => None,
    }
}

fn is_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// The value of a label, at most 63 bytes.
pub fn label_value(text: &str) -> Option<String> {
    too_long(text, 63).or_else(|| (!text.is_empty() && !is_word(text)).then(|| LABEL_VALUE.to_owned()))
}

/// The key of a label or annotation: `[prefix/]name`.
pub fn qualified_name(text: &str) -> Option<String> {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    if let Some(prefix) = prefix {
        match prefix {
            "" => return Some("prefix part must be non-empty".to_owned()),
            prefix => {
                if let Some(text) = subdomain(prefix) {
                    return Some(format!("prefix part {text}"));
                }
            }
        }
    }
    match name {
        "" => Some("name part must be non-empty".to_owned()),
        name if name.len() > 63 => Some("name part must be no more than 63 bytes".to_owned()),
        name => (!is_word(name)).then(|| QUALIFIED.to_owned()),
    }
}

/// The name check of a kind.
pub fn name_check(group: &str, kind: &str) -> NameCheck {
    match (group, kind) {
        ("", "Namespace") => label,
        // Services of this version must still start with a letter.
        ("", "Service") => label_1035,
        ("rbac.authorization.k8s.io", _) => path_segment,
        _ => subdomain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_grammar() {
        for (check, good, bad) in [
            (subdomain as NameCheck, "a.b-c.1", "A.b"),
            (label, "1-a", "a.b"),
            (label_1035, "a-1", "1a"),
            (path_segment, "system:x", "a/b"),
            (label_value, "", "-x"),
            (qualified_name, "a.b/C_d", "/x"),
        ] {
            assert!(check(good).is_none(), "{good}");
            assert!(check(bad).is_some(), "{bad}");
        }
        assert!(label(&"a".repeat(64)).is_some());
        assert!(qualified_name("").is_some() && subdomain("").is_some() && label_1035("").is_some());
    }
}

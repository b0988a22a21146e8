//! Names of schemas, packages and files.

use std::collections::BTreeSet;

use kcl_model::is_identifier;

/// Names that are taken in one package.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// Returns a name that nobody has yet: the wanted one, or one with a number behind it.
    pub(crate) fn unique(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}{number}");
        }
        name
    }
}

/// Makes the name of a schema: words begin with capitals, other characters are gone.
pub(crate) fn schema_name(text: &str) -> String {
    let mut out = String::new();
    let mut upper = true;
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            upper = true;
        } else if upper {
            out.push(c.to_ascii_uppercase());
            upper = false;
        } else {
            out.push(c);
        }
    }
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert_str(0, "Schema");
    }
    // These endings make something else of a schema; and what is no identifier is a keyword.
    if out.ends_with("Mixin") || out.ends_with("Protocol") || !is_identifier(&out) {
        out.push_str("Type");
    }
    out
}

/// Makes a part of a package path.
pub(crate) fn package_part(text: &str) -> String {
    let mut out: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.insert(0, '_');
    }
    // The name of a type cannot stand before a dot.
    let is_type = ["any", "bool", "float", "int", "str"].contains(&out.as_str());
    if is_identifier(&out) && !is_type { out } else { format!("{out}_") }
}

/// Makes a package path of dotted text; the library's own modules keep their names.
pub(crate) fn package_path(text: &str) -> String {
    let mut parts: Vec<String> =
        text.split(['.', '/']).filter(|part| !part.is_empty()).map(package_part).collect();
    if let Some(first) = parts.first_mut().filter(|first| is_module(first)) {
        first.push('_');
    }
    parts.join(".")
}

/// Whether a name is that of a module of the library.
pub(crate) fn is_module(name: &str) -> bool {
    kcl_check::SYSTEM_MODULES.contains(&name)
}

/// Makes the name of a file: words in small letters with `_` between them.
pub(crate) fn file_name(schema: &str) -> String {
    let mut out = String::new();
    let chars: Vec<char> = schema.chars().collect();
    for (i, c) in chars.iter().enumerate() {
        let before_small = chars.get(i + 1).is_some_and(|n| n.is_ascii_lowercase());
        let after_small = i > 0 && !chars[i - 1].is_ascii_uppercase();
        if c.is_ascii_uppercase() && i > 0 && (after_small || before_small) {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    // Test files, and files that begin with `_`, are no part of a package.
    if out.ends_with("_test") { format!("{out}_") } else { out }
}

/// The name of a file without its folders and endings.
pub(crate) fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("schema")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names() {
        assert_eq!(schema_name("pod-spec.v1"), "PodSpecV1");
        assert_eq!(schema_name("1st"), "Schema1st");
        assert_eq!(schema_name("NetworkProtocol"), "NetworkProtocolType");
        assert_eq!((schema_name(""), schema_name("none")), ("Schema".into(), "NoneType".into()));
        assert_eq!(package_path("io.k8s-x.2.type"), "io.k8s_x._2.type_");
        assert_eq!(
            (package_path("math.x"), package_path("a.str.math")),
            ("math_.x".into(), "a.str_.math".into())
        );
        assert_eq!(file_name("HTTPGetAction"), "http_get_action");
        assert_eq!(file_name("PodSpec"), "pod_spec");
        let mut names = Names::default();
        assert_eq!((names.unique("A"), names.unique("A")), ("A".into(), "A2".into()));
    }
}

//! References to secrets in a store: `ref://NAME[/SUB…]/PROPERTY[?version=V][&store=S]`.
//!
//! The last step of the path is the property, the rest is the name of the secret. A reference is no secret: it stays as it is
//! in Specs, plans and releases. The value is fetched where the engine plans (crate kusion-secrets).

use std::fmt;

use crate::RefError;

const SCHEME: &str = "ref://";
/// Longer ones are a mistake.
const LONGEST: usize = 2_048;
const KEYS: [&str; 2] = ["version", "store"];

/// A secret in a store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretRef {
    /// Which secret: one step or several with `/` between them.
    pub name: String,
    /// Which of its values.
    pub property: String,
    /// Which version of it; the newest if it is not said.
    pub version: Option<String>,
    /// Which of the stack's stores; the default one if it is not said.
    pub store: Option<String>,
}

impl SecretRef {
    /// Reads a text; `None` if it is something else.
    pub fn parse(text: &str) -> Option<Result<SecretRef, RefError>> {
        let rest = text.strip_prefix(SCHEME)?;
        Some(read(rest).map_err(|what| RefError::Unreadable { text: short(text), what }))
    }
}

fn read(rest: &str) -> Result<SecretRef, String> {
    let too_long = || format!("it is longer than {LONGEST} characters");
    // An escaped character takes three.
    if rest.len() > 4 * LONGEST {
        return Err(too_long());
    }
    if rest.contains('#') {
        return Err("`#` is not part of a reference; the property is the last step of the path".to_owned());
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let steps: Vec<String> = path.split('/').map(decoded).collect::<Result<_, _>>()?;
    if steps.iter().any(String::is_empty) {
        return Err("a step of its path is empty; write ref://NAME/PROPERTY".to_owned());
    }
    let Some((property, name)) = steps.split_last().filter(|(_, name)| !name.is_empty()) else {
        return Err("it names a secret but no property of it; write ref://NAME/PROPERTY".to_owned());
    };
    // Names become paths of files and addresses: nothing that climbs out of one.
    if steps.iter().any(|step| matches!(step.as_str(), "." | "..") || step.contains(['/', '\0', '\n'])) {
        return Err("a step of its path is `.`, `..` or has a character that no name has".to_owned());
    }
    let mut found =
        SecretRef { name: name.join("/"), property: property.clone(), version: None, store: None };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let slot = match key {
            "version" => &mut found.version,
            "store" => &mut found.store,
            _ => return Err(unknown(key)),
        };
        let value = decoded(value)?;
        if value.is_empty() || slot.replace(value).is_some() {
            return Err(format!("`{key}` has no value, or stands there twice"));
        }
    }
    let parts = [Some(&found.name), Some(&found.property), found.version.as_ref(), found.store.as_ref()];
    if parts.into_iter().flatten().map(String::len).sum::<usize>() > LONGEST {
        return Err(too_long());
    }
    Ok(found)
}

fn unknown(key: &str) -> String {
    let near = |known: &&&str| known.chars().next() == key.chars().next();
    let near = KEYS.iter().find(near).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("`{}` is neither `version` nor `store`{near}", short(key))
}

fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err("`%` must be followed by two hexadecimal digits".to_owned());
        };
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

fn short(text: &str) -> String {
    text.char_indices().nth(80).map_or(text.to_owned(), |(at, _)| format!("{}…", &text[..at]))
}

/// The form that reads back as the same reference.
impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", Encoded(&self.name, "/"), Encoded(&self.property, ""))?;
        let pairs = [("version", &self.version), ("store", &self.store)];
        let given = pairs.iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
        for (at, (key, value)) in given.enumerate() {
            write!(f, "{}{key}={}", if at == 0 { '?' } else { '&' }, Encoded(value, "/"))?;
        }
        Ok(())
    }
}

struct Encoded<'a>(&'a str, &'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            let plain = c.is_ascii_alphanumeric() || "-._~:@+,".contains(c) || self.1.contains(c);
            if plain || !c.is_ascii() {
                write!(f, "{c}")?;
            } else {
                write!(f, "%{:02X}", c as u32)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_and_written_back() {
        let cases = [
            ("ref://db/password", ("db", "password", None, None)),
            ("ref://team/shop/db/password", ("team/shop/db", "password", None, None)),
            ("ref://db/password?version=3", ("db", "password", Some("3"), None)),
            ("ref://db/password?version=uuid/7&store=aws", ("db", "password", Some("uuid/7"), Some("aws"))),
            ("ref://db/tls.crt?store=kube", ("db", "tls.crt", None, Some("kube"))),
            ("ref://d%20b/p%26w", ("d b", "p&w", None, None)),
        ];
        for (text, (name, property, version, store)) in cases {
            let read = SecretRef::parse(text).unwrap().unwrap();
            let parts = (&*read.name, &*read.property, read.version.as_deref(), read.store.as_deref());
            assert_eq!(parts, (name, property, version, store), "{text}");
            assert_eq!(read.to_string(), text);
        }
        assert_eq!(SecretRef::parse("reference"), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("ref://", "step of its path is empty"),
            ("ref://db", "no property"),
            ("ref://db//pw", "step of its path is empty"),
            ("ref://db/../pw", "`..`"),
            ("ref://db/a%2Fb", "character"),
            ("ref://db/pw?vers=1", "did you mean `version`?"),
            ("ref://db/pw?version=1&version=2", "twice"),
            ("ref://db/pw?version", "no value"),
            ("ref://db/pw%2", "hexadecimal"),
            ("ref://db/pw%ff", "UTF-8"),
            ("ref://db#/pw", "`#`"),
        ];
        for (text, what) in cases {
            let error = SecretRef::parse(text).unwrap().unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}

//! The query of a URL: pairs in order, decoded; the options of requests read from them.

use std::borrow::Cow;

use kube_meaning::status::{Cause, Refusal};
use serde_json::Value;

/// The parameters of a URL. Names may repeat; the first counts where one is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

impl<'q> Query<'q> {
    /// Reads a query without its question mark. Empty parts (`?&limit=2`) are nothing.
    pub(crate) fn parse(text: &'q str) -> Query<'q> {
        let parts = text.split('&').filter(|part| !part.is_empty());
        let pairs = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
        Query(pairs.map(|(key, value)| (decode_form(key), decode_form(value))).collect())
    }

    /// The first value of a name; none when it is not there or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_ref()).filter(|v| !v.is_empty())
    }

    /// All values of a name.
    pub(crate) fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// A truth value as the server reads it; anything else is a bad request.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        // A parameter that is there without a value is true.
        let Some(text) = self.all(name).next() else { return Ok(None) };
        match text {
            "" | "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Some(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Some(false)),
            other => {
                Err(Refusal::bad_request(format!("strconv.ParseBool: parsing {other:?}: invalid syntax")))
            }
        }
    }

    /// A whole number; anything else is a bad request.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let parse = |text: &str| {
            let bad = || Refusal::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
            text.parse::<i64>().map_err(|_| bad())
        };
        self.get(name).map(parse).transpose()
    }

    /// Whether nothing is to be stored. `options` names the options' kind in a refusal.
    pub(crate) fn dry_run(&self, options: &str) -> Result<bool, Refusal> {
        let mut asked = false;
        for (at, text) in self.all("dryRun").enumerate() {
            match text {
                "" => {}
                "All" => asked = true,
                other => {
                    let cause = Cause::not_supported(&format!("dryRun[{at}]"), &Value::from(other), &["All"]);
                    let cause = Cause { field: "dryRun".into(), ..cause };
                    return Err(Refusal::invalid("meta.k8s.io", options, "", vec![cause]));
                }
            }
        }
        Ok(asked)
    }
}

/// What a write says beside its body.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) manager: String,
    pub(crate) force: bool,
    pub(crate) dry_run: bool,
    pub(crate) validation: Validation,
}

/// What becomes of fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Validation {
    Strict,
    Warn,
    Ignore,
}

impl WriteOptions {
    /// Reads them. `kind` is `CreateOptions`, `UpdateOptions` or `PatchOptions`; only an apply may force.
    pub(crate) fn read(
        query: &Query<'_>,
        kind: &str,
        apply: bool,
        user_agent: Option<&str>,
    ) -> Result<WriteOptions, Refusal> {
        let mut causes = Vec::new();
        let given = query.get("fieldManager").unwrap_or_default();
        if apply && given.is_empty() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
        if given.len() > 128 {
            let message = "Too long: may not be more than 128 bytes".to_owned();
            causes.push(Cause { reason: "FieldValueTooLong", message, field: "fieldManager".into() });
        } else if let Some(at) = given.chars().position(|c| c.is_control() || (c.is_whitespace() && c != ' '))
        {
            let text = format!("should only contain printable characters, the {at}th character isn't");
            causes.push(Cause::invalid("fieldManager", &Value::from(given), &text));
        }
        let force = query.flag("force")?;
        if force.is_some() && !apply {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        let dry_run = query.dry_run(kind)?;
        let validation = match query.get("fieldValidation") {
            Some("Strict") => Validation::Strict,
            None | Some("Warn") => Validation::Warn,
            Some("Ignore") => Validation::Ignore,
            Some(other) => {
                let allowed = ["", "Ignore", "Strict", "Warn"];
                causes.push(Cause::not_supported("fieldValidation", &Value::from(other), &allowed));
                Validation::Warn
            }
        };
        if !causes.is_empty() {
            return Err(Refusal::invalid("meta.k8s.io", kind, "", causes));
        }
        let manager = if given.is_empty() { agent_name(user_agent) } else { given.to_owned() };
        Ok(WriteOptions { manager, force: force.unwrap_or(false), dry_run, validation })
    }
}

/// The manager's name when none is given: the program's, cut to what is allowed.
fn agent_name(user_agent: Option<&str>) -> String {
    let program = user_agent.unwrap_or_default().split('/').next().unwrap_or_default();
    let mut name = String::new();
    for c in program.chars().filter(|c| !c.is_control()) {
        if name.len() + c.len_utf8() > 128 {
            break;
        }
        name.push(c);
    }
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Decodes `%41` and `+`.
fn decode_form(text: &str) -> Cow<'_, str> {
    match text.contains('+') {
        true => Cow::Owned(decode(&text.replace('+', " ")).into_owned()),
        false => decode(text),
    }
}

/// Decodes `%41`; what is no such code, or no UTF-8, stays as it is.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (bytes[at], code.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded_and_its_first_value_counts() {
        let query = Query::parse("&limit=2&labelSelector=a%3Db%2Cc+in+%28d%29&limit=3&watch");
        assert_eq!(query.number("limit").unwrap(), Some(2));
        assert_eq!(query.get("labelSelector"), Some("a=b,c in (d)"));
        assert_eq!(query.flag("watch").unwrap(), Some(true));
        assert!(Query::parse("watch=maybe").flag("watch").is_err());
        assert_eq!(decode("%zz%4"), "%zz%4");
        assert_eq!(decode("%ff"), "%ff");
    }

    #[test]
    fn the_manager_is_the_program_unless_it_is_named() {
        let read = |query: &str, apply| {
            WriteOptions::read(&Query::parse(query), "PatchOptions", apply, Some("kubectl/v1.36 (x)"))
        };
        assert_eq!(read("", false).unwrap().manager, "kubectl");
        assert_eq!(read("fieldManager=m%201", true).unwrap().manager, "m 1");
        assert_eq!(read("", true).unwrap_err().causes[0].field, "fieldManager");
        assert_eq!(read("force=true&fieldManager=m", false).unwrap_err().causes[0].field, "force");
        assert_eq!(read("dryRun=true", false).unwrap_err().causes[0].reason, "FieldValueNotSupported");
    }
}

//! A table of flags: read, listed and completed from the same rows.
//!
//! A small reader rather than a general library: the command starts in a millisecond, and every flag also has its
//! `KUSION_*` variable from the same row.

use std::collections::BTreeMap;

use base_diag::nearest;

use crate::views::failure::Failure;

/// One flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// Long name without dashes.
    pub(crate) long: &'static str,
    pub(crate) short: Option<char>,
    /// Name of its value; empty for a switch.
    pub(crate) value: &'static str,
    pub(crate) help: &'static str,
}

/// Builds a row.
pub(crate) const fn flag(
    long: &'static str,
    short: Option<char>,
    value: &'static str,
    help: &'static str,
) -> Flag {
    Flag { long, short, value, help }
}

/// What was given, in order.
#[derive(Debug, Default)]
pub(crate) struct Given {
    flags: Vec<(&'static str, String)>,
    /// Words that belong to no flag.
    pub(crate) rest: Vec<String>,
    /// Defaults of the user's configuration file.
    pub(crate) file: BTreeMap<String, String>,
    /// The name of the command.
    pub(crate) command: &'static str,
}

impl Given {
    /// Whether a switch was given, on the line or as `KUSION_<NAME>`.
    pub(crate) fn has(&self, long: &str) -> bool {
        self.flags.iter().any(|(name, _)| *name == long)
            || variable(long)
                .or_else(|| self.file.get(long).cloned())
                .is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false" | "no" | "off"))
    }

    /// The last value of a flag, else its variable.
    pub(crate) fn last(&self, long: &str) -> Option<String> {
        let given = self.flags.iter().rev().find(|(name, _)| *name == long).map(|(_, value)| value.clone());
        given
            .or_else(|| variable(long).filter(|value| !value.is_empty()))
            .or_else(|| self.file.get(long).cloned())
    }

    /// All values of a flag in order; the line only.
    pub(crate) fn all(&self, long: &str) -> Vec<&str> {
        self.flags.iter().filter(|(name, _)| *name == long).map(|(_, value)| value.as_str()).collect()
    }

    /// The command line for others to see: values are left out, because one may be a password.
    pub(crate) fn without_values(&self) -> String {
        let mut out = format!("kusion {}", self.command);
        self.rest.iter().for_each(|word| out.push_str(&format!(" {word}")));
        for (name, value) in &self.flags {
            out.push_str(&match (*name, value.split_once('=')) {
                ("argument", Some((argument, _))) => format!(" -D {argument}=.."),
                _ if value.is_empty() => format!(" --{name}"),
                _ => format!(" --{name}=.."),
            });
        }
        out
    }

    /// Where a value came from: the flag, its variable or the default.
    pub(crate) fn origin(&self, long: &str) -> &'static str {
        if self.flags.iter().any(|(name, _)| *name == long) {
            "flag"
        } else if variable(long).is_some() {
            "variable"
        } else if self.file.contains_key(long) {
            "file"
        } else {
            "default"
        }
    }
}

/// The name of a flag's variable.
pub(crate) fn variable_name(long: &str) -> String {
    format!("KUSION_{}", long.to_ascii_uppercase().replace('-', "_"))
}

fn variable(long: &str) -> Option<String> {
    std::env::var(variable_name(long)).ok()
}

/// Reads words by a table.
///
/// # Errors
/// The first word that does not fit, with a suggestion where one is near.
pub(crate) fn read(table: &[Flag], words: &[String]) -> Result<Given, Failure> {
    let mut given = Given::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            given.rest.extend(words.cloned());
            break;
        }
        if word == "-" || !word.starts_with('-') {
            given.rest.push(word.clone());
            continue;
        }
        let (flag, attached) = find(table, word)?;
        let value = match (flag.value.is_empty(), attached) {
            (true, None) => String::new(),
            (true, Some(_)) => return Err(Failure::usage(format!("--{} takes no value", flag.long))),
            (false, Some(value)) => value,
            (false, None) => match words.next() {
                Some(value) => value.clone(),
                None => {
                    let next = format!("{word} {}", flag.value);
                    return Err(Failure::usage(format!("{word} needs a value")).next(next));
                }
            },
        };
        given.flags.push((flag.long, value));
    }
    Ok(given)
}

fn find(table: &[Flag], word: &str) -> Result<(Flag, Option<String>), Failure> {
    let unknown = |name: &str| {
        let failure = Failure::usage(format!("there is no flag {word}"));
        match nearest(table.iter().map(|flag| flag.long), name) {
            Some(near) => failure.next(format!("did you mean --{near}?")),
            None => failure.next("`--help` behind the command lists its flags"),
        }
    };
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let name = name.replace('_', "-");
        let found = table.iter().find(|flag| flag.long == name).ok_or_else(|| unknown(&name))?;
        return Ok((*found, value));
    }
    let mut letters = word[1..].chars();
    let letter = letters.next();
    let found = table.iter().find(|flag| flag.short.is_some() && flag.short == letter);
    let found = found.ok_or_else(|| unknown(&word[1..]))?;
    let rest = letters.as_str().trim_start_matches('=');
    match (rest.is_empty(), found.value.is_empty()) {
        (true, _) => Ok((*found, None)),
        (false, false) => Ok((*found, Some(rest.to_owned()))),
        (false, true) => Err(unknown(&word[1..])),
    }
}

/// Writes the rows of a table as help.
pub(crate) fn help(table: &[Flag]) -> String {
    let mut out = String::new();
    for flag in table {
        let short = flag.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let name = format!("{short}--{} {}", flag.long, flag.value);
        out.push_str(&format!("  {:<28} {}\n", name.trim_end(), flag.help));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Flag] = &[
        flag("yes", Some('y'), "", ""),
        flag("output", Some('o'), "FORMAT", ""),
        flag("plan", None, "FILE", ""),
    ];

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn values_attach_or_follow_and_words_stay() {
        let given = read(TABLE, &words("dev -ojson --plan=p -y -- -x")).unwrap();
        assert_eq!(given.last("output").as_deref(), Some("json"));
        assert_eq!(given.last("plan").as_deref(), Some("p"));
        assert!(given.has("yes"));
        assert_eq!(given.rest, ["dev", "-x"]);
    }

    #[test]
    fn others_see_no_values() {
        let table = [TABLE, &[flag("argument", Some('D'), "K=V", "")]].concat();
        let mut given = read(&table, &words("dev -y -ojson -D password=x=y -Dbare")).unwrap();
        given.command = "apply";
        assert_eq!(given.without_values(), "kusion apply dev --yes --output=.. -D password=.. --argument=..");
    }

    #[test]
    fn a_wrong_flag_gets_a_suggestion_and_a_missing_value_is_named() {
        assert!(read(TABLE, &words("--plna x")).unwrap_err().next.unwrap().contains("--plan"));
        assert!(read(TABLE, &words("-o")).unwrap_err().what.contains("needs a value"));
        assert!(read(TABLE, &words("--yes=1")).unwrap_err().what.contains("no value"));
    }
}

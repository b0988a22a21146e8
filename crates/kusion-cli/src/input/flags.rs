//! The flags of a command line, read by clap: parsed, listed and completed from the same rows. Every flag also has its
//! `KUSION_*` variable, and may have a default in the user's configuration.

use std::collections::BTreeMap;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches};

use crate::views::failure::Failure;

pub(crate) use clap::Arg;

/// The name of the words that belong to no flag.
const WORDS: &str = "words";

/// A flag: its long name without dashes, a letter, the name of its value (none for a switch), what it does.
pub(crate) fn flag(long: &'static str, short: Option<char>, value: &'static str, help: &'static str) -> Arg {
    let flag = Arg::new(long).long(long).help(help);
    let flag = match short {
        Some(letter) => flag.short(letter),
        None => flag,
    };
    // Both spellings are accepted.
    let flag = if long.contains('-') { flag.alias(long.replace('-', "_")) } else { flag };
    match value {
        "" => flag.action(ArgAction::SetTrue),
        _ => flag.action(ArgAction::Append).value_name(value).allow_hyphen_values(true),
    }
}

/// The words that belong to no flag.
pub(crate) fn words() -> Arg {
    Arg::new(WORDS).num_args(0..).hide(true)
}

/// What was given, in order.
#[derive(Debug, Default)]
pub(crate) struct Given {
    flags: Vec<(String, String)>,
    /// Words that belong to no flag.
    pub(crate) rest: Vec<String>,
    /// Defaults of the user's configuration file.
    pub(crate) file: BTreeMap<String, String>,
    /// The name of the command.
    pub(crate) command: String,
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

    /// Flags of the line as they would be typed again, each with a space before it.
    pub(crate) fn again(&self, names: &[&str]) -> String {
        let typed = self.flags.iter().filter(|(name, _)| names.contains(&name.as_str()));
        typed.map(|(name, value)| retyped(name, value)).collect()
    }

    /// The command line to be typed again; what may hold a password is left out.
    pub(crate) fn line(&self) -> String {
        let mut out = format!("kusion {}", self.command);
        self.rest.iter().for_each(|word| out.push_str(&format!(" {}", quoted(word))));
        for (name, value) in self.flags.iter().filter(|(name, _)| name != "yes" && name != "debug") {
            out.push_str(&retyped(name, value));
        }
        out
    }

    /// The command line for others to see: values are left out, because one may be a password.
    pub(crate) fn without_values(&self) -> String {
        let mut out = format!("kusion {}", self.command);
        self.rest.iter().for_each(|word| out.push_str(&format!(" {word}")));
        for (name, value) in &self.flags {
            out.push_str(&match (name.as_str(), value.split_once('=')) {
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

/// Stands for a value in a command that is shown to be typed again; nobody means it.
pub(crate) const LEFT_OUT: &str = "<value>";

/// A flag as it would be typed again, with a space before it; what may hold a password is left out.
fn retyped(name: &str, value: &str) -> String {
    let left_out = || format!(" --{name} {}", quoted(LEFT_OUT));
    match (name, value.split_once('=')) {
        ("argument", Some((argument, _))) => format!(" -D {}", quoted(&format!("{argument}={LEFT_OUT}"))),
        _ if value.is_empty() => format!(" --{name}"),
        _ if value.contains("://") && value.contains('@') => left_out(),
        // The command that gives a key may be told a token.
        ("key" | "new-key", _) if value.starts_with("command:") => left_out(),
        _ => format!(" --{name} {}", quoted(value)),
    }
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,~".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The name of a flag's variable.
pub(crate) fn variable_name(long: &str) -> String {
    format!("KUSION_{}", long.to_ascii_uppercase().replace('-', "_"))
}

fn variable(long: &str) -> Option<String> {
    std::env::var(variable_name(long)).ok()
}

/// What a command line asks for.
#[derive(Debug)]
pub(crate) enum Read {
    /// A command with its flags.
    Given(Given),
    /// Help or the version.
    Text(String),
    /// Nothing was asked for; the help says what can be.
    Nothing(String),
}

/// Reads words.
///
/// # Errors
/// The first word that does not fit, with a suggestion where one is near.
pub(crate) fn read(command: clap::Command, words: &[String]) -> Result<Read, Failure> {
    let line = std::iter::once("kusion").chain(words.iter().map(String::as_str));
    match command.try_get_matches_from(line) {
        Ok(matches) => Ok(Read::Given(given(&matches))),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Read::Text(text(&error.render()))),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                Ok(Read::Nothing(text(&error.render())))
            }
            _ => Err(told(&error, words)),
        },
    }
}

fn text(styled: &StyledStr) -> String {
    styled.to_string()
}

/// What clap has read, in the order of the line.
fn given(matches: &ArgMatches) -> Given {
    let Some((command, matches)) = matches.subcommand() else { return Given::default() };
    let mut found: Vec<(usize, String, String)> = Vec::new();
    let on_line = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    for id in matches.ids().filter(on_line).filter(|id| id.as_str() != WORDS) {
        let name = id.as_str();
        let indices: Vec<usize> = matches.indices_of(name).into_iter().flatten().collect();
        let values: Vec<String> = match matches.try_get_many::<String>(name) {
            Ok(values) => values.into_iter().flatten().cloned().collect(),
            // A switch has no text.
            Err(_) => vec![String::new()],
        };
        let rows = indices.into_iter().zip(values);
        found.extend(rows.map(|(index, value)| (index, name.to_owned(), value)));
    }
    found.sort();
    let flags = found.into_iter().map(|(_, name, value)| (name, value)).collect();
    let rest = matches.get_many::<String>(WORDS).into_iter().flatten().cloned().collect();
    Given { flags, rest, file: BTreeMap::new(), command: command.to_owned() }
}

/// What clap refuses, in our words.
fn told(error: &clap::Error, words: &[String]) -> Failure {
    let fact = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let flag = fact(ContextKind::InvalidArg).unwrap_or_default();
    let (name, value) = flag.split_once(' ').unwrap_or((&flag, ""));
    let chosen = words.first().map(|command| format!("kusion {command}")).unwrap_or_default();
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let wrong = fact(ContextKind::InvalidSubcommand).unwrap_or_default();
            let failure = Failure::usage(format!("there is no command `{wrong}`"));
            match fact(ContextKind::SuggestedSubcommand) {
                Some(near) => failure.next(format!("did you mean `kusion {near}`?")),
                None => failure.next("`kusion --help` lists the commands"),
            }
        }
        ErrorKind::UnknownArgument => {
            let failure = Failure::usage(format!("there is no flag {name}")).place(chosen);
            match fact(ContextKind::SuggestedArg) {
                Some(near) => failure.next(format!("did you mean {near}?")),
                None => failure.next("`--help` behind the command lists its flags"),
            }
        }
        ErrorKind::InvalidValue => {
            let value = value.trim_matches(['<', '>']);
            Failure::usage(format!("{name} needs a value")).place(chosen).next(format!("{name} {value}"))
        }
        ErrorKind::TooManyValues => Failure::usage(format!("{name} takes no value")).place(chosen),
        _ => {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            Failure::usage(first.trim_start_matches("error: ").to_owned()).place(chosen)
        }
    }
}

/// Flags as lines of a manual page.
pub(crate) fn listed(flags: &[Arg]) -> String {
    let mut out = String::new();
    for flag in flags {
        let short = flag.get_short().map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let values = flag.get_value_names().filter(|_| flag.get_action().takes_values()).unwrap_or_default();
        let value = values.first().map(|name| name.as_str()).unwrap_or_default();
        let optional = flag.get_num_args().is_some_and(|range| range.min_values() == 0);
        let value = match value {
            "" => String::new(),
            value if optional => format!("[={value}]"),
            value => format!(" {value}"),
        };
        let name = format!("{short}--{}{value}", flag.get_long().unwrap_or_default());
        let help = flag.get_help().map(text).unwrap_or_default();
        out.push_str(&format!("  {:<28} {help}\n", name.trim_end()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cli() -> clap::Command {
        let flags = [
            flag("yes", Some('y'), "", ""),
            flag("output", Some('o'), "FORMAT", ""),
            flag("plan-file", None, "FILE", ""),
            flag("argument", Some('D'), "K=V", ""),
            flag("key", None, "KEY", ""),
            flag("new-key", None, "KEY", ""),
        ];
        let apply = clap::Command::new("apply").args_override_self(true).args(flags).arg(words());
        clap::Command::new("kusion").subcommand(apply)
    }

    fn given(text: &str) -> Result<Given, Failure> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        match read(cli(), &words)? {
            Read::Given(given) => Ok(given),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_attach_or_follow_and_words_stay() {
        let given = given("apply dev -ojson --plan_file=p -y -y -o text -- -x").unwrap();
        assert_eq!(given.last("output").as_deref(), Some("text"));
        assert_eq!(given.last("plan-file").as_deref(), Some("p"));
        assert!(given.has("yes"));
        assert_eq!(given.rest, ["dev", "-x"]);
        assert_eq!(given.command, "apply");
    }

    #[test]
    fn others_see_no_values() {
        let given = given("apply dev -y -ojson -D password=x=y -Dbare").unwrap();
        assert_eq!(given.without_values(), "kusion apply dev --yes --output=.. -D password=.. --argument=..");
    }

    #[test]
    fn line_to_type_again_has_no_command_of_a_key() {
        let line = |key: &str| {
            let words = ["apply", "dev", "-y", "--key", key, "--new-key", key].map(str::to_owned);
            match read(cli(), &words).unwrap() {
                Read::Given(given) => given.line(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            line("command:vault read --token X"),
            "kusion apply dev --key '<value>' --new-key '<value>'"
        );
        assert_eq!(line("file:k"), "kusion apply dev --key file:k --new-key file:k");
    }

    #[test]
    fn advice_leads_to_the_same_place_without_a_password() {
        let again = |text: &str| given(text).unwrap().again(&["key", "argument"]);
        assert_eq!(again("apply dev -y --key file:k -D v=2"), " --key file:k -D 'v=<value>'");
        assert_eq!(again("apply dev --key pg://me:hush@host/db"), " --key '<value>'");
    }

    #[test]
    fn a_wrong_word_gets_a_suggestion_and_a_missing_value_is_named() {
        assert_eq!(given("apply --plan-fiel x").unwrap_err().next.unwrap(), "did you mean --plan-file?");
        let missing = given("apply -o").unwrap_err();
        assert_eq!(
            (missing.what.as_str(), missing.next.as_deref()),
            ("--output needs a value", Some("--output FORMAT"))
        );
        assert_eq!(given("apply --yes=1").unwrap_err().what, "--yes takes no value");
        assert_eq!(given("aply").unwrap_err().next.unwrap(), "did you mean `kusion apply`?");
    }
}

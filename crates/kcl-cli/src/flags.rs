//! A table of flags, read, listed and completed from the same rows.

use std::process::ExitCode;

use crate::wrong::Wrong;

/// Rows of a table: long name, short letter, name of the value (empty for a switch), help.
macro_rules! flags {
    ($($long:literal $short:expr, $value:literal $help:literal;)*) => {
        &[$(Flag { long: $long, short: $short, value: $value, greedy: false, help: $help },)*]
    };
}
pub(crate) use flags;

/// One flag.
pub(crate) struct Flag {
    /// Long name without dashes, hyphenated; underscores are accepted, too.
    pub(crate) long: &'static str,
    /// Short letter.
    pub(crate) short: Option<char>,
    /// Name of its value; empty for a switch.
    pub(crate) value: &'static str,
    /// Whether several values may follow (`-Y a.yaml b.yaml`).
    pub(crate) greedy: bool,
    /// One line of help.
    pub(crate) help: &'static str,
}

/// What was given, in order.
#[derive(Debug, Default)]
pub(crate) struct Given {
    flags: Vec<(&'static str, String)>,
    /// Words that belong to no flag.
    pub(crate) rest: Vec<String>,
}

impl Given {
    /// Returns true if a switch was given.
    pub(crate) fn has(&self, long: &str) -> bool {
        self.flags.iter().any(|(name, _)| *name == long)
    }

    /// Returns the last value of a flag.
    pub(crate) fn last(&self, long: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(name, _)| *name == long).map(|(_, v)| v.as_str())
    }

    /// Returns all values of a flag in order.
    pub(crate) fn all(&self, long: &str) -> Vec<&str> {
        self.flags.iter().filter(|(name, _)| *name == long).map(|(_, v)| v.as_str()).collect()
    }
}

/// Reads the words of a command.
///
/// # Errors
/// The exit code, when everything is said: its help was asked for, or the words do not fit.
pub(crate) fn opened(
    command: &str,
    table: &'static [Flag],
    words: &[String],
    usage: fn() -> String,
) -> Result<Given, ExitCode> {
    match read(table, words) {
        Ok(given) if given.has("help") => {
            print!("{}", usage());
            Err(ExitCode::SUCCESS)
        }
        Ok(given) => Ok(given),
        Err(message) => Err(Wrong::from(message).tell(command)),
    }
}

/// Reads words by a table.
///
/// # Errors
/// A sentence about the first word that does not fit, with a suggestion where one is near.
pub(crate) fn read(table: &'static [Flag], words: &[String]) -> Result<Given, String> {
    let mut given = Given::default();
    let mut i = 0;
    while i < words.len() {
        let word = &words[i];
        i += 1;
        if word == "--" {
            given.rest.extend(words[i..].iter().cloned());
            break;
        }
        if word == "-" || !word.starts_with('-') {
            given.rest.push(word.clone());
            continue;
        }
        if let Some(switches) = switches(table, word) {
            given.flags.extend(switches.into_iter().map(|long| (long, String::new())));
            continue;
        }
        let (flag, attached) = find(table, word)?;
        if flag.value.is_empty() {
            given.flags.push((flag.long, String::new()));
            continue;
        }
        if let Some(value) = attached {
            given.flags.push((flag.long, value));
            continue;
        }
        let first = i;
        while i < words.len()
            && (i == first || flag.greedy && !words[i].starts_with('-') && !words[i].ends_with(".k"))
        {
            given.flags.push((flag.long, words[i].clone()));
            i += 1;
        }
        if i == first {
            return Err(format!("{word} needs a value: {word} {}", flag.value));
        }
    }
    Ok(given)
}

/// Reads `-knH`: several flags without values.
fn switches(table: &'static [Flag], word: &str) -> Option<Vec<&'static str>> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.len() > 1)?;
    let switch = |c: char| table.iter().find(|f| f.short == Some(c) && f.value.is_empty()).map(|f| f.long);
    letters.chars().map(switch).collect()
}

fn find(table: &'static [Flag], word: &str) -> Result<(&'static Flag, Option<String>), String> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let name = name.replace('_', "-");
        return match table.iter().find(|f| f.long == name) {
            Some(flag) => Ok((flag, value)),
            None => Err(match table.iter().find(|f| near(f.long, &name)) {
                Some(flag) => format!("there is no flag --{name}; did you mean --{}?", flag.long),
                None => format!("there is no flag --{name}"),
            }),
        };
    }
    let mut letters = word[1..].chars();
    let letter = letters.next();
    let flag = table.iter().find(|f| f.short == letter && letter.is_some());
    let Some(flag) = flag else { return Err(format!("there is no flag {word}")) };
    let rest: String = letters.collect();
    match (rest.is_empty(), flag.value.is_empty()) {
        (true, _) => Ok((flag, None)),
        (false, false) => Ok((flag, Some(rest.trim_start_matches('=').to_owned()))),
        (false, true) if rest.chars().all(|c| Some(c) == flag.short) => Ok((flag, None)),
        (false, true) => Err(format!("there is no flag {word}")),
    }
}

/// Writes the rows of a table as help.
pub(crate) fn help(table: &[Flag]) -> String {
    let mut out = String::new();
    for flag in table {
        let short = flag.short.map_or_else(|| "    ".to_owned(), |c| format!("-{c}, "));
        let mut name = format!("{short}--{}", flag.long);
        if !flag.value.is_empty() {
            name.push(' ');
            name.push_str(flag.value);
        }
        out.push_str(&format!("  {name:<32} {}\n", flag.help));
    }
    out
}

/// Returns true if two words differ by at most two edits.
pub(crate) fn near(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()] <= 2 && b.len() > 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Flag] = &[
        Flag { long: "strict-range-check", short: Some('r'), value: "", greedy: false, help: "" },
        Flag { long: "setting", short: Some('Y'), value: "FILE", greedy: true, help: "" },
        Flag { long: "argument", short: Some('D'), value: "K=V", greedy: true, help: "" },
    ];

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn both_spellings_and_greedy_values_are_read() {
        let given = read(TABLE, &words("--strict_range_check -Y a.yaml b.yaml -Dk=v main.k")).unwrap();
        assert!(given.has("strict-range-check"));
        assert_eq!(given.all("setting"), ["a.yaml", "b.yaml"]);
        assert_eq!(given.all("argument"), ["k=v"]);
        assert_eq!(given.rest, ["main.k"]);
        let given = read(TABLE, &words("-rr -r")).unwrap();
        assert_eq!(given.all("strict-range-check").len(), 3);
        assert!(read(TABLE, &words("-rx")).is_err());
    }

    #[test]
    fn a_wrong_flag_gets_a_suggestion() {
        assert!(read(TABLE, &words("--seting x")).unwrap_err().contains("did you mean --setting"));
        assert!(read(TABLE, &words("-Y")).unwrap_err().contains("needs a value"));
    }
}

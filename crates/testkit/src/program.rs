//! A program of a test: its files, which of them are entries, and the flags it is run with.

/// One file of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceText {
    /// Path relative to the module root, with `/`.
    pub path: String,
    /// The text.
    pub text: String,
    /// Whether the file is given on the command line (part of the main package).
    pub entry: bool,
}

/// The flags of `kcl run` that change a result.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    /// `-D key=value`, as written.
    pub options: Vec<String>,
    /// `-O path=value`, as written.
    pub overrides: Vec<String>,
    /// `-S path`.
    pub selectors: Vec<String>,
    /// `-E name=path`, as written; the path is relative to the module root.
    pub externals: Vec<String>,
    /// `-n`.
    pub disable_none: bool,
    /// `-k`.
    pub sort_keys: bool,
    /// `-H`.
    pub show_hidden: bool,
    /// `-r`.
    pub strict_range: bool,
    /// `-d`.
    pub debug: bool,
}

impl Flags {
    /// Reads command line words.
    ///
    /// # Errors
    /// An unknown flag, or one without its value.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Flags, String> {
        let mut flags = Flags::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().map(str::to_string).ok_or_else(|| format!("{word} needs a value"));
            match word {
                "-D" => flags.options.push(value()?),
                "-O" => flags.overrides.push(value()?),
                "-S" => flags.selectors.push(value()?),
                "-E" => flags.externals.push(value()?),
                "-n" | "--disable_none" => flags.disable_none = true,
                "-k" | "--sort_keys" => flags.sort_keys = true,
                "-H" | "--show_hidden" => flags.show_hidden = true,
                "-r" | "--strict_range_check" => flags.strict_range = true,
                "-d" | "--debug" => flags.debug = true,
                other => return Err(format!("unknown flag `{other}`")),
            }
        }
        Ok(flags)
    }

    /// Writes the flags back as command line words.
    pub fn words(&self) -> Vec<String> {
        let mut out = Vec::new();
        let lists = [
            ("-D", &self.options),
            ("-O", &self.overrides),
            ("-S", &self.selectors),
            ("-E", &self.externals),
        ];
        for (flag, values) in lists {
            for value in values {
                out.extend([flag.to_string(), value.clone()]);
            }
        }
        let switches = [
            ("-n", self.disable_none),
            ("-k", self.sort_keys),
            ("-H", self.show_hidden),
            ("-r", self.strict_range),
            ("-d", self.debug),
        ];
        out.extend(switches.iter().filter(|(_, on)| *on).map(|(flag, _)| (*flag).to_string()));
        out
    }
}

/// A program of a test.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// All files; entries in command line order.
    pub files: Vec<SourceText>,
    /// How it is run.
    pub flags: Flags,
}

impl Program {
    /// Makes a program of one file, `main.k`.
    pub fn single(text: impl Into<String>) -> Program {
        let file = SourceText { path: "main.k".into(), text: text.into(), entry: true };
        Program { files: vec![file], flags: Flags::default() }
    }

    /// Returns the entry files in order.
    pub fn entries(&self) -> impl Iterator<Item = &SourceText> {
        self.files.iter().filter(|file| file.entry)
    }

    /// Returns the number of bytes of all files.
    pub fn size(&self) -> usize {
        self.files.iter().map(|file| file.text.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_survive_a_round_trip() {
        let words = ["-D", "k=v", "-S", "a.b", "-n", "-r"];
        let flags = Flags::parse(words).unwrap();
        assert_eq!(flags.words(), words);
        assert!(Flags::parse(["-D"]).is_err());
        assert!(Flags::parse(["--nope"]).is_err());
    }
}

//! Settings files: `kcl.yaml` and `-Y`. Text in, request out; reading the file is the caller's.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::request::{Entry, Request};
use base_diag::Code;
use base_yaml::{Data, Node};

/// The sections of a settings file.
pub const SECTIONS: &[&str] = &["kcl_cli_configs", "kcl_options"];

/// The keys of its section `kcl_cli_configs`; `verbose` and `fast_eval` change nothing.
pub const SETTINGS: &[&str] = &[
    "file",
    "files",
    "output",
    "overrides",
    "path_selector",
    "strict_range_check",
    "disable_none",
    "verbose",
    "debug",
    "sort_keys",
    "show_hidden",
    "fast_eval",
    "include_schema_type_path",
    "package_maps",
];

/// A text that is not a settings file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError {
    /// The sentence.
    pub message: String,
    /// Line of the problem, from 1; 0 if it has no place.
    pub line: u32,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SettingsError {}

impl SettingsError {
    /// Upstream's code of everything that is wrong with a settings file.
    pub const CODE: Code = Code::EVALUATION;
    /// What such a file looks like.
    pub const HELP: &str = "a settings file is one mapping with `kcl_cli_configs:` (files: [a.k], overrides: [..], sort_keys: true, …) and \
                            `kcl_options:` (a list of {key: .., value: ..}), both optional";
}

/// A key that no settings file has. The reference ignores it; who wants to be strict can refuse it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownKey {
    /// The key.
    pub key: String,
    /// Its line, from 1.
    pub line: u32,
    /// The keys that are known in its place.
    pub known: &'static [&'static str],
}

/// What several settings files say together, as far as a request cannot hold it.
#[derive(Default)]
pub struct Settings {
    /// `file:` and `files:` are two lists, each replaced by later files; the second wins unless it is empty.
    file: Vec<String>,
    files: Vec<String>,
    /// Where the output goes.
    pub output: Option<PathBuf>,
    /// `verbose:`, which changes nothing.
    pub verbose: i64,
    /// `fast_eval:`, which changes nothing.
    pub fast_eval: bool,
    /// Keys that nobody knows, in the order of the files.
    pub unknown: Vec<UnknownKey>,
}

impl Settings {
    /// Lays the next settings file over a request. Later files replace lists and scalars; options are added up.
    ///
    /// `folder` is where the file stands: it becomes the working folder if the file lists entries. `shown` names the
    /// file in messages.
    ///
    /// # Errors
    /// A sentence about a text that is not a settings file.
    pub fn add(
        &mut self,
        text: &str,
        shown: &str,
        folder: &Path,
        request: &mut Request,
    ) -> Result<(), SettingsError> {
        let invalid = |line: u32| SettingsError {
            message: format!("Failed to load '{shown}', invalid setting file format"),
            line,
        };
        let because = |line: u32, why: String| {
            let SettingsError { message, line } = invalid(line);
            SettingsError { message: format!("{message}: {why}"), line }
        };
        let documents = base_yaml::parse_documents(text, &base_yaml::Limits::default())
            .map_err(|error| because(error.line, error.to_string()))?;
        let root = match documents.as_slice() {
            [] => return Ok(()),
            [root] => root,
            [_, second, ..] => return Err(invalid(second.span.line)),
        };
        let Data::Map(sections) = &root.value else { return Err(invalid(root.span.line)) };
        for section in sections {
            let line = section.key_span.line;
            match (section.key.as_str(), &section.value.value) {
                (key, _) if !SECTIONS.contains(&key) => self.unknown_key(key, line, SECTIONS),
                (_, Data::Null) => {}
                ("kcl_cli_configs", Data::Map(entries)) => {
                    for entry in entries {
                        let (key, line) = (&entry.key, entry.key_span.line);
                        if !SETTINGS.contains(&key.as_str()) {
                            self.unknown_key(key, line, SETTINGS);
                        } else if entry.value.value != Data::Null {
                            let set = self.configure(key, &entry.value, folder, request);
                            set.ok_or_else(|| because(line, format!("`{key}` takes {}", wanted(key))))?;
                        }
                    }
                }
                ("kcl_options", Data::List(items)) => {
                    for item in items {
                        request.arguments.push(option(item).ok_or_else(|| invalid(item.span.line))?);
                    }
                }
                _ => return Err(invalid(line)),
            }
        }
        Ok(())
    }

    fn unknown_key(&mut self, key: &str, line: u32, known: &'static [&'static str]) {
        self.unknown.push(UnknownKey { key: key.to_owned(), line, known });
    }

    /// Sets one thing; nothing if the value is not of its type.
    fn configure(&mut self, name: &str, value: &Node, folder: &Path, request: &mut Request) -> Option<()> {
        match name {
            "file" | "files" => self.entries(name, strings(value)?, folder, request),
            "output" => self.output = Some(text_of(value).map(PathBuf::from)?),
            "overrides" => request.overrides = strings(value)?,
            "path_selector" => request.selectors = strings(value)?,
            "strict_range_check" => request.strict_range = switch(value)?,
            "disable_none" => request.output.disable_none = switch(value)?,
            "debug" => request.debug = switch(value)?,
            "sort_keys" => request.output.sort_keys = switch(value)?,
            "show_hidden" => request.output.show_hidden = switch(value)?,
            "include_schema_type_path" => request.output.schema_type_path = switch(value)?,
            "fast_eval" => self.fast_eval = switch(value)?,
            "verbose" if let Data::Int(level) = &value.value => {
                self.verbose = level.to_string().parse().unwrap_or(i64::MAX);
            }
            "package_maps" => {
                let Data::Map(entries) = &value.value else { return None };
                let pair = |e: &base_yaml::MapEntry| Some((e.key.clone(), PathBuf::from(text_of(&e.value)?)));
                request.externals = entries.iter().map(pair).collect::<Option<_>>()?;
            }
            _ => {}
        }
        Some(())
    }

    fn entries(&mut self, name: &str, listed: Vec<String>, folder: &Path, request: &mut Request) {
        if !listed.is_empty() {
            request.work_dir = folder.to_path_buf();
        }
        match name {
            "file" => self.file = listed,
            _ => self.files = listed,
        }
        let list = if self.files.is_empty() { &self.file } else { &self.files };
        request.entries = list.iter().cloned().map(Entry::Path).collect();
    }
}

/// What the value of a setting must be.
fn wanted(name: &str) -> &'static str {
    match name {
        "file" | "files" | "overrides" | "path_selector" => "a list of texts: [..]",
        "output" => "a path",
        "package_maps" => "a mapping of names to paths",
        _ => "true or false",
    }
}

fn switch(node: &Node) -> Option<bool> {
    match node.value {
        Data::Bool(value) => Some(value),
        _ => None,
    }
}

fn strings(node: &Node) -> Option<Vec<String>> {
    match &node.value {
        Data::List(items) => items.iter().map(text_of).collect(),
        _ => None,
    }
}

fn text_of(node: &Node) -> Option<String> {
    match &node.value {
        Data::Str(text) => Some(text.clone()),
        _ => None,
    }
}

fn option(item: &Node) -> Option<(String, String)> {
    let mut writer = base_yaml::JsonWriter::new();
    let mut value = item.get("value")?.clone();
    match &mut value.value {
        Data::Map(entries) => entries.iter_mut().for_each(|entry| sort_keys(&mut entry.value)),
        _ => sort_keys(&mut value),
    }
    base_yaml::write_node(&mut writer, &value);
    let key = match &item.get("key")?.value {
        Data::Int(number) => number.to_string(),
        Data::Str(text) => text.clone(),
        _ => return None,
    };
    Some((key, writer.into_string()))
}

/// Quirk: mappings inside the value of an option are sorted. Depth is bounded by the reader.
fn sort_keys(node: &mut Node) {
    match &mut node.value {
        Data::Map(entries) => {
            entries.sort_by(|a, b| a.key.cmp(&b.key));
            entries.iter_mut().for_each(|entry| sort_keys(&mut entry.value));
        }
        Data::List(items) => items.iter_mut().for_each(sort_keys),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply_settings(
        text: &str,
        shown: &str,
        folder: &Path,
        request: &mut Request,
    ) -> Result<(), SettingsError> {
        Settings::default().add(text, shown, folder, request)
    }

    #[test]
    fn unknown_keys_are_kept_with_their_line_and_what_is_wrong_has_one() {
        let (mut settings, mut request) = (Settings::default(), Request::default());
        let text = "kcl_cli_config:\n  file: [a.k]\nkcl_cli_configs:\n  disable_non: true\n  verbose: 1\n";
        settings.add(text, "x", Path::new(""), &mut request).unwrap();
        let found: Vec<(&str, u32)> = settings.unknown.iter().map(|k| (k.key.as_str(), k.line)).collect();
        assert_eq!(found, [("kcl_cli_config", 1), ("disable_non", 4)]);
        let wrong = settings.add("kcl_cli_configs:\n  sort_keys: maybe\n", "x", Path::new(""), &mut request);
        assert_eq!(wrong.unwrap_err().line, 2);
    }

    #[test]
    fn later_files_replace_lists_and_add_options() {
        let mut request = Request::default();
        let first =
            "kcl_cli_configs:\n  file: [a.k]\n  disable_none: true\nkcl_options:\n- {key: n, value: 1}\n";
        let second = "kcl_cli_configs:\n  files: [b.k]\nkcl_options:\n- {key: m, value: [x]}\n";
        apply_settings(first, "a", Path::new("/w"), &mut request).unwrap();
        apply_settings(second, "b", Path::new("/v"), &mut request).unwrap();
        assert!(matches!(&request.entries[..], [Entry::Path(p)] if p == "b.k"));
        assert_eq!(request.work_dir, Path::new("/v"));
        assert!(request.output.disable_none);
        assert_eq!(request.arguments, [("n".into(), "1".into()), ("m".into(), "[\"x\"]".into())]);
    }

    #[test]
    fn files_and_file_are_two_lists_and_the_first_one_wins_unless_it_is_empty() {
        let (file, files, none) = ("  file: [a.k]\n", "  files: [b.k]\n", "  files: []\n");
        for (texts, expected) in [
            (vec![files, file], "b.k"),
            (vec![file, files], "b.k"),
            (vec![file, none], "a.k"),
            (vec![file, files, none], "a.k"),
        ] {
            let (mut settings, mut request) = (Settings::default(), Request::default());
            for text in &texts {
                let text = format!("kcl_cli_configs:\n{text}");
                settings.add(&text, "x", Path::new(""), &mut request).unwrap();
            }
            assert!(matches!(&request.entries[..], [Entry::Path(p)] if p == expected), "{texts:?}");
        }
    }

    #[test]
    fn mappings_inside_the_value_of_an_option_are_sorted() {
        let mut request = Request::default();
        let text = "kcl_options:\n- {key: n, value: {b: {d: 1, c: [{f: 1, e: 2}]}, a: 1}}\n";
        apply_settings(text, "a", Path::new("/w"), &mut request).unwrap();
        assert_eq!(request.arguments[0].1, r#"{"b": {"c": [{"e": 2, "f": 1}], "d": 1}, "a": 1}"#);
    }

    #[test]
    fn a_text_that_is_no_settings_file_is_refused() {
        for text in [
            "- 1",
            "kcl_options: 3",
            "kcl_options: [1]",
            "a: [",
            "kcl_cli_configs: 1",
            "kcl_cli_configs: {files: main.k}",
            "kcl_cli_configs: {files: [1]}",
            "kcl_cli_configs: {sort_keys: yes}",
            "kcl_cli_configs: {overrides: a=1}",
            "a: 1\n---\nb: 2",
        ] {
            assert!(apply_settings(text, "x", Path::new(""), &mut Request::default()).is_err(), "{text}");
        }
        assert!(apply_settings("kcl_options:", "x", Path::new(""), &mut Request::default()).is_ok());
    }
}

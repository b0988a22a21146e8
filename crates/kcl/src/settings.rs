//! Settings files: `kcl.yaml` and `-Y`. Text in, request out; reading the file is the caller's.

use std::path::{Path, PathBuf};

use crate::request::{Entry, Request};
use base_yaml::{Data, Node};

/// Lays one settings file over a request; returns the `output` it asks for. See [`Settings::add`].
///
/// # Errors
/// A sentence about a text that is not a settings file.
pub fn apply_settings(
    text: &str,
    shown: &str,
    folder: &Path,
    request: &mut Request,
) -> Result<Option<PathBuf>, String> {
    let mut settings = Settings::default();
    settings.add(text, shown, folder, request)?;
    Ok(settings.output)
}

/// What several settings files say together, as far as a request cannot hold it.
#[derive(Default)]
pub struct Settings {
    /// `file:` and `files:` are two lists, each replaced by later files; the second wins unless it is empty.
    file: Vec<String>,
    files: Vec<String>,
    /// Where the output goes.
    pub output: Option<PathBuf>,
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
    ) -> Result<(), String> {
        let invalid = || format!("Failed to load '{shown}', invalid setting file format");
        let documents = base_yaml::parse_documents(text, &base_yaml::Limits::default())
            .map_err(|error| format!("{}: {error}", invalid()))?;
        let root = match documents.as_slice() {
            [] => return Ok(()),
            [root] => root,
            _ => return Err(invalid()),
        };
        let Data::Map(sections) = &root.value else { return Err(invalid()) };
        for section in sections {
            match (section.key.as_str(), &section.value.value) {
                (_, Data::Null) => {}
                ("kcl_cli_configs", Data::Map(entries)) => {
                    for entry in entries.iter().filter(|entry| entry.value.value != Data::Null) {
                        let set = self.configure(&entry.key, &entry.value, folder, request);
                        set.ok_or_else(|| {
                            format!("{}: `{}` takes {}", invalid(), entry.key, wanted(&entry.key))
                        })?;
                    }
                }
                ("kcl_options", Data::List(items)) => {
                    for item in items {
                        request.arguments.push(option(item).ok_or_else(invalid)?);
                    }
                }
                ("kcl_cli_configs" | "kcl_options", _) => return Err(invalid()),
                _ => {}
            }
        }
        Ok(())
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
            "fast_eval" => _ = switch(value)?,
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

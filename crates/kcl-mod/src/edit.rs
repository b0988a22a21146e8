//! Changes of `kcl.mod` that leave its comments and its order alone.

use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use crate::requirement::{Pin, Requirement, Source};

/// Returns the manifest of a new module.
pub fn new_manifest(name: &str, version: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\n")
}

/// Adds a dependency, or replaces the one of that name.
///
/// # Errors
/// A manifest that cannot be read.
pub fn add(manifest: &str, requirement: &Requirement) -> Result<String, String> {
    let mut document = parse(manifest)?;
    let table = document.entry("dependencies").or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or("kcl.mod: `dependencies` must be a table")?;
    let item = Item::Value(value(requirement));
    match table.get_mut(&requirement.key) {
        // The key stays, and with it the comment above; so does what stands behind the value.
        Some(old) => {
            let around = old.as_value().map(|value| value.decor().clone());
            *old = item;
            if let (Some(around), Some(value)) = (around, old.as_value_mut()) {
                *value.decor_mut() = around;
            }
        }
        None => _ = table.insert(&requirement.key, item),
    }
    Ok(written(&document, manifest))
}

/// Removes a dependency; none if there is none of that name.
///
/// # Errors
/// A manifest that cannot be read.
pub fn remove(manifest: &str, name: &str) -> Result<Option<String>, String> {
    let mut document = parse(manifest)?;
    let table = document.get_mut("dependencies").and_then(Item::as_table_like_mut);
    let key = table.as_ref().and_then(|table| {
        table.iter().map(|(key, _)| key.to_owned()).find(|key| key == name || key.replace('-', "_") == name)
    });
    let (Some(table), Some(key)) = (table, key) else { return Ok(None) };
    table.remove(&key);
    Ok(Some(written(&document, manifest)))
}

/// The document with the ends of lines that the manifest had.
fn written(document: &DocumentMut, manifest: &str) -> String {
    let text = document.to_string();
    let (all, long) = (manifest.matches('\n').count(), manifest.matches("\r\n").count());
    if long * 2 <= all {
        return text;
    }
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn parse(manifest: &str) -> Result<DocumentMut, String> {
    manifest.parse().map_err(|e: toml_edit::TomlError| {
        let before = e.span().and_then(|span| manifest.get(..span.start)).unwrap_or_default();
        format!("kcl.mod:{}: {}", before.matches('\n').count() + 1, e.message())
    })
}

fn value(requirement: &Requirement) -> Value {
    let mut table = InlineTable::new();
    match &requirement.source {
        // Without a version it is an empty table: the newest one.
        Source::Registry if requirement.package == requirement.key && requirement.version.is_some() => {
            return requirement.version.clone().unwrap_or_default().into();
        }
        Source::Registry => {}
        Source::Path(path) => _ = table.insert("path", path.into()),
        Source::Oci(repository) => {
            table.insert("oci", format!("oci://{repository}").into());
            if let Some(tag) = &requirement.version {
                table.insert("tag", tag.into());
            }
        }
        Source::Git { url, pin } => {
            table.insert("git", url.into());
            match pin {
                Pin::Tag(tag) => _ = table.insert("tag", tag.into()),
                Pin::Commit(commit) => _ = table.insert("commit", commit.into()),
                Pin::Branch(branch) => _ = table.insert("branch", branch.into()),
                Pin::Greatest => {}
            }
        }
    }
    if requirement.package != requirement.key || requirement.named {
        table.insert("package", (&requirement.package).into());
    }
    if let (Some(version), Source::Registry | Source::Git { .. }) =
        (&requirement.version, &requirement.source)
    {
        table.insert("version", version.into());
    }
    Value::InlineTable(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# ours\n[package]\nname = \"shop\" # a shop\n\n[dependencies]\n# models\nk8s = \"1.31\"\n";

    fn need(text: &str) -> Requirement {
        crate::requirements(&format!("[dependencies]\n{text}").parse().unwrap()).0.remove(0)
    }

    #[test]
    fn comments_stay_and_what_was_added_is_read_back() {
        let specs = [
            "web = { oci = \"oci://reg.example.org/team/web\", tag = \"0.2.0\" }",
            "lib = { git = \"https://git.example.org/lib.git\", tag = \"v1.4.0\" }",
            "sub = { git = \"https://git.example.org/mono.git\", commit = \"abc\", package = \"part\" }",
            "util = { path = \"../util\" }",
            "other = { package = \"helloworld\", version = \"0.1.4\" }",
            "k8s = \"1.32\"",
        ];
        for spec in specs {
            let text = add(TEXT, &need(spec)).unwrap();
            assert!(
                text.starts_with("# ours\n[package]\nname = \"shop\" # a shop\n\n[dependencies]\n# models\n"),
                "{text}"
            );
            let (found, problems) = crate::requirements(&text.parse().unwrap());
            assert_eq!(problems, Vec::<String>::new());
            assert!(found.contains(&need(spec)), "{text}");
        }
    }

    #[test]
    fn comments_behind_a_line_and_ends_of_lines_stay() {
        let text = "[dependencies]\nk8s = \"1.31\" # ours\nweb = { git = \"u\" } # theirs\n";
        let changed = add(text, &need("k8s = \"1.32\"")).unwrap();
        assert_eq!(changed, text.replace("1.31", "1.32"));
        let changed = add(text, &need("web = { path = \"p\" }")).unwrap();
        assert_eq!(changed, text.replace("git = \"u\"", "path = \"p\""));
        let windows = TEXT.replace('\n', "\r\n");
        let added = add(&windows, &need("a = \"1\"")).unwrap();
        assert_eq!(added, format!("{windows}a = \"1\"\r\n"));
        assert_eq!(remove(&added, "a").unwrap().unwrap(), windows);
    }

    #[test]
    fn a_package_without_a_version_is_the_newest() {
        let newest = Requirement { version: None, ..need("a = \"1\"") };
        let text = add(TEXT, &newest).unwrap();
        let (found, problems) = crate::requirements(&text.parse().unwrap());
        assert!(found.contains(&newest) && problems.is_empty(), "{text}{problems:?}");
    }

    #[test]
    fn what_is_removed_is_gone_and_what_is_not_there_is_told() {
        let text = add(TEXT, &need("json-merge = \"1.0\"")).unwrap();
        assert_eq!(remove(&text, "json_merge").unwrap().unwrap(), TEXT);
        assert_eq!(remove(TEXT, "nothing").unwrap(), None);
        assert!(add("[", &need("a = \"1\"")).unwrap_err().starts_with("kcl.mod:1"));
        assert!(
            add(&new_manifest("m", "0.1.0"), &need("a = \"1\""))
                .unwrap()
                .ends_with("\n[dependencies]\na = \"1\"\n")
        );
    }
}

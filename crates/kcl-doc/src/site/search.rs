//! The index of the search: a script that sets one array, because pages opened from a disk cannot fetch anything.

use serde_json::json;

use super::Site;
use crate::anchor::safe;
use crate::keep::{first_sentence, shown, summary};

/// Rows: name, kind, package, link, a sentence.
pub(super) fn index(site: &Site<'_>) -> String {
    let mut rows = Vec::new();
    for package in shown(site.model) {
        let page = site.package_page(&package.path);
        let title = if package.path.is_empty() { "main" } else { &package.path };
        rows.push(json!([title, "package", "", page, first_sentence(&package.doc)]));
        for schema in &package.schemas {
            let anchor = safe(&schema.name);
            rows.push(json!([
                schema.name,
                schema.kind.keyword(),
                title,
                format!("{page}#{anchor}"),
                summary(schema)
            ]));
            for attribute in &schema.attributes {
                let name = format!("{}.{}", schema.name, attribute.name);
                let link = format!("{page}#{anchor}.{}", safe(&attribute.name));
                rows.push(json!([name, "attribute", title, link, first_sentence(&attribute.doc)]));
            }
        }
    }
    let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
    // A line separator is none in JavaScript strings of old engines; `<` is for pages that would paste this.
    let data = rows
        .join(",\n")
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    format!("window.kclIndex=[\n{data}\n];\nif(window.kclReady)window.kclReady();\n")
}

//! What the search finds.

use super::Site;
use crate::anchor::safe;
use crate::keep::{first_sentence, shown, summary};
use crate::web::{self, Row};

/// Rows: name, kind, package, link, a sentence.
pub(super) fn index(site: &Site<'_>) -> String {
    let mut rows: Vec<Row> = Vec::new();
    for package in shown(site.model) {
        let page = site.package_page(&package.path);
        let title = if package.path.is_empty() { "main" } else { &package.path };
        rows.push(row(title, "package", "", page.clone(), first_sentence(&package.doc)));
        for schema in &package.schemas {
            let anchor = safe(&schema.name);
            let link = format!("{page}#{anchor}");
            rows.push(row(&schema.name, schema.kind.keyword(), title, link, summary(schema)));
            for attribute in &schema.attributes {
                let name = format!("{}.{}", schema.name, attribute.name);
                let link = format!("{page}#{anchor}.{}", safe(&attribute.name));
                rows.push(row(&name, "attribute", title, link, first_sentence(&attribute.doc)));
            }
        }
    }
    web::index(&rows)
}

fn row(name: &str, kind: &str, package: &str, link: String, about: impl Into<String>) -> Row {
    [name.to_owned(), kind.to_owned(), package.to_owned(), link, about.into()]
}

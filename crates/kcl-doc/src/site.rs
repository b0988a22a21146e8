//! The site: plain HTML, one style sheet, one small script, an index for the search; all in one folder, no network.
//!
//! Pages work without the script: it only adds the search, the switch between light and dark, and the menu of narrow
//! screens. Data is put into pages through `html::text` only.

mod package;
mod page;
mod search;
mod source;

use kcl_model::{Model, SchemaRef};

use crate::anchor::safe;
use crate::keep::{kept, shown};
use crate::{File, Options, web};

/// A file of the module, for the pages that show it.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path in the module, as places name it.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Writes the site.
pub fn site(model: &Model, sources: &[Source], options: &Options) -> Vec<File> {
    let model = kept(model, options);
    let site = Site { model: &model, sources };
    let mut files = vec![
        File { path: "index.html".into(), text: package::overview(&site) },
        File { path: "assets/style.css".into(), text: web::STYLE.into() },
        File { path: "assets/site.js".into(), text: web::SCRIPT.into() },
        File { path: "assets/index.js".into(), text: search::index(&site) },
    ];
    for package in shown(&model) {
        files.push(File { path: site.package_page(&package.path), text: package::page(&site, package) });
        for path in &package.files {
            if let Some(found) = sources.iter().find(|source| source.path == *path) {
                files.push(File { path: source_page(path), text: source::page(&site, package, found) });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    files
}

/// What every page knows.
pub(crate) struct Site<'m> {
    pub(crate) model: &'m Model,
    pub(crate) sources: &'m [Source],
}

impl Site<'_> {
    pub(crate) fn package_page(&self, path: &str) -> String {
        format!("packages/{}.html", safe(if path.is_empty() { "main" } else { path }))
    }

    /// Where a schema is described; none if it is in no page of this site.
    pub(crate) fn schema_link(&self, name: &SchemaRef) -> Option<String> {
        let package = self.model.package(&name.package).filter(|package| !package.external)?;
        package.schemas.iter().find(|schema| schema.name == name.name)?;
        Some(format!("{}#{}", self.package_page(&name.package), safe(&name.name)))
    }

    /// Where a line of a file is shown.
    pub(crate) fn source_link(&self, path: &str, line: u32) -> Option<String> {
        self.sources.iter().find(|source| source.path == path)?;
        Some(format!("{}#L{line}", source_page(path)))
    }

    pub(crate) fn title(&self) -> &str {
        if self.model.name.is_empty() { "Schemas" } else { &self.model.name }
    }
}

fn source_page(path: &str) -> String {
    format!("source/{}.html", safe(path))
}

//! A file with numbered lines.

use kcl_model::Package;

use super::page::page as whole;
use super::{Site, Source};
use crate::web::{highlight, html};

pub(super) fn page(site: &Site<'_>, package: &Package, source: &Source) -> String {
    let back = format!("../{}", site.package_page(&package.path));
    let title = if package.path.is_empty() { "main" } else { &package.path };
    let mut body = format!(
        "<p class=\"crumbs\">{}</p>\n<h1 class=\"path\">{}</h1>\n<pre class=\"lines\"><code>",
        html::link(&back, title),
        html::text(&source.path)
    );
    let coloured = highlight(source.text.trim_end_matches('\n'));
    for (i, line) in coloured.split('\n').enumerate() {
        let n = i + 1;
        body.push_str(&format!(
            "<span id=\"L{n}\" class=\"line\"><a href=\"#L{n}\" tabindex=\"-1\">{n}</a>{line}\n</span>"
        ));
    }
    body.push_str("</code></pre>\n");
    whole(site, &source.path, "../", Some(&package.path), &body)
}

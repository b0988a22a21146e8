//! What every page has: head, bar with the search, menu of packages.

use super::{Site, html};
use crate::keep::shown;

/// Puts a page together. `root` leads from the page to the top of the site; `current` is the package that it is about.
pub(super) fn page(site: &Site<'_>, title: &str, root: &str, current: Option<&str>, body: &str) -> String {
    let name = html::text(site.title());
    let full = if title == site.title() { name.clone() } else { format!("{} · {name}", html::text(title)) };
    let menu = menu(site, root, current);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{full}</title>\n<link \
         rel=\"stylesheet\" href=\"{root}assets/style.css\">\n<script src=\"{root}assets/site.js\"></script>\n<script \
         src=\"{root}assets/index.js\" defer></script>\n</head>\n<body data-root=\"{root}\">\n<a class=\"skip\" \
         href=\"#main\">Skip to the text</a>\n<header>\n<button id=\"menu\" type=\"button\" aria-label=\"Packages\" \
         aria-expanded=\"false\" aria-controls=\"nav\">☰</button>\n<a class=\"brand\" href=\"{root}index.html\">{name}</a>\n<div \
         class=\"search\"><input id=\"search\" type=\"search\" placeholder=\"Search schemas and attributes\" \
         autocomplete=\"off\" spellcheck=\"false\" role=\"combobox\" aria-label=\"Search\" aria-controls=\"results\" \
         aria-expanded=\"false\"><kbd>/</kbd><ol id=\"results\" role=\"listbox\" hidden></ol></div>\n<button id=\"theme\" \
         type=\"button\" aria-label=\"Light or dark\" title=\"Light or dark\">◐</button>\n</header>\n<div \
         class=\"columns\">\n<nav id=\"nav\" aria-label=\"Packages\">\n{menu}</nav>\n<main id=\"main\">\n{body}</main>\n</div>\n</body>\n</html>\n"
    )
}

fn menu(site: &Site<'_>, root: &str, current: Option<&str>) -> String {
    let mut out = String::from("<ul>\n");
    for package in shown(site.model) {
        let here = current == Some(package.path.as_str());
        let href = format!("{root}{}", site.package_page(&package.path));
        let mark = if here { " aria-current=\"page\"" } else { "" };
        let title = if package.path.is_empty() { "main" } else { &package.path };
        out.push_str(&format!("<li><a{mark} href=\"{}\">{}</a>", html::text(&href), breakable(title)));
        if here {
            out.push_str("\n<ul>\n");
            for schema in &package.schemas {
                let anchor = crate::anchor::safe(&schema.name);
                out.push_str(&format!(
                    "<li>{}</li>\n",
                    html::link(&format!("{href}#{anchor}"), &schema.name)
                ));
            }
            out.push_str("</ul>");
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
    out
}

/// A dotted path may be broken behind its dots.
pub(super) fn breakable(path: &str) -> String {
    html::text(path).replace('.', ".<wbr>")
}

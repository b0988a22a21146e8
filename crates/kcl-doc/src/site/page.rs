//! A page with the menu of packages.

use super::Site;
use crate::keep::shown;
use crate::web::{Frame, html};

/// Puts a page together. `root` leads from the page to the top of the site; `current` is the package that it is about.
pub(super) fn page(site: &Site<'_>, title: &str, root: &str, current: Option<&str>, body: &str) -> String {
    let menu = menu(site, root, current);
    let (finds, lists) = ("Search schemas and attributes", "Packages");
    Frame { site: site.title(), title, root, finds, lists, menu: &menu, body }.page()
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

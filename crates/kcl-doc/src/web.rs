//! What sites are made of: Markdown as HTML, the frame of a page, the index of the search. No network is needed to look at
//! them, and pages work without the script: it only adds the search, the switch between light and dark, and the menu of
//! narrow screens.

mod highlight;
pub(crate) mod html;
mod markdown;

pub(crate) use highlight::highlight;
pub use markdown::{Section, Text, markdown};
pub(crate) use markdown::{inline, prose};

/// The style sheet, to be written to `assets/style.css`.
pub const STYLE: &str = include_str!("../assets/style.css");
/// The script, to be written to `assets/site.js`.
pub const SCRIPT: &str = include_str!("../assets/site.js");

/// What every page has: head, bar with the search, menu.
pub struct Frame<'a> {
    /// The name of the site.
    pub site: &'a str,
    pub title: &'a str,
    /// Leads from the page to the top of the site.
    pub root: &'a str,
    /// What the search finds, for its field.
    pub finds: &'a str,
    /// What the menu lists.
    pub lists: &'a str,
    /// HTML.
    pub menu: &'a str,
    /// HTML.
    pub body: &'a str,
}

impl Frame<'_> {
    /// The page as HTML.
    #[must_use]
    pub fn page(&self) -> String {
        let Frame { root, menu, body, .. } = self;
        let (name, finds, lists) = (html::text(self.site), html::text(self.finds), html::text(self.lists));
        let full = if self.title == self.site {
            name.clone()
        } else {
            format!("{} · {name}", html::text(self.title))
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{full}</title>\n<link \
             rel=\"stylesheet\" href=\"{root}assets/style.css\">\n<script src=\"{root}assets/site.js\"></script>\n<script \
             src=\"{root}assets/index.js\" defer></script>\n</head>\n<body data-root=\"{root}\">\n<a class=\"skip\" \
             href=\"#main\">Skip to the text</a>\n<header>\n<button id=\"menu\" type=\"button\" aria-label=\"{lists}\" \
             aria-expanded=\"false\" aria-controls=\"nav\">☰</button>\n<a class=\"brand\" href=\"{root}index.html\">{name}</a>\n<div \
             class=\"search\"><input id=\"search\" type=\"search\" placeholder=\"{finds}\" \
             autocomplete=\"off\" spellcheck=\"false\" role=\"combobox\" aria-label=\"Search\" aria-controls=\"results\" \
             aria-expanded=\"false\"><kbd>/</kbd><ol id=\"results\" role=\"listbox\" hidden></ol></div>\n<button id=\"theme\" \
             type=\"button\" aria-label=\"Light or dark\" title=\"Light or dark\">◐</button>\n</header>\n<div \
             class=\"columns\">\n<nav id=\"nav\" aria-label=\"{lists}\">\n{menu}</nav>\n<main id=\"main\">\n{body}</main>\n</div>\n</body>\n</html>\n"
        )
    }
}

/// A row of the search: name, kind, where it belongs, link, what it is about.
pub type Row = [String; 5];

/// The index of the search: a script that sets one array, because pages opened from a disk cannot fetch anything.
#[must_use]
pub fn index(rows: &[Row]) -> String {
    let rows: Vec<String> = rows.iter().map(|row| serde_json::json!(row).to_string()).collect();
    // A line separator is none in JavaScript strings of old engines; `<` is for pages that would paste this.
    let data = rows
        .join(",\n")
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    format!("window.kclIndex=[\n{data}\n];\nif(window.kclReady)window.kclReady();\n")
}

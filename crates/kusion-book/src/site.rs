//! The book as a site.

use kcl_doc::File;
use kcl_doc::web::{self, Frame, Row, Text, markdown};

use crate::links::{address, resolve, to_root};
use crate::{FILES, Page, book};

const NAME: &str = "Kusion and KCL";

/// All files of the site.
#[must_use]
pub fn site() -> Vec<File> {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let mut files = vec![file("assets/style.css", web::STYLE), file("assets/site.js", web::SCRIPT)];
    files.extend(
        FILES.iter().filter(|(path, _, _)| path.ends_with(".svg")).map(|(path, _, text)| file(path, text)),
    );
    let mut rows = Vec::new();
    for (at, page) in book().iter().enumerate() {
        let text = text_of(page);
        rows.extend(found(page, &text));
        files.push(File { path: address(page.path), text: html(at, page, &text) });
    }
    files.push(File { path: "assets/index.js".to_owned(), text: web::index(&rows) });
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn text_of(page: &Page) -> Text {
    markdown(&page.plain(), &|target| resolve(page, target))
}

/// What the search finds on a page: each section with its text.
fn found(page: &Page, text: &Text) -> Vec<Row> {
    let row = |section: &web::Section| {
        let words = section.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let first = section.level < 2;
        let (name, kind) = if first { (&page.title, "page") } else { (&section.title, "section") };
        let link = match section.id.as_str() {
            "" => address(page.path),
            id => format!("{}#{id}", address(page.path)),
        };
        let about = if first { page.part.clone() } else { page.title.clone() };
        [name.clone(), kind.to_owned(), about, link, words]
    };
    text.sections.iter().filter(|section| !section.text.trim().is_empty()).map(row).collect()
}

fn html(at: usize, page: &Page, text: &Text) -> String {
    let root = to_root(page.path);
    let body = format!("<article class=\"book\">\n{}</article>\n{}", text.html, turn(at, &root));
    let title = if at == 0 { NAME } else { &page.title };
    let (finds, lists) = ("Search the book", "Pages");
    Frame { site: NAME, title, root: &root, finds, lists, menu: &menu(page, &root), body: &body }.page()
}

/// The pages before and behind.
fn turn(at: usize, root: &str) -> String {
    let link = |page: Option<&Page>, before: &str, behind: &str| {
        page.map_or_else(String::new, |page| {
            format!("<a href=\"{root}{}\">{before}{}{behind}</a>", address(page.path), escaped(&page.title))
        })
    };
    let before = at.checked_sub(1).and_then(|at| book().get(at));
    format!(
        "<div class=\"turn\"><span>{}</span><span>{}</span></div>\n",
        link(before, "← ", ""),
        link(book().get(at + 1), "", " →")
    )
}

fn menu(current: &Page, root: &str) -> String {
    let mut out = String::new();
    let mut part = None;
    for page in book() {
        if part != Some(&page.part) {
            if part.is_some() {
                out.push_str("</ul>\n");
            }
            if !page.part.is_empty() {
                out.push_str(&format!("<h2>{}</h2>\n", escaped(&page.part)));
            }
            out.push_str("<ul>\n");
            part = Some(&page.part);
        }
        let mark = if page.path == current.path { " aria-current=\"page\"" } else { "" };
        let href = format!("{root}{}", address(page.path));
        out.push_str(&format!("<li><a{mark} href=\"{href}\">{}</a></li>\n", escaped(&page.title)));
    }
    out.push_str("</ul>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

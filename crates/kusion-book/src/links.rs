//! Where a link of a page leads in the site.

use crate::{FILES, Page, book};

/// The page's address in the site.
pub(crate) fn address(path: &str) -> String {
    match path {
        "README.md" => "index.html".to_owned(),
        other => format!("{}.html", other.strip_suffix(".md").unwrap_or(other)),
    }
}

/// From a page to the top of the site.
pub(crate) fn to_root(path: &str) -> String {
    "../".repeat(path.matches('/').count())
}

/// The target of a link on a page, from that page; `None` if it leads out of the book.
pub(crate) fn resolve(page: &Page, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with('#') {
        return Some(target.to_owned());
    }
    let (file, fragment) = target.split_once('#').map_or((target, ""), |(file, fragment)| (file, fragment));
    // Links are written from where the text is, which may be beside the book.
    let inside = join(folder(page.source), file)?;
    let found = book().iter().find(|other| other.source == inside).map(|other| address(other.path));
    let picture = || {
        let row = FILES.iter().find(|(path, source, _)| *source == inside && !path.ends_with(".md"))?;
        Some(row.0.to_owned())
    };
    let found = found.or_else(picture)?;
    let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
    Some(format!("{}{found}{fragment}", to_root(page.path)))
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path from a folder, without `.` and `..`; `None` if it leaves the repository.
fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_page_to_page() {
        let page = |path: &str| book().iter().find(|page| page.path == path).unwrap();
        assert_eq!(resolve(page("README.md"), "howto/rollback.md").unwrap(), "howto/rollback.html");
        assert_eq!(
            resolve(page("howto/rollback.md"), "../README.md#where-to-go").unwrap(),
            "../index.html#where-to-go"
        );
        // Included from docs: its neighbours are written from there.
        assert_eq!(resolve(page("tools/lint.md"), "fmt.md").unwrap(), "../tools/fmt.html");
        assert_eq!(resolve(page("tools/lint.md"), "status.md"), None);
        assert_eq!(join("a/b", "../../../c"), None);
    }
}

//! Every page is there and every link in it leads somewhere, to the heading.

use std::collections::{BTreeMap, BTreeSet};

fn attribute<'t>(html: &'t str, name: &str) -> Vec<&'t str> {
    let open = format!(" {name}=\"");
    html.split(open.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// A path from a page, without `..`.
fn from(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => _ = parts.pop().expect("a link leaves the site"),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_link_leads_to_a_page_and_a_heading_that_is_there() {
    let files: BTreeMap<String, String> =
        kusion_book::site().into_iter().map(|file| (file.path, file.text)).collect();
    let mut problems = Vec::new();
    let mut links = 0;
    for (path, html) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
        for target in attribute(html, "href").into_iter().chain(attribute(html, "src")) {
            if target.contains("://") {
                continue;
            }
            links += 1;
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { from(path, file) };
            let Some(found) = files.get(&file) else {
                problems.push(format!("{path}: {target}: there is no {file}"));
                continue;
            };
            if !fragment.is_empty() && !attribute(found, "id").contains(&fragment) {
                problems.push(format!("{path}: {target}: no heading has this anchor"));
            }
        }
    }
    assert!(links > 1000, "{links}");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_site_needs_nothing_from_elsewhere_and_the_search_knows_every_page() {
    let files = kusion_book::site();
    let index = &files.iter().find(|file| file.path == "assets/index.js").unwrap().text;
    let pages: BTreeSet<&str> = kusion_book::book().iter().map(|page| page.title.as_str()).collect();
    for title in pages {
        assert!(index.contains(&serde_json::to_string(title).unwrap()), "the search does not know {title}");
    }
    for file in files.iter().filter(|file| file.path.ends_with(".html")) {
        for loaded in
            ["<script src=\"http", "<link rel=\"stylesheet\" href=\"http", "<img src=\"http", "<iframe"]
        {
            assert!(!file.text.contains(loaded), "{} loads something from elsewhere", file.path);
        }
        assert!(!file.text.contains("<!--") && !file.text.contains("{{#"), "{}", file.path);
    }
}

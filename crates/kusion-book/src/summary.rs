//! The list of pages: `# Part`, then `- [title](path)`.

use crate::{Page, file};

pub(crate) fn pages() -> Vec<Page> {
    let summary = file("SUMMARY.md").map_or("", |(_, _, text)| text);
    let mut part = String::new();
    let mut out = Vec::new();
    for line in summary.lines() {
        if let Some(title) = line.strip_prefix("# ") {
            part = if title == "Summary" { String::new() } else { title.to_owned() };
            continue;
        }
        let entry = line.trim_start_matches([' ', '-']);
        let Some((title, rest)) = entry.strip_prefix('[').and_then(|rest| rest.split_once("](")) else {
            continue;
        };
        let Some(found) = rest.strip_suffix(')').and_then(file) else { continue };
        let (path, source, text) = *found;
        out.push(Page { path, source, part: part.clone(), title: title.replace('`', ""), text });
    }
    out
}

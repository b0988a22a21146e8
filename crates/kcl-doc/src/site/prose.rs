//! The little Markdown that docstrings have: paragraphs, lists, indented and fenced code, `code`, links.

use super::highlight::highlight;
use super::html;

/// Writes a description.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if line.trim().is_empty() {
            at += 1;
        } else if let Some(info) = line.trim_start().strip_prefix("```") {
            let end = (at + 1..lines.len()).find(|i| lines[*i].trim_start().starts_with("```"));
            let end = end.unwrap_or(lines.len());
            out.push_str(&block(info.trim(), &lines[at + 1..end]));
            at = end + 1;
        } else if line.starts_with("    ") {
            let end =
                (at..lines.len()).find(|i| !lines[*i].trim().is_empty() && !lines[*i].starts_with("    "));
            let end = end.unwrap_or(lines.len());
            out.push_str(&block("kcl", &lines[at..end]));
            at = end;
        } else if item(line).is_some() {
            at = list(&lines, at, &mut out);
        } else {
            let end = (at..lines.len()).find(|i| ends_paragraph(lines[*i])).unwrap_or(lines.len());
            out.push_str(&format!("<p>{}</p>\n", inline(&lines[at..end].join("\n"))));
            at = end;
        }
    }
    out
}

fn ends_paragraph(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with("```") || item(line).is_some()
}

/// The text of a list item.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark))
}

fn list(lines: &[&str], start: usize, out: &mut String) -> usize {
    let mut at = start;
    out.push_str("<ul>\n");
    while let Some(first) = lines.get(at).and_then(|line| item(line)) {
        let mut text = first.to_owned();
        at += 1;
        // What is indented goes on with the item.
        while let Some(line) =
            lines.get(at).filter(|l| l.starts_with("  ") && item(l).is_none() && !l.trim().is_empty())
        {
            text.push('\n');
            text.push_str(line.trim());
            at += 1;
        }
        out.push_str(&format!("<li>{}</li>\n", inline(&text)));
    }
    out.push_str("</ul>\n");
    at
}

fn block(info: &str, lines: &[&str]) -> String {
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let common = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let text: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect();
    let text = text.join("\n");
    let body =
        if matches!(info, "kcl" | "k") { highlight(text.trim_end()) } else { html::text(text.trim_end()) };
    format!("<pre><code>{body}</code></pre>\n")
}

/// Code between backticks, and addresses as links.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        if i % 2 == 1 && !part.is_empty() {
            out.push_str(&html::code(part));
        } else {
            out.push_str(&links(part));
        }
    }
    out
}

fn links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("https://").or_else(|| rest.find("http://")) {
        out.push_str(&html::text(&rest[..at]));
        let tail = &rest[at..];
        let end = tail.find(|c: char| c.is_whitespace() || "<>\"'`)]}".contains(c)).unwrap_or(tail.len());
        let address = tail[..end].trim_end_matches(['.', ',', ';', ':']);
        out.push_str(&format!("<a href=\"{0}\" rel=\"noopener noreferrer\">{0}</a>", html::text(address)));
        rest = &tail[address.len()..];
    }
    out.push_str(&html::text(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_little_markdown_is_written_and_everything_is_escaped() {
        let text = "A `x<y>` & b.\nSee https://a.b/c?d=<e>.\n\n- one\n  more\n- two\n\n```kcl\na = \"<\"\n```\n<script>";
        let out = prose(text);
        assert!(
            out.contains("<p>A <code>x&lt;y&gt;</code> &amp; b.\nSee <a href=\"https://a.b/c?d=\""),
            "{out}"
        );
        assert!(out.contains("<ul>\n<li>one\nmore</li>\n<li>two</li>\n</ul>"), "{out}");
        assert!(out.contains("&lt;script&gt;") && !out.contains("<script"), "{out}");
        assert!(out.contains("<span class=\"s\">&quot;&lt;&quot;</span>"), "{out}");
    }
}

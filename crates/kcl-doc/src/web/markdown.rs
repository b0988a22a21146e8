//! Markdown as HTML. Raw HTML in it is shown, never passed on; where links and pictures lead is the caller's decision.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeStream};

use super::{highlight, html};

/// A text that became HTML.
#[derive(Clone, Debug, Default)]
pub struct Text {
    pub html: String,
    /// The text from each heading to the next, for a search; the first is what stands before any heading.
    pub sections: Vec<Section>,
}

/// What stands under a heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// 1 to 6; 0 before the first heading.
    pub level: u8,
    /// The anchor of the heading.
    pub id: String,
    pub title: String,
    /// Words without marks.
    pub text: String,
}

/// Writes a text. `links` says where a link or a picture leads; without an answer only its words are written.
pub fn markdown(text: &str, links: &dyn Fn(&str) -> Option<String>) -> Text {
    let mut writer = Writer::new(links, true);
    for event in
        TextMergeStream::new(Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH))
    {
        writer.event(event);
    }
    Text { html: writer.out, sections: writer.sections }
}

/// A description in a docstring: links lead to the web, and nothing is loaded from there.
pub(crate) fn prose(text: &str) -> String {
    markdown(text, &to_the_web).html
}

/// The same without paragraphs, lists and blocks, for one line.
pub(crate) fn inline(text: &str) -> String {
    let mut writer = Writer::new(&to_the_web, false);
    for event in TextMergeStream::new(Parser::new(text)) {
        writer.event(event);
    }
    writer.out
}

fn to_the_web(target: &str) -> Option<String> {
    let web = ["https://", "http://"].iter().any(|scheme| target.starts_with(scheme));
    let picture = [".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp"].iter().any(|end| target.ends_with(end));
    (web && !picture).then(|| target.to_owned())
}

/// Ends a picture.
const PICTURE: &str = "\">";

struct Writer<'a> {
    links: &'a dyn Fn(&str) -> Option<String>,
    /// Whether blocks are written, or only what stands in lines.
    blocks: bool,
    out: String,
    sections: Vec<Section>,
    /// Where the text of the open heading begins.
    heading: Option<usize>,
    /// Language and text of the open block of code.
    code: Option<(String, String)>,
    /// What ends each open link or picture.
    open: Vec<&'static str>,
    /// Whether an anchor is open.
    anchor: bool,
    columns: Vec<Alignment>,
    column: usize,
    in_head: bool,
}

impl<'a> Writer<'a> {
    fn new(links: &'a dyn Fn(&str) -> Option<String>, blocks: bool) -> Self {
        Writer {
            links,
            blocks,
            out: String::new(),
            sections: vec![Section::default()],
            heading: None,
            code: None,
            open: Vec::new(),
            anchor: false,
            columns: Vec::new(),
            column: 0,
            in_head: false,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => {
                    self.say(&text);
                    let linked = self.open.is_empty();
                    self.out.push_str(&if linked { addresses(&text) } else { html::text(&text) });
                }
            },
            Event::Code(code) => {
                self.say(&code);
                // The words of a picture are an attribute: no marks there.
                let plain = self.open.last() == Some(&PICTURE);
                self.out.push_str(&if plain { html::text(&code) } else { html::code(&code) });
            }
            Event::SoftBreak => self.gap("\n"),
            Event::HardBreak => self.gap("<br>\n"),
            Event::Rule => self.block("<hr>\n"),
            Event::Html(text) | Event::InlineHtml(text) => self.raw(&text),
            _ => {}
        }
    }

    /// Raw HTML is shown as text, but for the empty anchors that `kcl doc` itself writes into Markdown.
    fn raw(&mut self, text: &str) {
        let name = text.strip_prefix("<a id=\"").and_then(|rest| rest.strip_suffix("\">"));
        let safe = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        match name.filter(safe) {
            Some(name) => {
                self.out.push_str(&format!("<span id=\"{name}\">"));
                self.anchor = true;
            }
            None if text == "</a>" && std::mem::take(&mut self.anchor) => self.out.push_str("</span>"),
            None => self.out.push_str(&html::text(text)),
        }
    }

    fn gap(&mut self, text: &str) {
        self.say(" ");
        self.out.push_str(text);
    }

    fn block(&mut self, text: &str) {
        if self.blocks {
            self.out.push_str(text);
        }
    }

    /// Remembers words for the search.
    fn say(&mut self, words: &str) {
        if let Some(section) = self.sections.last_mut() {
            let to = if self.heading.is_some() { &mut section.title } else { &mut section.text };
            to.push_str(words);
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.block("<p>"),
            Tag::Heading { level, .. } => {
                self.heading = Some(self.out.len());
                self.sections.push(Section { level: level as u8, ..Section::default() });
            }
            Tag::BlockQuote(_) => self.block("<blockquote>\n"),
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => "kcl".to_owned(),
                };
                self.code = Some((info, String::new()));
            }
            Tag::List(Some(1)) => self.block("<ol>\n"),
            Tag::List(Some(first)) => self.block(&format!("<ol start=\"{first}\">\n")),
            Tag::List(None) => self.block("<ul>\n"),
            Tag::Item => self.block("<li>"),
            Tag::Table(columns) => {
                self.columns = columns;
                self.block("<div class=\"wide\"><table>\n");
            }
            Tag::TableHead => {
                self.in_head = true;
                self.column = 0;
                self.block("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.block("<tr>");
            }
            Tag::TableCell => self.cell(),
            Tag::Emphasis => self.out.push_str("<em>"),
            Tag::Strong => self.out.push_str("<strong>"),
            Tag::Strikethrough => self.out.push_str("<del>"),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => self.picture(&dest_url),
            _ => {}
        }
    }

    fn cell(&mut self) {
        let name = if self.in_head { "th" } else { "td" };
        let side = match self.columns.get(self.column) {
            Some(Alignment::Right) => " class=\"right\"",
            Some(Alignment::Center) => " class=\"center\"",
            _ => "",
        };
        self.block(&format!("<{name}{side}>"));
        self.column += 1;
        self.say(" ");
    }

    fn link(&mut self, target: &str) {
        match (self.links)(target) {
            Some(target) => {
                let outside = if target.contains("://") { " rel=\"noopener noreferrer\"" } else { "" };
                self.out.push_str(&format!("<a href=\"{}\"{outside}>", html::text(&target)));
                self.open.push("</a>");
            }
            None => self.open.push(""),
        }
    }

    /// The words of a picture become its text.
    fn picture(&mut self, target: &str) {
        match (self.links)(target) {
            Some(target) => {
                self.out.push_str(&format!("<img src=\"{}\" alt=\"", html::text(&target)));
                self.open.push(PICTURE);
            }
            None => self.open.push(""),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.block("</p>\n"),
            TagEnd::Heading(_) => self.close_heading(),
            TagEnd::BlockQuote(_) => self.block("</blockquote>\n"),
            TagEnd::CodeBlock => {
                let (info, code) = self.code.take().unwrap_or_default();
                self.say(" ");
                self.say(&code);
                let block = block(&info, &code);
                self.block(&block);
            }
            TagEnd::List(true) => self.block("</ol>\n"),
            TagEnd::List(false) => self.block("</ul>\n"),
            TagEnd::Item => self.block("</li>\n"),
            TagEnd::Table => self.block("</tbody></table></div>\n"),
            TagEnd::TableHead => {
                self.in_head = false;
                self.block("</tr></thead>\n<tbody>\n");
            }
            TagEnd::TableRow => self.block("</tr>\n"),
            TagEnd::TableCell => self.block(if self.in_head { "</th>" } else { "</td>" }),
            TagEnd::Emphasis => self.out.push_str("</em>"),
            TagEnd::Strong => self.out.push_str("</strong>"),
            TagEnd::Strikethrough => self.out.push_str("</del>"),
            TagEnd::Link | TagEnd::Image => {
                let end = self.open.pop().unwrap_or_default();
                self.out.push_str(end);
            }
            _ => {}
        }
        // Blocks end where words do.
        if matches!(tag, TagEnd::Paragraph | TagEnd::Item) {
            self.say(" ");
        }
    }

    fn close_heading(&mut self) {
        // In one line a heading is its words.
        let Some(begin) = self.heading.take().filter(|_| self.blocks) else { return };
        let words = self.out.split_off(begin);
        let known: Vec<String> = self.sections.iter().map(|section| section.id.clone()).collect();
        let Some(section) = self.sections.last_mut() else { return };
        section.id = anchor(&section.title, &known);
        let (level, id) = (section.level, &section.id);
        // A link around a link would be none.
        let line = match words.contains("<a ") {
            true => format!("<h{level} id=\"{id}\">{words}</h{level}>\n"),
            false => format!("<h{level} id=\"{id}\"><a href=\"#{id}\">{words}</a></h{level}>\n"),
        };
        self.block(&line);
    }
}

/// The anchor of a heading, as GitHub makes it; a second one of the same name gets a number.
fn anchor(title: &str, known: &[String]) -> String {
    let kept = |c: char| match c {
        ' ' | '-' => Some('-'),
        '_' => Some('_'),
        c => c.is_alphanumeric().then_some(c),
    };
    let base: String = title.to_lowercase().chars().filter_map(kept).collect();
    let mut id = base.clone();
    let mut number = 1;
    while known.contains(&id) {
        id = format!("{base}-{number}");
        number += 1;
    }
    id
}

/// A block of code. What stands behind the language is the name of a file.
fn block(info: &str, code: &str) -> String {
    let (language, file) = info.split_once(' ').unwrap_or((info, ""));
    let file = match file.trim() {
        "" => String::new(),
        name => format!("<p class=\"file\">{}</p>\n", html::code(name)),
    };
    let code = code.trim_end();
    let body = match language {
        "kcl" | "k" => highlight(code),
        "console" => console(code),
        _ => html::text(code),
    };
    format!("{file}<pre><code>{body}</code></pre>\n")
}

/// Commands stand out from what they print.
fn console(code: &str) -> String {
    let line = |line: &str| match line.strip_prefix("$ ") {
        Some(command) => format!("<span class=\"k\">$</span> <strong>{}</strong>", html::text(command)),
        None => html::text(line),
    };
    code.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Addresses in a text become links.
fn addresses(text: &str) -> String {
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
    fn markdown_is_written_and_everything_is_escaped() {
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

    #[test]
    fn links_and_pictures_lead_where_they_may() {
        let out = prose("[a](javascript:alert) [b](https://b.c/) ![d](https://e.f/g.png) `[x](y)`");
        assert!(!out.contains("javascript") && !out.contains("<img"), "{out}");
        assert!(out.contains("<a href=\"https://b.c/\" rel=\"noopener noreferrer\">b</a> d "), "{out}");
        assert_eq!(prose("<a id=\"x.Y\"></a>"), "<p><span id=\"x.Y\"></span></p>\n");
        assert!(!prose("<a id=\"x\" onclick=\"y\"></a>").contains("<a"));
        assert_eq!(inline("# a *b*\n\n- `c`"), "a <em>b</em><code>c</code>");
    }

    #[test]
    fn sections_are_told_with_their_anchors() {
        let text = "before\n\n# The `x` of y\n\nwords **here**\n\n## Again\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n## Again\n";
        let text = markdown(text, &|_| None);
        let ids: Vec<(u8, &str)> = text.sections.iter().map(|s| (s.level, s.id.as_str())).collect();
        assert_eq!(ids, [(0, ""), (1, "the-x-of-y"), (2, "again"), (2, "again-1")]);
        assert_eq!(text.sections[1].text.trim(), "words here");
        assert!(
            text.html
                .contains("<h1 id=\"the-x-of-y\"><a href=\"#the-x-of-y\">The <code>x</code> of y</a></h1>")
        );
        assert!(text.html.contains("<td>1</td><td class=\"right\">2</td>"), "{}", text.html);
    }
}

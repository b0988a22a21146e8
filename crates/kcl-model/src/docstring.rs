//! Docstrings in NumPy style, and what people write instead.
//!
//! A docstring is a description and sections: a title, a line of dashes below it, and text. Everything is optional and
//! nothing is refused: odd indentation, tabs, missing dashes under a known title, unknown sections and plain prose all
//! give something sensible. Reading is linear in the text.

use std::fmt::Write;

/// What a docstring says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Doc {
    /// What stands before the first section.
    pub description: String,
    /// `Attributes`.
    pub attributes: Vec<AttributeDoc>,
    /// `Examples`: one per fence, or the whole section.
    pub examples: Vec<Example>,
    /// Other sections, in order.
    pub sections: Vec<Section>,
}

/// `name : type, optional, default is 3` with the text below it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AttributeDoc {
    /// Its name.
    pub name: String,
    /// What stands behind the colon.
    pub note: String,
    /// The text below.
    pub text: String,
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Example {
    /// Its text.
    pub code: String,
    /// What stands before it.
    pub title: String,
    /// Its first line: in the file if it was read from one, else counted from the line of the opening quotes, which is 0.
    pub line: u32,
}

/// A section without a meaning of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// Titles that need no dashes below them if an empty line stands before.
const KNOWN: &[&str] =
    &["Attributes", "Parameters", "Examples", "Example", "See Also", "Notes", "References"];

/// Reads a docstring: the text between its quotes.
pub fn parse(text: &str) -> Doc {
    let lines = dedent(text);
    let mut doc = Doc::default();
    let starts = section_starts(&lines);
    let first = starts.first().map_or(lines.len(), |start| start.title);
    doc.description = joined(&lines[..first]);
    for (i, start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(lines.len(), |next| next.title);
        let body = &lines[start.body.min(end)..end];
        match lines[start.title].trim() {
            "Attributes" | "Parameters" => doc.attributes.extend(attributes(body)),
            "Examples" | "Example" => doc.examples.extend(examples(body, start.body as u32)),
            title => doc.sections.push(Section { title: title.to_owned(), text: joined(body) }),
        }
    }
    doc
}

/// Writes a docstring that [`parse`] reads back: the lines between the quotes, without indentation.
pub fn write(doc: &Doc) -> String {
    let mut out = doc.description.trim_end().to_owned();
    let mut section = |title: &str, text: &str| {
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        let _ = write!(out, "{title}\n{}\n{}", "-".repeat(title.len()), text.trim_end());
        // A fence that nobody closed would swallow the next section.
        if text.lines().filter(|line| is_fence(line)).count() % 2 == 1 {
            out.push_str("\n```");
        }
    };
    if !doc.attributes.is_empty() {
        let rows: Vec<String> = doc.attributes.iter().map(attribute_rows).collect();
        section("Attributes", &rows.join("\n"));
    }
    if !doc.examples.is_empty() {
        let codes: Vec<String> =
            doc.examples.iter().map(|e| format!("```kcl\n{}\n```", e.code.trim_end())).collect();
        section("Examples", &codes.join("\n\n"));
    }
    for other in &doc.sections {
        section(&other.title, &other.text);
    }
    out
}

fn attribute_rows(attribute: &AttributeDoc) -> String {
    let mut out = attribute.name.clone();
    if !attribute.note.is_empty() {
        let _ = write!(out, " : {}", attribute.note);
    }
    for line in attribute.text.lines() {
        out.push('\n');
        if !line.trim().is_empty() {
            let _ = write!(out, "    {line}");
        }
    }
    out
}

/// Lines without the indentation that all of them (but the first, which follows the quotes) have in common.
fn dedent(text: &str) -> Vec<String> {
    let expanded: Vec<String> = text.split('\n').map(|line| line.trim_end().replace('\t', "    ")).collect();
    let common =
        expanded.iter().skip(1).filter(|line| !line.is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let cut = |(i, line): (usize, &String)| match i {
        0 => line.trim_start_matches(' ').to_owned(),
        _ => line.get(common.min(indent(line))..).unwrap_or_default().to_owned(),
    };
    expanded.iter().enumerate().map(cut).collect()
}

/// Blanks of one level.
const LEVEL: usize = 4;

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

struct Start {
    /// Line of the title.
    title: usize,
    /// First line of the text.
    body: usize,
}

fn section_starts(lines: &[String]) -> Vec<Start> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (i, line) in lines.iter().enumerate() {
        let fence = is_fence(line);
        fenced ^= fence;
        let title = line.trim();
        if fence || fenced || title.is_empty() {
            continue;
        }
        // What is a level further in belongs to the line above it.
        let near = |next: &String| indent(next) < indent(line) + LEVEL;
        let underlined = lines.get(i + 1).is_some_and(|next| is_rule(next.trim()) && near(next));
        let apart = i == 0 || lines[i - 1].trim().is_empty();
        let flush = !line.starts_with(' ');
        if underlined && !is_rule(title) && title.chars().count() <= 60 {
            found.push(Start { title: i, body: i + 2 });
        } else if KNOWN.contains(&title) && apart && flush {
            found.push(Start { title: i, body: i + 1 });
        }
    }
    found
}

/// Three dashes or more, and nothing else.
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && (line.bytes().all(|b| b == b'-') || line.bytes().all(|b| b == b'='))
}

fn joined(lines: &[String]) -> String {
    let start = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(start, |last| last + 1);
    unindented(&lines[start..end.max(start)])
}

/// Lines without their common indentation.
fn unindented(lines: &[String]) -> String {
    let common = lines.iter().filter(|line| !line.is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let cut: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect();
    cut.join("\n")
}

fn attributes(lines: &[String]) -> Vec<AttributeDoc> {
    // An entry begins where the section's own indentation is; what is deeper, or in a fence, belongs to it.
    let own = lines.iter().filter(|line| !line.is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let mut found: Vec<(AttributeDoc, Vec<String>)> = Vec::new();
    let mut fenced = false;
    for line in lines {
        let fence = is_fence(line);
        let begins = !line.is_empty() && indent(line) == own && !fence && !fenced;
        fenced ^= fence;
        let entry = begins.then(|| entry(line.trim())).flatten();
        match (entry, found.last_mut()) {
            (Some(entry), _) => found.push((entry, Vec::new())),
            (None, Some((_, text))) => text.push(line.clone()),
            (None, None) => {}
        }
    }
    found
        .into_iter()
        .map(|(mut entry, text)| {
            entry.text = joined(&text);
            entry
        })
        .collect()
}

/// Reads `name : note`, `name: note`, `name`.
fn entry(line: &str) -> Option<AttributeDoc> {
    let (name, note) = line.split_once(':').unwrap_or((line, ""));
    // What is stripped leaves nothing that would be stripped when it is read again.
    let name = name.trim().trim_start_matches(['$', '`', '"', '*']).trim_end_matches(['`', '"', '*']);
    let plain = !name.is_empty() && !name.contains(char::is_whitespace) && !is_rule(name);
    plain.then(|| AttributeDoc { name: name.to_owned(), note: note.trim().to_owned(), text: String::new() })
}

/// With fences each fence is an example; without, the whole section is one.
fn examples(lines: &[String], first: u32) -> Vec<Example> {
    if !lines.iter().any(|line| is_fence(line)) {
        let code = joined(lines);
        let skipped = lines.iter().position(|line| !line.is_empty()).unwrap_or(0) as u32;
        let one = Example { code, title: String::new(), line: first + skipped };
        return if one.code.is_empty() { Vec::new() } else { vec![one] };
    }
    let mut found = Vec::new();
    let mut prose: Vec<String> = Vec::new();
    let mut open: Option<(u32, bool, Vec<String>)> = None;
    for (i, line) in lines.iter().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, &mut open) {
            (Some(info), None) => {
                let kcl = matches!(info.trim(), "" | "kcl" | "k" | "python" | "py");
                open = Some((first + i as u32 + 1, kcl, Vec::new()));
            }
            (Some(_), Some((line, kcl, code))) => {
                if *kcl {
                    found.push(Example { code: joined(code), title: joined(&prose), line: *line });
                }
                prose.clear();
                open = None;
            }
            (None, Some((_, _, code))) => code.push(line.clone()),
            (None, None) => prose.push(line.clone()),
        }
    }
    // A fence that nobody closed ends with the section.
    if let Some((line, true, code)) = open {
        found.push(Example { code: joined(&code), title: joined(&prose), line });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = "One paragraph.

    A second one.

    Attributes
    ----------
    size : int, optional, default is 3
        How big it is.

        More.
    name: str
    $type: str
      A keyword.

    Examples
    --------
    b = Box {
        size = 4
    }

    See Also
    --------
    other things
    ";

    #[test]
    fn a_numpy_docstring_is_read() {
        let doc = parse(FULL);
        assert_eq!(doc.description, "One paragraph.\n\nA second one.");
        let names: Vec<&str> = doc.attributes.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["size", "name", "type"]);
        assert_eq!(doc.attributes[0].note, "int, optional, default is 3");
        assert_eq!(doc.attributes[0].text, "How big it is.\n\nMore.");
        assert_eq!(doc.attributes[2].text, "A keyword.");
        assert_eq!(doc.examples.len(), 1);
        assert_eq!((doc.examples[0].code.as_str(), doc.examples[0].line), ("b = Box {\n    size = 4\n}", 16));
        assert_eq!(doc.sections, [Section { title: "See Also".into(), text: "other things".into() }]);
    }

    #[test]
    fn odd_ones_give_something() {
        assert_eq!(parse("").description, "");
        assert_eq!(parse("just words").description, "just words");
        assert_eq!(parse("  a\n\tb\n\t c").description, "a\nb\n c");
        let doc = parse("Text.\n\nAttributes\nx : int\n   The x.\n\nExamples\n---\n");
        assert_eq!((doc.attributes.len(), doc.examples.len()), (1, 0));
        let doc =
            parse("Examples\n--------\nFirst.\n```kcl\na = 1\n```\n```yaml\na: 1\n```\nThen.\n```\nb = 2");
        let codes: Vec<(&str, &str, u32)> =
            doc.examples.iter().map(|e| (e.title.as_str(), e.code.as_str(), e.line)).collect();
        assert_eq!(codes, [("First.", "a = 1", 4), ("Then.", "b = 2", 11)]);
        // A fence belongs to the attribute above it, whatever stands in it; a rule is no attribute.
        let doc = parse("Attributes\n---\nx : int\n```\nOther\n===\ny : int\n```\n\n---\nz : int\n");
        let texts: Vec<(&str, &str)> =
            doc.attributes.iter().map(|a| (a.name.as_str(), a.text.as_str())).collect();
        assert_eq!(texts, [("x", "```\nOther\n===\ny : int\n```\n\n---"), ("z", "")]);
        assert_eq!(parse(&write(&doc)), doc);
        // The end of a fence is no title, even above a rule.
        let doc = parse("Text.\n```\na\n```\n---\n\nAttributes\n---\nx : int\n");
        assert_eq!((doc.description.as_str(), doc.attributes.len()), ("Text.\n```\na\n```\n---", 1));
        assert_eq!(parse(&write(&doc)), doc);
        // A name is what is left when nothing more can be stripped.
        let doc = parse("Attributes\n---\nx\n`$`\n`$type` : str\n$`size` : int\n");
        let names: Vec<&str> = doc.attributes.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["x", "type", "size"]);
        assert_eq!(parse(&write(&doc)), doc);
        // A fence that is still open at the end of the attributes does not swallow the examples behind them.
        let doc = parse("Examples\n---\na = 1\n\nAttributes\n---\nx : int\n    ```\n    b = 2\n");
        assert_eq!((doc.examples.len(), parse(&write(&doc)).examples.len()), (1, 1));
        // Attributes is a word, too.
        assert_eq!(parse("The\nAttributes\nare words").attributes, []);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut doc = parse(FULL);
        doc.examples[0].line = 0;
        let mut again = parse(&write(&doc));
        again.examples[0].line = 0;
        assert_eq!(again, doc);
    }
}

//! Where a new text goes between the bytes that are there, and what goes with a text that is taken out.

use std::ops::Range;

use crate::Edit;

/// A text with its edits made. They must not overlap; the order does not matter.
pub(crate) fn spliced<'a>(text: &str, edits: impl Iterator<Item = &'a Edit>) -> String {
    let mut edits: Vec<&Edit> = edits.collect();
    edits.sort_by_key(|edit| (edit.start, edit.end));
    let mut out = String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut at = 0;
    for edit in edits {
        let Some(kept) = text.get(at..edit.start) else { continue };
        out.push_str(kept);
        out.push_str(&edit.text);
        at = edit.end;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    out
}

/// The line end that a file uses.
pub(crate) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The blanks at the start of the line of a place.
fn indent_at(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn is_first_on_line(text: &str, at: usize) -> bool {
    text[line_start(text, at)..at].trim_start_matches('\u{feff}').trim().is_empty()
}

/// A pair of brackets, and the ranges of what stands in them.
pub(crate) struct Brackets {
    /// From the opening to the closing bracket.
    pub(crate) span: Range<usize>,
    /// Members in order.
    pub(crate) members: Vec<Range<usize>>,
    /// The last member is an `if`: on one line nothing can follow it.
    pub(crate) ends_open: bool,
}

/// Where a new last member goes, and the text that is put there; nothing if there is no room behind an `if`.
pub(crate) fn insertion(text: &str, brackets: &Brackets, new: &str) -> Option<(usize, String)> {
    let (open, close) = (brackets.span.start + 1, brackets.span.end.checked_sub(1)?);
    let first_line = text[open..close].split('\n').next().unwrap_or("");
    let rest = first_line.trim();
    let many_lines = text[open..close].contains('\n') && (rest.is_empty() || rest.starts_with('#'));
    if !many_lines {
        let Some(last) = brackets.members.last() else { return Some((open, new.to_owned())) };
        if brackets.ends_open {
            return None;
        }
        let after = &text[last.end..close];
        return Some(match after.trim_start_matches([' ', '\t']).starts_with(',') {
            true => (last.end + after.find(',')? + 1, format!(" {new}")),
            false => (last.end, format!(", {new}")),
        });
    }
    let end = line_end(text);
    let indent = member_indent(text, brackets, close);
    if is_first_on_line(text, close) {
        return Some((line_start(text, close), format!("{indent}{new}{end}")));
    }
    let last = brackets.members.last()?.end;
    let after = last + usize::from(text[last..].starts_with(','));
    Some((after, format!("{end}{indent}{new}")))
}

/// How far in the members stand: as the first that begins a line, else one level more than the closing bracket.
fn member_indent(text: &str, brackets: &Brackets, close: usize) -> String {
    let first = brackets.members.iter().find(|member| is_first_on_line(text, member.start));
    if let Some(member) = first {
        return indent_at(text, member.start).to_owned();
    }
    let outer = indent_at(text, close);
    let level = if outer.starts_with('\t') { "\t" } else { "    " };
    format!("{outer}{level}")
}

/// What is taken out with a member or statement: its whole line with a comment behind it, or one comma.
pub(crate) fn removal(text: &str, what: Range<usize>) -> Range<usize> {
    let after = &text[what.end..];
    let blanks = |s: &str| s.len() - s.trim_start_matches([' ', '\t']).len();
    let mut end = what.end + blanks(after);
    let comma = text[end..].starts_with(',');
    if comma {
        end += 1;
        end += blanks(&text[end..]);
    }
    let rest = text[end..].split('\n').next().unwrap_or("");
    if is_first_on_line(text, what.start) && (rest.trim_end().is_empty() || rest.starts_with('#')) {
        let end = (end + rest.len() + 1).min(text.len());
        let start = line_start(text, what.start);
        // A byte order mark stays.
        let start = start + if text[start..].starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        return start..end;
    }
    if comma {
        return what.start..end;
    }
    let before = text[..what.start].trim_end_matches([' ', '\t']);
    match before.ends_with(',') {
        true => before.len() - 1..what.end,
        false => what,
    }
}

/// Ranges that touch or overlap as one.
pub(crate) fn united(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// A text to put at the end of a file, on lines of its own.
pub(crate) fn at_end(text: &str, new: &str) -> String {
    let end = line_end(text);
    let open = !text.is_empty() && !text.ends_with('\n') && text != "\u{feff}";
    format!("{}{new}{end}", if open { end } else { "" })
}

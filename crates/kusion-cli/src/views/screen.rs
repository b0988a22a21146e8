//! The part of a terminal that is drawn again and again: the live tree under what was printed before.

use std::io::IsTerminal as _;

use crate::views::debug::disturbs_pictures;
use crate::views::output::{draw, without_secrets};
use crate::views::wrap::wrap;

/// Draws pictures over each other; what is left at the end stays.
#[derive(Default)]
pub(crate) struct Screen {
    drawn: usize,
}

impl Screen {
    /// Whether pictures can be drawn on stdout at all: lines of `--debug` between them would be drawn over.
    pub(crate) fn is_possible() -> bool {
        is_terminal() && !disturbs_pictures()
    }

    /// Replaces the picture. Lines that are too long are broken here: what the terminal breaks cannot be drawn over.
    pub(crate) fn draw(&mut self, lines: &[String]) {
        let room = size().0;
        let lines: Vec<String> = lines.iter().flat_map(|line| wrap(&without_secrets(line), room)).collect();
        let mut text = String::from("\x1b[?2026h");
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        for line in &lines {
            text.push_str("\r\x1b[K");
            text.push_str(line);
            text.push('\n');
        }
        text.push_str("\x1b[J\x1b[?2026l");
        self.drawn = lines.len();
        draw(&text);
    }
}

/// Whether what is printed is seen by a person.
pub(crate) fn is_terminal() -> bool {
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    std::io::stdout().is_terminal() && !dumb
}

/// Columns and rows of the terminal.
pub(crate) fn size() -> (usize, usize) {
    let of = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let asked = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let (columns, rows) = asked.map_or((0, 0), |size| (size.ws_col as usize, size.ws_row as usize));
    let columns = if columns > 0 { columns } else { of("COLUMNS").unwrap_or(100) };
    let rows = if rows > 0 { rows } else { of("LINES").unwrap_or(30) };
    (columns.max(20), rows.max(8))
}

/// A text as a terminal shows it whole: no word is cut at its edge.
pub(crate) fn fitted(text: &str) -> String {
    if is_terminal() { broken(text, size().0) } else { text.to_owned() }
}

/// The same for what goes to standard error.
pub(crate) fn fitted_beside(text: &str) -> String {
    let asked = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    match asked.map(|size| size.ws_col as usize).filter(|columns| *columns > 0) {
        Some(columns) => broken(text, columns.max(20)),
        None => text.to_owned(),
    }
}

/// Without secrets first: a value with an edge of the terminal in it would not be found any more.
fn broken(text: &str, room: usize) -> String {
    let lines: Vec<String> = without_secrets(text).lines().flat_map(|line| wrap(line, room)).collect();
    lines.join("\n") + if text.ends_with('\n') { "\n" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_before_its_line_is_broken() {
        base_secret::Redactor::install();
        let secret = base_secret::SecretValue::from("seventeen purple elephants dance".to_owned());
        let shown = broken("the server says: `seventeen purple elephants dance` is too long\n", 24);
        assert!(
            !["seventeen", "purple", "elephants", "dance"].iter().any(|word| shown.contains(word)),
            "{shown}"
        );
        assert!(shown.lines().all(|line| line.chars().count() <= 24), "{shown}");
        drop(secret);
    }
}

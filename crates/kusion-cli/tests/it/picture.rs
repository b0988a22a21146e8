//! A terminal as a picture (SVG), in the colours that the marks at the beginning of its lines have on a real one.

use std::fmt::Write as _;

const WIDTH: usize = 112;
const LINE: usize = 18;
const CELL: f64 = 8.0;

/// Draws the lines of a recording.
pub(crate) fn terminal(recording: &str) -> String {
    let lines: Vec<String> = recording.lines().flat_map(wrapped).collect();
    let (width, height) = (WIDTH as f64 * CELL + 32.0, lines.len() * LINE + 56);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<title>A terminal with kusion apply</title>\n<rect width=\"{width}\" height=\"{height}\" rx=\"10\" \
         fill=\"#14171c\"/>\n<g fill=\"#3a4150\"><circle cx=\"20\" cy=\"18\" r=\"6\"/><circle cx=\"40\" cy=\"18\" r=\"6\"/><circle \
         cx=\"60\" cy=\"18\" r=\"6\"/></g>\n<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', \
         monospace\" font-size=\"13.2\" xml:space=\"preserve\">\n"
    );
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let text = line.replace('&', "&amp;").replace('<', "&lt;");
        let y = at * LINE + 52;
        let _ = writeln!(out, "<text x=\"16\" y=\"{y}\" fill=\"{}\">{text}</text>", colour(line));
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Lines that do not fit go on with the indent of their text.
fn wrapped(line: &str) -> Vec<String> {
    let indent = line.len() - line.trim_start().len();
    let mut out = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let full =
            out.last().is_some_and(|last| last.chars().count() + word.trim_end().chars().count() > WIDTH);
        if full {
            out.push(" ".repeat(indent + 7));
        }
        if let Some(last) = out.last_mut() {
            last.push_str(word);
        }
    }
    out.iter().map(|line| line.trim_end().to_owned()).collect()
}

fn colour(line: &str) -> &'static str {
    match line.trim_start() {
        text if text.starts_with(['✔', '+']) || text.contains(" succeeded:") => "#8fd6a4",
        text if text.starts_with(['✘', '-']) || text.contains(" failed:") => "#ff9d8a",
        text if text.starts_with(['~', '◐']) => "#f2c879",
        text if text.starts_with('$') => "#7ab3ff",
        text if text.starts_with(|c: char| c.is_ascii_digit()) => "#d8a0ea",
        _ => "#e4e7eb",
    }
}

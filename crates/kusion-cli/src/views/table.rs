//! Columns that line up, for people.

use crate::views::style::Style;

/// Writes rows under a heading; the last column is not padded.
pub(crate) fn table(heading: &[&str], rows: &[Vec<String>], style: &Style) -> String {
    let mut widths: Vec<usize> = heading.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    let heading: Vec<String> = heading.iter().map(|&cell| cell.to_owned()).collect();
    let mut out = format!("{}\n", style.dim(&line(&heading)));
    for row in rows {
        out.push_str(&line(row));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_tail() {
        let rows = [vec!["1".to_owned(), "ok".to_owned()], vec!["10".to_owned(), String::new()]];
        assert_eq!(table(&["NO", "PHASE"], &rows, &Style::default()), "NO  PHASE\n1   ok\n10\n");
    }
}

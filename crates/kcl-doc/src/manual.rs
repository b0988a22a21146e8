//! Text in manual pages.

/// Returns text that roff does not take for its own.
pub fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq");
    let guard = |line: &str| {
        if line.starts_with(['.', '\'']) { format!("\\&{line}\n") } else { format!("{line}\n") }
    };
    let lines: String = escaped.lines().map(guard).collect();
    if text.ends_with('\n') { lines } else { lines.trim_end_matches('\n').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_for_a_request() {
        assert_eq!(roff(".hidden -x"), "\\&.hidden \\-x");
        assert_eq!(roff("a\\b \"c\"\n"), "a\\eb \\(dqc\\(dq\n");
    }
}

//! Names of places in documents.

/// Makes a text safe for file names, ids and fragments: other characters become `_` and their number.
pub(crate) fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => out.push(c),
            '/' => out.push('.'),
            other => out.push_str(&format!("_{:x}", other as u32)),
        }
    }
    // `.` and `..` are no names of files.
    if out.chars().all(|c| c == '.') { format!("_{out}") } else { out }
}

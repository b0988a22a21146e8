//! Applying fixes to a text.

use crate::finding::{Edit, Finding};

/// A text after fixes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The text.
    pub text: String,
    /// How many findings were mended; others may have to wait for the next round because their places overlap.
    pub mended: usize,
}

/// Applies the fixes of findings of one file: safe ones, and unsafe ones if wanted. Each is applied whole or not at all; of two
/// that touch one place the first wins.
pub fn apply<'a>(text: &str, findings: impl IntoIterator<Item = &'a Finding>, with_unsafe: bool) -> Applied {
    let mut taken: Vec<&Edit> = Vec::new();
    let mut mended = 0;
    for fix in findings.into_iter().filter_map(|finding| finding.fix.as_ref()) {
        if !fix.safe && !with_unsafe {
            continue;
        }
        let fits = |edit: &Edit| text.get(edit.span.start as usize..edit.span.end as usize).is_some();
        let free = |edit: &Edit| taken.iter().all(|other| apart(edit, other));
        if fix.edits.iter().all(|edit| fits(edit) && free(edit)) {
            taken.extend(&fix.edits);
            mended += 1;
        }
    }
    taken.sort();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in taken {
        out.push_str(&text[at..edit.span.start as usize]);
        out.push_str(&edit.text);
        at = edit.span.end as usize;
    }
    out.push_str(&text[at..]);
    Applied { text: out, mended }
}

/// Whether two edits touch different bytes.
fn apart(a: &Edit, b: &Edit) -> bool {
    a.span.end < b.span.start || b.span.end < a.span.start
}

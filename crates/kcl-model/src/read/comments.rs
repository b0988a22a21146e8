//! The comments of a file, by line: what stands above a declaration or behind it speaks about it.

use std::collections::HashMap;

use kcl_syntax::lossless::LeafKind;
use kcl_syntax::parse_lossless;

/// Comments that speak to tools.
const TOOLS: &[&str] = &["fmt:", "kcl-lint:", "type:", "!"];

/// The comments of one file.
#[derive(Default)]
pub(super) struct Comments {
    /// By line: the text, and whether the comment is alone on its line.
    by_line: HashMap<u32, (String, bool)>,
}

impl Comments {
    pub(super) fn of(text: &str) -> Comments {
        let mut comments = Comments::default();
        if !text.contains('#') {
            return comments;
        }
        let tree = parse_lossless(text);
        let (mut line, mut at) = (1, 0);
        for leaf in tree.leaves(tree.root()).iter().filter(|leaf| leaf.kind == LeafKind::Comment) {
            let start = leaf.span.start as usize;
            let before = text.get(at..start).unwrap_or_default();
            line += before.matches('\n').count() as u32;
            at = start;
            let head = text.get(..start).unwrap_or_default();
            let alone = head.rsplit('\n').next().unwrap_or_default().trim().is_empty();
            let said = tree.leaf_text(leaf).trim_start_matches('#').trim();
            if !TOOLS.iter().any(|tool| said.starts_with(tool)) {
                comments.by_line.insert(line, (said.to_owned(), alone));
            }
        }
        comments
    }

    /// Returns the comment on the lines above a line.
    pub(super) fn above(&self, line: u32) -> String {
        let mut lines = Vec::new();
        let mut at = line;
        while let Some((text, true)) = self.by_line.get(&at.saturating_sub(1)) {
            lines.push(text.as_str());
            at -= 1;
        }
        lines.reverse();
        lines.join("\n").trim().to_owned()
    }

    /// Returns the comment above a declaration, or the one behind it.
    pub(super) fn about(&self, first: u32, last: u32) -> String {
        let above = self.above(first);
        match self.by_line.get(&last) {
            Some((text, false)) if above.is_empty() => text.clone(),
            _ => above,
        }
    }
}

//! The comments of a text, as tests and fuzzing compare them.

use kcl_syntax::lossless::LeafKind;
use kcl_syntax::parse_lossless;

/// A comment as it is written, without what belongs to its line end.
pub(crate) fn text_of(comment: &str) -> &str {
    comment.trim_end_matches('\r')
}

/// Returns all comments in order.
pub fn comments(text: &str) -> Vec<String> {
    let tree = parse_lossless(text);
    let all = tree.leaves(tree.root()).iter().filter(|leaf| leaf.kind == LeafKind::Comment);
    all.map(|leaf| text_of(tree.leaf_text(leaf)).to_owned()).collect()
}

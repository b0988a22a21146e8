//! The comments of a text, as tests and fuzzing compare them.

use kcl_syntax::lossless::LeafKind;
use kcl_syntax::parse_lossless;

/// Returns all comments in order, without blanks at their ends.
pub fn comments(text: &str) -> Vec<String> {
    let tree = parse_lossless(text);
    let all = tree.leaves(tree.root()).iter().filter(|leaf| leaf.kind == LeafKind::Comment);
    all.map(|leaf| tree.leaf_text(leaf).trim_end().to_owned()).collect()
}

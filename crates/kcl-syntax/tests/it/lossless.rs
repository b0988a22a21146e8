//! The lossless tree holds every byte, in order, once.

use kcl_syntax::lossless::{Element, NodeId, SyntaxTree};
use kcl_syntax::parse_lossless;
use kcl_syntax::sink::NodeKind;

use crate::corpus;

/// Walks the tree through its children and writes the leaves.
fn walk(tree: &SyntaxTree, id: NodeId, out: &mut String) {
    for child in tree.children(id) {
        match child {
            Element::Node(node) => {
                assert_eq!(tree.parent(node), Some(id));
                walk(tree, node, out);
            }
            Element::Leaf(leaf) => {
                assert_eq!(tree.node_of(leaf), id);
                out.push_str(tree.leaf_text(tree.leaf(leaf)));
            }
        }
    }
}

fn assert_round_trip(text: &str) {
    let tree = parse_lossless(text);
    assert_eq!(tree.text(), text);
    let mut walked = String::new();
    walk(&tree, tree.root(), &mut walked);
    assert_eq!(walked, text);
}

#[test]
fn every_program_comes_back_byte_for_byte() {
    for text in corpus() {
        assert_round_trip(text);
    }
}

#[test]
fn odd_texts_come_back() {
    for text in [
        "",
        "\n",
        "\u{feff}a = 1",
        "a = 1; b = 2",
        "a = \\\r\n  1\r\n",
        "# only a comment",
        "a = \"\"\"open",
        "if a:\n  b\n\n\n   # c\n c",
        "\\",
        "a = 'é${x + 1}'  # é\n\t\n",
        "a \\ b",
    ] {
        assert_round_trip(text);
    }
}

#[test]
fn nodes_cover_their_text_without_leading_trivia() {
    let text = "# c\na = {  # d\n    b: 1 + 2\n}\n";
    let tree = parse_lossless(text);
    let mut found = Vec::new();
    for child in tree.children(tree.root()) {
        if let Element::Node(id) = child {
            let span = tree.span(id);
            found.push((tree.kind(id), &text[span.start as usize..span.end as usize]));
        }
    }
    assert_eq!(found, [(NodeKind::Assign, "a = {  # d\n    b: 1 + 2\n}")]);
}

#[test]
fn a_leaf_is_found_by_its_offset() {
    let text = "a = [1, 22]\n";
    let tree = parse_lossless(text);
    let leaf = tree.leaf_at(8).unwrap();
    assert_eq!(tree.leaf_text(tree.leaf(leaf)), "22");
    assert_eq!(tree.kind(tree.node_of(leaf)), NodeKind::Literal);
}

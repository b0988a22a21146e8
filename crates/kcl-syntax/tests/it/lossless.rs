//! The lossless tree holds every byte, in order, once.

use base_diag::FileId;
use kcl_syntax::ast::{StmtId, Tree};
use kcl_syntax::lossless::{Element, NodeId, SyntaxTree};
use kcl_syntax::sink::{Made, NodeKind};
use kcl_syntax::{parse_both, parse_lossless};

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

/// Every expression, statement and type with a node stands for that node, at the same place.
fn assert_links(text: &str) {
    let mut tree = Tree::default();
    // A file before it, so that ids and offsets do not start at zero.
    kcl_syntax::parse_file(&mut tree, "first = [1, 2]\n", FileId(0));
    let (exprs, stmts, types) = (tree.exprs.len(), tree.stmts.len(), tree.types.len());
    let base = tree.next_base();
    let syntax = parse_both(&mut tree, text, FileId(1));
    let place = |id: NodeId| {
        let span = syntax.span(id);
        (span.start + base, span.end + base)
    };
    for number in 0..syntax.len() as u32 {
        let id = NodeId(number);
        match syntax.made(id) {
            Made::Nothing => {}
            Made::Expr(expr) => {
                assert!(expr.0 as usize >= exprs);
                assert_eq!(syntax.node_of_expr(expr), Some(id), "{text}");
                let span = tree.expr_span(expr);
                // A block has no braces: its range in the arena goes from its first entry to the next line.
                let block = matches!(syntax.kind(id), NodeKind::Block | NodeKind::ListIf);
                if !block && syntax.errors.is_empty() {
                    assert_eq!(place(id), (span.start, span.end), "{:?} in {text}", tree.expr(expr));
                }
            }
            Made::Stmt(stmt) => {
                assert!(stmt.0 as usize >= stmts);
                assert_eq!(syntax.node_of_stmt(stmt), Some(id), "{text}");
                assert_eq!(place(id).0, tree.stmt_span(stmt).start, "{text}");
            }
            Made::Type(ty) => {
                assert!(ty.0 as usize >= types);
                assert_eq!(syntax.node_of_type(ty), Some(id), "{text}");
                let span = tree.type_span(ty);
                if syntax.errors.is_empty() {
                    assert_eq!(place(id), (span.start, span.end), "{text}");
                }
            }
        }
    }
    if syntax.errors.is_empty() {
        for id in stmts..tree.stmts.len() {
            assert!(syntax.node_of_stmt(StmtId(id as u32)).is_some(), "{:?}", tree.stmts[id]);
        }
    }
}

#[test]
fn both_trees_know_each_other() {
    for text in corpus() {
        assert_links(text);
    }
    for text in ["a.b[0].c = 1\n", "a = 1 < 2 and 3 == 4\n", "x: {str: A | 'b'} = {a.b.c = \"${d}${e}\"}\n"] {
        assert_links(text);
    }
}

#[test]
fn both_roads_make_the_same_arena() {
    for text in corpus() {
        let (mut fast, mut both) = (Tree::default(), Tree::default());
        let errors = kcl_syntax::parse_file(&mut fast, text, FileId(0));
        let syntax = parse_both(&mut both, text, FileId(0));
        assert_eq!(format!("{fast:?}"), format!("{both:?}"));
        assert_eq!(format!("{errors:?}"), format!("{:?}", syntax.errors));
    }
}

#[test]
fn placeholders_are_nodes() {
    let text = "a = 'é ${x.y + 1} and ${z: #json}!'\n";
    let mut tree = Tree::default();
    let syntax = parse_both(&mut tree, text, FileId(0));
    let shown = |id| {
        let span = syntax.span(id);
        &text[span.start as usize..span.end as usize]
    };
    let mut found = Vec::new();
    for number in 0..syntax.len() as u32 {
        found.push((syntax.kind(NodeId(number)), shown(NodeId(number))));
    }
    let literal = found.iter().position(|(kind, _)| *kind == NodeKind::Literal).unwrap();
    assert_eq!(
        found[literal..],
        [
            (NodeKind::Literal, "'é ${x.y + 1} and ${z: #json}!'"),
            (NodeKind::Placeholder, "${x.y + 1}"),
            (NodeKind::Binary, "x.y + 1"),
            (NodeKind::Name, "x.y"),
            (NodeKind::Literal, "1"),
            (NodeKind::Placeholder, "${z: #json}"),
            (NodeKind::Name, "z"),
        ]
    );
    let leaf = syntax.leaf_at(text.find("y +").unwrap() as u32).unwrap();
    let Made::Expr(name) = syntax.made(syntax.node_of(leaf)) else { panic!("a name is an expression") };
    let span = tree.expr_span(name);
    assert_eq!(&text[span.start as usize..span.end as usize], "x.y");
}

#[test]
fn a_name_that_is_no_expression_stands_for_none() {
    let mut tree = Tree::default();
    let syntax = parse_both(&mut tree, "a = b\n{k = f(n=1)}\n", FileId(0));
    let text = syntax.source();
    let linked: Vec<&str> = (0..syntax.len() as u32)
        .map(NodeId)
        .filter(|id| matches!(syntax.made(*id), Made::Expr(_)))
        .map(|id| &text[syntax.span(id).start as usize..syntax.span(id).end as usize])
        .collect();
    assert_eq!(linked, ["b", "{k = f(n=1)}", "f(n=1)", "f", "1"]);
}

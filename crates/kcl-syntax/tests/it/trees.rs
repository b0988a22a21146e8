//! Shapes of the arena tree and first errors that the oracle gives.

use base_diag::{FileId, Span};
use kcl_syntax::ast::{CompareOp, EntryOp, Expr, JoinPart, Key, Stmt, Tree, Type};
use kcl_syntax::{parse_expr, parse_file, parse_type_text};

use crate::{corpus, errors, parse};

fn expr(text: &str) -> (Tree, kcl_syntax::ast::ExprId) {
    let mut tree = Tree::default();
    let (id, diags) = parse_expr(&mut tree, text, FileId(0), 0);
    assert_eq!(diags, []);
    (tree, id)
}

#[test]
fn a_chain_of_comparisons_depends_on_the_levels() {
    let (tree, id) = expr("a < b == c");
    let Expr::Compare(_, links) = tree.expr(id) else { panic!("no chain") };
    assert_eq!(links.iter().map(|l| l.0).collect::<Vec<_>>(), [CompareOp::Lt, CompareOp::Eq]);
    let (tree, id) = expr("a == b < c");
    let Expr::Compare(_, links) = tree.expr(id) else { panic!("no chain") };
    assert_eq!(links.len(), 1);
    assert!(matches!(tree.expr(links[0].1), Expr::Compare(..)));
}

#[test]
fn dotted_keys_become_nested_configs() {
    let (tree, id) = expr("{a.b.c += [1]}");
    let Expr::Config(entries) = tree.expr(id) else { panic!("no config") };
    assert!(matches!(&entries[0].key, Key::Name(n) if n == "a"));
    assert_eq!((entries[0].op, entries[0].key_span), (EntryOp::Union, Span::new(1, 2)));
    let Expr::Config(inner) = tree.expr(entries[0].value) else { panic!("no config") };
    let Expr::Config(last) = tree.expr(inner[0].value) else { panic!("no config") };
    assert_eq!((last[0].op, last[0].key_span), (EntryOp::Insert, Span::new(5, 6)));
}

#[test]
fn spans_are_unique_in_a_package() {
    let mut tree = Tree::default();
    parse_file(&mut tree, "a = 1\n", FileId(0));
    parse_file(&mut tree, "b = 2\n", FileId(1));
    let second = tree.files[1].body[0];
    assert_eq!(tree.stmt_span(second), Span::new(7, 12));
    assert_eq!(tree.locate(7), (1, 0));
}

#[test]
fn placeholders_end_at_the_first_brace_and_keep_their_place() {
    let (tree, id) = expr("\"a${b:#json}c\\${d}\"");
    let Expr::Joined(parts) = tree.expr(id) else { panic!("not joined") };
    let [JoinPart::Text(a), JoinPart::Value { expr, spec }, JoinPart::Text(c)] = parts.as_ref() else {
        panic!("{parts:?}")
    };
    assert_eq!((a.as_str(), spec.as_deref(), c.as_str()), ("a", Some("#json"), "c${d}"));
    assert_eq!(tree.expr_span(*expr), Span::new(4, 5));
}

#[test]
fn long_strings_are_dedented_after_escapes() {
    let (tree, id) = expr("\"\"\"\n    a\\n  b\n    \"\"\"");
    assert!(matches!(tree.expr(id), Expr::Str(s) if s == "  a\nb\n  "));
}

#[test]
fn types_of_signatures() {
    let mut tree = Tree::default();
    let (id, diags) = parse_type_text(&mut tree, "(str, {str:any}) -> [int | float]", 0);
    assert_eq!(diags, []);
    assert!(matches!(tree.ty(id), Type::Function(params, Some(_)) if params.len() == 2));
}

#[test]
fn names_lose_their_dollar_and_types_their_default() {
    let (tree, diags) = parse("schema $S:\n    $if: \"x\"\n");
    assert_eq!(diags, []);
    let Stmt::Schema(schema) = tree.stmt(tree.files[0].body[0]) else { panic!("no schema") };
    let Stmt::Attr(attr) = tree.stmt(schema.body[0]) else { panic!("no attribute") };
    assert_eq!((schema.name.name.as_str(), attr.name.name.as_str()), ("S", "if"));
    assert!(attr.default.is_some());
}

#[test]
fn most_of_the_corpus_is_free_of_syntax_errors() {
    let wrong = corpus().iter().filter(|text| !errors(text).is_empty()).count();
    assert_eq!(wrong, 12, "the gotcha list has this many programs with syntax errors");
}

#[test]
fn first_errors_stand_where_the_oracle_puts_them() {
    let cases = [
        (
            "total = (1 +\n  2)\n",
            "1:13 expected one of [\"identifier\", \"literal\", \"(\", \"[\", \"{\"] got newline",
        ),
        ("a = [\n    1\n    2]\n", "3:8 unexpected token 'dedent'"),
        ("a = 00\n", "1:5 no valid digits found for number"),
        ("a = - -1\n", "1:7 expected one of [\"identifier\", \"literal\", \"(\", \"[\", \"{\"] got -"),
        ("a: int\nb = 1\n", "2:1 expected one of [\"=\"] got identifier"),
        (
            "a?.b = 1\n",
            "1:1 'SelectorExpression' is an illegal expression for assignment, because the left-hand side of an assignment expression may not be an optional attribute access.",
        ),
        (
            "if a:\n    b=1\n  c=2\nd=3",
            "3:3 invalid indentation with 2 spaces, try to align indents by adding or removing spaces",
        ),
        ("a = 1; b = 2", "1:6 the semicolon ';' here is unnecessary, please remove it"),
        ("x = \"${a b}\"", "1:8 invalid string interpolation expression: 'a b'"),
    ];
    for (text, expected) in cases {
        assert_eq!(errors(text).first().map(String::as_str), Some(expected), "{text}");
    }
}

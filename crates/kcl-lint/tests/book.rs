//! `docs/lint.md` says what the table says. `UPDATE=1` writes it.
#![allow(clippy::unwrap_used)]

use std::path::Path;

const START: &str = "<!-- rules: made from the table; UPDATE=1 cargo test -p kcl-lint --test book -->\n";

#[test]
fn the_page_lists_the_rules_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lint.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once(START).expect("the page has the mark");
    let wanted = format!("{head}{START}\n{}", kcl_lint::book());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert_eq!(text, wanted, "docs/lint.md is stale: UPDATE=1 cargo test -p kcl-lint --test book");
}

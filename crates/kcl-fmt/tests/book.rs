//! The examples of `docs/fmt.md`.
#![allow(clippy::unwrap_used)]

use base_diag::FileId;

/// The bodies of all fences with an info string.
fn fences<'a>(page: &'a str, info: &str) -> Vec<&'a str> {
    let open = format!("```{info}\n");
    page.split(open.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn every_example_becomes_what_the_page_says() {
    let page = include_str!("../../../docs/fmt.md");
    let programs = fences(page, "kcl");
    // The first one is the file of the commands.
    let pairs = programs[1..].chunks(2);
    assert_eq!(pairs.len(), page.matches("\nbecomes\n").count());
    for pair in pairs {
        let formatted = kcl_fmt::format(pair[0], FileId(0));
        assert!(formatted.errors.is_empty(), "{}", pair[0]);
        assert_eq!(formatted.text, pair[1]);
        assert_eq!(kcl_fmt::format(pair[1], FileId(0)).text, pair[1]);
    }
}

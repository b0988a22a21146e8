//! `kcl explain CODE`: a page with an example for every code and every id.

use std::process::ExitCode;

use crate::EXIT_WRONG;

/// The pages, by code. A page starts with `# CODE Kind`.
const PAGES: &[(&str, &str)] = &[
    ("E1001", include_str!("../explain/E1001.md")),
    ("E2F04", include_str!("../explain/E2F04.md")),
    ("E2G22", include_str!("../explain/E2G22.md")),
    ("E2L23", include_str!("../explain/E2L23.md")),
    ("E2L28", include_str!("../explain/E2L28.md")),
    ("E2A31", include_str!("../explain/E2A31.md")),
    ("E2D34", include_str!("../explain/E2D34.md")),
    ("E3M38", include_str!("../explain/E3M38.md")),
];

pub(crate) fn main(words: &[String]) -> ExitCode {
    let Some(wanted) = words.first().filter(|word| !matches!(word.as_str(), "-h" | "--help")) else {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    };
    match page(wanted) {
        Some(page) => {
            print!("{page}");
            ExitCode::SUCCESS
        }
        None if let Some(rule) = kcl_lint::find(wanted) => {
            print!("{}", kcl_lint::page(rule));
            ExitCode::SUCCESS
        }
        None => {
            let codes = PAGES.iter().map(|p| p.0).chain(kcl_lint::RULES.iter().map(|rule| rule.code));
            let codes: Vec<&str> = codes.collect();
            eprintln!("error: there is no page for `{wanted}`\nhelp: codes are {}", codes.join(", "));
            ExitCode::from(EXIT_WRONG)
        }
    }
}

fn usage() -> String {
    let mut out = String::from(
        "Explains an error: what it means, an example, what to do.\n\nExamples:\n  kcl explain E2G22\n  kcl explain \
         type-mismatch\n\nUsage: kcl explain CODE\n\nCODE is what stands behind `error` in brackets, or the `id` of `kcl run \
         --error-format json`.\n\nCodes:\n",
    );
    for (code, page) in PAGES {
        let title = page.lines().next().unwrap_or("").trim_start_matches(['#', ' ']);
        out.push_str(&format!("  {code}  {title}\n"));
    }
    for rule in kcl_lint::RULES {
        out.push_str(&format!("  {}  {}: {}\n", rule.code, rule.id, rule.summary));
    }
    out
}

/// Returns the page of a code, or the page that mentions an id or kind.
fn page(wanted: &str) -> Option<&'static str> {
    let by_code = PAGES.iter().find(|(code, _)| code.eq_ignore_ascii_case(wanted));
    let is_word = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()) == wanted;
    let by_word = || PAGES.iter().find(|(_, page)| page.split_whitespace().any(is_word));
    by_code.or_else(by_word).map(|(_, page)| *page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_its_code_an_example_and_a_way_out() {
        for (code, page) in PAGES {
            assert!(page.starts_with(&format!("# {code} ")), "{code}");
            assert!(page.contains("```kcl") && page.contains("## What to do"), "{code}");
        }
    }

    #[test]
    fn ids_and_kinds_lead_to_their_page() {
        assert!(page("TypeError").is_some() && page("check-failed").is_some() && page("nope").is_none());
    }
}

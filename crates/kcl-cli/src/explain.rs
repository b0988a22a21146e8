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
            if let Some(meaning) = meaning(page, wanted) {
                println!("`{wanted}`: {meaning}\n");
            }
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

/// What an id means, from the table at the end of a page.
fn meaning<'p>(page: &'p str, id: &str) -> Option<&'p str> {
    let row = page.lines().find_map(|line| line.strip_prefix("| `")?.strip_prefix(id)?.strip_prefix("` | "));
    row.map(|rest| rest.trim_end_matches([' ', '|']))
}

/// Returns the page of a code, the one whose table has an id, or the one that mentions a kind.
fn page(wanted: &str) -> Option<&'static str> {
    let by_code = PAGES.iter().find(|(code, _)| code.eq_ignore_ascii_case(wanted));
    let by_code = by_code.or_else(|| PAGES.iter().find(|(_, page)| meaning(page, wanted).is_some()));
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

    /// The sources of all crates of the language, except tests.
    fn sources(folder: &std::path::Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }

    /// Every id that some table or some line of the sources gives an error has a row in the page of its code.
    #[test]
    fn every_id_of_every_crate_has_its_row() {
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut texts = Vec::new();
        for entry in std::fs::read_dir(&crates).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name == "kcl" || name.starts_with("kcl-") {
                sources(&path.join("src"), &mut texts);
            }
        }
        let codes = std::fs::read_to_string(crates.join("base-diag/src/diagnostic.rs")).unwrap();
        let code = regex::Regex::new(r#"(?m)^    ([A-Z_]+) = "(E\w+)""#).unwrap();
        let codes: std::collections::HashMap<String, String> =
            code.captures_iter(&codes).map(|c| (c[1].to_owned(), c[2].to_owned())).collect();
        let row = r#"(?m)^    \w+(?: \{[^}]*\})? = ([A-Z_]+) "([a-z0-9-]+)""#;
        let made = r#"Diagnostic::(?:error|warning)\(\s*Code::([A-Z_]+),\s*"([a-z0-9-]+)""#;
        let mut asked = 0;
        for pattern in [row, made] {
            let pattern = regex::Regex::new(pattern).unwrap();
            for found in texts.iter().flat_map(|text| pattern.captures_iter(text)) {
                let code = &codes[&found[1]];
                let (_, page) =
                    PAGES.iter().find(|(known, _)| known == code).unwrap_or_else(|| panic!("no page {code}"));
                assert!(
                    meaning(page, &found[2]).is_some(),
                    "explain/{code}.md has no row for `{}`",
                    &found[2]
                );
                asked += 1;
            }
        }
        assert!(asked > 150, "only {asked} ids were found: the tables look otherwise now");
    }

    /// `LINE  # id`: each line of the library's example, as a program of its own, fails with the id behind it.
    #[test]
    fn examples_of_library_calls_fail_as_the_page_says() {
        let (_, page) = PAGES.iter().find(|(code, _)| *code == "E3M38").unwrap();
        let example = page.split("## Calls of the library").nth(1).unwrap();
        let example = example.split("```").nth(1).unwrap().trim_start_matches("kcl\n");
        let files = kcl::MemoryFiles::default();
        let mut seen = std::collections::HashSet::new();
        for line in example.lines() {
            let (program, id) = line.rsplit_once("# ").unwrap();
            let module = ["crypto", "file", "json", "net", "regex", "template"];
            let module = module.iter().find(|name| program.contains(&format!("= {name}.")));
            let program =
                format!("{}{program}\n", module.map(|m| format!("import {m}\n")).unwrap_or_default());
            let request = kcl::Request::source("main.k", &program);
            let outcome = kcl::Compiler::new(&files).run(&request, &kcl::NoOutside);
            let first = outcome.diagnostics.first().unwrap_or_else(|| panic!("{program} does not fail"));
            assert_eq!(first.id, id, "{program}: {}", first.message());
            assert!(seen.insert(id), "{id} has two examples");
        }
        assert!(seen.len() > 15);
    }

    #[test]
    fn ids_and_kinds_lead_to_their_page() {
        assert!(page("TypeError").is_some() && page("check-failed").is_some() && page("nope").is_none());
    }
}

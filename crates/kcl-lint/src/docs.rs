//! Pages about the rules, made from the table.

use std::fmt::Write;

use crate::rule::Rule;
use crate::rules::RULES;

/// Returns the page of one rule, for `kcl explain`.
pub fn page(rule: &Rule) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {} {}\n", rule.code, rule.id);
    body(rule, &mut out);
    out
}

fn body(rule: &Rule, out: &mut String) {
    let _ = writeln!(out, "{}.\n", capital(rule.summary));
    out.push_str(&wrapped(rule.why));
    let _ = writeln!(out, "\nLevel: {}. Fix: {}.\n", rule.level.word(), rule.fix.words());
    let _ = writeln!(out, "Found:\n\n```kcl\n{}```\n\nMended:\n\n```kcl\n{}```", rule.bad, rule.good);
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Lines of at most 120 characters.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if length > 0 && length + 1 + width > 120 {
            out.push('\n');
            length = 0;
        }
        if length > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += width;
    }
    out.push('\n');
    out
}

/// Returns the part of `docs/lint.md` that is made from the table.
pub fn book() -> String {
    let mut out = String::from("| code | rule | level | fix | what is found |\n|---|---|---|---|---|\n");
    for rule in RULES {
        let fix = match rule.fix {
            crate::FixKind::None => "",
            crate::FixKind::Safe => "safe",
            crate::FixKind::Mixed => "safe or unsafe",
            crate::FixKind::Unsafe => "unsafe",
        };
        let _ = writeln!(
            out,
            "| {} | `{}` | {} | {fix} | {} |",
            rule.code,
            rule.id,
            rule.level.word(),
            rule.summary
        );
    }
    for rule in RULES {
        let _ = writeln!(out, "\n### {} {}\n", rule.code, rule.id);
        body(rule, &mut out);
    }
    out
}

//! What judges the fixes of the linter: a program means the same after all safe ones, and there is something to mend in it.

use crate::generate::Rng;
use crate::{Program, Verdict};
use base_diag::FileId;
use kcl::{Compiler, MemoryFiles, Request};
use kcl_lint::{Config, Input, apply, lint};
use kcl_syntax::ast::{Expr, Tree};

/// Rounds of fixes: one may uncover the next.
const ROUNDS: usize = 10;

/// Mends a program of one file until nothing is left, by safe fixes alone. Returns it with the number of mended findings.
///
/// # Errors
/// Fixes that never end, or make a text that cannot be read.
pub fn mend(text: &str) -> Result<(String, usize), String> {
    let mut text = text.to_owned();
    let mut mended = 0;
    for _ in 0..ROUNDS {
        let applied = apply(&text, &findings(&text), false);
        if applied.mended == 0 {
            return Ok((text, mended));
        }
        if !parses(&applied.text) {
            return Err(format!("a fix breaks the text:\n{text}\n-- became --\n{}", applied.text));
        }
        mended += applied.mended;
        text = applied.text;
    }
    Err(format!("the fixes do not end:\n{text}"))
}

fn findings(text: &str) -> Vec<kcl_lint::Finding> {
    let files = MemoryFiles::default();
    let analysis = Compiler::new(&files).analyse(&Request::source("main.k", text));
    // What does not compile is not mended: its author has to say what is meant.
    let Some(index) = analysis.index.as_ref().filter(|_| analysis.diagnostics.is_empty()) else {
        return Vec::new();
    };
    let (program, package) = (&analysis.program, analysis.program.main);
    let homes = &analysis.homes;
    lint(&Input { program, package, index, homes, is_program: true, errors: &[] }, &Config::default())
}

fn parses(text: &str) -> bool {
    kcl_syntax::parse_file(&mut Tree::default(), text, FileId(0)).is_empty()
}

/// Mends a text and compares what it means before and after. Returns how much was mended.
///
/// # Errors
/// The two texts, if they mean different things.
pub fn judge(text: &str) -> Result<usize, String> {
    let (fixed, mended) = mend(text)?;
    if mended == 0 {
        return Ok(0);
    }
    let verdict = |text: &str| match crate::ours::run_small(&Program::single(text)) {
        // A wrong program has no value. It stays wrong in the same way; its message may name the type of a literal.
        Verdict::Fault(fault) => Err((fault.code, fault.kind)),
        Verdict::Output(output) => Ok((output.yaml, output.log)),
        Verdict::Broken(why) => Err((why, String::new())),
    };
    let (before, after) = (verdict(text), verdict(&fixed));
    if before == after {
        return Ok(mended);
    }
    Err(format!("the value changed:\n{text}\n-- became --\n{fixed}\n-- {before:?}\n-- {after:?}"))
}

/// Returns a program that means the same, with things to mend: needless conversions of literals, imports that nobody needs.
pub fn cluttered(text: &str, rng: &mut Rng) -> String {
    let mut tree = Tree::default();
    if !kcl_syntax::parse_file(&mut tree, text, FileId(0)).is_empty() {
        return text.to_owned();
    }
    let mut places: Vec<(usize, usize, &str)> = Vec::new();
    for node in &tree.exprs {
        let kind = match &node.kind {
            Expr::Str(_) | Expr::Joined(_) => "str",
            Expr::Int(_) => "int",
            Expr::Float(_) => "float",
            Expr::Bool(_) => "bool",
            _ => continue,
        };
        if rng.chance(25) {
            places.push((node.span.start as usize, node.span.end as usize, kind));
        }
    }
    places.sort_unstable();
    places.dedup_by_key(|(start, ..)| *start);
    let mut out = String::new();
    let mut at = 0;
    for (start, end, kind) in places.into_iter() {
        if start < at {
            continue;
        }
        let Some(literal) = text.get(start..end) else { continue };
        let changed = match rng.chance(50) {
            true => format!("{}{kind}({literal})", &text[at..start]),
            false => format!("{}({literal} as {kind})", &text[at..start]),
        };
        // Not everywhere may a call stand: a type, a key of an index, a message.
        let candidate = format!("{out}{changed}{}", &text[end..]);
        if parses(&candidate) {
            out.push_str(&changed);
            at = end;
        }
    }
    out.push_str(&text[at..]);
    let imports =
        ["import regex as unused_regex\n", "import units as unused_units\nimport units as unused_units\n"];
    if rng.chance(60) { format!("{}{out}", rng.pick(&imports)) } else { out }
}

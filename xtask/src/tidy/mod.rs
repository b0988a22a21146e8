//! `cargo xtask tidy`: rules that no compiler checks.
//!
//! Layers of crates (the table in ARCHITECTURE.md against `cargo metadata`), no files, environment, clock or randomness in pure crates,
//! file sizes, unfinished code, spec files that parse, divergence keys that are documented; paths and crates that documents name,
//! what ARCHITECTURE.md says of names, platforms and streams, fuzz targets with a corpus, licences, sources and bans of what we build on, dependencies that nobody uses.

mod architecture;
mod claims;
mod layers;
mod sources;
mod supply;

use crate::ChoreResult;
use crate::oracle::root;
use std::process::ExitCode;

/// A rule: its name, and what it finds wrong.
type Rule = (&'static str, fn() -> Result<Vec<String>, String>);

const RULES: &[Rule] = &[
    ("layers", layers::check),
    ("pure crates", sources::purity),
    ("file size", sources::size),
    ("lines of functions", sources::functions),
    ("skipped tests", sources::skips),
    ("unfinished code", sources::unfinished),
    ("spec files", spec_files),
    ("divergence keys", divergences),
    ("paths in documents", claims::paths),
    ("crates in documents", claims::crates),
    ("lines of documents", claims::lines),
    ("citations", claims::citations),
    ("glossary", architecture::glossary),
    ("entry points", architecture::entries),
    ("blind crates", architecture::blind),
    ("platforms injected", architecture::injected),
    ("sentences", architecture::sentences),
    ("streams of kusion", architecture::streams),
    ("files of commands", architecture::writes),
    ("fuzz corpora", claims::corpora),
    ("licences, sources, bans", supply::packages),
    ("unused dependencies", supply::unused),
    ("unnamed dependencies", supply::unnamed),
    ("features of chores", supply::shared),
];

pub(crate) fn main(_words: &[String]) -> ChoreResult {
    let mut bad = 0;
    for (name, rule) in RULES {
        let problems = rule()?;
        bad += problems.len();
        println!(
            "tidy: {name}: {}",
            if problems.is_empty() { "ok".into() } else { problems.len().to_string() }
        );
        for problem in problems {
            println!("  {problem}");
        }
    }
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn spec_files() -> Result<Vec<String>, String> {
    Ok(testkit::spec::load(&root().join("spec")).err().into_iter().collect())
}

/// Every key that explains a difference stands in the ledger.
fn divergences() -> Result<Vec<String>, String> {
    let path = root().join("docs/divergences.md");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let missing = crate::oracle::KEYS.iter().filter(|key| !text.contains(&format!("`{key}`")));
    Ok(missing.map(|key| format!("docs/divergences.md does not mention `{key}`")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let problems: Vec<String> =
            RULES.iter().flat_map(|(_, rule)| rule().unwrap_or_else(|e| vec![e])).collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

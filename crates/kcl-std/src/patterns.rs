//! Regular expressions, compiled once in a run.

use std::collections::HashMap;
use std::rc::Rc;

use fancy_regex::Regex;

use crate::Mistake;

/// Backtracking steps before a pattern is given up.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// So many are kept; a program that makes ever new ones starts again.
const KEPT: usize = 256;

/// Regular expressions by their text.
#[derive(Debug, Default)]
pub struct Patterns {
    compiled: HashMap<Box<str>, Rc<Regex>>,
}

impl Patterns {
    /// Returns the compiled form of a pattern, or what is wrong with it.
    pub(crate) fn compiled(&mut self, pattern: &str) -> Result<Rc<Regex>, Mistake> {
        if let Some(known) = self.compiled.get(pattern) {
            return Ok(Rc::clone(known));
        }
        let regex = fancy_regex::RegexBuilder::new(pattern)
            .backtrack_limit(BACKTRACK_LIMIT)
            .build()
            .map_err(|error| Mistake::BadPattern { pattern: pattern.into(), why: error.to_string() })?;
        if self.compiled.len() == KEPT {
            self.compiled.clear();
        }
        let regex = Rc::new(regex);
        self.compiled.insert(pattern.into(), Rc::clone(&regex));
        Ok(regex)
    }
}

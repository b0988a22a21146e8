//! What a run came by: statements, and conditions with their answers. Off by default, and then one test per statement and decision.

use std::collections::BTreeMap;

use kcl_syntax::ast::{ExprId, StmtId};

use crate::fault::Eval;
use crate::machine::Machine;

/// How often the parts of a program ran, package by package.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    packages: Vec<Hits>,
}

#[derive(Clone, Debug, Default)]
struct Hits {
    statements: BTreeMap<StmtId, u64>,
    decisions: BTreeMap<ExprId, (u64, u64)>,
}

impl Coverage {
    pub(crate) fn new(packages: usize) -> Coverage {
        Coverage { packages: vec![Hits::default(); packages] }
    }

    /// Returns how often a statement of a package ran.
    pub fn statement(&self, package: usize, statement: StmtId) -> u64 {
        self.packages.get(package).and_then(|hits| hits.statements.get(&statement)).copied().unwrap_or(0)
    }

    /// Returns how often a condition of a package was true, and how often it was not.
    pub fn decision(&self, package: usize, condition: ExprId) -> (u64, u64) {
        self.packages
            .get(package)
            .and_then(|hits| hits.decisions.get(&condition))
            .copied()
            .unwrap_or_default()
    }

    /// Adds what another run of the same program came by.
    pub fn add(&mut self, other: &Coverage) {
        if self.packages.is_empty() {
            self.clone_from(other);
            return;
        }
        for (own, other) in self.packages.iter_mut().zip(&other.packages) {
            for (statement, count) in &other.statements {
                *own.statements.entry(*statement).or_default() += count;
            }
            for (condition, (yes, no)) in &other.decisions {
                let own = own.decisions.entry(*condition).or_default();
                *own = (own.0 + yes, own.1 + no);
            }
        }
    }
}

impl Machine<'_> {
    /// Notes that a statement of the running package begins.
    pub(crate) fn cover(&mut self, statement: StmtId) {
        if let Some(coverage) = &mut self.coverage
            && let Some(hits) = coverage.packages.get_mut(self.pkg)
        {
            *hits.statements.entry(statement).or_default() += 1;
        }
    }

    /// Computes a condition.
    pub(crate) fn decide(&mut self, condition: ExprId) -> Eval<bool> {
        let answer = self.expr(condition)?.truthy();
        if let Some(coverage) = &mut self.coverage
            && let Some(hits) = coverage.packages.get_mut(self.pkg)
        {
            let (yes, no) = hits.decisions.entry(condition).or_default();
            *(if answer { yes } else { no }) += 1;
        }
        Ok(answer)
    }
}

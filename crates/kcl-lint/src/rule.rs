//! What a rule is: one row of the table.

use kcl_syntax::ast::{ExprId, StmtId};

use crate::context::Context;
use crate::finding::Findings;

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// A remark: shown, but the command succeeds.
    Info,
    /// The command fails.
    Warning,
    /// The command fails; the program is wrong.
    Error,
}

impl Level {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// Whether findings of a rule can be mended by machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FixKind {
    /// No.
    None,
    /// The program means the same afterwards.
    Safe,
    /// Some fixes are safe, the others change what the program means in some cases.
    Mixed,
    /// The program may mean something else afterwards.
    Unsafe,
}

impl FixKind {
    /// Returns the words for it.
    pub fn words(self) -> &'static str {
        match self {
            FixKind::None => "none",
            FixKind::Safe => "safe (`--fix`)",
            FixKind::Mixed => {
                "safe (`--fix`) where the program means the same, otherwise unsafe (`--unsafe-fixes`)"
            }
            FixKind::Unsafe => "unsafe (`--unsafe-fixes`)",
        }
    }
}

/// When a rule is asked.
#[derive(Clone, Copy)]
pub(crate) enum Check {
    /// Once, about the package.
    Package(fn(&Context<'_>, &mut Findings<'_>)),
    /// About every expression.
    Expr(fn(&Context<'_>, ExprId, &mut Findings<'_>)),
    /// About every statement.
    Stmt(fn(&Context<'_>, StmtId, &mut Findings<'_>)),
}

/// A rule.
pub struct Rule {
    /// The code that people search for: the reference's where it has one.
    pub code: &'static str,
    /// Our stable name, kebab-case.
    pub id: &'static str,
    /// The reference's name of the kind, or ours.
    pub kind: &'static str,
    /// How much a finding matters unless the configuration says otherwise.
    pub level: Level,
    /// What is found, in one line.
    pub summary: &'static str,
    /// Why it matters and what to do.
    pub why: &'static str,
    /// A program with a finding.
    pub bad: &'static str,
    /// The same, mended.
    pub good: &'static str,
    /// Whether it can be mended by machine.
    pub fix: FixKind,
    /// When it is asked; rules that the mechanism itself applies are asked never.
    pub(crate) checks: &'static [Check],
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.code, self.id)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.code == other.code
    }
}

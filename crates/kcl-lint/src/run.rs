//! All rules over one package, in one pass over its tree.

use base_diag::Code;
use kcl_syntax::ast::{ExprId, StmtId};

use crate::config::Config;
use crate::context::{Context, Input};
use crate::finding::{Finding, Findings};
use crate::rule::{Check, Level, Rule};
use crate::rules::RULES;
use crate::suppress;

/// Judges a package; one that does not parse, or whose imports are not found, is not judged. Findings stand in order of place; those that a comment ignores are left out, and an ignore that ignores
/// nothing is one itself.
pub fn lint(input: &Input<'_>, config: &Config) -> Vec<Finding> {
    // Where the text could not be read to its end, names look unused that are not.
    if input.errors.iter().any(|error| error.code == Code::SYNTAX || error.code == Code::MODULE) {
        return Vec::new();
    }
    let context = Context::new(*input);
    let Some(first) = RULES.first() else { return Vec::new() };
    let mut found = Findings { package: context.package, rule: first, level: Level::Info, all: Vec::new() };
    let on: Vec<(&'static Rule, Level)> =
        RULES.iter().filter_map(|rule| Some((*rule, config.level(rule)?))).collect();
    let (mut exprs, mut stmts) = (Vec::new(), Vec::new());
    for (rule, level) in &on {
        for check in rule.checks {
            match check {
                Check::Package(check) => {
                    (found.rule, found.level) = (rule, *level);
                    check(&context, &mut found);
                }
                Check::Expr(check) => exprs.push((*rule, *level, *check)),
                Check::Stmt(check) => stmts.push((*rule, *level, *check)),
            }
        }
    }
    for id in 0..context.tree.exprs.len() as u32 {
        for (rule, level, check) in &exprs {
            (found.rule, found.level) = (rule, *level);
            check(&context, ExprId(id), &mut found);
        }
    }
    for id in 0..context.tree.stmts.len() as u32 {
        for (rule, level, check) in &stmts {
            (found.rule, found.level) = (rule, *level);
            check(&context, StmtId(id), &mut found);
        }
    }
    let mut all = found.all;
    suppress::apply(&context, config, &mut all);
    all.sort_by(|a, b| {
        let key = |f: &Finding| (f.file, f.span.start, f.span.end, f.rule.code);
        key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
    });
    all.dedup_by(|b, a| (a.file, a.span, a.rule.code) == (b.file, b.span, b.rule.code));
    all
}

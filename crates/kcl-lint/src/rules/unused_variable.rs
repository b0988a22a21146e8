//! L0101: a private or local variable that nothing reads.

use kcl_check::index::{DefKind, Level as Owner, Meaning};
use kcl_syntax::ast::{Expr, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0101",
    id: "unused-variable",
    kind: "UnusedVariable",
    level: Level::Warning,
    summary: "a private or local variable that nothing reads",
    why: "A public variable of a file is output; one whose name begins with `_`, and a variable of a lambda, serves only the \
          program itself. If nothing reads it, it is left over, or another name was meant. Removing it also removes what its value \
          does (a failing check, `print`), so the fix is unsafe.",
    bad: "_port = 80\n_host = \"a\"\nurl = \"http://${_host}\"\n",
    good: "_host = \"a\"\nurl = \"http://${_host}\"\n",
    fix: FixKind::Unsafe,
    checks: &[Check::Package(check)],
};

fn check(context: &Context<'_>, found: &mut Findings<'_>) {
    let defs =
        context.index.defs().iter().filter(|def| def.kind == DefKind::Variable && !context.is_read(def));
    let unread: Vec<_> = defs
        .filter(|def| match def.level {
            Owner::Lambda => def.name != "_",
            _ => def.name.starts_with('_') && def.name != "_",
        })
        .collect();
    if unread.is_empty() {
        return;
    }
    let results = results(context);
    // How many statements set each of them.
    let mut written: FxHashMap<u32, u32> = FxHashMap::default();
    for name in context.index.occurrences() {
        if let Meaning::Declared(spot) = &name.meaning
            && spot.home == context.index.home()
        {
            *written.entry(spot.span.start).or_default() += 1;
        }
    }
    let statements: FxHashMap<u32, _> = context
        .tree
        .stmts
        .iter()
        .filter_map(|node| match &node.kind {
            Stmt::Assign { targets, .. } if targets.len() == 1 => {
                Some((targets[0].name.span.start, node.span))
            }
            _ => None,
        })
        .collect();
    let only = only_statements(context);
    for def in unread.into_iter().filter(|def| !results.contains(&def.span.start)) {
        let what = if def.level == Owner::Lambda { "the local variable" } else { "the private variable" };
        let finding = found.add(def.span, format!("{what} `{}` is never read", def.name));
        finding.help("remove it, or use it");
        if written.get(&def.span.start) == Some(&1)
            && let Some(span) = statements.get(&def.span.start)
            && !only.contains(&span.start)
            && let Some(lines) = context.whole_lines(*span)
        {
            finding.replace(context.package, false, lines, "");
        }
    }
}

/// Statements that are all of a block: without them the block is empty, and the file no program.
fn only_statements(context: &Context<'_>) -> FxHashSet<u32> {
    let tree = context.tree;
    let mut found = FxHashSet::default();
    for node in &tree.stmts {
        if let Stmt::If { body, orelse, .. } = &node.kind {
            for block in [body, orelse] {
                found.extend((block.len() == 1).then(|| tree.stmt_span(block[0]).start));
            }
        }
    }
    found
}

/// Variables that the last statement of a lambda sets: their value is its result.
fn results(context: &Context<'_>) -> FxHashSet<u32> {
    let tree = context.tree;
    let mut found = FxHashSet::default();
    for node in &tree.exprs {
        let Expr::Lambda(lambda) = &node.kind else { continue };
        let names = match lambda.body.last().map(|last| tree.stmt(*last)) {
            Some(Stmt::Assign { targets, .. }) => targets.iter().map(|t| t.name.span.start).collect(),
            Some(Stmt::AugAssign { target, .. }) => vec![target.name.span.start],
            Some(Stmt::Unification { target, .. }) => vec![target.span.start],
            _ => Vec::new(),
        };
        for start in names {
            if let Some(Meaning::Declared(spot)) = context.occurrence(start).map(|name| &name.meaning) {
                found.insert(spot.span.start);
            }
        }
    }
    found
}

//! L0401: a public schema without documentation.

use base_diag::Span;
use kcl_syntax::ast::{Stmt, StmtId};
use kcl_syntax::docstring;

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0401",
    id: "missing-docs",
    kind: "MissingDocs",
    level: Level::Info,
    summary: "a public schema, mixin, protocol or rule without a docstring",
    why: "The text below its first line is what `kcl doc` and editors show to those who use it.",
    bad: "schema App:\n    name: str = \"a\"\n",
    good: "schema App:\n    \"\"\"An application.\"\"\"\n    name: str = \"a\"\n",
    fix: FixKind::None,
    checks: &[Check::Stmt(check)],
};

fn check(context: &Context<'_>, id: StmtId, found: &mut Findings<'_>) {
    let (name, doc) = match context.tree.stmt(id) {
        Stmt::Schema(def) => (&def.name, def.doc),
        Stmt::Rule(def) => (&def.name, def.doc),
        _ => return,
    };
    let is_empty = |doc: Span| docstring(context.text(doc)).trim().is_empty();
    if !name.name.starts_with('_') && doc.is_none_or(is_empty) {
        found
            .add(name.span, format!("`{}` has no documentation", name.name))
            .help("say what it is, in a `\"\"\"..\"\"\"` on the line below");
    }
}

//! L0204: a key that stands twice in one pair of braces.

use base_diag::Span;
use kcl_syntax::ast::{Entry, EntryOp, Expr, ExprId, Key};
use rustc_hash::FxHashMap;

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0204",
    id: "duplicate-key",
    kind: "DuplicateKey",
    level: Level::Warning,
    summary: "a key that stands twice in one pair of braces, so that the first value is lost",
    why: "`=` throws away what the key had before, so the first entry does nothing. Two blocks `key: {..}` are merged, and two lists \
          with `+=` are joined: those are not judged.",
    bad: "a = {\n    port = 80\n    host = \"x\"\n    port = 8080\n}\n",
    good: "a = {\n    host = \"x\"\n    port = 8080\n}\n",
    fix: FixKind::None,
    checks: &[Check::Expr(check)],
};

/// Braces up to this size are compared, larger ones hashed.
const SCAN: usize = 12;

fn name(entry: &Entry) -> Option<&str> {
    match &entry.key {
        Key::Name(name) | Key::Str(name) => Some(name),
        _ => None,
    }
}

fn check(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let Expr::Config(entries) = context.tree.expr(id) else { return };
    if entries.len() < 2 {
        return;
    }
    // Entries of other declarations of the name were merged into these braces: they stand elsewhere.
    let braces = context.tree.expr_span(id);
    let own = |entry: &&Entry| braces.start <= entry.key_span.start && entry.key_span.end <= braces.end;
    let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
    let mut few: Vec<(&str, Span)> = Vec::new();
    for entry in entries.iter().filter(own) {
        let Some(name) = name(entry) else { continue };
        let first = match entries.len() <= SCAN {
            true => few.iter().find(|(known, _)| *known == name).map(|(_, span)| *span),
            false => seen.get(name).copied(),
        };
        // A dotted key (`a.b`, `a.c`) is braces of its own, which are merged.
        if let Some(first) = first.filter(|_| entry.op == EntryOp::Override) {
            found
                .add(entry.key_span, format!("the key `{name}` was set before; that value is lost"))
                .related(context.package, first, "set before")
                .help("remove one of the two");
        }
        match entries.len() <= SCAN {
            true => few.push((name, entry.key_span)),
            false => {
                seen.insert(name, entry.key_span);
            }
        }
    }
}

//! W1001: a schema or attribute that its author has marked as deprecated.

use base_diag::Span;
use kcl_check::index::{Meaning, Role, Spot};
use kcl_syntax::ast::{Expr, ExprId, Stmt, Str, Tree};
use kcl_syntax::program::PkgId;
use rustc_hash::FxHashMap;

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "W1001",
    id: "deprecated",
    kind: "Deprecated",
    level: Level::Warning,
    summary: "a use of something that is marked `@deprecated`",
    why: "Its author wants to remove it. The decorator's `reason` says what to use instead.",
    bad: "schema App:\n    \"\"\"An application.\"\"\"\n    @deprecated(reason=\"use image\", strict=False)\n    img?: str\n    \
          image?: str\n\na = App {img = \"nginx\"}\n",
    good: "schema App:\n    \"\"\"An application.\"\"\"\n    @deprecated(reason=\"use image\", strict=False)\n    img?: str\n    \
           image?: str\n\na = App {image = \"nginx\"}\n",
    fix: FixKind::None,
    checks: &[Check::Package(check)],
};

/// What is deprecated in one package: place of the name, and the reason.
fn deprecated(tree: &Tree) -> Vec<(Span, Str, Option<Str>)> {
    let mut found = Vec::new();
    for node in &tree.stmts {
        let (name, decorators) = match &node.kind {
            Stmt::Schema(def) => (&def.name, &def.decorators),
            Stmt::Attr(attr) => (&attr.name, &attr.decorators),
            Stmt::Rule(def) => (&def.name, &def.decorators),
            _ => continue,
        };
        if let Some(reason) = decorators.iter().find_map(|decorator| reason(tree, *decorator)) {
            found.push((name.span, name.name.clone(), reason));
        }
    }
    found
}

/// The reason of a `@deprecated`; none if it is another decorator.
fn reason(tree: &Tree, decorator: ExprId) -> Option<Option<Str>> {
    let (func, call) = match tree.expr(decorator) {
        Expr::Call(call) => (call.func, Some(call)),
        _ => (decorator, None),
    };
    let Expr::Name(parts) = tree.expr(func) else { return None };
    if parts.first().is_none_or(|part| part.name != "deprecated") {
        return None;
    }
    let value = call.and_then(|call| call.kwargs.iter().find(|keyword| keyword.name.name == "reason"));
    Some(value.and_then(|keyword| match tree.expr(keyword.value) {
        Expr::Str(text) => Some(text.clone()),
        _ => None,
    }))
}

fn check(context: &Context<'_>, found: &mut Findings<'_>) {
    let mut places: FxHashMap<Spot, Option<Str>> = FxHashMap::default();
    let mut members: FxHashMap<(u64, Str), Option<Str>> = FxHashMap::default();
    for (at, home) in context.input.homes.iter().enumerate() {
        let tree = &context.input.program.package(PkgId(at as u32)).tree;
        for (span, name, reason) in deprecated(tree) {
            places.insert(Spot { home: *home, span }, reason.clone());
            members.insert((home.0, name), reason);
        }
    }
    if places.is_empty() {
        return;
    }
    for name in context.index.occurrences().iter().filter(|name| name.role != Role::Declare) {
        let reason = match &name.meaning {
            Meaning::Declared(spot) => places.get(spot),
            Meaning::Member(home, member) => members.get(&(home.0, member.clone())),
            _ => None,
        };
        let Some(reason) = reason else { continue };
        let finding = found
            .add(name.span, format!("`{}` is deprecated", context.text(name.span).trim_matches(['"', '\''])));
        if let Some(reason) = reason {
            finding.help(reason.to_string());
        }
    }
}

//! W1001: a schema or attribute that its author has marked as deprecated.

use base_diag::Span;
use kcl_check::index::{Meaning, Role, Spot};
use kcl_syntax::ast::{Expr, ExprId, Ident, Stmt, StmtNode, Str, Tree};
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
    why: "Its author wants to remove it. The decorator's `reason` says what to use instead. The schema that declares it, and what is \
          deprecated itself, may speak of it.",
    bad: "schema App:\n    \"\"\"An application.\"\"\"\n    @deprecated(reason=\"use image\", strict=False)\n    img?: str\n    \
          image?: str\n\na = App {img = \"nginx\"}\n",
    good: "schema App:\n    \"\"\"An application.\"\"\"\n    @deprecated(reason=\"use image\", strict=False)\n    img?: str\n    \
           image?: str\n\na = App {image = \"nginx\"}\n",
    fix: FixKind::None,
    checks: &[Check::Package(check)],
};

/// Something deprecated of a package.
struct Old<'t> {
    name: &'t Ident,
    reason: Option<Str>,
    /// Whether other packages name it by itself: a schema, not an attribute.
    is_member: bool,
}

/// What is deprecated in one package.
fn deprecated(tree: &Tree) -> Vec<Old<'_>> {
    let mut found = Vec::new();
    for node in &tree.stmts {
        let (name, decorators, is_member) = match &node.kind {
            Stmt::Schema(def) => (&def.name, &def.decorators, true),
            Stmt::Attr(attr) => (&attr.name, &attr.decorators, false),
            Stmt::Rule(def) => (&def.name, &def.decorators, true),
            _ => continue,
        };
        if let Some(reason) = decorators.iter().find_map(|decorator| reason(tree, *decorator)) {
            found.push(Old { name, reason, is_member });
        }
    }
    found
}

/// The schemas and rules of a package, with whether they are deprecated themselves.
fn definitions(tree: &Tree) -> Vec<(Span, bool)> {
    let is_old =
        |decorators: &[ExprId]| decorators.iter().any(|decorator| reason(tree, *decorator).is_some());
    let range = |node: &StmtNode| match &node.kind {
        Stmt::Schema(def) => Some((node.span, is_old(&def.decorators))),
        Stmt::Rule(def) => Some((node.span, is_old(&def.decorators))),
        _ => None,
    };
    tree.stmts.iter().filter_map(range).collect()
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
        for old in deprecated(tree) {
            places.insert(Spot { home: *home, span: old.name.span }, old.reason.clone());
            if old.is_member {
                members.insert((home.0, old.name.name.clone()), old.reason);
            }
        }
    }
    if places.is_empty() {
        return;
    }
    let definitions = definitions(context.tree);
    let own = context.index.home();
    // Who still offers it has to speak of it: the schema that declares it, and what is deprecated with it.
    let holds = |range: &Span, at: Span| range.start <= at.start && at.end <= range.end;
    let is_inside = |at: Span, declared: Option<Spot>| {
        let declares =
            |range: &Span| declared.is_some_and(|spot| spot.home == own && holds(range, spot.span));
        definitions.iter().any(|(range, is_old)| holds(range, at) && (*is_old || declares(range)))
    };
    for name in context.index.occurrences().iter().filter(|name| name.role != Role::Declare) {
        let reason = match &name.meaning {
            Meaning::Declared(spot) => places.get(spot),
            Meaning::Member(home, member) => members.get(&(home.0, member.clone())),
            _ => None,
        };
        let declared = match &name.meaning {
            Meaning::Declared(spot) => Some(*spot),
            _ => None,
        };
        let Some(reason) = reason.filter(|_| !is_inside(name.span, declared)) else { continue };
        let finding = found
            .add(name.span, format!("`{}` is deprecated", context.text(name.span).trim_matches(['"', '\''])));
        if let Some(reason) = reason {
            finding.help(reason.to_string());
        }
    }
}

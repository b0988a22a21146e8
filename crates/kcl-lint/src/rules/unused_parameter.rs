//! L0102: an argument of a schema that nothing reads.

use kcl_check::index::{DefKind, Level as Owner, Meaning};
use kcl_syntax::ast::{SchemaDef, Stmt};
use kcl_syntax::program::Package;
use rustc_hash::FxHashSet;

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0102",
    id: "unused-argument",
    kind: "UnusedArgument",
    level: Level::Warning,
    summary: "an argument of a schema or rule that its body never reads",
    why: "Who makes an instance must give a value that changes nothing. Remove the argument, or begin its name with `_` to say that \
          it is kept on purpose. Parameters of lambdas are not judged: who calls them decides how many there are.",
    bad: "schema Disk[size: int, unit: str]:\n    \"\"\"A disk.\"\"\"\n    bytes: int = size\n\nd = Disk(3, \"Gi\") {}\n",
    good: "schema Disk[size: int]:\n    \"\"\"A disk.\"\"\"\n    bytes: int = size\n\nd = Disk(3) {}\n",
    fix: FixKind::None,
    checks: &[Check::Package(check)],
};

fn check(context: &Context<'_>, found: &mut Findings<'_>) {
    let handed_on = handed_on(context);
    for def in context.index.defs() {
        if def.kind == DefKind::Parameter
            && def.level == Owner::Schema
            && !def.name.starts_with('_')
            && !context.is_read(def)
            && !handed_on.contains(&def.span.start)
        {
            found
                .add(def.span, format!("the argument `{}` is never read", def.name))
                .help("remove it, or begin its name with `_`");
        }
    }
}

/// Arguments that the base of a schema takes, too: a base gets the arguments of the instance, by position.
fn handed_on(context: &Context<'_>) -> FxHashSet<u32> {
    let mut found = FxHashSet::default();
    for node in &context.tree.stmts {
        if let Stmt::Schema(def) = &node.kind
            && let Some(base) = base_of(context, context.package, def)
        {
            let taken = arguments(context, base, 0);
            found.extend(def.params.iter().take(taken).map(|param| param.name.span.start));
        }
    }
    found
}

/// Bases are followed this far; a longer chain is an error of the program.
const BASES: usize = 32;

/// How many arguments a schema and its bases take.
fn arguments(context: &Context<'_>, (package, def): (&Package, &SchemaDef), depth: usize) -> usize {
    let above = match base_of(context, package, def) {
        Some(base) if depth < BASES => arguments(context, base, depth + 1),
        _ => 0,
    };
    above.max(def.params.len())
}

/// The base of a schema of this package; how bases elsewhere go on is not looked up.
fn base_of<'a>(
    context: &Context<'a>,
    package: &Package,
    def: &SchemaDef,
) -> Option<(&'a Package, &'a SchemaDef)> {
    if !std::ptr::eq(package, context.package) {
        return None;
    }
    let name = def.base.as_ref()?.parts.last()?;
    let Meaning::Declared(spot) = &context.occurrence(name.span.start)?.meaning else { return None };
    let home = context.package_of(*spot)?;
    let base = home.tree.stmts.iter().find_map(|node| match &node.kind {
        Stmt::Schema(base) if base.name.span == spot.span => Some(&**base),
        _ => None,
    });
    base.map(|base| (home, base))
}

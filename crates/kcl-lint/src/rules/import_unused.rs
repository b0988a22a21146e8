//! W0411: imported but unused.

use kcl_check::index::DefKind;
use kcl_syntax::ast::{Stmt, Str};
use kcl_syntax::program::ImportTarget;
use rustc_hash::FxHashMap;

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "W0411",
    id: "import-unused",
    kind: "UnusedImportWarning",
    level: Level::Warning,
    summary: "an import that its file does not use",
    why: "Every import costs loading and reading. Removing one of a system module changes nothing. A package is evaluated when it is \
          imported, so removing such an import is an unsafe fix: an assertion in the package would no longer be looked at.",
    bad: "import math\nimport regex\n\na = math.pow(2, 3)\n",
    good: "import math\n\na = math.pow(2, 3)\n",
    fix: FixKind::Mixed,
    checks: &[Check::Package(check)],
};

fn check(context: &Context<'_>, found: &mut Findings<'_>) {
    let tree = context.tree;
    for file in &tree.files {
        // A second import of a name is used if the first one is: names mean the first.
        let mut seen: FxHashMap<Str, bool> = FxHashMap::default();
        for stmt in &file.body {
            let Stmt::Import(import) = tree.stmt(*stmt) else { continue };
            let Some(bound) = import.alias.as_ref().or(import.path.last()) else { continue };
            let Some(def) = context.index.def_at(bound.span).filter(|def| def.kind == DefKind::Import) else {
                continue;
            };
            let is_first = !seen.contains_key(&bound.name);
            if *seen.entry(bound.name.clone()).or_insert_with(|| context.is_read(def)) {
                continue;
            }
            let link = context.package.imports.iter().find(|link| link.stmt == *stmt);
            let system = link.is_some_and(|link| matches!(link.target, ImportTarget::System(_)));
            // Where something else has the name, too, `name.member` may still mean the module when the program runs.
            let alone = context.index.defs().iter().filter(|other| other.name == bound.name).count() == 1;
            let safe = system && alone;
            let span = tree.stmt_span(*stmt);
            let finding = found.add(span, format!("Module '{}' imported but unused", bound.name));
            finding.help("remove the import");
            // The second is removed by the rule about repeated imports.
            if let Some(lines) = context.whole_lines(span).filter(|_| is_first) {
                finding.replace(context.package, safe, lines, "");
            }
        }
    }
}

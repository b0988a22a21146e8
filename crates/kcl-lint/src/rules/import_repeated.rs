//! W0404: imported twice in one file.

use kcl_syntax::ast::{Stmt, Str};
use kcl_syntax::program::ImportTarget;

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "W0404",
    id: "import-repeated",
    kind: "ReimportWarning",
    level: Level::Warning,
    summary: "a file imports a module twice",
    why: "The second import does nothing, or gives the module a second name. Remove it, and use one name.",
    bad: "import math\nimport math\n\na = math.pow(2, 3)\n",
    good: "import math\n\na = math.pow(2, 3)\n",
    fix: FixKind::Safe,
    checks: &[Check::Package(check)],
};

fn check(context: &Context<'_>, found: &mut Findings<'_>) {
    let tree = context.tree;
    for file in &tree.files {
        let mut seen: Vec<(&ImportTarget, Str)> = Vec::new();
        for stmt in &file.body {
            let Stmt::Import(import) = tree.stmt(*stmt) else { continue };
            let Some(link) = context.package.imports.iter().find(|link| link.stmt == *stmt) else { continue };
            let name = import.bound_name();
            let Some((_, first)) = seen.iter().find(|(target, _)| **target == link.target) else {
                seen.push((&link.target, name));
                continue;
            };
            // Under another name it is read by that name.
            let same = *first == name;
            let span = tree.stmt_span(*stmt);
            let finding = found.add(span, format!("Module '{name}' is reimported multiple times"));
            if let Some(lines) = context.whole_lines(span).filter(|_| same) {
                finding.help("remove the second import").replace(context.package, true, lines, "");
            }
        }
    }
}

//! W0404: imported twice in one file.

use kcl_syntax::ast::{Stmt, Str};
use rustc_hash::FxHashMap;

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "W0404",
    id: "import-repeated",
    kind: "ReimportWarning",
    level: Level::Warning,
    summary: "a file imports a module twice under one name",
    why: "The second import does nothing. Remove it.",
    bad: "import math\nimport math\n\na = math.pow(2, 3)\n",
    good: "import math\n\na = math.pow(2, 3)\n",
    fix: FixKind::Safe,
    checks: &[Check::Package(check)],
};

fn check(context: &Context<'_>, found: &mut Findings<'_>) {
    let tree = context.tree;
    for file in &tree.files {
        let mut seen: FxHashMap<Str, String> = FxHashMap::default();
        for stmt in &file.body {
            let Stmt::Import(import) = tree.stmt(*stmt) else { continue };
            let (name, path) = (import.bound_name(), import.raw_path());
            let Some(first) = seen.get(&name) else {
                seen.insert(name, path);
                continue;
            };
            let same = *first == path;
            let span = tree.stmt_span(*stmt);
            let finding = found.add(span, format!("Module '{name}' is reimported multiple times"));
            if let Some(lines) = context.whole_lines(span).filter(|_| same) {
                finding.help("remove the second import").replace(context.package, true, lines, "");
            }
        }
    }
}

//! W0413: an import after another statement.

use kcl_syntax::ast::Stmt;

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "W0413",
    id: "import-position",
    kind: "ImportPositionWarning",
    level: Level::Warning,
    summary: "an import that stands after another statement",
    why: "Imports hold for the whole package, wherever they stand. At the top of the file a reader sees what it depends on.",
    bad: "a = 1\nimport math\n\nb = math.pow(a, 2)\n",
    good: "import math\n\na = 1\nb = math.pow(a, 2)\n",
    fix: FixKind::None,
    checks: &[Check::Package(check)],
};

fn check(context: &Context<'_>, found: &mut Findings<'_>) {
    let tree = context.tree;
    for file in &tree.files {
        let is_import = |stmt: &&kcl_syntax::ast::StmtId| matches!(tree.stmt(**stmt), Stmt::Import(_));
        for stmt in file.body.iter().skip_while(is_import).filter(is_import) {
            let message = "The import stmt should be placed at the top of the module";
            found.add(tree.stmt_span(*stmt), message).help("move it above the first statement");
        }
    }
}

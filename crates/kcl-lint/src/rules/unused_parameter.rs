//! L0102: an argument of a schema that nothing reads.

use kcl_check::index::{DefKind, Level as Owner};

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
    for def in context.index.defs() {
        if def.kind == DefKind::Parameter
            && def.level == Owner::Schema
            && !def.name.starts_with('_')
            && !context.is_read(def)
        {
            found
                .add(def.span, format!("the argument `{}` is never read", def.name))
                .help("remove it, or begin its name with `_`");
        }
    }
}

//! L0104: an ignore that ignores nothing. Found where ignores are applied.

use crate::rule::{FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0104",
    id: "unused-ignore",
    kind: "UnusedIgnore",
    level: Level::Warning,
    summary: "a `# kcl-lint: ignore[..]` that ignores nothing",
    why: "The finding is gone, the rule does not exist, or the comment stands on the wrong line: at the end of a line it holds for \
          that line, alone on a line for the next one that is no comment.",
    bad: "_a = 1  # kcl-lint: ignore[unused-variable]\nb = _a\n",
    good: "_a = 1  # kcl-lint: ignore[unused-variable]\nb = 2\n",
    fix: FixKind::None,
    checks: &[],
};

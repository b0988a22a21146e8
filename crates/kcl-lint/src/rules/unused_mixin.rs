//! L0103: a mixin that no schema takes, or takes twice.

use kcl_check::index::DefKind;
use kcl_syntax::ast::{Stmt, StmtId};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0103",
    id: "unused-mixin",
    kind: "UnusedMixin",
    level: Level::Warning,
    summary: "a mixin that no schema takes, or that one takes twice",
    why: "A mixin does something only in the schemas that list it. In a package that others import it may serve them, so it is \
          judged there only if its name begins with `_`. A mixin that is listed twice runs twice.",
    bad: "mixin _LabelMixin:\n    \"\"\"Labels.\"\"\"\n    label: str = \"a\"\n\nschema App:\n    \"\"\"An application.\"\"\"\n    \
          name: str = \"x\"\n\napp = App {}\n",
    good: "mixin _LabelMixin:\n    \"\"\"Labels.\"\"\"\n    label: str = \"a\"\n\nschema App:\n    \"\"\"An application.\"\"\"\n    \
           mixin [_LabelMixin]\n    name: str = \"x\"\n\napp = App {}\n",
    fix: FixKind::None,
    checks: &[Check::Package(unused), Check::Stmt(repeated)],
};

fn unused(context: &Context<'_>, found: &mut Findings<'_>) {
    for def in context.index.defs() {
        let judged = context.input.is_program || def.name.starts_with('_');
        if def.kind == DefKind::Mixin && judged && !context.is_read(def) {
            found
                .add(def.span, format!("no schema takes the mixin `{}`", def.name))
                .help("remove it, or list it: `mixin [..]`");
        }
    }
}

fn repeated(context: &Context<'_>, id: StmtId, found: &mut Findings<'_>) {
    let Stmt::Schema(def) = context.tree.stmt(id) else { return };
    for (at, mixin) in def.mixins.iter().enumerate() {
        let name = context.text(mixin.span);
        if def.mixins[..at].iter().any(|other| context.text(other.span) == name) {
            found
                .add(mixin.span, format!("the mixin `{name}` is listed twice, so it runs twice"))
                .help("list it once");
        }
    }
}

//! L0201: a local name that hides one of the package.

use kcl_check::index::{DefKind, Level as Owner, is_builtin};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0201",
    id: "shadowing",
    kind: "Shadowing",
    level: Level::Info,
    summary: "a loop variable, parameter or local that hides a name of the package or a built-in function",
    why: "Inside, the name means something else than outside, and an assignment in a lambda does not change the variable of the \
          file. Another name says what is meant.",
    bad: "name = \"a\"\nupper = lambda name: str -> str {\n    name.upper()\n}\nu = upper(name)\n",
    good: "name = \"a\"\nupper = lambda text: str -> str {\n    text.upper()\n}\nu = upper(name)\n",
    fix: FixKind::None,
    checks: &[Check::Package(check)],
};

fn check(context: &Context<'_>, found: &mut Findings<'_>) {
    for def in context.index.defs() {
        let what = match (def.kind, def.level) {
            (DefKind::LoopVariable, _) => "the loop variable",
            (DefKind::Parameter, _) => "the parameter",
            (DefKind::Variable, Owner::Lambda) => "the local variable",
            _ => continue,
        };
        if let Some(outer) = context.index.global(&def.name).filter(|outer| outer.span != def.span) {
            let kind = context.index.def_at(outer.span).map_or("name", |outer| outer.kind.word());
            found
                .add(def.span, format!("{what} `{}` hides the {kind} of that name", def.name))
                .related(context.package, outer.span, "hidden")
                .help("give it another name");
        } else if is_builtin(&def.name) {
            found
                .add(def.span, format!("{what} `{0}` hides the built-in function `{0}`", def.name))
                .help("give it another name");
        }
    }
}

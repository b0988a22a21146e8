//! L0402: names that do not look like what they are.

use kcl_check::index::{DefKind, Level as Owner};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0402",
    id: "names",
    kind: "Names",
    level: Level::Info,
    summary: "a schema that is not named `LikeThis`, or a variable that is",
    why: "Readers tell schemas from values by their first letter. Schemas, mixins, protocols and rules are written `LikeThis`; \
          variables, parameters and loop variables `likeThis`, `like_this` or `LIKE_THIS`. Attributes are not judged: they follow \
          the format that they make.",
    bad: "schema app_config:\n    \"\"\"A configuration.\"\"\"\n    name: str = \"a\"\n",
    good: "schema AppConfig:\n    \"\"\"A configuration.\"\"\"\n    name: str = \"a\"\n",
    fix: FixKind::None,
    checks: &[Check::Package(check)],
};

fn check(context: &Context<'_>, found: &mut Findings<'_>) {
    for def in context.index.defs() {
        let bare = def.name.trim_start_matches('_');
        let is_schema =
            matches!(def.kind, DefKind::Schema | DefKind::Mixin | DefKind::Protocol | DefKind::Rule);
        let is_value = matches!(def.kind, DefKind::Variable | DefKind::Parameter | DefKind::LoopVariable);
        let upper = bare.starts_with(char::is_uppercase);
        if is_schema && (!upper || bare.contains('_')) {
            let message = format!("the {} `{}` is not written `LikeThis`", def.kind.word(), def.name);
            found.add(def.span, message).help(format!("call it `{}`", camel(bare)));
        }
        let like_schema = upper && bare.len() > 1 && bare.contains(char::is_lowercase);
        if is_value && def.level != Owner::Schema && like_schema {
            let message = format!("the {} `{}` is written like a schema", def.kind.word(), def.name);
            found.add(def.span, message).help("begin it with a small letter");
        }
    }
}

fn camel(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    name.split('_').map(word).collect()
}

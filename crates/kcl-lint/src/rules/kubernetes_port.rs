//! L0602: ports that Kubernetes refuses.

use kcl_syntax::ast::{Entry, Expr, ExprId, Key, UnaryOp};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0602",
    id: "kubernetes-port",
    kind: "KubernetesPort",
    level: Level::Warning,
    summary: "a port that Kubernetes refuses",
    why: "The server refuses it. Judged are `containerPort`, `hostPort`, `nodePort` and `targetPort`, which only Kubernetes has. A port is a number from 1 to 65535, without quotes; \
          `targetPort` may also be the name of a port: at most 15 small letters, digits and `-`, with a letter among them.",
    bad: "ports = [{containerPort = \"8080\"}]\nservice = {targetPort = 80800}\n",
    good: "ports = [{containerPort = 8080}]\nservice = {targetPort = 8080}\n",
    fix: FixKind::None,
    checks: &[Check::Expr(expr)],
};

fn expr(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let Expr::Config(entries) = context.tree.expr(id) else { return };
    for Entry { key, key_span, value, .. } in entries {
        let (Key::Name(key) | Key::Str(key)) = key else { continue };
        let (zero, names) = match key.as_str() {
            "containerPort" => (false, false),
            // Nothing is said, and the server chooses.
            "hostPort" | "nodePort" => (true, false),
            "targetPort" => (true, true),
            _ => continue,
        };
        let wrong = match context.tree.expr(*value) {
            Expr::Int(0) if zero => None,
            Expr::Int(number) if (1..=65535).contains(number) => None,
            Expr::Int(number) => Some((format!("`{number}` is no port"), "ports are 1 to 65535")),
            Expr::Unary(UnaryOp::Minus, inner) if matches!(context.tree.expr(*inner), Expr::Int(1..)) => {
                Some((
                    format!("`{}` is no port", context.text(context.tree.expr_span(*value))),
                    "ports are 1 to 65535",
                ))
            }
            Expr::Str(text) => text_problem(text, key, names),
            _ => None,
        };
        if let Some((message, help)) = wrong.filter(|_| !context.is_text_attribute(*key_span)) {
            found.add(context.tree.expr_span(*value), message).help(help);
        }
    }
}

fn text_problem(text: &str, key: &str, names: bool) -> Option<(String, &'static str)> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    // What has other characters is filled in by somebody: `$(PORT)`, `{{ .port }}`.
    if text.is_empty() || !text.chars().all(plain) {
        return None;
    }
    if text.parse::<u64>().is_ok() {
        return Some((format!("`{key}` is a number, but this is a text"), "leave the quotes out"));
    }
    match names {
        true if is_name(text) => None,
        true => Some((
            format!("`{text}` is no name of a port"),
            "at most 15 small letters, digits and single `-` between them, with a letter among them",
        )),
        false => Some((format!("`{text}` is no port"), "ports are 1 to 65535")),
    }
}

/// A name of a port, as the server has it.
fn is_name(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.len() <= 15
        && text.chars().all(fine)
        && text.contains(|c: char| c.is_ascii_lowercase())
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

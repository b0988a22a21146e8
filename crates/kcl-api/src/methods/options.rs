//! `ListOptions`: the calls of `option()` in a program.

use kcl_syntax::ast::{Call, Expr, ExprId, Tree};
use kcl_syntax::program::{Package, Program};

use super::{compiler, parse_request, refuse_no_input};
use crate::messages::{ListOptionsResult, OptionHelp, ParseProgramArgs};
use crate::{Answer, Budget};

/// Lists what a program asks for with `option()`: the main package, in the order of its text.
///
/// # Errors
/// No input.
pub fn list_options(args: &ParseProgramArgs, budget: &Budget) -> Answer<ListOptionsResult> {
    let loaded = compiler(budget).load(&parse_request(args, budget)?);
    refuse_no_input(&loaded.diagnostics, &loaded.program.sources)?;
    let main = loaded.program.main_package();
    let mut calls: Vec<(u32, &Call)> = Vec::new();
    for node in &main.tree.exprs {
        if let Expr::Call(call) = &node.kind
            && matches!(main.tree.expr(call.func), Expr::Name(parts) if parts.len() == 1 && parts[0].name == "option")
        {
            calls.push((node.span.start, call));
        }
    }
    calls.sort_by_key(|(start, _)| *start);
    let options = calls.into_iter().map(|(_, call)| option(&loaded.program, main, call)).collect();
    Ok(ListOptionsResult { options })
}

fn option(program: &Program, package: &Package, call: &Call) -> OptionHelp {
    let tree = &package.tree;
    let argument = |name: &str, position: usize| {
        let named = call.kwargs.iter().find(|keyword| keyword.name.name == name).map(|keyword| keyword.value);
        named.or_else(|| call.args.get(position).copied())
    };
    let text = |id: Option<ExprId>| id.and_then(|id| literal(tree, id)).unwrap_or_default();
    let default = argument("default", 3).map(|id| source_text(program, package, id)).unwrap_or_default();
    OptionHelp {
        name: text(argument("key", 0)),
        r#type: text(argument("type", 1)),
        required: argument("required", 2).is_some_and(|id| matches!(tree.expr(id), Expr::Bool(true))),
        default_value: default,
        help: text(argument("help", 4)),
    }
}

fn literal(tree: &Tree, id: ExprId) -> Option<String> {
    match tree.expr(id) {
        Expr::Str(text) => Some(text.to_string()),
        _ => None,
    }
}

/// An expression as it is written.
pub(super) fn source_text(program: &Program, package: &Package, id: ExprId) -> String {
    let span = package.tree.expr_span(id);
    let (file, start) = package.locate(span.start);
    let end = start + (span.end - span.start);
    let text = program.sources.get(file).and_then(|source| source.text.get(start as usize..end as usize));
    text.unwrap_or_default().trim().to_owned()
}

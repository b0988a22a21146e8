//! An override (`-O path=value`) as changes of the source: what `kcl run -d -O` writes back.

use base_diag::{FileId, Mistake as _};
use kcl_syntax::ast::{EntryOp, Expr, ExprId, Key, Tree};
use kcl_syntax::lower::{OverrideKind, parse_override};
use kcl_syntax::mistake::Mistake;
use kcl_syntax::parse_expr;
use kcl_syntax::source::{SourcePath, Step, entries, literal_braces};

use crate::{Action, Change, Refusal, text_literal};

/// Takes an override apart: a merge (`path:{..}`) is a change for each of its entries, `+=` one for each item.
///
/// # Errors
/// The text is no override, or what it merges has computed keys.
pub fn changes_of_override(text: &str) -> Result<Vec<Change>, Refusal> {
    let refused =
        |id, message: &str| Refusal::new(id, message, "write PATH=VALUE, PATH:{..}, PATH+=[..] or PATH-");
    let wrong = |message: &str| refused("bad-override", message);
    let spec = parse_override(text).map_err(|mistake| match mistake {
        Mistake::OverrideFormat { .. } => refused("override-format", &mistake.sentence()),
        _ => wrong(&mistake.sentence()),
    })?;
    let mut out = Vec::new();
    let OverrideKind::Set(op) = spec.kind else {
        return Ok(vec![Change { path: spec.path, action: Action::Unset }]);
    };
    let mut tree = Tree::default();
    let (id, _) = parse_expr(&mut tree, spec.value, FileId(0), 0);
    let value = Written { tree: &tree, text: spec.value };
    value.changes(&spec.path, op, id, &mut out).map_err(wrong)?;
    Ok(out)
}

struct Written<'a> {
    tree: &'a Tree,
    text: &'a str,
}

impl Written<'_> {
    // Depth is bounded by the height of the tree.
    fn changes(
        &self,
        path: &SourcePath,
        op: EntryOp,
        value: ExprId,
        out: &mut Vec<Change>,
    ) -> Result<(), &'static str> {
        let mut push = |action| out.push(Change { path: path.clone(), action });
        match (op, self.tree.expr(value), literal_braces(self.tree, value)) {
            (EntryOp::Insert, Expr::List(items), _) => {
                items.iter().for_each(|item| push(Action::Append(self.slice(*item))));
            }
            (EntryOp::Insert, ..) => return Err("only a list that is written out can be appended"),
            (EntryOp::Union, _, Some(braces)) => {
                for entry in entries(self.tree, braces) {
                    let (Key::Name(key) | Key::Str(key)) = &entry.key else {
                        return Err("a computed key cannot be merged into a file");
                    };
                    let mut below = path.clone();
                    below.steps.push(Step::Key(key.clone()));
                    self.changes(&below, entry.op, entry.value, out)?;
                }
            }
            // An override takes these for text.
            (_, Expr::Unary(..) | Expr::Binary(..) | Expr::As(..), _) if self.is_whole(value) => {
                push(Action::Set(text_literal(self.text)));
            }
            _ => push(Action::Set(self.slice(value))),
        }
        Ok(())
    }

    fn is_whole(&self, value: ExprId) -> bool {
        let span = self.tree.expr_span(value);
        span.start == 0 && span.end as usize == self.text.len()
    }

    fn slice(&self, value: ExprId) -> String {
        let span = self.tree.expr_span(value);
        self.text.get(span.start as usize..span.end as usize).unwrap_or("").to_owned()
    }
}

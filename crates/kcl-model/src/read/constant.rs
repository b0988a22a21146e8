//! Values that are known without running anything.

use kcl_syntax::ast::{Entry, Expr, ExprId, Key, Tree, UnaryOp};

use crate::value::Value;

/// Values nest this deep.
const MAX_DEPTH: u32 = 64;

/// Returns the value of a constant expression.
pub(super) fn value(tree: &Tree, id: ExprId) -> Option<Value> {
    value_at(tree, id, 0)
}

fn value_at(tree: &Tree, id: ExprId, depth: u32) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    let inner = |id: ExprId| value_at(tree, id, depth + 1);
    Some(match tree.expr(id) {
        Expr::None => Value::None,
        Expr::Bool(b) => Value::Bool(*b),
        Expr::Int(i) => Value::Int(*i),
        Expr::Float(f) if f.is_finite() => Value::Float(*f),
        Expr::Str(text) => Value::Str(text.to_string()),
        Expr::Unary(UnaryOp::Minus, operand) => match inner(*operand)? {
            Value::Int(i) => Value::Int(i.checked_neg()?),
            Value::Float(f) => Value::Float(-f),
            _ => return None,
        },
        Expr::Paren(operand) => inner(*operand)?,
        Expr::List(items) => Value::List(items.iter().map(|item| inner(*item)).collect::<Option<_>>()?),
        Expr::Config(entries) => map(entries, &inner)?,
        _ => return None,
    })
}

fn map(entries: &[Entry], inner: &dyn Fn(ExprId) -> Option<Value>) -> Option<Value> {
    let mut found: Vec<(String, Value)> = Vec::new();
    for entry in entries {
        let (Key::Name(key) | Key::Str(key)) = &entry.key else { return None };
        // Entries of one key are merged when the program runs.
        if found.iter().any(|(known, _)| known == key) {
            return None;
        }
        found.push((key.to_string(), inner(entry.value)?));
    }
    Some(Value::Map(found))
}

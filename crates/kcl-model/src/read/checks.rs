//! Lines of check blocks that other formats can say, too: ranges, lengths, patterns, membership.
//!
//! Only what follows from the line is taken: whoever satisfies the check satisfies the constraint. The other direction
//! holds for each line that is taken whole, which is the common case.

use kcl_syntax::ast::{BinaryOp, Check, CompareOp, Expr, ExprId, QuantOp, Tree};

use super::constant;
use crate::constraint::{Constraint, Rule, Subject, When};
use crate::value::Value;

/// Operands of `and` are followed this deep.
const MAX_DEPTH: u32 = 64;

/// Returns what a line demands of single attributes; `regex` are the names of the system module.
pub(super) fn constraints(tree: &Tree, line: &Check, regex: &[String]) -> Vec<Constraint> {
    let mut found = Vec::new();
    Finder { tree, regex }.condition(line.cond, &mut found, 0);
    let Some(guard) = line.guard else { return found };
    let guard = guarded(tree, guard);
    found.retain_mut(|constraint| match &guard {
        Some((attribute, when)) if attribute == constraint.subject.attribute() => {
            constraint.when = *when;
            true
        }
        _ => false,
    });
    found
}

/// Reads `x`, `x != None`, `x not in [None, Undefined]`: the attribute, and what is asked of it.
fn guarded(tree: &Tree, guard: ExprId) -> Option<(String, When)> {
    match tree.expr(guard) {
        Expr::Paren(inner) => guarded(tree, *inner),
        Expr::Name(_) => name(tree, guard).map(|name| (name, When::Truthy)),
        Expr::Compare(left, steps) => {
            let [(op, right)] = &steps[..] else { return None };
            let nothing = |id: ExprId| matches!(tree.expr(id), Expr::None | Expr::Undefined);
            let asked = match op {
                CompareOp::Ne | CompareOp::IsNot => nothing(*right),
                CompareOp::NotIn => {
                    matches!(tree.expr(*right), Expr::List(items) if items.iter().all(|item| nothing(*item)))
                }
                _ => false,
            };
            name(tree, *left).filter(|_| asked).map(|name| (name, When::Set))
        }
        _ => None,
    }
}

/// A plain name.
fn name(tree: &Tree, id: ExprId) -> Option<String> {
    match tree.expr(id) {
        Expr::Name(parts) if parts.len() == 1 => Some(parts[0].name.to_string()),
        Expr::Paren(inner) => name(tree, *inner),
        _ => None,
    }
}

struct Finder<'a> {
    tree: &'a Tree,
    regex: &'a [String],
}

/// The subject of a comparison: an attribute or its length.
enum Measured {
    Itself(String),
    Length(String),
}

impl Finder<'_> {
    fn condition(&self, id: ExprId, found: &mut Vec<Constraint>, depth: u32) {
        if depth > MAX_DEPTH {
            return;
        }
        match self.tree.expr(id) {
            Expr::Paren(inner) => self.condition(*inner, found, depth + 1),
            Expr::Binary(BinaryOp::And, left, right) => {
                self.condition(*left, found, depth + 1);
                self.condition(*right, found, depth + 1);
            }
            Expr::Compare(first, steps) => {
                let mut left = *first;
                for (op, right) in steps {
                    found.extend(self.comparison(left, *op, *right));
                    left = *right;
                }
            }
            Expr::Call(call) => found.extend(self.call(call)),
            Expr::Quant(quant) if quant.op == QuantOp::All && quant.cond.is_none() => {
                self.elements(quant, found, depth + 1);
            }
            _ => {}
        }
    }

    /// `all v in xs { rule(v) }`; with two variables the second one is the value of a dict or list.
    fn elements(&self, quant: &kcl_syntax::ast::Quant, found: &mut Vec<Constraint>, depth: u32) {
        let Some(list) = name(self.tree, quant.iter) else { return };
        let (variable, subject) = match &quant.targets[..] {
            [one] => (one.name.as_str(), Subject::Each(list)),
            [_, second] => (second.name.as_str(), Subject::EachValue(list)),
            _ => return,
        };
        let mut inner = Vec::new();
        self.condition(quant.body, &mut inner, depth);
        inner
            .retain(|constraint| matches!(&constraint.subject, Subject::Attribute(name) if name == variable));
        found.extend(
            inner.into_iter().map(|constraint| Constraint { subject: subject.clone(), ..constraint }),
        );
    }

    fn comparison(&self, left: ExprId, op: CompareOp, right: ExprId) -> Option<Constraint> {
        if let Some(subject) = self.measured(left) {
            return rule(subject, op, constant::value(self.tree, right)?);
        }
        let turned = match op {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            CompareOp::Eq => CompareOp::Eq,
            _ => return None,
        };
        rule(self.measured(right)?, turned, constant::value(self.tree, left)?)
    }

    fn measured(&self, id: ExprId) -> Option<Measured> {
        match self.tree.expr(id) {
            Expr::Call(call) if self.calls(call.func, &["len"]) => match &call.args[..] {
                [one] if call.kwargs.is_empty() => name(self.tree, *one).map(Measured::Length),
                _ => None,
            },
            _ => name(self.tree, id).map(Measured::Itself),
        }
    }

    fn calls(&self, func: ExprId, path: &[&str]) -> bool {
        matches!(self.tree.expr(func), Expr::Name(parts)
            if parts.len() == path.len() && parts.iter().zip(path).all(|(part, wanted)| part.name == *wanted))
    }

    fn call(&self, call: &kcl_syntax::ast::Call) -> Option<Constraint> {
        let subject = Subject::Attribute(name(self.tree, *call.args.first()?)?);
        let second = call.args.get(1).and_then(|value| constant::value(self.tree, *value));
        let matches = |module: &String| {
            self.calls(call.func, &[module, "match"]) || self.calls(call.func, &[module, "search"])
        };
        let rule = match (call.args.len(), second) {
            _ if !call.kwargs.is_empty() => return None,
            (1, None) if self.calls(call.func, &["isunique"]) => Rule::Unique,
            (2, Some(Value::Int(n))) if n > 0 && self.calls(call.func, &["multiplyof"]) => {
                Rule::MultipleOf(n)
            }
            (2, Some(Value::Str(pattern))) if self.regex.iter().any(matches) => Rule::Pattern(pattern),
            _ => return None,
        };
        Some(Constraint { subject, when: When::Always, rule })
    }
}

fn rule(subject: Measured, op: CompareOp, value: Value) -> Option<Constraint> {
    let (name, rule) = match subject {
        Measured::Length(name) => {
            let Value::Int(n) = value else { return None };
            let n = u64::try_from(n).ok()?;
            let rule = match op {
                CompareOp::Ge => Rule::MinLen(n),
                CompareOp::Gt => Rule::MinLen(n.checked_add(1)?),
                CompareOp::Le => Rule::MaxLen(n),
                CompareOp::Lt => Rule::MaxLen(n.checked_sub(1)?),
                _ => return None,
            };
            (name, rule)
        }
        Measured::Itself(name) => (name, value_rule(op, value)?),
    };
    Some(Constraint { subject: Subject::Attribute(name), when: When::Always, rule })
}

fn value_rule(op: CompareOp, value: Value) -> Option<Rule> {
    let number = matches!(value, Value::Int(_) | Value::Float(_));
    Some(match (op, value) {
        (CompareOp::Ge, value) if number => Rule::Min(value, false),
        (CompareOp::Gt, value) if number => Rule::Min(value, true),
        (CompareOp::Le, value) if number => Rule::Max(value, false),
        (CompareOp::Lt, value) if number => Rule::Max(value, true),
        (CompareOp::Eq, value @ (Value::Int(_) | Value::Str(_) | Value::Bool(_))) => Rule::OneOf(vec![value]),
        (CompareOp::In, Value::List(values)) => Rule::OneOf(values),
        (CompareOp::NotIn, Value::List(values)) => Rule::NoneOf(values),
        _ => return None,
    })
}

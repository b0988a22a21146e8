//! Expressions.

use std::rc::Rc;

use kcl_syntax::ast::{BinaryOp, Call, CompareOp, Expr, ExprId, JoinPart, Keyword, UnaryOp};
use kcl_value::{Function, List, OriginId, Str, Unit, Value};

use crate::call::Closure;
use crate::fault::Eval;
use crate::machine::{Machine, TEXT_CELL};
use crate::mistake::Mistake;
use crate::origin::OriginKind;

/// What a call was given: by position, and by name.
type Arguments = (Vec<Value>, Vec<(Str, Value)>);

impl<'p> Machine<'p> {
    /// Computes an expression.
    pub(crate) fn expr(&mut self, id: ExprId) -> Eval<Value> {
        self.step()?;
        let tree = self.tree(self.pkg);
        let node = &tree.exprs[id.0 as usize];
        self.start_at(node.span);
        let value = match &node.kind {
            Expr::Name(parts) => return self.load_dotted(parts),
            Expr::Int(i) => Value::Int(*i),
            Expr::Str(text) => Value::Str(text.clone()),
            Expr::Bool(b) => Value::Bool(*b),
            Expr::None => Value::None,
            Expr::Undefined | Expr::Missing => Value::Undefined,
            Expr::Float(f) => Value::Float(*f),
            Expr::Unit(raw, suffix) => {
                let unit = Unit { raw: *raw, suffix: suffix.text(), value: *raw as f64 * suffix.factor() };
                Value::Unit(Rc::new(unit))
            }
            compound => {
                self.enter()?;
                let value = self.compound(id, compound)?;
                self.leave();
                return Ok(value);
            }
        };
        if self.origins.is_some() {
            self.trace_written(id);
        }
        Ok(value)
    }

    // Apart, so that literals are cheap when nobody asks where they stand.
    #[cold]
    fn trace_written(&mut self, id: ExprId) {
        self.origin = Default::default();
        self.trace(self.tree(self.pkg).expr_span(id), OriginKind::Written);
    }

    fn compound(&mut self, id: ExprId, expr: &'p Expr) -> Eval<Value> {
        match expr {
            Expr::Joined(parts) => self.joined(parts),
            Expr::Paren(inner) => self.expr(*inner),
            Expr::Unary(op, operand) => self.unary_expr(*op, *operand),
            Expr::Binary(op, left, right) => self.binary_expr(*op, *left, *right),
            Expr::Compare(first, rest) => self.compare_chain(*first, rest),
            Expr::As(value, ty) => {
                let value = self.expr(*value)?;
                let ty = self.rtype(self.pkg, *ty);
                self.pack_strict(value, ty)
            }
            Expr::If { cond, then, orelse } => {
                let branch = if self.decide(*cond)? { then } else { orelse };
                self.expr(*branch)
            }
            Expr::Selector { .. } | Expr::Index { .. } | Expr::Slice { .. } => self.part(expr),
            Expr::Call(call) => self.call_expr(id, call),
            Expr::List(items) => self.list(items),
            Expr::ListIf { .. } | Expr::Star(_) => self.loose_item(id),
            Expr::ListComp { elt, clauses } => self.list_comp(*elt, clauses),
            Expr::Config(entries) => Ok(self.braces(entries)?.into()),
            Expr::DictComp { entry, clauses } => self.dict_comp(entry, clauses),
            Expr::Quant(quant) => self.quantifier(quant),
            Expr::Schema(schema) => self.schema_expr(schema),
            Expr::Lambda(_) => Ok(self.closure(id)),
            _ => Ok(Value::Undefined),
        }
    }

    /// A part of a value: `x.name`, `x[i]`, `x[i:j:k]`; with `?`, nothing has no parts.
    fn part(&mut self, expr: &'p Expr) -> Eval<Value> {
        match expr {
            Expr::Selector { value, name, optional } => {
                let value = self.expr(*value)?;
                if *optional && !value.truthy() {
                    return Ok(Value::None);
                }
                self.select(&value, &name.name)
            }
            Expr::Index { value, index, optional } => {
                let value = self.expr(*value)?;
                let index = self.expr(*index)?;
                if *optional && !value.truthy() {
                    return Ok(Value::None);
                }
                self.index(&value, &index)
            }
            Expr::Slice { value, lower, upper, step, optional } => {
                let value = self.expr(*value)?;
                let bounds = [self.bound(*lower)?, self.bound(*upper)?, self.bound(*step)?];
                if *optional && !value.truthy() {
                    return Ok(Value::None);
                }
                self.slice(&value, bounds)
            }
            _ => Ok(Value::Undefined),
        }
    }

    fn call_expr(&mut self, id: ExprId, call: &'p Call) -> Eval<Value> {
        let func = self.expr(call.func)?;
        let (args, kwargs) = self.arguments(&call.args, &call.kwargs)?;
        if self.origins.is_none() {
            return self.call_value(&func, args, kwargs);
        }
        let before = self.begin_call(self.tree(self.pkg).expr_span(id).start);
        let value = self.call_value(&func, args, kwargs)?;
        self.end_frame(before);
        Ok(value)
    }

    fn closure(&mut self, id: ExprId) -> Value {
        let closure = Closure {
            package: self.pkg,
            expr: id,
            frames: self.packages[self.pkg].frames.capture(),
            record: self.record().cloned(),
            global: self.cx.text.global,
            foreign: self.cx.text.text,
            scopes: self.scopes(),
        };
        Value::Func(Rc::new(Function::Lambda(Rc::new(closure))))
    }

    fn bound(&mut self, expr: Option<ExprId>) -> Eval<Value> {
        expr.map_or(Ok(Value::None), |e| self.expr(e))
    }

    /// Computes arguments in order: positional, then keyword.
    pub(crate) fn arguments(&mut self, args: &[ExprId], kwargs: &[Keyword]) -> Eval<Arguments> {
        let mut origins = Vec::new();
        let mut positional = Vec::with_capacity(args.len());
        for arg in args {
            positional.push(self.expr(*arg)?);
            self.note_origin(&mut origins);
        }
        let mut keyword = Vec::with_capacity(kwargs.len());
        for kw in kwargs {
            keyword.push((kw.name.name.clone(), self.expr(kw.value)?));
            self.note_origin(&mut origins);
        }
        self.pass_origins(origins);
        Ok((positional, keyword))
    }

    fn note_origin(&self, origins: &mut Vec<OriginId>) {
        if self.origins.is_some() {
            origins.push(self.origin);
        }
    }

    fn joined(&mut self, parts: &[JoinPart]) -> Eval<Value> {
        // One buffer serves all strings; a string inside a placeholder finds it taken and uses another.
        let mut out = std::mem::take(&mut self.scratch);
        out.clear();
        let span = self.at.1;
        for part in parts {
            match part {
                JoinPart::Text(text) => out.push_str(text),
                JoinPart::Value { expr, spec } => {
                    let value = self.expr(*expr)?;
                    self.charge_whole(&value)?;
                    match spec.as_deref().map(str::to_ascii_lowercase).as_deref() {
                        Some("#json") => out.push_str(&kcl_std::format_json_inline(&value)),
                        Some("#yaml") => out.push_str(&kcl_std::format_yaml_inline(&value)),
                        _ => kcl_value::write_text(&mut out, &value),
                    }
                }
            }
        }
        self.charge(1 + (out.len() / TEXT_CELL) as u64)?;
        if self.origins.is_some() {
            self.trace(base_diag::Span::new(span, span), OriginKind::Written);
        }
        let text = Value::Str(out.as_str().into());
        self.scratch = out;
        Ok(text)
    }

    fn unary_expr(&mut self, op: UnaryOp, operand: ExprId) -> Eval<Value> {
        let value = self.expr(operand)?;
        self.unary(op, value)
    }

    fn binary_expr(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> Eval<Value> {
        let left = self.expr(left)?;
        match op {
            BinaryOp::And if !left.truthy() => return Ok(left),
            BinaryOp::Or if left.truthy() => return Ok(left),
            BinaryOp::And | BinaryOp::Or => return self.expr(right),
            _ => {}
        }
        let right = self.expr(right)?;
        self.binary(op, left, right)
    }

    fn compare_chain(&mut self, first: ExprId, rest: &[(CompareOp, ExprId)]) -> Eval<Value> {
        let mut left = self.expr(first)?;
        let mut result = Value::Bool(true);
        for (op, right) in rest {
            let right = self.expr(*right)?;
            result = Value::Bool(self.compare(*op, &left, &right)?);
            if !result.truthy() {
                break;
            }
            left = right;
        }
        Ok(result)
    }

    fn list(&mut self, items: &[ExprId]) -> Eval<Value> {
        self.charge(1 + items.len() as u64)?;
        let mut list = List { items: Vec::with_capacity(items.len()), origins: Vec::new() };
        self.push_items(&mut list, items)?;
        Ok(list.into())
    }

    fn push_items(&mut self, list: &mut List, items: &[ExprId]) -> Eval<()> {
        let tree = self.tree(self.pkg);
        for item in items {
            match tree.expr(*item) {
                Expr::Star(inner) => {
                    let value = self.expr(*inner)?;
                    self.unpack_into(list, &value)?;
                }
                Expr::ListIf { cond, then, orelse } => {
                    let branch = if self.decide(*cond)? { then } else { orelse };
                    self.push_items(list, branch)?;
                }
                _ => {
                    let value = self.expr(*item)?;
                    list.push(value, self.origin);
                }
            }
        }
        Ok(())
    }

    // Inside a comprehension an `if` item is a list of its own, or None when it is not taken.
    fn loose_item(&mut self, id: ExprId) -> Eval<Value> {
        match self.tree(self.pkg).expr(id) {
            Expr::ListIf { cond, then, orelse } => {
                let taken = self.decide(*cond)?;
                let branch = if taken { then } else { orelse };
                if branch.is_empty() { Ok(Value::None) } else { self.list(branch) }
            }
            Expr::Star(inner) => self.expr(*inner),
            _ => Ok(Value::Undefined),
        }
    }

    fn unpack_into(&mut self, list: &mut List, value: &Value) -> Eval<()> {
        match value {
            Value::List(items) => {
                self.charge(items.items.len() as u64)?;
                for (i, item) in items.items.iter().enumerate() {
                    list.push(item.clone(), items.origin(i));
                }
            }
            Value::Dict(_) | Value::Schema(_) => {
                for key in value.as_dict().into_iter().flat_map(|d| d.keys()) {
                    list.push(Value::Str(key.clone()), self.origin);
                }
            }
            Value::None | Value::Undefined => {}
            other => return Err(self.cannot_unpack(other)),
        }
        Ok(())
    }

    pub(crate) fn cannot_unpack(&self, value: &Value) -> Box<crate::Fault> {
        self.fault(Mistake::CannotUnpack { value: value.clone() })
    }
}

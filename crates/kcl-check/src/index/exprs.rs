//! The walk over expressions.

use base_diag::Span;
use kcl_syntax::ast::{
    Call, CompClause, Entry, Expr, ExprId, Ident, JoinPart, Key, Keyword, Lambda, Quant, SchemaExpr, Stmt,
    Str,
};

use super::frames::FrameKind;
use super::walk::Walk;
use super::{DefKind, Level, Meaning, Role, Spot, members};
use crate::ty::{Ty, TyId};

impl<'a> Walk<'a> {
    pub(super) fn expr(&mut self, id: ExprId) {
        let tree = self.tree;
        match tree.expr(id) {
            Expr::Missing
            | Expr::Int(_)
            | Expr::Unit(..)
            | Expr::Float(_)
            | Expr::Str(_)
            | Expr::Bool(_)
            | Expr::None
            | Expr::Undefined => {}
            Expr::Name(parts) => self.dotted(parts, Role::Read),
            Expr::Joined(parts) => {
                for part in parts {
                    if let JoinPart::Value { expr, .. } = part {
                        self.expr(*expr);
                    }
                }
            }
            Expr::Unary(_, inner) | Expr::Paren(inner) | Expr::Star(inner) => self.expr(*inner),
            Expr::Binary(_, left, right) => self.exprs(&[*left, *right]),
            Expr::Compare(first, links) => {
                self.expr(*first);
                links.iter().for_each(|(_, right)| self.expr(*right));
            }
            Expr::As(value, ty) => {
                self.expr(*value);
                self.ty(*ty);
            }
            Expr::If { cond, then, orelse } => self.exprs(&[*cond, *then, *orelse]),
            Expr::Selector { value, name, .. } => {
                self.expr(*value);
                let meaning = self.member_of(*value, &name.name);
                self.member_part(name, meaning, Role::Read);
            }
            Expr::Index { value, index, .. } => {
                self.exprs(&[*value, *index]);
                if let Expr::Str(key) = tree.expr(*index) {
                    let span = tree.expr_span(*index);
                    let meaning = self.member_of(*value, key);
                    self.member_part(&Ident { name: key.clone(), span }, meaning, Role::Read);
                }
            }
            Expr::Slice { value, lower, upper, step, .. } => {
                self.expr(*value);
                [lower, upper, step].into_iter().flatten().for_each(|bound| self.expr(*bound));
            }
            Expr::Call(call) => self.call(call),
            Expr::List(items) => self.exprs(items),
            Expr::ListIf { cond, then, orelse } => {
                self.expr(*cond);
                self.exprs(then);
                self.exprs(orelse);
            }
            Expr::ListComp { elt, clauses } => {
                self.enter(FrameKind::Loop);
                self.clauses(clauses);
                self.expr(*elt);
                self.leave();
            }
            Expr::Config(entries) => self.config(id, entries),
            Expr::DictComp { entry, clauses } => self.dict_comp(entry, clauses),
            Expr::Quant(quant) => self.quant(quant),
            Expr::Schema(schema) => self.schema_expr(schema),
            Expr::Lambda(lambda) => self.lambda(lambda),
        }
    }

    pub(super) fn exprs(&mut self, all: &[ExprId]) {
        all.iter().for_each(|expr| self.expr(*expr));
    }

    fn member_of(&self, value: ExprId, name: &Str) -> Option<Meaning> {
        let ty = self.records.expr_type(value)?;
        members::member(self.types, ty, name)
    }

    /// `a.b.c`: the first part by scope, the others by the types of what stands before them.
    pub(super) fn dotted(&mut self, parts: &[Ident], role: Role) {
        let Some((first, rest)) = parts.split_first() else { return };
        let only = if rest.is_empty() { role } else { Role::Read };
        let meaning = self.name_part(first, only);
        let Some(second) = rest.first() else { return };
        let mut before = first;
        for part in rest {
            let ty = self.records.part_type(before.span.start);
            let mut found = ty.and_then(|ty| members::member(self.types, ty, &part.name));
            if found.is_none() && std::ptr::eq(part, second) && meaning.is_some() && ty.is_none() {
                found = self.member_of_import(first, part);
            }
            self.member_part(part, found, role);
            before = part;
        }
    }

    fn call(&mut self, call: &'a Call) {
        self.expr(call.func);
        self.exprs(&call.args);
        let ty = self.records.expr_type(call.func);
        for keyword in &call.kwargs {
            let spot = ty.and_then(|ty| self.parameter(ty, &keyword.name.name));
            let spot = spot.or_else(|| self.parameter_below(call.func, &keyword.name.name));
            self.keyword(keyword, spot);
        }
    }

    fn keyword(&mut self, keyword: &'a Keyword, spot: Option<Spot>) {
        self.member_part(&keyword.name, spot.map(Meaning::Declared), Role::Write);
        self.expr(keyword.value);
    }

    /// The parameter of what is called.
    fn parameter(&self, ty: TyId, name: &str) -> Option<Spot> {
        let params = match self.types.types.kind(ty) {
            Ty::Func(func) => &func.params,
            Ty::Schema(id, _) => &self.types.schemas.get(id.0 as usize)?.info.params,
            _ => return None,
        };
        let loc = params.iter().find(|param| param.name == name)?.loc?;
        Some(Spot { home: loc.pkg, span: loc.span })
    }

    /// The parameter of a lambda that is assigned further down, whose type the checker does not know yet.
    fn parameter_below(&mut self, func: ExprId, name: &str) -> Option<Spot> {
        let tree = self.tree;
        let Expr::Name(parts) = tree.expr(func) else { return None };
        let [one] = &**parts else { return None };
        let Some(Meaning::Declared(spot)) = self.lookup(&one.name) else { return None };
        let below =
            tree.files.iter().flat_map(|file| &file.body).find_map(|stmt| match tree.stmt(*stmt) {
                Stmt::Assign { targets, value, .. } if targets.iter().any(|t| t.name.span == spot.span) => {
                    Some(*value)
                }
                _ => None,
            })?;
        let Expr::Lambda(lambda) = tree.expr(below) else { return None };
        let param = lambda.params.iter().find(|param| param.name.name == name)?;
        Some(self.here(param.name.span))
    }

    fn schema_expr(&mut self, schema: &'a SchemaExpr) {
        self.expr(schema.name);
        self.exprs(&schema.args);
        let ty = self.records.expr_type(schema.name);
        for keyword in &schema.kwargs {
            let spot = ty.and_then(|ty| self.parameter(ty, &keyword.name.name));
            self.keyword(keyword, spot);
        }
        self.expr(schema.config);
    }

    fn lambda(&mut self, lambda: &'a Lambda) {
        for param in &lambda.params {
            param.ty.into_iter().for_each(|ty| self.ty(ty));
            param.default.into_iter().for_each(|default| self.expr(default));
        }
        lambda.ret.into_iter().for_each(|ty| self.ty(ty));
        self.enter(FrameKind::Lambda);
        for param in &lambda.params {
            self.declare(DefKind::Parameter, Level::Lambda, &param.name);
        }
        lambda.body.iter().for_each(|stmt| self.stmt(*stmt));
        self.leave();
    }

    // --- loops -------------------------------------------------------------------------------------------------

    fn clauses(&mut self, clauses: &'a [CompClause]) {
        for clause in clauses {
            self.expr(clause.iter);
            self.loop_variables(&clause.targets);
            clause.cond.into_iter().for_each(|cond| self.expr(cond));
        }
    }

    fn loop_variables(&mut self, targets: &'a [Ident]) {
        for target in targets {
            self.declare(DefKind::LoopVariable, Level::Loop, target);
        }
    }

    fn quant(&mut self, quant: &'a Quant) {
        self.enter(FrameKind::Loop);
        self.expr(quant.iter);
        self.loop_variables(&quant.targets);
        quant.cond.into_iter().for_each(|cond| self.expr(cond));
        self.expr(quant.body);
        self.leave();
    }

    fn dict_comp(&mut self, entry: &'a Entry, clauses: &'a [CompClause]) {
        self.enter(FrameKind::Loop);
        self.clauses(clauses);
        let (dotted, value) = self.dotted_key(entry);
        match &entry.key {
            Key::Name(_) => self.dotted(&dotted, Role::Read),
            Key::Computed(key) => self.expr(*key),
            Key::If { cond, orelse } => {
                self.expr(*cond);
                orelse.iter().for_each(|orelse| self.expr(*orelse));
            }
            Key::Str(_) | Key::Indexed(..) | Key::Unpack => {}
        }
        self.expr(value);
        self.leave();
    }

    /// `{x.name: v for ..}`: the key is an expression, which the tree holds as nested braces.
    fn dotted_key(&self, entry: &Entry) -> (Vec<Ident>, ExprId) {
        let mut value = entry.value;
        let mut parts = Vec::new();
        let Key::Name(first) = &entry.key else { return (parts, value) };
        parts.push(Ident { name: first.clone(), span: entry.key_span });
        while let Expr::Config(entries) = self.tree.expr(value)
            && let [inner] = &**entries
            && let Key::Name(name) = &inner.key
            && inner.key_span.start == self.tree.expr_span(value).start
        {
            parts.push(Ident { name: name.clone(), span: inner.key_span });
            value = inner.value;
        }
        (parts, value)
    }

    // --- braces ------------------------------------------------------------------------------------------------

    fn config(&mut self, id: ExprId, entries: &'a [Entry]) {
        let expected = self.records.expected_type(id);
        self.enter(FrameKind::Braces);
        self.entries(entries, expected);
        self.leave();
    }

    fn entries(&mut self, entries: &'a [Entry], expected: Option<TyId>) {
        for entry in entries {
            match &entry.key {
                Key::Name(name) | Key::Str(name) | Key::Indexed(name, _) => {
                    self.expr(entry.value);
                    self.key(entry, name, expected);
                }
                Key::Computed(key) => self.exprs(&[*key, entry.value]),
                Key::Unpack => self.expr(entry.value),
                Key::If { cond, orelse } => {
                    self.expr(*cond);
                    self.branch(entry.value, expected);
                    orelse.iter().for_each(|orelse| self.branch(*orelse, expected));
                }
            }
        }
    }

    /// What stands under an `if` is an entry of the braces around it.
    fn branch(&mut self, branch: ExprId, expected: Option<TyId>) {
        match self.tree.expr(branch) {
            Expr::Config(entries) => self.entries(entries, expected),
            _ => self.expr(branch),
        }
    }

    fn key(&mut self, entry: &'a Entry, name: &'a Str, expected: Option<TyId>) {
        let span = key_name(entry, name);
        if matches!(entry.key, Key::Name(_))
            && let Some(spot) = self.loop_variable(name)
        {
            self.occur(span, Meaning::Declared(spot), Role::Read);
            return;
        }
        let attribute = expected.and_then(|ty| members::key(self.types, ty, name));
        let spot = match attribute {
            Some(spot) => spot,
            None => {
                let first = self.frames.last_mut().and_then(|frame| frame.get(name));
                first.unwrap_or_else(|| self.here(span))
            }
        };
        let is_new = spot == self.here(span);
        if is_new {
            self.define(DefKind::Key, Level::Braces, &Ident { name: name.clone(), span });
        } else {
            self.occur(span, Meaning::Declared(spot), Role::Write);
        }
        let hidden = self
            .current_schema()
            .is_some_and(|id| members::attribute_in_body(self.types, id, name).is_some());
        if !hidden && let Some(frame) = self.frames.last_mut() {
            frame.declare(name, spot);
        }
    }

    /// The loop variable that a bare key stands for.
    fn loop_variable(&mut self, name: &str) -> Option<Spot> {
        let frames = self.frames.iter_mut().rev();
        frames.filter(|frame| frame.kind == FrameKind::Loop).find_map(|frame| frame.get(name))
    }
}

/// The range of the name in a key: `name[0]` without its index.
fn key_name(entry: &Entry, name: &str) -> Span {
    match &entry.key {
        Key::Indexed(..) => {
            let end = entry.key_span.start + name.len() as u32;
            Span::new(entry.key_span.start, end.min(entry.key_span.end))
        }
        _ => entry.key_span,
    }
}

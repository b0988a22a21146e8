//! Lists, comprehensions and quantifiers.

use base_diag::Span;
use kcl_syntax::ast::{CompClause, Entry, Expr, ExprId, Ident, Key, Quant, QuantOp, Str};

use crate::checker::{Checker, Expect};
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::scope::ScopeKind;
use crate::ty::{Ty, TyId};

impl<R: Recorder> Checker<'_, R> {
    pub(crate) fn list(&mut self, items: &[ExprId]) -> TyId {
        self.push_item();
        let mut types = Vec::with_capacity(items.len());
        for item in items {
            types.push(self.expr(*item));
        }
        self.expects.pop();
        let item = self.types.sup(&types);
        self.types.list(item)
    }

    /// Pushes what a list's items are expected to be.
    fn push_item(&mut self) {
        let top = self.expects.last().cloned().unwrap_or_default();
        let ty = top.ty.and_then(|ty| self.item_expectation(ty));
        self.expects.push(match ty {
            Some(ty) => Expect { ty: Some(ty), loc: top.loc },
            None => Expect::default(),
        });
    }

    fn item_expectation(&mut self, ty: TyId) -> Option<TyId> {
        match self.types.kind(ty).clone() {
            Ty::List(item) => Some(item),
            Ty::Dict(dict) => Some(dict.val),
            Ty::Schema(id, _) => self.schema_index(id).map(|i| i.val),
            Ty::Union(members) => {
                let mut offers = Vec::new();
                for member in members.iter() {
                    // Quirk: not what its lists offer.
                    if matches!(self.types.kind(*member), Ty::Schema(..) | Ty::Dict(_)) {
                        offers.extend(self.item_expectation(*member));
                    }
                }
                (!offers.is_empty()).then(|| self.types.sup(&offers))
            }
            _ => None,
        }
    }

    /// `*x`: the items it contributes.
    pub(crate) fn unpacked_item(&mut self, value: ExprId) -> TyId {
        let ty = self.expr(value);
        match self.types.kind(ty) {
            Ty::List(_) | Ty::Dict(_) | Ty::Schema(..) | Ty::None => self.items_of(ty),
            Ty::Any => TyId::ANY,
            Ty::Union(members) if members.iter().all(|m| self.has_items(*m)) => {
                let members = members.clone();
                let items: Vec<TyId> = members.iter().map(|m| self.items_of(*m)).collect();
                self.types.sup(&items)
            }
            _ => {
                self.error(self.tree.expr_span(value), &Mistake::CannotUnpack);
                TyId::ANY
            }
        }
    }

    fn has_items(&self, ty: TyId) -> bool {
        matches!(self.types.kind(ty), Ty::List(_) | Ty::Dict(_) | Ty::Schema(..) | Ty::None)
    }

    fn items_of(&self, ty: TyId) -> TyId {
        match self.types.kind(ty) {
            Ty::List(item) => *item,
            Ty::Dict(dict) => dict.key,
            Ty::Schema(..) => TyId::STR,
            _ => TyId::VOID,
        }
    }

    pub(crate) fn list_if(&mut self, cond: ExprId, then: &[ExprId], orelse: &[ExprId]) -> TyId {
        self.expr(cond);
        // Quirks: the else part is looked at first, and the items of a plain `else` are judged like a list inside
        // the list.
        let elif = matches!(orelse, [one] if matches!(self.tree.expr(*one), Expr::ListIf { .. }));
        if !elif {
            self.push_item();
        }
        let mut all: Vec<TyId> = orelse.iter().map(|e| self.expr(*e)).collect();
        if !elif {
            self.expects.pop();
        }
        all.extend(then.iter().map(|e| self.expr(*e)));
        if orelse.is_empty() { TyId::ANY } else { self.types.sup(&all) }
    }

    pub(crate) fn list_comp(&mut self, elt: ExprId, clauses: &[CompClause]) -> TyId {
        self.enter(ScopeKind::Loop);
        // What is expected of the items is in force for the clauses, too.
        self.push_item();
        self.clauses(clauses);
        let item = self.expr(elt);
        self.expects.pop();
        if matches!(self.tree.expr(elt), Expr::Star(_)) {
            self.error(self.tree.expr_span(elt), &Mistake::ListUnpackedInComprehension);
        }
        self.leave();
        self.loop_keys.clear();
        self.types.list(item)
    }

    pub(crate) fn dict_comp(&mut self, entry: &Entry, clauses: &[CompClause]) -> TyId {
        self.enter(ScopeKind::Loop);
        self.clauses(clauses);
        let (dotted, value) = self.dotted_key(entry);
        let value_span = self.tree.expr_span(value);
        let key = match &entry.key {
            Key::Name(_) if dotted.len() > 1 => self.name(&dotted, entry.key_span),
            Key::Name(name) => match self.lookup(name) {
                Some(ty) => ty,
                None => {
                    self.undefined(name, entry.key_span);
                    TyId::ANY
                }
            },
            Key::Str(text) | Key::Indexed(text, _) => self.types.str_lit(text),
            Key::Computed(expr) => self.expr(*expr),
            Key::Unpack | Key::If { .. } => {
                self.error(value_span, &Mistake::DictUnpackedInComprehension);
                TyId::ANY
            }
        };
        self.must_be_key(key, entry.key_span);
        self.push_comp_value(entry);
        let val = self.expr(value);
        self.expects.pop();
        self.leave();
        self.loop_keys.clear();
        self.types.dict(key, val)
    }

    /// `{x.name: v for ..}`: the key is an expression here, not nested braces. The tree holds it nested; braces that were
    /// made from a dotted key start at their own key.
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

    /// Pushes what the value of a dict comprehension is expected to be.
    fn push_comp_value(&mut self, entry: &Entry) {
        let top = self.expects.last().cloned().unwrap_or_default();
        let expect = match (top.ty, &entry.key) {
            (Some(ty), Key::Str(name) | Key::Name(name)) => self.entry_expectation(ty, name, &top),
            (Some(ty), Key::Computed(key)) if let Some(name) = self.indexed_name(*key) => {
                self.entry_expectation(ty, &name, &top)
            }
            (_, Key::Computed(key)) if !matches!(self.tree.expr(*key), Expr::Joined(_)) => top,
            _ => Expect::default(),
        };
        self.expects.push(expect);
    }

    /// Quirk: of the key `p[0]` with a literal number what is expected is that of the key `p`.
    fn indexed_name(&self, key: ExprId) -> Option<Str> {
        let Expr::Index { value, index, .. } = self.tree.expr(key) else { return None };
        let Expr::Name(parts) = self.tree.expr(*value) else { return None };
        let number = match self.tree.expr(*index) {
            Expr::Unary(_, inner) => *inner,
            _ => *index,
        };
        matches!(self.tree.expr(number), Expr::Int(_) | Expr::Unit(..)).then(|| parts[0].name.clone())
    }

    pub(crate) fn quant(&mut self, quant: &Quant) -> TyId {
        self.enter(ScopeKind::Loop);
        let iter = self.expr(quant.iter);
        self.loop_variables(&quant.targets, iter, self.tree.expr_span(quant.iter));
        self.guard(quant.cond);
        let body = self.expr(quant.body);
        self.leave();
        self.loop_keys.clear();
        match quant.op {
            QuantOp::All | QuantOp::Any => TyId::BOOL,
            QuantOp::Map => self.types.list(body),
            QuantOp::Filter => iter,
        }
    }

    fn clauses(&mut self, clauses: &[CompClause]) {
        for clause in clauses {
            let iter = self.expr(clause.iter);
            self.loop_variables(&clause.targets, iter, self.tree.expr_span(clause.iter));
            if let Some(cond) = clause.cond {
                self.expr(cond);
            }
        }
    }

    fn loop_variables(&mut self, targets: &[Ident], iter: TyId, at: Span) {
        let (first, second) = self.iterated(iter, targets.len(), at);
        let (first, second) = (self.types.widen(first), self.types.widen(second));
        for (target, ty) in targets.iter().zip([first, second]) {
            self.declare(&target.name, ty);
            self.loop_keys.push(target.name.clone());
        }
        if let [_, second, _, ..] = targets {
            let at = Span::new(second.span.end, second.span.end);
            self.error(at, &Mistake::LoopVariables { count: targets.len() });
        }
    }

    /// Types of the first and second loop variable.
    fn iterated(&mut self, iter: TyId, count: usize, at: Span) -> (TyId, TyId) {
        let one = count < 2;
        match self.types.kind(iter).clone() {
            Ty::Any => (TyId::ANY, TyId::ANY),
            Ty::List(item) => (if one { item } else { TyId::INT }, item),
            Ty::Str | Ty::StrLit(_) => (if one { TyId::STR } else { TyId::INT }, TyId::STR),
            Ty::Dict(dict) => (dict.key, dict.val),
            Ty::Schema(id, _) => (TyId::STR, self.schema_index(id).map_or(TyId::ANY, |i| i.val)),
            Ty::Union(members) => {
                let parts: Vec<(TyId, TyId)> = members.iter().map(|m| self.iterated(*m, count, at)).collect();
                let first: Vec<TyId> = parts.iter().map(|p| p.0).collect();
                let second: Vec<TyId> = parts.iter().map(|p| p.1).collect();
                (self.types.sup(&first), self.types.sup(&second))
            }
            _ => {
                self.not_iterable(iter, at);
                (TyId::ANY, TyId::ANY)
            }
        }
    }
}

//! Names, members, subscripts, literals, and the dispatch over all expressions.

use base_diag::Span;
use kcl_syntax::ast::{Expr, ExprId, Ident, JoinPart, Str, Type, TypeId};

use super::ops;
use crate::checker::Checker;
use crate::diag::RawDiag;
use crate::globals::{Global, GlobalKind};
use crate::index::Recorder;
use crate::mistake::{Mistake, Shown};
use crate::scope::{ScopeKind, Var};
use crate::signatures::{self, Table};
use crate::suggest;
use crate::ty::{FuncTy, ModuleKind, ModuleTy, ParamTy, SchemaId, Ty, TyId};
use crate::words;

/// Deeper expressions are not looked into; the parser stops long before.
const MAX_DEPTH: u32 = 2000;

impl<R: Recorder> Checker<'_, R> {
    /// Infers an expression.
    pub(crate) fn expr(&mut self, id: ExprId) -> TyId {
        if self.depth >= MAX_DEPTH {
            return TyId::ANY;
        }
        self.depth += 1;
        let ty = self.expr_kind(id);
        self.depth -= 1;
        self.recorder.expr(id, ty);
        ty
    }

    fn expr_kind(&mut self, id: ExprId) -> TyId {
        let tree = self.tree;
        let span = tree.expr_span(id);
        match tree.expr(id) {
            Expr::Missing => TyId::ANY,
            Expr::Name(parts) => {
                self.last_span = span;
                self.name(parts, span)
            }
            Expr::Int(value) => self.types.intern(Ty::IntLit(*value)),
            Expr::Unit(raw, suffix) => self.types.intern(Ty::Unit(Some((*raw, *suffix)))),
            Expr::Float(value) => self.types.intern(Ty::FloatLit(value.to_bits())),
            Expr::Str(text) => self.types.str_lit(text),
            Expr::Joined(parts) => self.joined(parts),
            Expr::Bool(value) => self.types.intern(Ty::BoolLit(*value)),
            Expr::None | Expr::Undefined => TyId::NONE,
            Expr::Unary(op, operand) => {
                let ty = self.expr(*operand);
                ops::unary(self, *op, ty, tree.expr_span(*operand))
            }
            Expr::Binary(op, left, right) => {
                let l = self.expr(*left);
                let r = self.expr(*right);
                ops::binary(self, *op, l, r, tree.expr_span(*left), Some(*right))
            }
            Expr::Compare(first, links) => self.compare(*first, links),
            Expr::As(value, ty) => self.cast(*value, *ty),
            Expr::If { cond, then, orelse } => {
                self.expr(*cond);
                let then = self.expr(*then);
                let orelse = self.expr(*orelse);
                self.types.sup(&[then, orelse])
            }
            Expr::Paren(inner) => self.expr(*inner),
            Expr::Selector { value, name, optional } => self.selector(*value, name, *optional),
            Expr::Index { value, index, .. } => {
                let ty = self.expr(*value);
                self.index_type(ty, *index, tree.expr_span(*value))
            }
            Expr::Slice { value, lower, upper, step, .. } => self.slice(*value, [*lower, *upper, *step]),
            Expr::Call(call) => self.call(call),
            Expr::List(items) => self.list(items),
            Expr::Star(value) => self.unpacked_item(*value),
            Expr::ListIf { cond, then, orelse } => self.list_if(*cond, then, orelse),
            Expr::ListComp { elt, clauses } => self.list_comp(*elt, clauses),
            Expr::Config(entries) => {
                self.recorder.expected(id, self.expects.last().and_then(|expect| expect.ty));
                self.config(entries)
            }
            Expr::DictComp { entry, clauses } => self.dict_comp(entry, clauses),
            Expr::Quant(quant) => self.quant(quant),
            Expr::Schema(schema) => self.schema_expr(schema),
            Expr::Lambda(lambda) => self.lambda(lambda),
        }
    }

    /// Infers `a.b.c`; every mistake points at `at`.
    pub(crate) fn name(&mut self, parts: &[Ident], at: Span) -> TyId {
        let Some((first, rest)) = parts.split_first() else { return TyId::ANY };
        let Some(mut ty) = self.lookup(&first.name) else {
            self.undefined(&first.name, at);
            return TyId::ANY;
        };
        self.recorder.part(first.span, ty);
        for part in rest {
            ty = self.member(ty, &part.name, at);
            self.recorder.part(part.span, ty);
        }
        ty
    }

    fn selector(&mut self, value: ExprId, name: &Ident, optional: bool) -> TyId {
        let ty = self.expr(value);
        if optional && matches!(self.types.kind(ty), Ty::Module(_)) {
            // The reference points at the `?`.
            let end = self.tree.expr_span(value).end;
            let mistake = Mistake::OptionalModuleMember { name: name.name.clone() };
            self.error(Span::new(end, end), &mistake);
        }
        let at = if optional { name.span } else { self.run_start(value, name.span) };
        let member = self.member(ty, &name.name, at);
        if matches!(self.types.kind(ty), Ty::Str | Ty::StrLit(_)) && member != TyId::ANY {
            self.leak_method(name, member);
        }
        member
    }

    /// Quirk: a method of a string that is no name (`"a".upper()`) becomes a name of the innermost scope, with its type.
    fn leak_method(&mut self, name: &Ident, ty: TyId) {
        if let Some(scope) = self.scopes.last() {
            let own = match scope.kind {
                ScopeKind::Schema(id) => {
                    self.schema_info(id).assigned.contains(&name.name)
                        || self.schema_attr(id, &name.name).is_some()
                }
                _ => false,
            };
            if let Some(scope) = self.scopes.last_mut().filter(|_| !own) {
                scope.vars.insert(name.name.clone(), Var { ty, annotated: false });
            }
            return;
        }
        match self.globals.get_mut(&name.name) {
            Some(global) if matches!(global.kind, GlobalKind::Var { .. }) => global.ty = ty,
            Some(_) => {}
            None => {
                let kind = GlobalKind::Var { annotated: false, lambda: None };
                self.globals.insert(name.name.clone(), Global { kind, ty, decl: name.span });
            }
        }
    }

    /// `.a.b.c` after an expression is one step for the reference: mistakes point at its first name.
    fn run_start(&self, mut value: ExprId, mut at: Span) -> Span {
        while let Expr::Selector { value: inner, name, optional } = self.tree.expr(value) {
            at = name.span;
            if *optional {
                break;
            }
            value = *inner;
        }
        at
    }

    /// Infers `ty.name`.
    pub(crate) fn member(&mut self, ty: TyId, name: &str, at: Span) -> TyId {
        match self.types.kind(ty).clone() {
            Ty::Any | Ty::Union(_) => TyId::ANY,
            Ty::Str | Ty::StrLit(_) => match self.builtin(Table::Strings, name) {
                Some(method) => method,
                None => self.no_member(ty, name, at, &[]),
            },
            Ty::Dict(dict) => match self.types.dict_attr(ty, name) {
                Some(attr) => self.types.widen(attr.ty),
                None => dict.val,
            },
            Ty::Schema(id, true) => self.instance_member(id, ty, name, at),
            Ty::Schema(id, false)
                if name == "instances"
                    && self.schema_attr(id, name).is_none()
                    && self.schema_index(id).is_none() =>
            {
                self.instances_method()
            }
            Ty::Schema(id, false) => match self.schema_attr(id, name) {
                Some(attr) => attr.ty,
                None if self.takes_unknown_members(id) => TyId::ANY,
                None => {
                    let similar = suggest::similar(name, std::iter::once(&"instances".into()));
                    self.no_member(ty, name, at, &similar)
                }
            },
            Ty::Module(module) => self.module_member(ty, &module, name, at),
            _ => self.no_member(ty, name, at, &[]),
        }
    }

    fn no_member(&mut self, ty: TyId, name: &str, at: Span, similar: &[Str]) -> TyId {
        let of = self.shown(ty);
        let mistake = Mistake::UnknownMember { of, name: name.into(), similar: similar.to_vec() };
        let diag = RawDiag::of(&mistake, self.home, at);
        self.report(self.did_you_mean(diag, name, at, similar));
        TyId::ANY
    }

    fn instance_member(&mut self, id: SchemaId, ty: TyId, name: &str, at: Span) -> TyId {
        if let Some(attr) = self.schema_attr(id, name) {
            return attr.ty;
        }
        if self.takes_unknown_members(id) {
            return TyId::ANY;
        }
        // Quirk: attributes of its bases are not looked at.
        let similar = suggest::similar(name, self.schema_info(id).attrs.keys());
        self.no_member(ty, name, at, &similar)
    }

    fn instances_method(&mut self) -> TyId {
        let ret = self.types.list(TyId::ANY);
        let param = ParamTy { name: "full_pkg".into(), ty: TyId::BOOL, optional: true, loc: None };
        self.types.intern(Ty::Func(FuncTy { params: vec![param], ret, variadic: false }.into()))
    }

    fn module_member(&mut self, ty: TyId, module: &ModuleTy, name: &str, at: Span) -> TyId {
        match module.kind {
            ModuleKind::Unknown => TyId::ANY,
            ModuleKind::System => match self.builtin(Table::Modules, &format!("{}.{name}", module.path)) {
                Some(found) => found,
                None => self.not_in_module(ty, name, signatures::members_of(&module.path), at),
            },
            ModuleKind::Package(home) => {
                let Some(package) = self.deps.get(&home).cloned() else { return TyId::ANY };
                if self.options.is_0_13() && name.starts_with('_') && package.members.contains_key(name) {
                    let (module, name) = (module.path.clone(), name.into());
                    self.error(at, &Mistake::PrivateMember { module, name });
                    return TyId::ANY;
                }
                if let Some(member) = package.members.get(name) {
                    return self.import_type(&package, *member);
                }
                if package.import_names.contains(name) {
                    let (module, name) = (module.path.clone(), name.into());
                    self.error(at, &Mistake::ReExported { module, name });
                    return TyId::ANY;
                }
                let members = package.members.keys().filter(|n| !n.starts_with('_')).cloned().collect();
                self.not_in_module(ty, name, members, at)
            }
        }
    }

    /// A member that a module does not have. The reference does not guess; people are told what was perhaps meant.
    fn not_in_module(&mut self, ty: TyId, name: &str, members: Vec<Str>, at: Span) -> TyId {
        // Each hint looks at every name; a file full of mistakes must not become quadratic.
        let similar = suggest::similar(name, members.iter().filter(|_| self.errors.len() < 200));
        let known = similar.is_empty().then(|| words::listed(members.iter())).flatten();
        let mistake = Mistake::NotInModule { module: self.text(ty), name: name.into(), known };
        let diag = RawDiag::of(&mistake, self.home, at);
        self.report(self.did_you_mean(diag, name, at, &similar));
        TyId::ANY
    }

    /// Infers `ty[index]`; `at` is the subscripted expression.
    pub(crate) fn index_type(&mut self, ty: TyId, index: ExprId, at: Span) -> TyId {
        // The index of something unknown, or of something without items, is not looked at.
        let subscriptable = matches!(
            self.types.kind(ty),
            Ty::List(_) | Ty::Str | Ty::StrLit(_) | Ty::Dict(_) | Ty::Schema(..)
        );
        let index_ty = if subscriptable { self.expr(index) } else { TyId::ANY };
        let index_span = self.tree.expr_span(index);
        match self.types.kind(ty).clone() {
            Ty::Any => TyId::ANY,
            Ty::List(item) => {
                self.must_fit(index_ty, TyId::INT, index_span, None);
                item
            }
            Ty::Str | Ty::StrLit(_) => {
                self.must_fit(index_ty, TyId::INT, index_span, None);
                TyId::STR
            }
            Ty::Dict(dict) => match self.types.kind(index_ty).clone() {
                Ty::StrLit(key) => match self.types.dict_attr(ty, &key) {
                    Some(attr) => self.types.widen(attr.ty),
                    None => dict.val,
                },
                Ty::Any | Ty::Str | Ty::None => dict.val,
                _ if self.types.sub(index_ty, TyId::STR) => dict.val,
                _ => self.bad_key(index_ty, at),
            },
            Ty::Schema(id, _) => match self.types.kind(index_ty).clone() {
                Ty::StrLit(key) => self.instance_member(id, ty, &key, at),
                Ty::Any | Ty::Str | Ty::None => self.schema_index(id).map_or(TyId::ANY, |i| i.val),
                _ if self.types.sub(index_ty, TyId::STR) => TyId::ANY,
                _ => self.bad_key(index_ty, at),
            },
            _ => {
                self.not_subscriptable(ty, at);
                TyId::ANY
            }
        }
    }

    fn bad_key(&mut self, key: TyId, at: Span) -> TyId {
        let ty = self.kind_shown(key);
        self.error(at, &Mistake::BadKey { ty });
        TyId::ANY
    }

    fn slice(&mut self, value: ExprId, bounds: [Option<ExprId>; 3]) -> TyId {
        let ty = self.expr(value);
        let at = self.tree.expr_span(value);
        let result = match self.types.kind(ty) {
            Ty::Any => return TyId::ANY,
            Ty::List(_) => ty,
            Ty::Str | Ty::StrLit(_) => TyId::STR,
            Ty::Dict(_) | Ty::Schema(..) => {
                self.error(at, &Mistake::UnhashableSlice);
                return TyId::ANY;
            }
            _ => {
                self.not_subscriptable(ty, at);
                return TyId::ANY;
            }
        };
        for bound in bounds.into_iter().flatten() {
            let got = self.expr(bound);
            let span = self.tree.expr_span(bound);
            self.must_fit(got, TyId::INT, span, None);
        }
        result
    }

    fn joined(&mut self, parts: &[JoinPart]) -> TyId {
        for part in parts {
            let JoinPart::Value { expr, spec } = part else { continue };
            self.expr(*expr);
            if let Some(spec) = spec
                && !matches!(spec.to_lowercase().as_str(), "#json" | "#yaml")
            {
                let span = self.tree.expr_span(*expr);
                self.error(span, &Mistake::FormatSpec { spec: spec.clone() });
            }
        }
        TyId::STR
    }

    /// The text form with the package of a schema.
    fn full_text(&self, ty: TyId) -> String {
        match self.types.kind(ty) {
            Ty::Schema(id, _) => match &self.schemas[id.0 as usize].home {
                Some((home, _)) => format!("{}.{}", home.path, self.schema_name(*id)),
                None => self.text(ty),
            },
            _ => self.text(ty),
        }
    }

    fn cast(&mut self, value: ExprId, target: TypeId) -> TyId {
        let got = self.expr(value);
        let at = self.tree.expr_span(value);
        if let Type::NotAType(right) = self.tree.ty(target) {
            self.expr(*right);
            self.error(at, &Mistake::CastToValue);
            return TyId::ANY;
        }
        let ty = self.resolve_type(target);
        let wide = self.types.widen(got);
        if ty != TyId::ANY && !self.types.sub(ty, wide) {
            let from = Shown { text: self.full_text(got), words: self.kind_words(got) };
            let to = Shown { text: self.full_text(ty), words: self.types.words(ty) };
            self.error(at, &Mistake::Cast { from, to });
        }
        // Like every operator, a cast of any is any.
        if got == TyId::ANY { TyId::ANY } else { ty }
    }
}

//! Written types to types.
//!
//! An unknown name anywhere in an annotation is reported at the start of the whole annotation (of an alias: at its
//! name), as the reference does.

use base_diag::Span;
use kcl_syntax::ast::{BasicType, Ident, LiteralType, Str, Type, TypeId};

use crate::checker::Checker;
use crate::globals::GlobalKind;
use crate::index::Recorder;
use crate::signatures::{self, Table};
use crate::ty::{FuncTy, ParamTy, Ty, TyId};

impl<R: Recorder> Checker<'_, R> {
    /// Resolves an annotation.
    pub(crate) fn resolve_type(&mut self, id: TypeId) -> TyId {
        let at = self.tree.type_span(id);
        self.resolve_annotation(id, at)
    }

    /// Resolves an annotation, reporting at the given place.
    pub(crate) fn resolve_annotation(&mut self, id: TypeId, at: Span) -> TyId {
        let before = self.borrowed.types.len();
        let ty = self.resolve_type_at(id, at);
        if self.borrowed.types.len() > before
            && let Type::Named(parts) = self.tree.ty(id)
        {
            let name = parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(".");
            self.borrowed.name(name.into(), ty);
        }
        ty
    }

    /// Resolves a written type, reporting at the given place.
    pub(crate) fn resolve_type_at(&mut self, id: TypeId, at: Span) -> TyId {
        let tree = self.tree;
        match tree.ty(id) {
            Type::Missing | Type::NotAType(_) | Type::Any => TyId::ANY,
            Type::Basic(BasicType::Bool) => TyId::BOOL,
            Type::Basic(BasicType::Int) => TyId::INT,
            Type::Basic(BasicType::Float) => TyId::FLOAT,
            Type::Basic(BasicType::Str) => TyId::STR,
            Type::Literal(literal) => self.types.intern(literal_type(literal)),
            Type::Named(parts) => {
                if let Some(ty) = self.own_schema(parts) {
                    return ty;
                }
                let parts: Vec<Str> = parts.iter().map(|p| p.name.clone()).collect();
                let ty = self.named_type(&parts, at);
                if self.is_borrowed(&parts) {
                    self.borrowed.types.push((id, ty));
                }
                ty
            }
            Type::List(item) => {
                let item = self.optional_type(*item, at);
                self.types.list(item)
            }
            Type::Dict(key, val) => {
                let key = self.optional_type(*key, at);
                let val = self.optional_type(*val, at);
                self.types.dict(key, val)
            }
            Type::Union(members) => {
                // Kept as written, repetitions included; only nested unions are flattened.
                let mut types: Vec<TyId> = Vec::with_capacity(members.len());
                for member in members {
                    let ty = self.resolve_type_at(*member, at);
                    match self.types.kind(ty) {
                        Ty::Union(parts) => types.extend(parts.iter()),
                        _ => types.push(ty),
                    }
                }
                if let [one] = types.as_slice() { *one } else { self.types.intern(Ty::Union(types.into())) }
            }
            Type::Function(params, ret) => {
                let params = params
                    .iter()
                    .map(|p| ParamTy {
                        name: Str::new(),
                        ty: self.resolve_type_at(*p, at),
                        optional: false,
                        loc: None,
                    })
                    .collect();
                let ret = self.optional_type(*ret, at);
                self.types.intern(Ty::Func(FuncTy { params, ret, variadic: false }.into()))
            }
        }
    }

    /// What most names of types are: a schema of the package, and outside of everything that could hide it.
    fn own_schema(&mut self, parts: &[Ident]) -> Option<TyId> {
        let [name] = parts else { return None };
        match self.globals.get(&name.name).filter(|_| self.scopes.is_empty())?.kind {
            GlobalKind::Schema(id) => {
                let ty = self.types.schema(id, false);
                Some(self.as_instance(ty))
            }
            _ => None,
        }
    }

    fn optional_type(&mut self, id: Option<TypeId>, at: Span) -> TyId {
        id.map_or(TyId::ANY, |id| self.resolve_type_at(id, at))
    }

    /// Whether a written type is the name of something else.
    fn is_borrowed(&self, parts: &[Str]) -> bool {
        let Some(first) = parts.first() else { return false };
        if self.is_local(first) {
            return true;
        }
        match self.globals.get(first).map(|g| &g.kind) {
            Some(GlobalKind::Schema(_) | GlobalKind::Alias) => parts.len() > 1,
            Some(GlobalKind::Module) => parts.len() > 1,
            Some(GlobalKind::Var { .. }) => true,
            None => signatures::contains(Table::Builtins, first),
        }
    }

    /// Resolves the name of a type.
    pub(crate) fn named_type(&mut self, parts: &[Str], at: Span) -> TyId {
        let Some(first) = parts.first() else { return TyId::ANY };
        let value = match self.globals.get(first).map(|g| g.kind.clone()) {
            _ if self.is_local(first) => self.lookup(first).unwrap_or(TyId::ANY),
            Some(GlobalKind::Schema(id)) => self.types.schema(id, false),
            Some(GlobalKind::Alias) => self.globals[first].ty,
            // Quirk: the name of a variable above stands for that variable's type.
            Some(GlobalKind::Module | GlobalKind::Var { .. }) => {
                self.lookup_global(first).unwrap_or(TyId::ANY)
            }
            None if signatures::contains(Table::Builtins, first) => {
                self.builtin(Table::Builtins, first).unwrap_or(TyId::ANY)
            }
            None => {
                self.undefined(first, at);
                return TyId::ANY;
            }
        };
        let ty = parts.iter().skip(1).fold(value, |ty, part| self.member(ty, part, at));
        self.as_instance(ty)
    }

    /// A schema used as a type stands for its instances.
    pub(crate) fn as_instance(&mut self, ty: TyId) -> TyId {
        match self.types.kind(ty) {
            Ty::Schema(id, false) => {
                let id = *id;
                self.types.schema(id, true)
            }
            _ => ty,
        }
    }
}

fn literal_type(literal: &LiteralType) -> Ty {
    match literal {
        LiteralType::Bool(b) => Ty::BoolLit(*b),
        LiteralType::Int(i) => Ty::IntLit(*i),
        LiteralType::Unit(raw, suffix) => Ty::Unit(Some((*raw, *suffix))),
        LiteralType::Float(f) => Ty::FloatLit(f.to_bits()),
        LiteralType::Str(s) => Ty::StrLit(s.clone()),
    }
}

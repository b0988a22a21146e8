//! Assignability `A <: B`: may a value of type A stand where B is expected?
//!
//! Everything here is a pure question about one arena. The relation is deliberately loose where upstream's is: a dict
//! is accepted for every schema (configs are judged key by key elsewhere), a `str` for every string literal type, an int
//! for every float literal type.

use crate::ty::{SchemaId, Ty, TyId, Types};

/// Longest base chain that is followed; longer ones only come from circular inheritance.
const MAX_CHAIN: usize = 1000;

impl Types {
    /// Tells whether a value of type `a` may be stored where `b` is expected.
    pub(crate) fn assignable(&self, a: TyId, b: TyId) -> bool {
        if matches!(self.kind(a), Ty::Module(_)) {
            return a == b;
        }
        a == TyId::ANY || self.relates(a, b, true)
    }

    /// Like [`Types::assignable`], but `any` on the left is only accepted by `any`, and a dict by no schema.
    pub(crate) fn sub(&self, a: TyId, b: TyId) -> bool {
        self.relates(a, b, false)
    }

    fn relates(&self, a: TyId, b: TyId, loose: bool) -> bool {
        if a == b || b == TyId::ANY || a == TyId::NONE || self.shape(a) == self.shape(b) {
            return true;
        }
        let inner = |x: TyId, y: TyId| loose && x == TyId::ANY || self.relates(x, y, loose);
        match (self.kind(a), self.kind(b)) {
            (Ty::Union(members), _) => members.iter().all(|m| self.relates(*m, b, loose)),
            (_, Ty::Union(members)) => {
                members.contains(&a) || members.iter().any(|m| self.relates(a, *m, loose))
            }
            (Ty::Schema(x, _), Ty::Schema(y, _)) => self.inherits(*x, *y),
            (Ty::Int | Ty::IntLit(_), Ty::Float | Ty::FloatLit(_)) => true,
            (Ty::BoolLit(_), Ty::Float | Ty::Bool) => true,
            (Ty::IntLit(_), Ty::Int) | (Ty::FloatLit(_), Ty::Float) => true,
            (Ty::StrLit(_), Ty::Str) | (Ty::Str, Ty::StrLit(_)) => true,
            (Ty::Unit(Some(_)), Ty::Unit(None)) => true,
            (Ty::List(x), Ty::List(y)) => inner(*x, *y),
            (Ty::Dict(x), Ty::Dict(y)) => inner(x.key, y.key) && inner(x.val, y.val),
            (Ty::Dict(_), Ty::Schema(..)) => loose,
            (Ty::Func(x), Ty::Func(y)) => {
                x.params.len() == y.params.len()
                    && x.params.iter().zip(&y.params).all(|(p, q)| inner(q.ty, p.ty))
                    && inner(x.ret, y.ret)
            }
            _ => false,
        }
    }

    /// Tells whether schema `a` is `b` or has it among its bases.
    pub(crate) fn inherits(&self, a: SchemaId, b: SchemaId) -> bool {
        let mut current = Some(a);
        for _ in 0..MAX_CHAIN {
            match current {
                Some(id) if id == b => return true,
                Some(id) => current = self.heads[id.0 as usize].base,
                None => return false,
            }
        }
        false
    }
}

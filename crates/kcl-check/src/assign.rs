//! Assignability `A <: B`: may a value of type A stand where B is expected?
//!
//! Everything here is a pure question about one arena. The relation is deliberately loose where upstream's is: a dict
//! is accepted for every schema (configs are judged key by key elsewhere), a `str` for every string literal type, an int
//! for every float literal type.

use crate::ty::{SchemaId, Ty, TyId, Types};

impl Types {
    /// Tells whether a value of type `a` may be stored where `b` is expected.
    pub(crate) fn assignable(&self, a: TyId, b: TyId) -> bool {
        if self.holds_module(a) {
            return a == b;
        }
        a == TyId::ANY || self.relates(a, b, true)
    }

    /// Whether a value may be a module, which is no value for anybody.
    pub(crate) fn holds_module(&self, ty: TyId) -> bool {
        match self.kind(ty) {
            Ty::Module(_) => true,
            Ty::Union(members) => members.iter().any(|m| matches!(self.kind(*m), Ty::Module(_))),
            _ => false,
        }
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
        // Circular inheritance must end, too.
        for _ in 0..=self.heads.len().min(self.reach(a)) {
            match current {
                Some(id) if id == b => return true,
                Some(id) => current = self.heads[id.0 as usize].base,
                None => return false,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_fit_their_primitives_and_the_loose_neighbours() {
        let mut types = Types::new();
        let one = types.intern(Ty::IntLit(1));
        let half = types.intern(Ty::FloatLit(0.5_f64.to_bits()));
        let yes = types.intern(Ty::BoolLit(true));
        let a = types.str_lit(&"a".into());
        assert!(types.assignable(one, TyId::INT) && types.assignable(one, half));
        assert!(types.assignable(TyId::STR, a) && !types.assignable(TyId::INT, one));
        assert!(types.assignable(yes, TyId::FLOAT) && !types.assignable(yes, TyId::INT));
        assert!(!types.assignable(TyId::BOOL, TyId::FLOAT));
    }

    #[test]
    fn any_and_none_fit_everywhere_but_not_in_the_strict_relation() {
        let mut types = Types::new();
        let ints = types.list(TyId::INT);
        let anys = types.list(TyId::ANY);
        assert!(types.assignable(TyId::ANY, TyId::INT) && !types.sub(TyId::ANY, TyId::INT));
        assert!(types.assignable(TyId::NONE, ints) && types.sub(TyId::NONE, ints));
        assert!(types.assignable(anys, ints) && !types.sub(anys, ints) && types.sub(ints, anys));
    }

    #[test]
    fn a_sub_schema_fits_its_base_and_a_ring_of_bases_ends() {
        let mut types = Types::new();
        let (a, b) = (types.add_schema("A".into()), types.add_schema("B".into()));
        types.heads[b.0 as usize].base = Some(a);
        let (ta, tb) = (types.schema(a, true), types.schema(b, true));
        assert!(types.assignable(tb, ta) && !types.assignable(ta, tb));
        types.heads[a.0 as usize].base = Some(b);
        let c = types.add_schema("C".into());
        assert!(!types.inherits(a, c));
    }

    #[test]
    fn a_dict_is_accepted_for_a_schema_only_in_the_loose_relation() {
        let mut types = Types::new();
        let schema = types.add_schema("A".into());
        let schema = types.schema(schema, true);
        let dict = types.dict(TyId::STR, TyId::INT);
        assert!(types.assignable(dict, schema) && !types.sub(dict, schema));
        assert!(!types.assignable(schema, dict));
    }
}

//! Least upper bounds and widening.
//!
//! `sup` removes duplicates and what another member already accepts. Upstream removes by swapping the last member into
//! the hole, which is visible in messages, so small unions do the same. Large ones (a literal with thousands of
//! entries) are only thinned by hashing: their text is never compared and a quadratic pass would cost seconds.

use rustc_hash::FxHashMap;

use crate::ty::{DictAttr, DictTy, Ty, TyId, Types};

/// Unions up to this size are thinned pair by pair.
const PAIRWISE: usize = 48;

/// Members up to this number are compared, more are hashed.
const SCAN: usize = 12;

/// The members of a union in the making, one of each shape.
#[derive(Default)]
struct Members {
    list: Vec<TyId>,
    /// Positions by shape, once there are many.
    index: FxHashMap<TyId, usize>,
}

impl Members {
    fn add(&mut self, types: &Types, ty: TyId) {
        let shape = types.shape(ty);
        let at = match self.list.len() <= SCAN {
            true => self.list.iter().position(|m| types.shape(*m) == shape),
            false => self.index.get(&shape).copied(),
        };
        match at {
            // Of two types of one shape the later one stays: its known keys are the newer ones.
            Some(at) => self.list[at] = ty,
            None => {
                self.list.push(ty);
                if self.list.len() > SCAN {
                    let from = self.index.len();
                    let rows = self.list.iter().enumerate().skip(from);
                    self.index.extend(rows.map(|(i, m)| (types.shape(*m), i)));
                }
            }
        }
    }
}

impl Types {
    /// Returns the least type that accepts all given ones.
    pub(crate) fn sup(&mut self, types: &[TyId]) -> TyId {
        match types {
            [] => return TyId::ANY,
            [one] if !matches!(self.kind(*one), Ty::Union(_) | Ty::Void) => return *one,
            [a, b] if a == b && !matches!(self.kind(*a), Ty::Union(_) | Ty::Void) => return *a,
            _ => {}
        }
        let mut found = Members::default();
        for ty in types {
            let single = [*ty];
            let parts: &[TyId] = if let Ty::Union(parts) = self.kind(*ty) { parts } else { &single };
            for part in parts {
                match *part {
                    TyId::ANY => return TyId::ANY,
                    TyId::VOID => {}
                    part => found.add(self, part),
                }
            }
        }
        let mut members = found.list;
        if members.len() <= PAIRWISE {
            self.thin_pairwise(&mut members)
        } else {
            self.thin_large(&mut members)
        }
        match members.as_slice() {
            [] => TyId::ANY,
            [one] => *one,
            _ => self.intern(Ty::Union(members.into())),
        }
    }

    fn thin_pairwise(&self, members: &mut Vec<TyId>) {
        // Different literals of one kind do not accept each other: the usual list needs no look at pairs.
        let all = |test: fn(&Ty) -> bool| members.iter().all(|m| test(self.kind(*m)));
        if all(|ty| matches!(ty, Ty::StrLit(_))) || all(|ty| matches!(ty, Ty::IntLit(_))) {
            return;
        }
        let accepted =
            |ty: TyId, members: &[TyId]| members.iter().any(|other| *other != ty && self.sub(ty, *other));
        if !members.iter().any(|ty| accepted(*ty, members)) {
            return;
        }
        for ty in members.clone() {
            let accepted = accepted(ty, members);
            if let (true, Some(at)) = (accepted, members.iter().position(|m| *m == ty)) {
                members.swap_remove(at);
            }
        }
    }

    fn thin_large(&self, members: &mut Vec<TyId>) {
        let has = |ty: TyId| members.contains(&ty);
        let (int, float, string, boolean) =
            (has(TyId::INT), has(TyId::FLOAT), has(TyId::STR), has(TyId::BOOL));
        members.retain(|m| match self.kind(*m) {
            Ty::None => false,
            Ty::IntLit(_) => !int && !float,
            Ty::FloatLit(_) | Ty::Int => !float,
            Ty::StrLit(_) => !string,
            Ty::BoolLit(_) => !boolean,
            _ => true,
        });
    }

    /// Returns the type a variable gets when a value of type `id` is stored in it.
    pub(crate) fn widen(&mut self, id: TyId) -> TyId {
        if let Some(known) = self.widened.get(&id) {
            return *known;
        }
        let wide = match self.kind(id).clone() {
            Ty::None => TyId::ANY,
            Ty::BoolLit(_) => TyId::BOOL,
            Ty::IntLit(_) => TyId::INT,
            Ty::FloatLit(_) => TyId::FLOAT,
            Ty::StrLit(_) => TyId::STR,
            Ty::List(item) => {
                let item = self.widen(item);
                self.list(item)
            }
            Ty::Dict(dict) => self.widen_dict(&dict),
            Ty::Union(members) => {
                let wide: Vec<TyId> = members.iter().map(|m| self.widen(*m)).collect();
                self.sup(&wide)
            }
            _ => id,
        };
        self.widened.insert(id, wide);
        // What is wide stays so: a dict that is made of dicts again and again is walked once.
        self.widened.insert(wide, wide);
        wide
    }

    fn widen_dict(&mut self, dict: &DictTy) -> TyId {
        let key = self.widen(dict.key);
        let val = self.widen(dict.val);
        let attrs = dict.attrs.as_ref().map(|attrs| {
            attrs.iter().map(|a| DictAttr { ty: self.widen(a.ty), ..a.clone() }).collect::<Vec<_>>().into()
        });
        self.intern(Ty::Dict(DictTy { key, val, attrs }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lits(types: &mut Types, texts: &[&str]) -> Vec<TyId> {
        texts.iter().map(|t| types.str_lit(&(*t).into())).collect()
    }

    #[test]
    fn what_another_member_accepts_is_swapped_out() {
        let mut types = Types::new();
        let a = types.str_lit(&"a".into());
        let one = types.intern(Ty::IntLit(1));
        let half = types.intern(Ty::FloatLit(1.5_f64.to_bits()));
        let yes = types.intern(Ty::BoolLit(true));
        let sup = types.sup(&[a, one, half, yes]);
        assert_eq!(types.text(sup), "str(a) | bool(True) | float(1.5)");
    }

    #[test]
    fn any_takes_all_and_nothing_is_any() {
        let mut types = Types::new();
        assert_eq!(types.sup(&[]), TyId::ANY);
        assert_eq!(types.sup(&[TyId::INT, TyId::ANY]), TyId::ANY);
        assert_eq!(types.sup(&[TyId::NONE, TyId::INT]), TyId::INT);
        assert_eq!(types.sup(&[TyId::VOID]), TyId::ANY);
    }

    #[test]
    fn a_large_union_drops_the_literals_of_a_primitive() {
        let mut types = Types::new();
        let names: Vec<String> = (0..200).map(|i| format!("n{i}")).collect();
        let mut members = lits(&mut types, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let all = types.sup(&members);
        assert!(matches!(types.kind(all), Ty::Union(m) if m.len() == 200));
        members.push(TyId::STR);
        assert_eq!(types.sup(&members), TyId::STR);
    }

    #[test]
    fn widening_reaches_into_lists_and_dicts() {
        let mut types = Types::new();
        let a = types.str_lit(&"a".into());
        let one = types.intern(Ty::IntLit(1));
        let union = types.sup(&[a, one]);
        let list = types.list(union);
        let dict = types.dict(a, list);
        let wide = types.widen(dict);
        assert_eq!(types.text(wide), "{str:[str | int]}");
        assert_eq!(types.widen(TyId::NONE), TyId::ANY);
    }
}

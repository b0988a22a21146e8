//! Judging values against expected types: the single gate `must_fit`, and configs key by key.
//!
//! Config literals are judged from the inside out: each entry against the attribute it sets, then the whole against
//! whatever encloses it. A dict always "fits" a schema as a whole; two leftovers of the reference are kept: a dict whose
//! key type is one literal is compared once more with that attribute, and so is every known key if the schema has an index
//! signature.

use base_diag::Span;
use kcl_syntax::ast::{ExprId, Str};
use rustc_hash::FxHashSet;

use crate::checker::{Checker, Expect};
use crate::diag::RawDiag;
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::package::Kind;
use crate::ty::{DictTy, Loc, SchemaId, Ty, TyId};

impl<R: Recorder> Checker<'_, R> {
    /// Reports unless `got` fits `expected`; `loc` is where the expectation was declared.
    pub(crate) fn must_fit(&mut self, got: TyId, expected: TyId, at: Span, loc: Option<Loc>) {
        self.value_must_fit(got, expected, at, loc, None);
    }

    /// As [`Self::must_fit`], for a value that was written as this expression.
    pub(crate) fn value_must_fit(
        &mut self,
        got: TyId,
        expected: TyId,
        at: Span,
        loc: Option<Loc>,
        value: Option<ExprId>,
    ) {
        if self.fits(got, expected, at) {
            return;
        }
        let diag = self.mismatch(got, expected, self.here(at), value);
        let diag = match loc {
            Some(loc) => self.declared_at(diag, loc, expected, got),
            None => diag,
        };
        self.report(diag);
    }

    /// Assignability that looks into dicts which meet schemas; their mistakes are reported on the way.
    fn fits(&mut self, got: TyId, expected: TyId, at: Span) -> bool {
        if got == expected || got == TyId::ANY || expected == TyId::ANY && !self.is_module(got) {
            return true;
        }
        match (self.types.kind(got).clone(), self.types.kind(expected).clone()) {
            (Ty::List(x), Ty::List(y)) => self.fits(x, y, at),
            (Ty::Dict(x), Ty::Dict(y)) => self.fits(x.key, y.key, at) && self.fits(x.val, y.val, at),
            (Ty::Union(members), _) => {
                let mut all = true;
                for member in members.iter() {
                    all &= self.fits(*member, expected, at);
                }
                all
            }
            (Ty::Dict(dict), Ty::Schema(id, _)) => {
                self.dict_meets_schema(&dict, id, at);
                true
            }
            (Ty::Dict(dict), Ty::Union(members)) => {
                if members.iter().any(|m| self.types.sub(got, *m)) {
                    return true;
                }
                let schema = members.iter().find_map(|m| match self.types.kind(*m) {
                    Ty::Schema(id, _) => Some(*id),
                    _ => None,
                });
                match schema {
                    Some(id) => {
                        self.dict_meets_schema(&dict, id, at);
                        true
                    }
                    None => self.types.assignable(got, expected),
                }
            }
            // Quirk: members are tried in order, and what is found on the way is told.
            (Ty::List(_), Ty::Union(members)) => members.iter().any(|m| self.fits(got, *m, at)),
            _ => self.types.assignable(got, expected),
        }
    }

    fn is_module(&self, ty: TyId) -> bool {
        self.types.holds_module(ty)
    }

    fn dict_meets_schema(&mut self, dict: &DictTy, id: SchemaId, at: Span) {
        let index = self.schema_index(id);
        // Keys that were computed are not known.
        let known =
            |name: &Str| dict.attrs.iter().flat_map(|attrs| attrs.iter()).any(|attr| attr.name == *name);
        if let Ty::StrLit(name) = self.types.kind(dict.key).clone()
            && index.is_none()
        {
            if !known(&name) {
                return;
            }
            let got = self.types.widen(dict.val);
            self.attr_mismatch(id, &name, got, at);
            return;
        }
        let Some(index) = index else { return };
        let Some(attrs) = &dict.attrs else {
            if !self.types.assignable(dict.val, index.val) {
                let (want, have) = (self.text(index.val), self.text(dict.val));
                self.error(at, &Mistake::IndexMismatch { want, have });
            }
            return;
        };
        for attr in attrs.iter() {
            let got = self.types.widen(attr.ty);
            // Quirk: inherited attributes count as extra keys here.
            if self.schema_info(id).attrs.contains_key(&attr.name) {
                self.attr_mismatch(id, &attr.name, got, at);
            } else if !self.types.assignable(got, index.val) {
                let diag = self.mismatch(got, index.val, attr.loc, None);
                self.report(diag);
            }
        }
    }

    fn attr_mismatch(&mut self, id: SchemaId, name: &str, got: TyId, at: Span) {
        // Quirk: only own attributes are compared here.
        if !self.schema_info(id).attrs.contains_key(name) {
            return;
        }
        let Some(attr) = self.schema_attr(id, name) else { return };
        if !self.fits(got, attr.ty, at) {
            let diag = self.mismatch(got, attr.ty, self.here(at), None);
            let diag = self.declared_at(diag, attr.loc, attr.ty, got);
            self.report(diag);
        }
    }

    /// What the value of an entry is expected to be.
    pub(crate) fn entry_expectation(&mut self, ty: TyId, name: &str, top: &Expect) -> Expect {
        match self.types.kind(ty).clone() {
            Ty::Schema(id, _) => {
                if let Some(attr) = self.schema_attr(id, name) {
                    return Expect { ty: Some(attr.ty), loc: Some(attr.loc) };
                }
                match self.schema_index(id) {
                    Some(index) => Expect { ty: Some(index.val), loc: top.loc },
                    None => Expect::default(),
                }
            }
            Ty::Dict(dict) => Expect { ty: Some(dict.val), loc: top.loc },
            Ty::List(item) => Expect { ty: Some(item), loc: top.loc },
            Ty::Union(members) => {
                let mut offers = Vec::new();
                for member in members.iter() {
                    if matches!(self.types.kind(*member), Ty::Schema(..) | Ty::Dict(_)) {
                        offers.extend(self.entry_expectation(*member, name, top).ty);
                    }
                }
                if offers.is_empty() {
                    return Expect::default();
                }
                Expect { ty: Some(self.types.sup(&offers)), loc: top.loc }
            }
            _ => Expect::default(),
        }
    }

    /// Whether members that are not declared are left to the run: an index signature admits them, a mixin may find them in
    /// its host, and what a base that does not exist would have nobody knows.
    pub(crate) fn takes_unknown_members(&mut self, id: SchemaId) -> bool {
        let info = self.schema_info(id);
        info.kind == Kind::Mixin || info.incomplete || self.schema_index(id).is_some()
    }

    /// Reports a key that the expected type does not have.
    pub(crate) fn check_member(&mut self, ty: TyId, name: &Str, at: Span, written: Option<&Loc>) {
        let mut diag = match self.types.kind(ty).clone() {
            // What a mixin lacks is left to the run, and so is the empty key.
            Ty::Schema(id, _) if self.schema_info(id).kind == Kind::Mixin || name.is_empty() => return,
            Ty::Schema(id, _) if self.schema_info(id).incomplete => return,
            Ty::Schema(id, _) if !self.accepts_key(id, name) => self.no_attribute(id, name, at),
            Ty::Union(members) => match self.union_refuses(&members, name) {
                Some(mistake) => RawDiag::of(&mistake, self.home, at),
                None => return,
            },
            _ => return,
        };
        if let Some(written) = written {
            diag = diag.label(*written, "config attribute is defined here").related("written here");
        }
        self.report(diag);
    }

    fn accepts_key(&mut self, id: SchemaId, name: &Str) -> bool {
        let declared = self.schema_attr(id, name).is_some();
        let Some(index) = self.schema_index(id) else { return declared };
        if index.any_other {
            return true;
        }
        // Without `...` a literal key type speaks about declared attributes, too.
        match self.types.kind(index.key) {
            Ty::StrLit(key) => key == name,
            Ty::Union(keys) => {
                keys.iter().any(|k| matches!(self.types.kind(*k), Ty::StrLit(key) if key == name))
            }
            _ => true,
        }
    }

    fn union_refuses(&mut self, members: &[TyId], name: &Str) -> Option<Mistake> {
        let mut schemas = Vec::new();
        for member in members {
            match self.types.kind(*member) {
                Ty::Dict(_) => return None,
                Ty::Schema(id, _) => schemas.push(*id),
                _ => {}
            }
        }
        for schema in &schemas {
            if self.accepts_key(*schema, name) {
                return None;
            }
        }
        let attrs = schemas.iter().flat_map(|s| self.schema_info(*s).attrs.keys());
        let similar = crate::suggest::similar(name, attrs);
        let schemas: Vec<Str> = schemas.iter().map(|s| self.schema_name(*s)).collect();
        (!schemas.is_empty()).then(|| Mistake::UnknownToAll { schemas, name: name.clone(), similar })
    }

    /// Checks the known keys of an unpacked value against what the braces are expected to be.
    pub(crate) fn check_unpacked(&mut self, got: TyId, at: Span) {
        self.check_members(got, at, &mut FxHashSet::default());
    }

    fn check_members(&mut self, got: TyId, at: Span, seen: &mut FxHashSet<(TyId, TyId)>) {
        let Some(expect) = self.expects.last().cloned() else { return };
        let Some(ty) = expect.ty else { return };
        let keys = self.known_keys(got);
        for (name, attr, written) in keys {
            self.check_member(ty, &name, at, Some(&written));
            let entry = self.entry_expectation(ty, &name, &expect);
            let Some(want) = entry.ty else { continue };
            let got = self.types.widen(attr);
            if !self.fits(got, want, at) {
                let mut diag = self.mismatch(got, want, self.here(at), None);
                if let Some(loc) = entry.loc {
                    diag = self.declared_at(diag, loc, want, got);
                }
                self.report(diag.label(written, "config attribute is defined here").related("written here"));
            }
            let is_open = matches!(self.types.kind(got), Ty::Dict(_) | Ty::Schema(_, true));
            // Schemas may hold one another: each pair is compared once.
            if is_open && got != want && self.has_entries(want) && seen.insert((got, want)) {
                self.expects.push(Expect { ty: Some(want), loc: entry.loc });
                self.check_members(got, at, seen);
                self.expects.pop();
            }
        }
    }

    fn has_entries(&self, ty: TyId) -> bool {
        match self.types.kind(ty) {
            Ty::Schema(..) | Ty::Dict(_) => true,
            Ty::Union(members) => members.iter().any(|m| self.has_entries(*m)),
            _ => false,
        }
    }

    /// The statically known keys of a dict or schema value.
    fn known_keys(&mut self, ty: TyId) -> Vec<(Str, TyId, Loc)> {
        match self.types.kind(ty).clone() {
            Ty::Dict(DictTy { attrs: Some(attrs), .. }) => {
                attrs.iter().map(|a| (a.name.clone(), a.ty, a.loc)).collect()
            }
            Ty::Schema(id, _) => {
                let mut keys = Vec::new();
                for link in self.chain(id) {
                    let names: Vec<Str> = self.schema_info(link).attrs.keys().cloned().collect();
                    for name in names {
                        if let Some(attr) = self.schema_attr(link, &name) {
                            keys.push((name, attr.ty, attr.loc));
                        }
                    }
                }
                keys
            }
            _ => Vec::new(),
        }
    }
}

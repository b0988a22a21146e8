//! Config literals: entries, their keys and values, unpacking and if entries.

use std::sync::Arc;

use base_diag::Span;
use kcl_syntax::ast::{Entry, EntryOp, Expr, ExprId, Key, Str};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::checker::{Checker, Expect};
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::scope::ScopeKind;
use crate::ty::{DictAttr, DictTy, Loc, Ty, TyId, Types};

/// What the entries seen so far add up to.
#[derive(Default)]
struct Parts {
    keys: Vec<TyId>,
    vals: Vec<TyId>,
    attrs: Vec<Part>,
    /// Positions in `attrs`, once there are many.
    index: FxHashMap<Str, usize>,
}

/// A known key with the types of all its entries.
struct Part {
    name: Str,
    ty: TyId,
    more: Vec<TyId>,
    loc: Loc,
}

/// Keys up to this number are compared, more are hashed.
const SCAN: usize = 12;

impl Parts {
    fn attr(&mut self, name: &Str, ty: TyId, loc: Loc) {
        match self.position(name) {
            Some(at) => {
                self.attrs[at].more.push(ty);
                self.attrs[at].loc = loc;
            }
            None => self.push(name, ty, loc),
        }
    }

    /// What is unpacked decides the type of a key, whatever was written before.
    fn replace_attr(&mut self, name: &Str, ty: TyId, loc: Loc) {
        match self.position(name) {
            Some(at) => self.attrs[at] = Part { name: name.clone(), ty, more: Vec::new(), loc },
            None => self.push(name, ty, loc),
        }
    }

    fn position(&self, name: &Str) -> Option<usize> {
        match self.attrs.len() <= SCAN {
            true => self.attrs.iter().position(|p| p.name == *name),
            false => self.index.get(name).copied(),
        }
    }

    fn push(&mut self, name: &Str, ty: TyId, loc: Loc) {
        self.attrs.push(Part { name: name.clone(), ty, more: Vec::new(), loc });
        if self.attrs.len() > SCAN {
            let from = self.index.len();
            let rows = self.attrs.iter().enumerate().skip(from);
            self.index.extend(rows.map(|(i, p)| (p.name.clone(), i)));
        }
    }

    /// Returns the known keys, each with the least type that accepts all its entries.
    fn dict_attrs(self, types: &mut Types) -> Option<Arc<[DictAttr]>> {
        let join = |mut part: Part| {
            let ty = if part.more.is_empty() {
                types.sup(&[part.ty])
            } else {
                part.more.insert(0, part.ty);
                types.sup(&part.more)
            };
            DictAttr { name: part.name, ty, loc: part.loc }
        };
        (!self.attrs.is_empty()).then(|| self.attrs.into_iter().map(join).collect())
    }
}

impl<R: Recorder> Checker<'_, R> {
    /// Infers braces, checking them against what is expected.
    pub(crate) fn config(&mut self, entries: &[Entry]) -> TyId {
        self.enter(ScopeKind::Config);
        let mut parts = Parts::default();
        for entry in entries {
            self.entry(entry, &mut parts);
        }
        self.leave();
        self.loop_keys.clear();
        let key = self.types.sup(&parts.keys);
        let val = self.types.sup(&parts.vals);
        let attrs = parts.dict_attrs(&mut self.types);
        self.types.intern(Ty::Dict(DictTy { key, val, attrs }))
    }

    /// Mere data where anything may stand under each key (`d: {str:} = {..}` of a data file): nothing in it can be wrong, and nobody
    /// asks for its own type. A type for each of a hundred thousand literals would only fill memory.
    pub(crate) fn may_be_anything(&self, value: ExprId) -> bool {
        let Expr::Config(entries) = self.tree.expr(value) else { return false };
        let Some(Expect { ty: Some(expected), .. }) = self.expects.last() else { return false };
        let Ty::Dict(dict) = self.types.kind(*expected) else { return false };
        dict.val == TyId::ANY
            && matches!(dict.key, TyId::STR | TyId::ANY)
            && self.scopes.iter().all(|scope| scope.kind == ScopeKind::Config)
            && self.are_data(entries)
    }

    fn are_data(&self, entries: &[Entry]) -> bool {
        entries.iter().all(|entry| {
            matches!(entry.key, Key::Name(_) | Key::Str(_))
                && entry.op != EntryOp::Insert
                && self.is_data(entry.value)
        })
    }

    fn is_data(&self, value: ExprId) -> bool {
        match self.tree.expr(value) {
            Expr::Int(_) | Expr::Float(_) | Expr::Str(_) | Expr::Bool(_) | Expr::None => true,
            Expr::List(items) => items.iter().all(|item| self.is_data(*item)),
            Expr::Config(entries) => self.are_data(entries),
            _ => false,
        }
    }

    fn entry(&mut self, entry: &Entry, parts: &mut Parts) {
        match &entry.key {
            Key::Name(name) | Key::Str(name) | Key::Indexed(name, _) => {
                let got = self.entry_value(name, entry);
                // A loop variable is judged by its name like any other key, then by its value.
                if matches!(entry.key, Key::Name(_)) && self.is_loop_variable(name) {
                    let key = self.lookup(name).unwrap_or(TyId::ANY);
                    self.must_be_key(key, entry.key_span);
                    self.check_insert(entry, got);
                    // From here on the name is a key of these braces.
                    self.declare_key(name, got);
                    parts.keys.push(key);
                    parts.vals.push(got);
                    return;
                }
                self.check_insert(entry, got);
                if matches!(entry.key, Key::Indexed(..)) {
                    // One item says nothing about the name and the key, only that there are lists of such items;
                    // what is inserted is a list already.
                    parts.keys.push(TyId::STR);
                    parts.vals.push(match entry.op {
                        EntryOp::Insert => got,
                        _ => self.types.list(got),
                    });
                    return;
                }
                self.declare_key(name, got);
                parts.keys.push(self.types.str_lit(name));
                parts.vals.push(got);
                parts.attr(name, got, self.here(entry.key_span));
            }
            Key::Computed(expr) => self.computed_entry(*expr, entry, parts),
            Key::Unpack => {
                let got = self.expr(entry.value);
                let at = self.tree.expr_span(entry.value);
                self.unpack_entry(got, at, parts);
            }
            Key::If { cond, orelse } => {
                self.expr(*cond);
                let mut got = self.expr(entry.value);
                if let Some(orelse) = orelse {
                    let other = self.expr(*orelse);
                    got = self.types.sup(&[got, other]);
                }
                // Judged like ordinary entries above, now once more as if unpacked.
                self.unpack_entry(got, entry.key_span, parts);
            }
        }
    }

    /// Infers the value of an entry and judges key and value against what is expected.
    fn entry_value(&mut self, name: &Str, entry: &Entry) -> TyId {
        let top = self.expects.last().cloned().unwrap_or_default();
        let expect = match top.ty {
            Some(ty) => {
                self.check_member(ty, name, entry.key_span, None);
                self.entry_expectation(ty, name, &top)
            }
            None => Expect::default(),
        };
        self.expects.push(expect.clone());
        let got = self.expr(entry.value);
        self.expects.pop();
        if let Some(ty) = expect.ty {
            self.value_must_fit(got, ty, entry.key_span, expect.loc, Some(entry.value));
        }
        got
    }

    fn computed_entry(&mut self, key: ExprId, entry: &Entry, parts: &mut Parts) {
        // Braces as a key are judged as a key only.
        let inner = match self.tree.expr(key) {
            Expr::Paren(inner) => *inner,
            _ => key,
        };
        let braces = matches!(self.tree.expr(inner), Expr::Config(_));
        if braces {
            self.expects.push(Expect::default());
        }
        let key_ty = self.expr(key);
        if braces {
            self.expects.pop();
        }
        // Quirk: only an interpolated key says that nothing is expected; otherwise the braces' own type stays.
        let joined = matches!(self.tree.expr(key), Expr::Joined(_));
        if joined {
            self.expects.push(Expect::default());
        }
        let got = self.expr(entry.value);
        if joined {
            self.expects.pop();
        }
        self.must_be_key(key_ty, entry.key_span);
        self.check_insert(entry, got);
        parts.keys.push(key_ty);
        parts.vals.push(got);
    }

    /// A key that is not a literal must be a string.
    pub(crate) fn must_be_key(&mut self, ty: TyId, at: Span) {
        if ty != TyId::ANY && (ty == TyId::NONE || !self.types.sub(ty, TyId::STR)) {
            let quoted = match self.types.kind(ty) {
                Ty::IntLit(number) => Some(*number),
                _ => None,
            };
            let ty = self.shown(ty);
            self.error(at, &Mistake::KeyType { ty, quoted });
        }
    }

    fn check_insert(&mut self, entry: &Entry, got: TyId) {
        if entry.op == EntryOp::Insert && !matches!(self.types.kind(got), Ty::List(_) | Ty::Any) {
            let ty = self.kind_shown(got);
            self.error(self.tree.expr_span(entry.value), &Mistake::InsertType { ty });
        }
    }

    fn is_unpackable(&self, ty: TyId) -> bool {
        matches!(self.types.kind(ty), Ty::Dict(_) | Ty::Schema(..) | Ty::None | Ty::Any)
    }

    /// `**x`: judged key by key against what is expected, then joined.
    fn unpack_entry(&mut self, got: TyId, at: Span, parts: &mut Parts) {
        match self.types.kind(got).clone() {
            Ty::Any => parts.vals.push(TyId::ANY),
            Ty::None => parts.vals.push(TyId::NONE),
            Ty::Dict(dict) => {
                self.check_unpacked(got, at);
                parts.keys.push(dict.key);
                parts.vals.push(dict.val);
                for attr in dict.attrs.iter().flat_map(|a| a.iter()) {
                    parts.replace_attr(&attr.name, attr.ty, attr.loc);
                }
            }
            // The attributes of its own body and mixins are known, those of its bases are not.
            Ty::Schema(id, _) => {
                self.check_unpacked(got, at);
                parts.keys.push(TyId::STR);
                parts.vals.push(self.schema_index(id).map_or(TyId::ANY, |index| index.val));
                let names: Vec<Str> = self.schema_info(id).attrs.keys().cloned().collect();
                for name in names {
                    if let Some(attr) = self.schema_attr(id, &name) {
                        parts.replace_attr(&name, attr.ty, attr.loc);
                    }
                }
            }
            Ty::Union(members) if members.iter().all(|m| self.is_unpackable(*m)) => {
                // Nothing is known about the keys of a union.
                self.expects.push(Expect::default());
                let mut unknown = Parts::default();
                for member in members.iter() {
                    self.unpack_entry(*member, at, &mut unknown);
                }
                self.expects.pop();
                parts.keys.append(&mut unknown.keys);
                parts.vals.append(&mut unknown.vals);
            }
            _ => {
                let ty = self.kind_shown(got);
                self.error(at, &Mistake::CannotUnpackKeys { ty });
            }
        }
    }
}

/// The literal keys of braces; none if something else in them may provide keys.
pub(crate) fn literal_keys(entries: &[Entry]) -> Option<FxHashSet<Str>> {
    entries
        .iter()
        .map(|e| match &e.key {
            Key::Name(name) | Key::Str(name) | Key::Indexed(name, _) => Some(name.clone()),
            Key::Computed(_) | Key::Unpack | Key::If { .. } => None,
        })
        .collect()
}

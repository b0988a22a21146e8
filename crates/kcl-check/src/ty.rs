//! The type lattice: interned types, their text form, and the memory behind them.
//!
//! A [`TyId`] is an index into one [`Types`] arena; equal types have equal ids (but for dict literals, see below), so the
//! commonest question ("is it the same type?") is a comparison of two integers. A dict literal's type also remembers each key with the place where it
//! was written, because a later `**x` is judged key by key and points there. That makes such types as unique as the
//! literals themselves, so every type has a *shape*: the id of the same type without remembered keys. Types of one
//! shape accept and are accepted by the same types, which lets large literals collapse in linear time.

use std::hash::BuildHasher;
use std::sync::Arc;

use base_diag::Span;
use hashbrown::HashTable;
use kcl_syntax::ast::{Str, UnitSuffix};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::package::Home;

/// An interned type of one [`Types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct TyId(pub(crate) u32);

/// A schema, mixin, protocol or rule known to one [`Types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct SchemaId(pub(crate) u32);

/// A place in some package.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Loc {
    /// The package.
    pub(crate) pkg: Home,
    /// Range in that package.
    pub(crate) span: Span,
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Ty {
    Any,
    None,
    Void,
    Bool,
    Int,
    Float,
    Str,
    BoolLit(bool),
    IntLit(i64),
    /// Bits of the double.
    FloatLit(u64),
    StrLit(Str),
    /// `1Ki`, or `units.NumberMultiplier` without a value.
    Unit(Option<(i64, UnitSuffix)>),
    List(TyId),
    Dict(DictTy),
    Union(Arc<[TyId]>),
    /// A schema; `true` for an instance, `false` for the schema itself.
    Schema(SchemaId, bool),
    Func(Arc<FuncTy>),
    Module(ModuleTy),
}

/// A dict type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DictTy {
    pub(crate) key: TyId,
    pub(crate) val: TyId,
    /// Known keys of a literal, in order.
    pub(crate) attrs: Option<Arc<[DictAttr]>>,
}

/// A known key of a dict literal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DictAttr {
    pub(crate) name: Str,
    pub(crate) ty: TyId,
    pub(crate) loc: Loc,
}

/// A function type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FuncTy {
    pub(crate) params: Vec<ParamTy>,
    pub(crate) ret: TyId,
    /// Further arguments of any kind are accepted.
    pub(crate) variadic: bool,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ParamTy {
    pub(crate) name: Str,
    pub(crate) ty: TyId,
    pub(crate) optional: bool,
    pub(crate) loc: Option<Loc>,
}

/// What stands behind an import name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ModuleTy {
    /// Package path or module name.
    pub(crate) path: Str,
    pub(crate) kind: ModuleKind,
}

/// Kinds of modules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ModuleKind {
    Package(Home),
    System,
    /// Plugins and modules that were not found: every member is any.
    Unknown,
}

/// Name and base of a schema: what text form and assignability need.
#[derive(Clone, Debug)]
pub(crate) struct SchemaHead {
    pub(crate) name: Str,
    pub(crate) base: Option<SchemaId>,
    /// How many bases it knew when it was built; all of them unless schemas refer to later ones.
    pub(crate) reach: usize,
}

/// The arena.
#[derive(Debug)]
pub(crate) struct Types {
    kinds: Vec<Ty>,
    shapes: Vec<TyId>,
    depths: Vec<u16>,
    users: Vec<User>,
    /// Rows of `kinds` by hash; without the dict types that know keys, because no two literals have the same.
    /// The hash stands beside the id, so that a growing table does not have to look at its types again.
    ids: HashTable<(u32, TyId)>,
    attr_index: FxHashMap<TyId, FxHashMap<Str, u32>>,
    pub(crate) widened: FxHashMap<TyId, TyId>,
    pub(crate) heads: Vec<SchemaHead>,
}

macro_rules! fixed {
    ($($name:ident = $index:literal $ty:ident;)*) => {
        impl TyId {
            $(pub(crate) const $name: TyId = TyId($index);)*
        }
        const FIXED: &[Ty] = &[$(Ty::$ty),*];
    };
}

fixed! {
    ANY = 0 Any;
    NONE = 1 None;
    VOID = 2 Void;
    BOOL = 3 Bool;
    INT = 4 Int;
    FLOAT = 5 Float;
    STR = 6 Str;
}

/// Deeper types are any: they only come from programs that wrap a variable again and again, and every walk over a type
/// is a recursion.
const MAX_TYPE_DEPTH: u16 = 450;

/// Dicts with more known keys than this get a hash index.
const SCAN_LIMIT: usize = 24;

/// Which lists, dicts and unions have a type as their newest part.
///
/// The literals of data files are all different, and so is everything made of them. Only when a second type is made with the same
/// newest part can there be an equal one, so the first stays out of the table, whose every access is a cache miss.
#[derive(Clone, Copy, Debug)]
enum User {
    None,
    /// This one, which is not in the table.
    One(TyId),
    /// Several, all in the table.
    Many,
}

fn newest_part(ty: &Ty) -> Option<TyId> {
    match ty {
        Ty::List(item) => Some(*item),
        Ty::Dict(dict) => Some(dict.key.max(dict.val)),
        Ty::Union(members) => members.iter().copied().max(),
        _ => None,
    }
}

fn hash_of(ty: &Ty) -> u32 {
    let hash = FxBuildHasher.hash_one(ty);
    (hash ^ (hash >> 32)) as u32
}

/// The table looks at the upper and the lower bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

/// The text of a type is cut here.
const LONGEST_TEXT: usize = 20_000;

impl Types {
    pub(crate) fn new() -> Self {
        let mut types = Types {
            kinds: Vec::new(),
            shapes: Vec::new(),
            depths: Vec::new(),
            users: Vec::new(),
            ids: HashTable::new(),
            attr_index: FxHashMap::default(),
            widened: FxHashMap::default(),
            heads: Vec::new(),
        };
        for ty in FIXED {
            types.intern(ty.clone());
        }
        types
    }

    /// Returns the kind of a type.
    pub(crate) fn kind(&self, id: TyId) -> &Ty {
        &self.kinds[id.0 as usize]
    }

    /// Returns the id of the same type without remembered keys.
    pub(crate) fn shape(&self, id: TyId) -> TyId {
        self.shapes[id.0 as usize]
    }

    /// Returns the id of a type.
    pub(crate) fn intern(&mut self, ty: Ty) -> TyId {
        if matches!(&ty, Ty::Dict(DictTy { attrs: Some(_), .. })) {
            return self.add(ty).unwrap_or(TyId::ANY);
        }
        let part = newest_part(&ty);
        match part.map(|part| self.users[part.0 as usize]) {
            Some(User::None) => {
                let Some(id) = self.add(ty) else { return TyId::ANY };
                self.use_part(part, id);
                return id;
            }
            Some(User::One(id)) if self.kinds[id.0 as usize] == ty => return id,
            Some(User::One(id)) => {
                self.enter(id);
                if let Some(part) = part {
                    self.users[part.0 as usize] = User::Many;
                }
            }
            Some(User::Many) | None => {}
        }
        let hash = hash_of(&ty);
        let same = |(h, id): &(u32, TyId)| *h == hash && self.kinds[id.0 as usize] == ty;
        if let Some((_, id)) = self.ids.find(spread(hash), same) {
            return *id;
        }
        let Some(id) = self.add(ty) else { return TyId::ANY };
        self.enter(id);
        id
    }

    /// Notes a new user of a part; adding the row (its shape) may have brought another one.
    fn use_part(&mut self, part: Option<TyId>, id: TyId) {
        let Some(part) = part else { return };
        let user = &mut self.users[part.0 as usize];
        match std::mem::replace(user, User::Many) {
            User::None => *user = User::One(id),
            User::One(other) => {
                self.enter(other);
                self.enter(id);
            }
            User::Many => self.enter(id),
        }
    }

    /// Enters a row into the table.
    fn enter(&mut self, id: TyId) {
        let hash = hash_of(&self.kinds[id.0 as usize]);
        self.ids.insert_unique(spread(hash), (hash, id), |(h, _)| spread(*h));
    }

    /// Makes room for the types of so many expressions.
    pub(crate) fn reserve(&mut self, expressions: usize) {
        self.kinds.reserve(expressions);
        self.shapes.reserve(expressions);
        self.depths.reserve(expressions);
        self.users.reserve(expressions);
    }

    /// Adds a row; none for a type that is too deep.
    fn add(&mut self, ty: Ty) -> Option<TyId> {
        let depth = self.depth_of(&ty);
        if depth > MAX_TYPE_DEPTH {
            return None;
        }
        let shape = self.shape_of(&ty);
        let id = TyId(self.kinds.len() as u32);
        self.kinds.push(ty);
        self.shapes.push(shape.unwrap_or(id));
        self.depths.push(depth);
        self.users.push(User::None);
        Some(id)
    }

    fn depth_of(&self, ty: &Ty) -> u16 {
        let depth = |id: &TyId| self.depths[id.0 as usize];
        let inner = match ty {
            Ty::List(item) => depth(item),
            Ty::Dict(d) => {
                let attrs = d.attrs.iter().flat_map(|a| a.iter()).map(|a| depth(&a.ty));
                attrs.max().unwrap_or(0).max(depth(&d.key)).max(depth(&d.val))
            }
            Ty::Union(members) => members.iter().map(depth).max().unwrap_or(0),
            Ty::Func(func) => {
                func.params.iter().map(|p| depth(&p.ty)).max().unwrap_or(0).max(depth(&func.ret))
            }
            _ => return 0,
        };
        inner.saturating_add(1)
    }

    /// Returns the shape if it differs from the type itself.
    fn shape_of(&mut self, ty: &Ty) -> Option<TyId> {
        let shaped = match ty {
            Ty::List(item) => Ty::List(self.shape(*item)),
            Ty::Dict(d) => Ty::Dict(DictTy { key: self.shape(d.key), val: self.shape(d.val), attrs: None }),
            // Members without remembered keys are their own shapes; in which order they stand makes no difference to `sup`.
            Ty::Union(members) if members.iter().all(|m| self.shape(*m) == *m) => return None,
            Ty::Union(members) => {
                let mut shapes: Vec<TyId> = members.iter().map(|m| self.shape(*m)).collect();
                shapes.sort_unstable();
                shapes.dedup();
                Ty::Union(shapes.into())
            }
            _ => return None,
        };
        if shaped == *ty { None } else { Some(self.intern(shaped)) }
    }

    pub(crate) fn list(&mut self, item: TyId) -> TyId {
        self.intern(Ty::List(item))
    }

    pub(crate) fn dict(&mut self, key: TyId, val: TyId) -> TyId {
        self.intern(Ty::Dict(DictTy { key, val, attrs: None }))
    }

    pub(crate) fn str_lit(&mut self, text: &Str) -> TyId {
        self.intern(Ty::StrLit(text.clone()))
    }

    pub(crate) fn schema(&mut self, id: SchemaId, instance: bool) -> TyId {
        self.intern(Ty::Schema(id, instance))
    }

    /// Returns a known key of a dict literal type.
    pub(crate) fn dict_attr(&mut self, id: TyId, name: &str) -> Option<DictAttr> {
        let Ty::Dict(DictTy { attrs: Some(attrs), .. }) = self.kind(id) else { return None };
        let attrs = Arc::clone(attrs);
        if attrs.len() <= SCAN_LIMIT {
            return attrs.iter().find(|a| a.name == name).cloned();
        }
        let index = self
            .attr_index
            .entry(id)
            .or_insert_with(|| attrs.iter().enumerate().map(|(i, a)| (a.name.clone(), i as u32)).collect());
        index.get(name).and_then(|i| attrs.get(*i as usize)).cloned()
    }

    /// As [`Types::dict_attr`], without making anything quicker for the next question.
    pub(crate) fn known_attr(&self, id: TyId, name: &str) -> Option<&DictAttr> {
        let Ty::Dict(DictTy { attrs: Some(attrs), .. }) = self.kind(id) else { return None };
        match self.attr_index.get(&id) {
            Some(index) => index.get(name).and_then(|i| attrs.get(*i as usize)),
            None => attrs.iter().find(|a| a.name == name),
        }
    }

    /// Returns how many bases a schema knows.
    pub(crate) fn reach(&self, id: SchemaId) -> usize {
        self.heads[id.0 as usize].reach
    }

    /// Registers a schema.
    pub(crate) fn add_schema(&mut self, name: Str) -> SchemaId {
        self.heads.push(SchemaHead { name, base: None, reach: usize::MAX });
        SchemaId(self.heads.len() as u32 - 1)
    }

    /// Returns the text form of a type as messages show it.
    pub(crate) fn text(&self, id: TyId) -> String {
        let mut out = String::new();
        self.write(id, &mut out);
        out
    }

    fn write(&self, id: TyId, out: &mut String) {
        use std::fmt::Write as _;
        // Aliases can double a type again and again: small in memory, endless on paper.
        if out.len() > LONGEST_TEXT {
            if !out.ends_with('…') {
                out.push('…');
            }
            return;
        }
        // Writing to a String cannot fail.
        let _ = match self.kind(id) {
            Ty::Any => write!(out, "any"),
            Ty::None => write!(out, "NoneType"),
            Ty::Void => write!(out, "void"),
            Ty::Bool => write!(out, "bool"),
            Ty::Int => write!(out, "int"),
            Ty::Float => write!(out, "float"),
            Ty::Str => write!(out, "str"),
            Ty::BoolLit(b) => write!(out, "bool({})", if *b { "True" } else { "False" }),
            Ty::IntLit(i) => write!(out, "int({i})"),
            Ty::FloatLit(bits) => write!(out, "float({})", f64::from_bits(*bits)),
            Ty::StrLit(s) => write!(out, "str({s})"),
            Ty::Unit(None) => write!(out, "number_multiplier"),
            Ty::Unit(Some((raw, suffix))) => write!(out, "number_multiplier({raw}{})", suffix.text()),
            Ty::Schema(schema, _) => write!(out, "{}", self.heads[schema.0 as usize].name),
            Ty::Module(module) => write!(out, "module '{}'", module.path),
            Ty::List(item) => {
                out.push('[');
                self.write(*item, out);
                write!(out, "]")
            }
            Ty::Dict(d) => {
                out.push('{');
                self.write(d.key, out);
                out.push(':');
                self.write(d.val, out);
                write!(out, "}}")
            }
            Ty::Union(members) => {
                self.write_joined(members.iter().copied(), " | ", out);
                Ok(())
            }
            Ty::Func(func) => {
                out.push('(');
                self.write_joined(func.params.iter().map(|p| p.ty), ", ", out);
                out.push_str(") -> ");
                self.write(func.ret, out);
                Ok(())
            }
        };
    }

    fn write_joined(&self, items: impl Iterator<Item = TyId>, separator: &str, out: &mut String) {
        for (i, item) in items.enumerate() {
            if i > 0 {
                out.push_str(separator);
            }
            self.write(item, out);
        }
    }
}

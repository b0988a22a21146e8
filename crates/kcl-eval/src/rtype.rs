//! Written types as the evaluator needs them: aliases expanded, schemas resolved.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use kcl_syntax::ast::{BasicType, Dotted, LiteralType, Type, TypeId};
use kcl_value::Str;

use crate::machine::Machine;
use crate::package::Symbol;

/// A schema, whatever program it is part of.
#[derive(Clone, Debug)]
pub(crate) struct SchemaAt {
    /// The package: see [`crate::outline::Outline`].
    pub(crate) home: u64,
    /// Its number there.
    pub(crate) index: u32,
    pub(crate) name: Str,
}

/// A type at run time.
#[derive(Clone, Debug)]
pub(crate) enum RType {
    Any,
    /// The item type of `[]` and `{:}`: any, that nobody wrote.
    Unwritten,
    Bool,
    Int,
    Float,
    Str,
    /// A literal, in its printed form (`1`, `1.0`, `"x"`, `True`).
    Literal(Str),
    /// `1Ki`.
    Unit(Str),
    /// `units.NumberMultiplier`.
    NumberMultiplier,
    List(Arc<RType>, Converts),
    Dict(Arc<RType>, Arc<RType>, Converts),
    Union(Arc<[Arc<RType>]>, Converts),
    Schema(SchemaAt),
    Function,
}

/// Whether a value of a type may have to be converted from a dict to an instance. Decided when the type is made: aliases can
/// double a type again and again, and nobody walks through such a one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Converts(bool);

/// Longer types are cut in messages.
const LONGEST_TEXT: usize = 10_000;

impl RType {
    fn list(item: Arc<RType>) -> RType {
        let converts = Converts(item.converts());
        RType::List(item, converts)
    }

    fn dict(key: Arc<RType>, value: Arc<RType>) -> RType {
        let converts = Converts(value.converts());
        RType::Dict(key, value, converts)
    }

    fn union(members: Arc<[Arc<RType>]>) -> RType {
        let converts = Converts(members.iter().any(|m| m.converts()));
        RType::Union(members, converts)
    }

    /// Returns true if a value of this type may have to be converted from a dict to an instance.
    pub(crate) fn converts(&self) -> bool {
        match self {
            RType::Schema(_) => true,
            RType::List(_, Converts(yes))
            | RType::Dict(_, _, Converts(yes))
            | RType::Union(_, Converts(yes)) => *yes,
            _ => false,
        }
    }

    /// Returns the type as messages show it.
    pub(crate) fn text(&self) -> Str {
        let mut text = Cut(Str::new());
        match write!(text, "{self}") {
            Ok(()) => text.0,
            Err(_) => text.0 + "…",
        }
    }

    /// Returns true if nothing needs to be checked.
    pub(crate) fn is_any(&self) -> bool {
        matches!(self, RType::Any | RType::Unwritten)
    }
}

impl fmt::Display for RType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RType::Any => f.write_str("any"),
            RType::Unwritten => Ok(()),
            RType::Bool => f.write_str("bool"),
            RType::Int => f.write_str("int"),
            RType::Float => f.write_str("float"),
            RType::Str => f.write_str("str"),
            RType::Literal(text) => f.write_str(text),
            RType::Unit(text) => write!(f, "number_multiplier({text})"),
            RType::NumberMultiplier => f.write_str("number_multiplier"),
            RType::List(item, _) => write!(f, "[{item}]"),
            RType::Dict(key, value, _) => write!(f, "{{{key}:{value}}}"),
            RType::Union(members, _) => {
                for (i, member) in members.iter().enumerate() {
                    if i > 0 {
                        f.write_str(" | ")?;
                    }
                    write!(f, "{member}")?;
                }
                Ok(())
            }
            RType::Schema(schema) => f.write_str(&schema.name),
            RType::Function => f.write_str("function"),
        }
    }
}

/// A text that takes no more than it may.
struct Cut(Str);

impl fmt::Write for Cut {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.0.push_str(more);
        if self.0.len() > LONGEST_TEXT { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Types that are being converted.
#[derive(Debug, Default)]
pub(crate) struct Converting {
    open: Vec<(usize, TypeId)>,
    /// One of them contains itself.
    endless: bool,
}

impl<'p> Machine<'p> {
    /// Returns the run-time form of a written type.
    pub(crate) fn rtype(&mut self, package: usize, ty: TypeId) -> &'p RType {
        let outline = self.packages[package].outline;
        match outline.rtypes[ty.0 as usize].get() {
            Some(known) => known,
            None => {
                let made = self.shared_rtype(package, ty);
                outline.rtypes[ty.0 as usize].get_or_init(|| made)
            }
        }
    }

    pub(crate) fn shared_rtype(&mut self, package: usize, ty: TypeId) -> Arc<RType> {
        let outline = self.packages[package].outline;
        if let Some(known) = outline.rtypes[ty.0 as usize].get() {
            return known.clone();
        }
        if self.converting.open.contains(&(package, ty)) {
            self.converting.endless = true;
            return Arc::new(RType::Any);
        }
        self.converting.open.push((package, ty));
        let outer = std::mem::take(&mut self.converting.endless);
        let made = self.make_rtype(package, ty);
        // An alias that contains itself is any: whoever is asked first, the answer is the same.
        let made = Arc::new(if self.converting.endless { RType::Any } else { made });
        self.converting.open.pop();
        self.converting.endless |= outer;
        outline.rtypes[ty.0 as usize].get_or_init(|| made).clone()
    }

    fn make_rtype(&mut self, package: usize, ty: TypeId) -> RType {
        let tree = self.tree(package);
        match tree.ty(ty) {
            Type::Missing | Type::NotAType(_) | Type::Any => RType::Any,
            Type::Basic(BasicType::Bool) => RType::Bool,
            Type::Basic(BasicType::Int) => RType::Int,
            Type::Basic(BasicType::Float) => RType::Float,
            Type::Basic(BasicType::Str) => RType::Str,
            Type::Literal(literal) => literal_type(literal),
            Type::Named(parts) => self.named_type(package, parts),
            Type::List(item) => RType::list(self.optional_type(package, *item)),
            Type::Dict(key, value) => {
                RType::dict(self.optional_type(package, *key), self.optional_type(package, *value))
            }
            Type::Union(members) => {
                RType::union(members.iter().map(|m| self.shared_rtype(package, *m)).collect())
            }
            Type::Function(..) => RType::Function,
        }
    }

    fn optional_type(&mut self, package: usize, ty: Option<TypeId>) -> Arc<RType> {
        ty.map_or_else(|| Arc::new(RType::Unwritten), |ty| self.shared_rtype(package, ty))
    }

    fn named_type(&mut self, package: usize, parts: &Dotted) -> RType {
        match self.find_symbol(package, parts) {
            Some(Symbol::Schema(id)) => RType::Schema(self.schema(id).at()),
            Some(Symbol::Alias(pkg, ty)) => (*self.shared_rtype(pkg, ty)).clone(),
            _ if parts.last().is_some_and(|p| p.name == "NumberMultiplier") => RType::NumberMultiplier,
            _ => RType::Any,
        }
    }
}

/// Returns the run-time form of a literal type.
pub(crate) fn literal_type(literal: &LiteralType) -> RType {
    match literal {
        LiteralType::Bool(true) => RType::Literal("True".into()),
        LiteralType::Bool(false) => RType::Literal("False".into()),
        LiteralType::Int(i) => RType::Literal(ecow::eco_format!("{i}")),
        LiteralType::Float(f) => RType::Literal(literal_float(*f)),
        LiteralType::Str(text) => RType::Literal(ecow::eco_format!("\"{text}\"")),
        LiteralType::Unit(raw, suffix) => RType::Unit(ecow::eco_format!("{raw}{}", suffix.text())),
    }
}

/// Returns the printed form of a float literal type.
pub(crate) fn literal_float(f: f64) -> Str {
    kcl_value::float_text(f).into()
}

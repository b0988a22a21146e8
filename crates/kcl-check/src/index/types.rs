//! Types as users of an index see them.

use kcl_syntax::ast::Str;

use super::{PackageIndex, Spot, TypeRef};
use crate::ty::{Ty, TyId};

/// What a type is, from outside.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeKind {
    /// Nothing is known.
    Any,
    /// None or Undefined.
    None,
    /// A bool, literal or not.
    Bool,
    /// An int, literal or not.
    Int,
    /// A float, literal or not.
    Float,
    /// Text, literal or not.
    Str,
    /// A number with a unit.
    Unit,
    /// A list.
    List(TypeRef),
    /// A dict.
    Dict,
    /// One of several.
    Union(Vec<TypeRef>),
    /// A schema (`false`) or an instance of one (`true`), and its name.
    Schema(Str, bool),
    /// A function.
    Function,
    /// A package or module.
    Module,
}

impl PackageIndex {
    /// Returns what a type is.
    pub fn kind(&self, ty: TypeRef) -> TypeKind {
        match self.types.types.kind(ty.0) {
            Ty::Any => TypeKind::Any,
            Ty::None | Ty::Void => TypeKind::None,
            Ty::Bool | Ty::BoolLit(_) => TypeKind::Bool,
            Ty::Int | Ty::IntLit(_) => TypeKind::Int,
            Ty::Float | Ty::FloatLit(_) => TypeKind::Float,
            Ty::Str | Ty::StrLit(_) => TypeKind::Str,
            Ty::Unit(_) => TypeKind::Unit,
            Ty::List(item) => TypeKind::List(TypeRef(*item)),
            Ty::Dict(_) => TypeKind::Dict,
            Ty::Union(members) => TypeKind::Union(members.iter().map(|m| TypeRef(*m)).collect()),
            Ty::Schema(id, instance) => {
                TypeKind::Schema(self.types.types.heads[id.0 as usize].name.clone(), *instance)
            }
            Ty::Func(_) => TypeKind::Function,
            Ty::Module(_) => TypeKind::Module,
        }
    }

    /// Returns where the schema of a schema type is declared.
    pub fn schema_spot(&self, ty: TypeRef) -> Option<Spot> {
        let Ty::Schema(id, _) = self.types.types.kind(ty.0) else { return None };
        let slot = self.types.schemas.get(id.0 as usize)?;
        let home = slot.home.as_ref().map_or(self.home, |(owner, _)| owner.home);
        Some(Spot { home, span: slot.info.span })
    }

    /// Returns the declared type of an attribute of a schema type, if both belong to this package, and whether it is optional.
    pub fn attribute(&self, ty: TypeRef, name: &str) -> Option<(TypeRef, bool)> {
        let Ty::Schema(id, _) = self.types.types.kind(ty.0) else { return None };
        let slot = self.types.schemas.get(id.0 as usize).filter(|slot| slot.home.is_none())?;
        slot.info.attrs.get(name).map(|attr| (TypeRef(attr.ty), attr.optional))
    }

    /// Whether two types of this package are one type.
    pub fn is_same(&self, a: TypeRef, b: TypeRef) -> bool {
        a.0 == b.0 || a.0 != TyId::ANY && self.types.types.shape(a.0) == self.types.types.shape(b.0)
    }
}

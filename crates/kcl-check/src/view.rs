//! The schemas of a checked package as data that owns itself: what documents, importers and editors read.
//!
//! The checker's own types are rows of an arena that only it can read; here they are written out. A schema is named by
//! the package it was declared in, never by the name that an import gave it.

use kcl_syntax::ast::{Str, UnitSuffix};

use crate::package::{Home, PackageTypes};
use crate::ty::{SchemaId, Ty, TyId};

/// A type deeper than this is shown as any.
const MAX_DEPTH: u32 = 64;

/// A type has at most so many parts before the rest of it is shown as any: aliases can double a type again and again.
const MAX_PARTS: u32 = 4_000;

/// A type.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum TypeView {
    Any,
    None,
    Bool,
    Int,
    Float,
    Str,
    BoolLit(bool),
    IntLit(i64),
    FloatLit(f64),
    StrLit(Str),
    /// `1Ki`, or `units.NumberMultiplier` without a value.
    Unit(Option<(i64, UnitSuffix)>),
    List(Box<TypeView>),
    Dict(Box<TypeView>, Box<TypeView>),
    /// Members as written; nested unions are flattened.
    Union(Vec<TypeView>),
    Schema(SchemaName),
    Function(Vec<TypeView>, Box<TypeView>),
}

/// Which schema: where it was declared, and its name there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaName {
    /// The package that declares it.
    pub home: Home,
    /// Its name.
    pub name: Str,
}

/// A schema as the checker knows it.
#[derive(Clone, PartialEq, Debug)]
pub struct SchemaView {
    /// Its name.
    pub name: Str,
    /// What it extends.
    pub base: Option<SchemaName>,
    /// The protocol that a mixin or rule is for.
    pub host: Option<SchemaName>,
    /// Own attributes and those of the mixins: name, type, whether it has a `?`.
    pub attributes: Vec<(Str, TypeView, bool)>,
    /// Key and value of the index signature.
    pub index: Option<(TypeView, TypeView)>,
    /// Types of the parameters.
    pub parameters: Vec<(Str, TypeView)>,
}

impl PackageTypes {
    /// Returns who this package is.
    pub fn home(&self) -> Home {
        self.home
    }

    /// Returns the schemas, mixins, protocols and rules that the package declares, in source order.
    pub fn schemas(&self) -> Vec<SchemaView> {
        let own = self.schemas.iter().enumerate().filter(|(_, slot)| slot.home.is_none());
        own.map(|(at, slot)| {
            let id = SchemaId(at as u32);
            let info = &slot.info;
            let view = |ty| self.view(ty);
            SchemaView {
                name: self.types.heads[at].name.clone(),
                base: self.types.heads[id.0 as usize].base.map(|base| self.schema_name(base)),
                host: info.host.map(|host| self.schema_name(host)),
                attributes: info.attrs.iter().map(|(n, a)| (n.clone(), view(a.ty), a.optional)).collect(),
                index: info.index.as_ref().map(|index| (view(index.key), view(index.val))),
                parameters: info.params.iter().map(|p| (p.name.clone(), view(p.ty))).collect(),
            }
        })
        .collect()
    }

    fn schema_name(&self, id: SchemaId) -> SchemaName {
        let name = self.types.heads[id.0 as usize].name.clone();
        let home = self.schemas[id.0 as usize].home.as_ref().map_or(self.home, |(owner, _)| owner.home);
        SchemaName { home, name }
    }

    fn view(&self, id: TyId) -> TypeView {
        self.view_at(id, 0, &mut 0)
    }

    fn view_at(&self, id: TyId, depth: u32, parts: &mut u32) -> TypeView {
        *parts += 1;
        if depth > MAX_DEPTH || *parts > MAX_PARTS {
            return TypeView::Any;
        }
        let mut part = |id: TyId| self.view_at(id, depth + 1, parts);
        match self.types.kind(id) {
            Ty::Any | Ty::Module(_) => TypeView::Any,
            Ty::None | Ty::Void => TypeView::None,
            Ty::Bool => TypeView::Bool,
            Ty::Int => TypeView::Int,
            Ty::Float => TypeView::Float,
            Ty::Str => TypeView::Str,
            Ty::BoolLit(b) => TypeView::BoolLit(*b),
            Ty::IntLit(i) => TypeView::IntLit(*i),
            Ty::FloatLit(bits) => TypeView::FloatLit(f64::from_bits(*bits)),
            Ty::StrLit(text) => TypeView::StrLit(text.clone()),
            Ty::Unit(unit) => TypeView::Unit(*unit),
            Ty::List(item) => TypeView::List(part(*item).into()),
            Ty::Dict(dict) => TypeView::Dict(part(dict.key).into(), part(dict.val).into()),
            Ty::Union(members) => TypeView::Union(members.iter().map(|m| part(*m)).collect()),
            Ty::Schema(schema, _) => TypeView::Schema(self.schema_name(*schema)),
            Ty::Func(func) => {
                let params = func.params.iter().map(|p| part(p.ty)).collect();
                TypeView::Function(params, part(func.ret).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_written_out() {
        let mut tree = kcl_syntax::ast::Tree::default();
        let text = "schema A:\n    x?: [int] | \"a\"\nschema B(A):\n    [...str]: {str:A}\n";
        assert!(kcl_syntax::parse_file(&mut tree, text, base_diag::FileId(0)).is_empty());
        let package = kcl_syntax::program::Package {
            path: "__main__".into(),
            tree: tree.into(),
            members: Vec::new(),
            files: vec![base_diag::FileId(0)],
            imports: Vec::new(),
        };
        let program = kcl_syntax::program::Program {
            sources: base_diag::SourceMap::default(),
            packages: vec![package],
            main: kcl_syntax::program::PkgId(0),
        };
        let checked = crate::check(&program, &crate::CheckOptions::default());
        let schemas = checked.packages[0].schemas();
        let (name, ty, optional) = &schemas[0].attributes[0];
        assert_eq!((name.as_str(), *optional), ("x", true));
        let list = TypeView::List(TypeView::Int.into());
        assert_eq!(*ty, TypeView::Union(vec![list, TypeView::StrLit("a".into())]));
        let a = SchemaName { home: checked.packages[0].home(), name: "A".into() };
        assert_eq!(schemas[1].base, Some(a.clone()));
        let value = TypeView::Dict(TypeView::Str.into(), TypeView::Schema(a).into());
        assert_eq!(schemas[1].index, Some((TypeView::Str, value)));
    }
}

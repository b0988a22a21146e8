//! From a type and a name to the place of the member.

use kcl_syntax::ast::Str;

use super::{Meaning, Spot};
use crate::package::PackageTypes;
use crate::ty::{Loc, ModuleKind, SchemaId, Ty, TyId};

/// Unions inside unions are followed this deep.
const MAX_DEPTH: u32 = 8;

fn spot(loc: Loc) -> Spot {
    Spot { home: loc.pkg, span: loc.span }
}

/// What `ty.name` means.
pub(super) fn member(types: &PackageTypes, ty: TyId, name: &Str) -> Option<Meaning> {
    member_within(types, ty, name, MAX_DEPTH)
}

fn member_within(types: &PackageTypes, ty: TyId, name: &Str, depth: u32) -> Option<Meaning> {
    match types.types.kind(ty) {
        Ty::Module(module) => match module.kind {
            ModuleKind::Package(home) => Some(Meaning::Member(home, name.clone())),
            ModuleKind::System => Some(Meaning::System(format!("{}.{name}", module.path).into())),
            ModuleKind::Unknown => None,
        },
        Ty::Str | Ty::StrLit(_) => Some(Meaning::Method(name.clone())),
        Ty::Schema(id, instance) => match attribute(types, *id, name) {
            None if !instance && name == "instances" => Some(Meaning::Method(name.clone())),
            found => found.map(Meaning::Declared),
        },
        Ty::Union(members) if depth > 0 => {
            members.iter().find_map(|member| member_within(types, *member, name, depth - 1))
        }
        Ty::Dict(_) => types.types.known_attr(ty, name).map(|attr| Meaning::Declared(spot(attr.loc))),
        _ => None,
    }
}

/// Where the attribute that a key of braces sets is declared; braces that change a dict set its keys.
pub(super) fn key(types: &PackageTypes, ty: TyId, name: &Str) -> Option<Spot> {
    key_within(types, ty, name, MAX_DEPTH)
}

fn key_within(types: &PackageTypes, ty: TyId, name: &Str, depth: u32) -> Option<Spot> {
    match types.types.kind(ty) {
        Ty::Schema(id, _) => attribute(types, *id, name),
        Ty::Dict(_) => types.types.known_attr(ty, name).map(|attr| spot(attr.loc)),
        Ty::Union(members) if depth > 0 => {
            members.iter().find_map(|member| key_within(types, *member, name, depth - 1))
        }
        _ => None,
    }
}

/// An attribute: own or of a mixin, else inherited.
pub(super) fn attribute(types: &PackageTypes, id: SchemaId, name: &str) -> Option<Spot> {
    let mut current = Some(id);
    // Circular inheritance must end, too.
    for _ in 0..types.schemas.len() {
        let schema = current?;
        if let Some(attr) = types.schemas[schema.0 as usize].info.attrs.get(name) {
            return Some(spot(attr.loc));
        }
        current = types.types.heads[schema.0 as usize].base;
    }
    None
}

/// An attribute as the body of a schema of this package sees it.
pub(super) fn attribute_in_body(types: &PackageTypes, id: SchemaId, name: &str) -> Option<Spot> {
    let info = &types.schemas.get(id.0 as usize)?.info;
    attribute(types, id, name)
        .or_else(|| info.host.iter().chain(&info.hosts).find_map(|host| attribute(types, *host, name)))
}

/// An attribute of the schemas that a schema extends.
pub(super) fn inherited(types: &PackageTypes, id: SchemaId, name: &str) -> Option<Spot> {
    let base = types.types.heads.get(id.0 as usize)?.base?;
    (base != id).then(|| attribute(types, base, name)).flatten()
}

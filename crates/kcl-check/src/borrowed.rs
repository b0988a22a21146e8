//! Names of variables that are written as types: a quirk of the reference that programs meet by accident.
//!
//! `y: x = ..`, `a as x` with a variable x mean the type of x. But the reference also takes every such name, all over the package, for an
//! alias of that type: the identifier `x` becomes the text of the type when the program runs (`int` is then the built-in function, a
//! schema is itself, anything else is unknown and Undefined), and so does a key `x` of braces. Assignment targets, paths, loop
//! variables and parameters of that name are left alone.

use kcl_syntax::ast::{BasicType, Dotted, Ident, LiteralType, Str, Type, TypeId};
use kcl_syntax::lower::Rewrite;
use kcl_syntax::program::{ImportTarget, Package, Program};

use crate::package::PackageTypes;
use crate::ty::{Ty, TyId};

/// Types inside types are written this deep.
const MAX_DEPTH: u32 = 32;

/// What the checker met.
#[derive(Debug, Default)]
pub(crate) struct Borrowed {
    /// Dotted names that are a whole annotation, with what they meant last.
    pub(crate) names: Vec<(Str, TyId)>,
    /// Written types that are such a name.
    pub(crate) types: Vec<(TypeId, TyId)>,
}

impl Borrowed {
    pub(crate) fn name(&mut self, name: Str, ty: TyId) {
        self.names.retain(|(known, _)| *known != name);
        self.names.push((name, ty));
    }
}

impl PackageTypes {
    /// Returns what is written otherwise in the tree that is run, because variables were used as types.
    pub fn borrowed_names(&self, program: &Program, package: &Package) -> Vec<Rewrite> {
        let mut rewrites = Vec::new();
        for (id, ty) in &self.borrowed.types {
            if !is_member_type(program, package, *id) {
                let mut parts = Vec::new();
                self.write_type(package, *ty, &mut parts, 0);
                rewrites.push(Rewrite::Type { id: *id, parts });
            }
        }
        for (name, ty) in &self.borrowed.names {
            if !names_member_type(program, package, &name.split('.').collect::<Vec<_>>()) {
                let (path, text) = (self.identifier(package, *ty), self.run_text(*ty));
                rewrites.push(Rewrite::Name { name: name.clone(), path, text });
            }
        }
        rewrites
    }

    /// What stands in the place of an identifier.
    fn identifier(&self, package: &Package, ty: TyId) -> Vec<Str> {
        match self.types.kind(ty) {
            Ty::Schema(..) => self.schema_path(package, ty).unwrap_or_else(|| vec!["any".into()]),
            _ => self.run_text(ty).split('.').map(Str::from).collect(),
        }
    }

    /// The name of a schema as this package writes it.
    fn schema_path(&self, package: &Package, ty: TyId) -> Option<Vec<Str>> {
        let Ty::Schema(id, _) = self.types.kind(ty) else { return None };
        let name = self.types.heads[id.0 as usize].name.clone();
        let Some((home, _)) = &self.schemas[id.0 as usize].home else { return Some(vec![name]) };
        // A type of a package that is not imported here cannot be written.
        let last = home.path.rsplit('.').next().unwrap_or_default();
        let link = package.imports.iter().find(|link| link.name == last)?;
        Some(vec![link.name.clone(), name])
    }

    /// Appends a type to the parts of one, after its children.
    fn write_type(&self, package: &Package, ty: TyId, parts: &mut Vec<Type>, depth: u32) -> TypeId {
        let inner = |ty: TyId, parts: &mut Vec<Type>| self.write_type(package, ty, parts, depth + 1);
        let kind = match self.types.kind(ty) {
            _ if depth > MAX_DEPTH => Type::Any,
            Ty::Any | Ty::None | Ty::Void | Ty::Module(_) => Type::Any,
            Ty::Bool => Type::Basic(BasicType::Bool),
            Ty::Int => Type::Basic(BasicType::Int),
            Ty::Float => Type::Basic(BasicType::Float),
            Ty::Str => Type::Basic(BasicType::Str),
            Ty::BoolLit(b) => Type::Literal(LiteralType::Bool(*b)),
            Ty::IntLit(i) => Type::Literal(LiteralType::Int(*i)),
            Ty::FloatLit(bits) => Type::Literal(LiteralType::Float(f64::from_bits(*bits))),
            Ty::StrLit(text) => Type::Literal(LiteralType::Str(text.clone())),
            Ty::Unit(Some((raw, suffix))) => Type::Literal(LiteralType::Unit(*raw, *suffix)),
            Ty::Unit(None) => Type::Named(dotted(&["units".into(), "NumberMultiplier".into()])),
            Ty::List(item) => Type::List(Some(inner(*item, parts))),
            Ty::Dict(dict) => {
                let key = inner(dict.key, parts);
                Type::Dict(Some(key), Some(inner(dict.val, parts)))
            }
            Ty::Union(members) => Type::Union(members.iter().map(|m| inner(*m, parts)).collect()),
            Ty::Func(func) => {
                let params = func.params.iter().map(|p| inner(p.ty, parts)).collect();
                Type::Function(params, Some(inner(func.ret, parts)))
            }
            Ty::Schema(..) => match self.schema_path(package, ty) {
                Some(path) => Type::Named(dotted(&path)),
                None => Type::Any,
            },
        };
        parts.push(kind);
        TypeId(parts.len() as u32 - 1)
    }

    /// The text of a type when the program runs.
    fn run_text(&self, ty: TyId) -> String {
        let joined = |items: Vec<TyId>, separator: &str| {
            items.into_iter().map(|ty| self.run_text(ty)).collect::<Vec<_>>().join(separator)
        };
        match self.types.kind(ty) {
            Ty::BoolLit(true) => "True".into(),
            Ty::BoolLit(false) => "False".into(),
            Ty::IntLit(i) => i.to_string(),
            Ty::FloatLit(bits) => format!("{:?}", f64::from_bits(*bits)),
            Ty::StrLit(text) => format!("\"{text}\""),
            Ty::List(item) => format!("[{}]", self.run_text(*item)),
            Ty::Dict(dict) => format!("{{{}:{}}}", self.run_text(dict.key), self.run_text(dict.val)),
            Ty::Union(members) => joined(members.to_vec(), " | "),
            Ty::Func(func) => {
                let params = func.params.iter().map(|p| p.ty).collect();
                format!("({}) -> {}", joined(params, ", "), self.run_text(func.ret))
            }
            Ty::Schema(id, _) => match &self.schemas[id.0 as usize].home {
                Some((home, _)) => format!("@{}.{}", home.path, self.types.text(ty)),
                None => self.types.text(ty),
            },
            _ => self.types.text(ty),
        }
    }
}

fn dotted(parts: &[Str]) -> Dotted {
    parts.iter().map(|name| Ident { name: name.clone(), span: Default::default() }).collect()
}

/// Whether a written type names a schema or an alias of another package: the evaluator knows those.
fn is_member_type(program: &Program, package: &Package, id: TypeId) -> bool {
    match package.tree.ty(id) {
        Type::Named(parts) => {
            let parts: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
            names_member_type(program, package, &parts)
        }
        _ => true,
    }
}

fn names_member_type(program: &Program, package: &Package, parts: &[&str]) -> bool {
    use kcl_syntax::ast::Stmt;
    let [import, member, ..] = parts else { return false };
    let Some(link) = package.imports.iter().find(|link| link.name == *import) else { return false };
    let ImportTarget::Package(id) = link.target else { return true };
    let tree = &program.package(id).tree;
    tree.files.iter().flat_map(|file| &file.body).any(|stmt| match tree.stmt(*stmt) {
        Stmt::Schema(def) => def.name.name == *member,
        Stmt::Rule(def) => def.name.name == *member,
        Stmt::TypeAlias { name, .. } => name.name == *member,
        _ => false,
    })
}

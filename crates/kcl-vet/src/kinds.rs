//! Schemas by the `apiVersion` and `kind` that they fix.

use std::sync::Arc;

use base_yaml::{Data, Node};
use ecow::EcoString as Str;
use kcl_syntax::ast::{Attr, Expr, LiteralType, SchemaDef, Stmt, Tree, Type};
use kcl_syntax::program::{Package, PkgId, Program};
use rustc_hash::FxHashMap;

use crate::data::Document;
use crate::statement::SchemaName;

/// What a Kubernetes object says it is.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Kind {
    pub(crate) api_version: Str,
    pub(crate) kind: Str,
}

impl Kind {
    /// What a document says it is.
    pub(crate) fn of(node: &Node) -> Option<Kind> {
        let text = |key| match &node.get(key)?.value {
            Data::Str(text) => Some(Str::from(text.as_str())),
            _ => None,
        };
        Some(Kind { api_version: text("apiVersion")?, kind: text("kind")? })
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.api_version, self.kind)
    }
}

/// Which schemas there are for a kind.
#[derive(Default, Debug)]
pub(crate) struct Kinds {
    schemas: FxHashMap<Kind, Vec<SchemaName>>,
}

impl Kinds {
    /// Collects the schemas of all packages of a program that fix both names.
    pub(crate) fn of(program: &Program) -> Kinds {
        let mut kinds = Kinds::default();
        for (at, package) in program.packages.iter().enumerate() {
            let is_main = PkgId(at as u32) == program.main;
            for def in schemas(&package.tree) {
                let (Some(api_version), Some(kind)) =
                    (fixed(package, def, "apiVersion"), fixed(package, def, "kind"))
                else {
                    continue;
                };
                let name = match is_main {
                    true => SchemaName::Known(vec![def.name.name.clone()]),
                    false => SchemaName::Imported {
                        package: package.path.split('.').map(Str::from).collect(),
                        name: def.name.name.clone(),
                    },
                };
                kinds.schemas.entry(Kind { api_version, kind }).or_default().push(name);
            }
        }
        kinds
    }

    /// Returns the schemas for a kind.
    pub(crate) fn get(&self, kind: &Kind) -> &[SchemaName] {
        self.schemas.get(kind).map_or(&[], Vec::as_slice)
    }

    /// Takes a list of objects apart. A `List` that has a schema of its own stays whole.
    pub(crate) fn split(&self, document: Document, all: &mut Vec<Document>) {
        let kind = Kind::of(&document.node);
        let listed = kind.as_ref().filter(|kind| kind.kind.ends_with("List") && self.get(kind).is_empty());
        let inner = match listed {
            Some(_) => document.node.get("items"),
            None => Some(&*document.node),
        };
        match inner.map(|node| &node.value) {
            Some(Data::List(items)) if !items.is_empty() => items.iter().for_each(|item| {
                self.split(Document { number: document.number, node: Arc::new(item.clone()) }, all);
            }),
            Some(Data::List(_)) if listed.is_some() => {}
            _ => all.push(document),
        }
    }

    /// Returns all kinds in order.
    pub(crate) fn known(&self) -> Vec<&Kind> {
        let mut known: Vec<&Kind> = self.schemas.keys().collect();
        known.sort();
        known
    }
}

/// The schemas of a package in the order of its files.
pub(crate) fn schemas(tree: &Tree) -> impl Iterator<Item = &SchemaDef> {
    let stmts = tree.files.iter().flat_map(|file| &file.body);
    stmts.filter_map(|stmt| match tree.stmt(*stmt) {
        Stmt::Schema(def) => Some(&**def),
        _ => None,
    })
}

/// Bases of one package are followed this far.
const MAX_CHAIN: usize = 64;

/// The text that an attribute always has unless somebody changes it, by the schema or a base in the same package.
fn fixed(package: &Package, def: &SchemaDef, name: &str) -> Option<Str> {
    let tree = &package.tree;
    let mut at = Some(def);
    for _ in 0..MAX_CHAIN {
        let def = at?;
        let attr = def.body.iter().find_map(|stmt| match tree.stmt(*stmt) {
            Stmt::Attr(attr) if attr.name.name == name => Some(attr),
            _ => None,
        });
        if let Some(attr) = attr {
            return literal(tree, attr);
        }
        let base = match def.base.as_ref().map(|base| &*base.parts) {
            Some([one]) => &one.name,
            _ => return None,
        };
        at = schemas(tree).find(|other| other.name.name == *base);
    }
    None
}

fn literal(tree: &Tree, attr: &Attr) -> Option<Str> {
    if let Some(Expr::Str(text)) = attr.default.map(|default| tree.expr(default)) {
        return Some(text.clone());
    }
    match tree.ty(attr.ty) {
        Type::Literal(LiteralType::Str(text)) => Some(text.clone()),
        _ => None,
    }
}

//! A document as the statement `value = Schema {…}`, each node with the range of the data that it stands for.

use std::sync::Arc;

use base_diag::Span;
use base_yaml::{Data, MapEntry, Node};
use ecow::EcoString as Str;
use kcl::Statements;
use kcl_syntax::ast::{
    Dotted, Entry, EntryOp, Expr, ExprId, Ident, Import, Key, SchemaExpr, Stmt, StmtId, Target, Tree,
};

/// Where a schema is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SchemaName {
    /// There is none: the data is taken as it is.
    None,
    /// A name that the code knows: `S`, `pkg.S`.
    Known(Vec<Str>),
    /// A schema of a package that is imported for it.
    Imported {
        /// The package.
        package: Vec<Str>,
        /// The schema.
        name: Str,
    },
}

/// A name that no code can write.
const ALIAS: &str = "@vet";

/// The assignment of one document.
#[derive(Debug)]
pub(crate) struct Assigned {
    pub(crate) attribute: Str,
    pub(crate) schema: SchemaName,
    pub(crate) node: Arc<Node>,
    /// Entries stand in the order of their keys, not in that of the data.
    pub(crate) by_key: bool,
}

impl Statements for Assigned {
    fn add_to(&self, tree: &mut Tree, base: u32) -> Vec<StmtId> {
        let mut builder = Builder { tree, base, schema: &self.schema, by_key: self.by_key };
        let span = builder.span(self.node.span);
        let mut body = Vec::new();
        if let SchemaName::Imported { package, .. } = &self.schema {
            body.push(import(builder.tree, package, ALIAS, span));
        }
        let value = builder.instance(&self.node);
        let at = Span::new(span.start, span.start);
        let name = Ident { name: self.attribute.clone(), span: at };
        let targets = [Target { name, path: Box::default(), span: at }].into();
        body.push(builder.tree.add_stmt(Stmt::Assign { targets, ty: None, value }, span));
        body
    }
}

/// Imports of packages, to look into them.
#[derive(Debug)]
pub(crate) struct Imports(pub(crate) Vec<Vec<Str>>);

impl Statements for Imports {
    fn add_to(&self, tree: &mut Tree, base: u32) -> Vec<StmtId> {
        let span = Span::new(base, base);
        let one = |(at, package): (usize, &Vec<Str>)| import(tree, package, &alias(at), span);
        self.0.iter().enumerate().map(one).collect()
    }
}

/// The name of the package at a place of [`Imports`].
pub(crate) fn alias(at: usize) -> String {
    format!("{ALIAS}{at}")
}

fn import(tree: &mut Tree, package: &[Str], alias: &str, span: Span) -> StmtId {
    let part = |name: &Str| Ident { name: name.clone(), span };
    let alias = Some(Ident { name: alias.into(), span });
    let import = Import { dots: 0, path: package.iter().map(part).collect(), alias };
    tree.add_stmt(Stmt::Import(Box::new(import)), span)
}

struct Builder<'a> {
    tree: &'a mut Tree,
    base: u32,
    schema: &'a SchemaName,
    by_key: bool,
}

impl Builder<'_> {
    fn span(&self, span: base_yaml::Span) -> Span {
        Span::new(self.base + span.start as u32, self.base + span.end as u32)
    }

    /// Mappings are instances, and so are those in lists; anything else stays what it is.
    fn instance(&mut self, node: &Node) -> ExprId {
        let span = self.span(node.span);
        match &node.value {
            Data::List(items) => {
                let items = items.iter().map(|item| self.instance(item)).collect();
                self.tree.add_expr(Expr::List(items), span)
            }
            Data::Map(_) => {
                let config = self.plain(node);
                match self.name(span) {
                    None => config,
                    Some(parts) => {
                        let at = Span::new(span.start, span.start + 1);
                        let name = self.tree.add_expr(Expr::Name(parts), at);
                        let (args, kwargs) = (Box::default(), Box::default());
                        let schema = SchemaExpr { name, has_args: false, args, kwargs, config };
                        self.tree.add_expr(Expr::Schema(Box::new(schema)), span)
                    }
                }
            }
            _ => self.plain(node),
        }
    }

    fn name(&self, span: Span) -> Option<Dotted> {
        let at = Span::new(span.start, span.start + 1);
        let part = |name: &Str| Ident { name: name.clone(), span: at };
        match self.schema {
            SchemaName::None => None,
            SchemaName::Known(parts) => Some(parts.iter().map(part).collect()),
            SchemaName::Imported { name, .. } => Some([part(&ALIAS.into()), part(name)].into()),
        }
    }

    fn plain(&mut self, node: &Node) -> ExprId {
        let span = self.span(node.span);
        let kind = match &node.value {
            Data::Null => Expr::None,
            Data::Bool(value) => Expr::Bool(*value),
            Data::Int(value) => Expr::Int(*value),
            Data::Float(value) => Expr::Float(*value),
            Data::Str(text) => Expr::Str(text.as_str().into()),
            Data::List(items) => Expr::List(items.iter().map(|item| self.plain(item)).collect()),
            Data::Map(entries) => Expr::Config(self.entries(entries)),
        };
        self.tree.add_expr(kind, span)
    }

    fn entries(&mut self, entries: &[MapEntry]) -> Box<[Entry]> {
        if !self.by_key {
            return entries.iter().map(|entry| self.entry(entry)).collect();
        }
        let mut sorted: Vec<&MapEntry> = entries.iter().collect();
        sorted.sort_by(|a, b| a.key.cmp(&b.key));
        sorted.into_iter().map(|entry| self.entry(entry)).collect()
    }

    fn entry(&mut self, entry: &MapEntry) -> Entry {
        let value = self.plain(&entry.value);
        let key = Key::Str(entry.key.as_str().into());
        Entry { key, key_span: self.span(entry.key_span), op: EntryOp::Union, value }
    }
}

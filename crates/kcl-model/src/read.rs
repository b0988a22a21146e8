//! From a checked package to the model: types as the checker knows them, texts as they are written.

mod checks;
mod comments;
mod constant;

use std::collections::HashMap;
use std::sync::Arc;

use base_diag::{SourceFile, Span};
use kcl_check::{Home, PackageTypes, SchemaName, SchemaView, TypeView};
use kcl_syntax::ast::{
    Attr, Check as CheckLine, DottedRef, Expr, ExprId, RuleDef, SchemaDef, SchemaKind, Stmt, StmtId, Tree,
};
use kcl_syntax::program::{self, ImportTarget, PkgId};

use crate::docstring::{self, Doc};
use crate::model::{
    Attribute, Check, Decorator, Default, IndexSignature, Kind, Lines, Package, Parameter, Schema, SchemaRef,
};
use crate::ty::Type;
use crate::value::Value;
use comments::Comments;

/// What a package is called in the model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PackageName {
    /// Dotted path, as another module imports it.
    pub path: String,
    /// It belongs to another module.
    pub external: bool,
}

/// A checked program.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its trees and texts.
    pub program: &'a program::Program,
    /// The types of each package.
    pub types: &'a [Arc<PackageTypes>],
    /// The name of each package.
    pub names: &'a [PackageName],
    /// The folder that paths of files are shown from.
    pub root: &'a str,
}

/// Reads one package; none if the program has no such package or it was not checked.
pub fn read_package(input: Program<'_>, id: PkgId) -> Option<Package> {
    let at = id.0 as usize;
    let package = input.program.packages.get(at)?;
    let (types, name) = (input.types.get(at)?, input.names.get(at)?);
    let sources: Vec<Arc<SourceFile>> =
        package.files.iter().filter_map(|file| input.program.sources.get(*file).cloned()).collect();
    if sources.len() != package.files.len() {
        return None;
    }
    let comments = sources.iter().map(|source| Comments::of(&source.text)).collect();
    let views = types.schemas().into_iter().map(|view| (view.name.to_string(), view)).collect();
    let homes = input.types.iter().zip(input.names).map(|(types, name)| (types.home(), name.path.clone()));
    let reader =
        Reader { package, tree: &package.tree, sources, comments, views, homes: homes.collect(), input };
    Some(Package {
        path: name.path.clone(),
        external: name.external,
        doc: reader.package_doc(),
        files: reader.sources.iter().map(|source| reader.shown(&source.path)).collect(),
        schemas: reader.schemas(),
    })
}

struct Reader<'a> {
    package: &'a program::Package,
    tree: &'a Tree,
    sources: Vec<Arc<SourceFile>>,
    comments: Vec<Comments>,
    views: HashMap<String, SchemaView>,
    homes: HashMap<Home, String>,
    input: Program<'a>,
}

impl Reader<'_> {
    fn shown(&self, path: &str) -> String {
        let inside = path.strip_prefix(self.input.root).map(|rest| rest.trim_start_matches('/'));
        inside.unwrap_or_else(|| path.rsplit('/').next().unwrap_or(path)).to_owned()
    }

    fn package_doc(&self) -> String {
        let docs = self.tree.files.iter().filter_map(|file| file.doc);
        let read = |doc: Span| docstring::parse(&kcl_syntax::docstring(&self.text(doc))).description;
        let texts: Vec<String> = docs.map(read).collect();
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    fn schemas(&self) -> Vec<Schema> {
        let body = self.tree.files.iter().flat_map(|file| &file.body);
        let mut found: Vec<Schema> = Vec::new();
        for stmt in body {
            let schema = match self.tree.stmt(*stmt) {
                Stmt::Schema(def) => self.schema(*stmt, def),
                Stmt::Rule(def) => self.rule(*stmt, def),
                _ => continue,
            };
            // Of two of one name the checker has told already.
            if !found.iter().any(|known| known.name == schema.name) {
                found.push(schema);
            }
        }
        found
    }

    fn schema(&self, stmt: StmtId, def: &SchemaDef) -> Schema {
        let span = self.tree.stmt_span(stmt);
        let view = self.views.get(def.name.name.as_str());
        let doc = self.doc(def.doc, span);
        let attributes = self.attributes(def, view, &doc);
        let base = view.and_then(|view| view.base.as_ref()).map(|base| self.reference(base));
        let checks = def.checks.iter().map(|line| self.check(line)).collect();
        Schema {
            name: def.name.name.to_string(),
            kind: match def.kind {
                SchemaKind::Schema => Kind::Schema,
                SchemaKind::Mixin => Kind::Mixin,
                SchemaKind::Protocol => Kind::Protocol,
            },
            doc,
            parameters: self.parameters(&def.params, view),
            bases: base.into_iter().collect(),
            host: view.and_then(|view| view.host.as_ref()).map(|host| self.reference(host)),
            mixins: def.mixins.iter().filter_map(|mixin| self.named(mixin)).collect(),
            attributes,
            index: self.index(def, view),
            checks,
            decorators: self.decorators(&def.decorators),
            place: Some(self.place(span)),
        }
    }

    fn rule(&self, stmt: StmtId, def: &RuleDef) -> Schema {
        let span = self.tree.stmt_span(stmt);
        let view = self.views.get(def.name.name.as_str());
        Schema {
            name: def.name.name.to_string(),
            kind: Kind::Rule,
            doc: self.doc(def.doc, span),
            parameters: self.parameters(&def.params, view),
            bases: def.parents.iter().filter_map(|parent| self.named(parent)).collect(),
            host: view.and_then(|view| view.host.as_ref()).map(|host| self.reference(host)),
            checks: def.checks.iter().map(|line| self.check(line)).collect(),
            decorators: self.decorators(&def.decorators),
            place: Some(self.place(span)),
            ..Schema::default()
        }
    }

    /// The docstring; without one, the comment above.
    fn doc(&self, written: Option<Span>, span: Span) -> Doc {
        match written {
            Some(written) => {
                let mut doc = docstring::parse(&kcl_syntax::docstring(&self.text(written)));
                let first = self.place(written).line;
                doc.examples.iter_mut().for_each(|example| example.line += first);
                doc
            }
            None => Doc { description: self.comment_above(span), ..Doc::default() },
        }
    }

    fn comment_above(&self, span: Span) -> String {
        let place = self.place(span);
        self.file_of(span)
            .and_then(|at| self.comments.get(at))
            .map_or_else(String::new, |c| c.above(place.line))
    }

    fn file_of(&self, span: Span) -> Option<usize> {
        let (at, _) = self.tree.locate(span.start);
        (at < self.sources.len()).then_some(at)
    }

    fn place(&self, span: Span) -> Lines {
        let (at, start) = self.tree.locate(span.start);
        let Some(source) = self.sources.get(at) else { return Lines::default() };
        let end = start + (span.end - span.start);
        // A block ends behind the line end of its last line.
        let text = source.text.get(start as usize..end as usize).unwrap_or_default();
        let end = start + text.trim_end().len() as u32;
        let line = source.lines().line(start);
        Lines { file: self.shown(&source.path), line, end: source.lines().line(end.max(start)).max(line) }
    }

    fn text(&self, span: Span) -> String {
        let (at, start) = self.tree.locate(span.start);
        let end = start + (span.end - span.start);
        let text = self.sources.get(at).and_then(|s| s.text.get(start as usize..end as usize));
        text.unwrap_or_default().trim().to_owned()
    }

    fn source(&self, expr: ExprId) -> String {
        self.text(self.tree.expr_span(expr))
    }

    fn attributes(&self, def: &SchemaDef, view: Option<&SchemaView>, doc: &Doc) -> Vec<Attribute> {
        let mut found: Vec<Attribute> = Vec::new();
        self.collect(&def.body, view, &mut found);
        for attribute in &mut found {
            let told = doc.attributes.iter().find(|d| d.name == attribute.name && !d.text.is_empty());
            if let Some(told) = told {
                attribute.doc.clone_from(&told.text);
            }
        }
        found
    }

    fn collect(&self, body: &[StmtId], view: Option<&SchemaView>, found: &mut Vec<Attribute>) {
        for stmt in body {
            let span = self.tree.stmt_span(*stmt);
            let new = match self.tree.stmt(*stmt) {
                Stmt::Attr(attr) => self.attribute(attr, span, view),
                Stmt::Unification { target, value, .. } => {
                    let ty = self.type_of(view, &target.name);
                    self.computed(&target.name, ty, Some(*value), span, false)
                }
                Stmt::Assign { targets, value, .. } if targets.len() == 1 && targets[0].path.is_empty() => {
                    self.computed(&targets[0].name.name, Type::Any, Some(*value), span, true)
                }
                Stmt::Assign { targets, .. } => {
                    for target in targets.iter().filter(|target| target.path.is_empty()) {
                        add(found, self.computed(&target.name.name, Type::Any, None, span, true));
                    }
                    continue;
                }
                Stmt::If { body, orelse, .. } => {
                    let before = found.len();
                    self.collect(body, view, found);
                    self.collect(orelse, view, found);
                    // What a branch sets is not the default of every instance.
                    found[before..].iter_mut().filter(|a| a.computed).for_each(|a| a.default = None);
                    continue;
                }
                _ => continue,
            };
            add(found, new);
        }
    }

    fn attribute(&self, attr: &Attr, span: Span, view: Option<&SchemaView>) -> Attribute {
        let place = self.place(span);
        let comments = self.file_of(span).and_then(|at| self.comments.get(at));
        let default = attr
            .default
            .map(|value| Default { source: self.source(value), value: constant::value(self.tree, value) });
        Attribute {
            name: attr.name.name.to_string(),
            ty: self.type_of(view, &attr.name.name),
            written: self.text(self.tree.type_span(attr.ty)),
            optional: attr.optional,
            default,
            computed: false,
            doc: comments.map_or_else(String::new, |c| c.about(place.line, place.end)),
            decorators: self.decorators(&attr.decorators),
            place: Some(place),
        }
    }

    fn computed(&self, name: &str, ty: Type, value: Option<ExprId>, span: Span, computed: bool) -> Attribute {
        let default = value
            .map(|value| Default { source: self.source(value), value: constant::value(self.tree, value) });
        let place = Some(self.place(span));
        Attribute { name: name.to_owned(), ty, default, computed, place, ..Attribute::default() }
    }

    fn type_of(&self, view: Option<&SchemaView>, name: &str) -> Type {
        let found = view.and_then(|view| view.attributes.iter().find(|(n, ..)| n == name));
        found.map_or(Type::Any, |(_, ty, _)| self.ty(ty))
    }

    fn index(&self, def: &SchemaDef, view: Option<&SchemaView>) -> Option<IndexSignature> {
        let written = def.index_signature.as_ref()?;
        let (key, value) = view?.index.as_ref()?;
        Some(IndexSignature {
            key_name: written.name.as_ref().map(|name| name.name.to_string()),
            key: self.ty(key),
            value: self.ty(value),
            any_other: written.any_other,
            default: written.default.map(|value| self.source(value)),
        })
    }

    fn parameters(&self, params: &[kcl_syntax::ast::Param], view: Option<&SchemaView>) -> Vec<Parameter> {
        let ty = |name: &str| {
            let found = view.and_then(|view| view.parameters.iter().find(|(n, _)| n == name));
            found.map_or(Type::Any, |(_, ty)| self.ty(ty))
        };
        let read = |param: &kcl_syntax::ast::Param| Parameter {
            name: param.name.name.to_string(),
            ty: ty(&param.name.name),
            default: param.default.map(|value| self.source(value)),
        };
        params.iter().map(read).collect()
    }

    fn check(&self, line: &CheckLine) -> Check {
        let message = line.msg.map(|msg| match self.tree.expr(msg) {
            Expr::Str(text) => text.to_string(),
            _ => self.source(msg).trim_matches('"').to_owned(),
        });
        Check {
            condition: self.source(line.cond),
            guard: line.guard.map(|guard| self.source(guard)),
            message,
            constraints: checks::constraints(self.tree, line, &self.regex_name()),
            place: Some(self.place(line.span)),
        }
    }

    /// Names under which the package imports the system module `regex`.
    fn regex_name(&self) -> Vec<String> {
        let is_regex =
            |target: &ImportTarget| matches!(target, ImportTarget::System(name) if name == "regex");
        self.package.imports.iter().filter(|l| is_regex(&l.target)).map(|l| l.name.to_string()).collect()
    }

    fn decorators(&self, decorators: &[ExprId]) -> Vec<Decorator> {
        let argument = |name: &str, value: ExprId| {
            (name.to_owned(), self.source(value), constant::value(self.tree, value))
        };
        let read = |id: &ExprId| match self.tree.expr(*id) {
            Expr::Call(call) => {
                let positional = call.args.iter().map(|value| argument("", *value));
                let named = call.kwargs.iter().map(|kwarg| argument(&kwarg.name.name, kwarg.value));
                Decorator { name: self.source(call.func), arguments: positional.chain(named).collect() }
            }
            _ => Decorator { name: self.source(*id), arguments: Vec::new() },
        };
        decorators.iter().map(read).collect()
    }

    fn reference(&self, name: &SchemaName) -> SchemaRef {
        let package = self.homes.get(&name.home).cloned().unwrap_or_default();
        SchemaRef { package, name: name.name.to_string() }
    }

    /// A name in a schema header: of this package, or behind an import.
    fn named(&self, name: &DottedRef) -> Option<SchemaRef> {
        let own = self.input.names.get(self.own_index()?)?.path.clone();
        match &name.parts[..] {
            [one] => Some(SchemaRef { package: own, name: one.name.to_string() }),
            [module, one] => {
                let link = self.package.imports.iter().find(|link| link.name == module.name)?;
                let ImportTarget::Package(id) = link.target else { return None };
                let package = self.input.names.get(id.0 as usize)?.path.clone();
                Some(SchemaRef { package, name: one.name.to_string() })
            }
            _ => None,
        }
    }

    fn own_index(&self) -> Option<usize> {
        self.input.program.packages.iter().position(|package| std::ptr::eq(package, self.package))
    }

    fn ty(&self, view: &TypeView) -> Type {
        let boxed = |view: &TypeView| Box::new(self.ty(view));
        match view {
            TypeView::Any => Type::Any,
            TypeView::None => Type::None,
            TypeView::Bool => Type::Bool,
            TypeView::Int => Type::Int,
            TypeView::Float => Type::Float,
            TypeView::Str => Type::Str,
            TypeView::BoolLit(b) => Type::Literal(Value::Bool(*b)),
            TypeView::IntLit(i) => Type::Literal(Value::Int(*i)),
            TypeView::FloatLit(f) => Type::Literal(Value::Float(*f)),
            TypeView::StrLit(text) => Type::Literal(Value::Str(text.to_string())),
            TypeView::Unit(None) => Type::Unit(None),
            TypeView::Unit(Some((raw, suffix))) => Type::Unit(Some(format!("{raw}{}", suffix.text()))),
            TypeView::List(item) => Type::List(boxed(item)),
            TypeView::Dict(key, value) => Type::Dict(boxed(key), boxed(value)),
            TypeView::Union(members) => Type::union(members.iter().map(|member| self.ty(member))),
            TypeView::Schema(name) => Type::Schema(self.reference(name)),
            TypeView::Function(params, ret) => {
                Type::Function(params.iter().map(|p| self.ty(p)).collect(), boxed(ret))
            }
        }
    }
}

/// Adds an attribute; what is set again keeps its first place, and a private name is nobody's business.
fn add(found: &mut Vec<Attribute>, new: Attribute) {
    if new.name.starts_with('_') {
        return;
    }
    match found.iter_mut().find(|known| known.name == new.name) {
        Some(known) if new.computed => known.default = new.default.or_else(|| known.default.take()),
        Some(known) => known.default = known.default.take().or(new.default),
        None => found.push(new),
    }
}

//! The tree of a program as JSON. The form is ours: nodes with their kind, their place and their parts.

use std::path::Path;

use base_diag::Span;
use kcl_syntax::ast::{
    Call, Check, CompClause, Entry, Expr, ExprId, Ident, JoinPart, Key, Keyword, Lambda, Param, Quant,
    SchemaExpr, Stmt, StmtId, Tree, TypeId,
};
use kcl_syntax::program::{Package, Program};
use serde_json::{Map, Value, json};

/// The whole program.
pub(super) fn program(program: &Program, root: &Path) -> Value {
    let mut packages = Map::new();
    for package in &program.packages {
        let files = (0..package.files.len()).map(|at| file(program, package, at)).collect();
        packages.insert(package.path.to_string(), Value::Array(files));
    }
    json!({ "root": root.display().to_string(), "pkgs": packages })
}

/// One file of a package.
pub(super) fn file(program: &Program, package: &Package, at: usize) -> Value {
    let writer = Writer { program, package, tree: &package.tree };
    let path =
        package.files.get(at).and_then(|id| program.sources.get(*id)).map(|source| source.path.clone());
    let tree = package.tree.files.get(at);
    json!({
        "filename": path.unwrap_or_default(),
        "doc": writer.doc(tree.and_then(|file| file.doc)),
        "body": writer.body(tree.map(|file| file.body.as_slice()).unwrap_or_default()),
    })
}

struct Writer<'a> {
    program: &'a Program,
    package: &'a Package,
    tree: &'a Tree,
}

// Everything here is as deep as the tree is high, and the parser bounds that.
impl Writer<'_> {
    fn node(&self, kind: &str, span: Span, parts: Value) -> Value {
        let (file, start) = self.package.locate(span.start);
        let (from, to) = (
            self.program.sources.position(file, start),
            self.program.sources.position(file, start + (span.end - span.start)),
        );
        let mut node = json!({
            "type": kind, "line": from.line, "column": from.column.saturating_sub(1),
            "end_line": to.line, "end_column": to.column.saturating_sub(1),
        });
        if let (Value::Object(node), Value::Object(parts)) = (&mut node, parts) {
            node.extend(parts);
        }
        node
    }

    fn text(&self, span: Span) -> String {
        let (file, start) = self.package.locate(span.start);
        let range = start as usize..(start + (span.end - span.start)) as usize;
        let text = self.program.sources.get(file).and_then(|source| source.text.get(range));
        text.unwrap_or_default().to_owned()
    }

    fn doc(&self, doc: Option<Span>) -> Option<String> {
        doc.map(|span| kcl_syntax::docstring(&self.text(span)).into_owned())
    }

    fn body(&self, body: &[StmtId]) -> Value {
        body.iter().map(|id| self.stmt(*id)).collect()
    }

    fn ty(&self, id: TypeId) -> Value {
        Value::String(self.text(self.tree.type_span(id)))
    }

    fn exprs(&self, ids: &[ExprId]) -> Value {
        ids.iter().map(|id| self.expr(*id)).collect()
    }

    fn maybe(&self, id: Option<ExprId>) -> Value {
        id.map_or(Value::Null, |id| self.expr(id))
    }

    fn stmt(&self, id: StmtId) -> Value {
        let span = self.tree.stmt_span(id);
        let (kind, parts) = match self.tree.stmt(id) {
            Stmt::Expr(value) => ("Expr", json!({ "value": self.expr(*value) })),
            Stmt::Assign { targets, ty, value } => {
                let names: Vec<String> = targets.iter().map(|target| self.text(target.span)).collect();
                let parts =
                    json!({ "targets": names, "ty": ty.map(|ty| self.ty(ty)), "value": self.expr(*value) });
                ("Assign", parts)
            }
            Stmt::AugAssign { target, op, value } => {
                let parts =
                    json!({ "target": self.text(target.span), "op": op.text(), "value": self.expr(*value) });
                ("AugAssign", parts)
            }
            Stmt::Unification { target, value, .. } => {
                ("Unification", json!({ "target": target.name.as_str(), "value": self.expr(*value) }))
            }
            Stmt::If { cond, body, orelse } => (
                "If",
                json!({ "cond": self.expr(*cond), "body": self.body(body), "orelse": self.body(orelse) }),
            ),
            Stmt::Assert { cond, guard, msg } => (
                "Assert",
                json!({ "test": self.expr(*cond), "if_cond": self.maybe(*guard), "msg": self.maybe(*msg) }),
            ),
            Stmt::Import(import) => {
                let alias = import.alias.as_ref().map(|alias| alias.name.as_str());
                (
                    "Import",
                    json!({ "path": import.raw_path(), "asname": alias, "name": import.bound_name().as_str() }),
                )
            }
            Stmt::TypeAlias { name, ty } => {
                ("TypeAlias", json!({ "name": name.name.as_str(), "ty": self.ty(*ty) }))
            }
            Stmt::Schema(def) => {
                let dotted = |span: Span| self.text(span);
                let parts = json!({
                    "name": def.name.name.as_str(), "kind": format!("{:?}", def.kind).to_lowercase(),
                    "doc": self.doc(def.doc), "parent_name": def.base.as_ref().map(|b| dotted(b.span)),
                    "for_host_name": def.host.as_ref().map(|h| dotted(h.span)),
                    "mixins": def.mixins.iter().map(|m| dotted(m.span)).collect::<Vec<_>>(),
                    "args": self.params(&def.params), "decorators": self.exprs(&def.decorators), "body": self.body(&def.body),
                    "index_signature": def.index_signature.as_ref().map(|index| self.text(index.span)), "checks": self.checks(&def.checks),
                });
                ("Schema", parts)
            }
            Stmt::Rule(def) => {
                let parts = json!({
                    "name": def.name.name.as_str(), "doc": self.doc(def.doc),
                    "args": self.params(&def.params), "decorators": self.exprs(&def.decorators), "checks": self.checks(&def.checks),
                });
                ("Rule", parts)
            }
            Stmt::Attr(attr) => {
                let parts = json!({
                    "name": attr.name.name.as_str(), "ty": self.ty(attr.ty), "is_optional": attr.optional,
                    "value": self.maybe(attr.default), "decorators": self.exprs(&attr.decorators),
                });
                ("SchemaAttr", parts)
            }
        };
        self.node(kind, span, parts)
    }

    fn params(&self, params: &[Param]) -> Value {
        let param = |p: &Param| json!({ "name": p.name.name.as_str(), "ty": p.ty.map(|ty| self.ty(ty)), "default": self.maybe(p.default) });
        params.iter().map(param).collect()
    }

    fn checks(&self, checks: &[Check]) -> Value {
        let check = |c: &Check| json!({ "test": self.expr(c.cond), "if_cond": self.maybe(c.guard), "msg": self.maybe(c.msg) });
        checks.iter().map(check).collect()
    }

    fn expr(&self, id: ExprId) -> Value {
        let span = self.tree.expr_span(id);
        let (kind, parts) = match self.tree.expr(id) {
            Expr::Missing => ("Missing", json!({})),
            Expr::Name(parts) => ("Identifier", json!({ "names": names(parts) })),
            Expr::Int(_) | Expr::Unit(..) | Expr::Float(_) => {
                ("NumberLit", json!({ "value": self.text(span) }))
            }
            Expr::Str(text) => ("StringLit", json!({ "value": text.as_str() })),
            Expr::Joined(parts) => ("JoinedString", json!({ "values": self.joined(parts) })),
            Expr::Bool(value) => {
                ("NameConstantLit", json!({ "value": if *value { "True" } else { "False" } }))
            }
            Expr::None => ("NameConstantLit", json!({ "value": "None" })),
            Expr::Undefined => ("NameConstantLit", json!({ "value": "Undefined" })),
            Expr::Unary(op, value) => {
                ("Unary", json!({ "op": format!("{op:?}"), "operand": self.expr(*value) }))
            }
            Expr::Binary(op, left, right) => {
                ("Binary", json!({ "op": op.text(), "left": self.expr(*left), "right": self.expr(*right) }))
            }
            Expr::Compare(left, rest) => {
                let right = |(op, value): &(_, ExprId)| json!({ "op": format!("{op:?}"), "value": self.expr(*value) });
                let rest: Vec<Value> = rest.iter().map(right).collect();
                ("Compare", json!({ "left": self.expr(*left), "comparators": rest }))
            }
            Expr::As(value, ty) => ("As", json!({ "value": self.expr(*value), "ty": self.ty(*ty) })),
            Expr::If { cond, then, orelse } => (
                "If",
                json!({ "cond": self.expr(*cond), "body": self.expr(*then), "orelse": self.expr(*orelse) }),
            ),
            Expr::Paren(value) => ("Paren", json!({ "expr": self.expr(*value) })),
            Expr::Selector { value, name, optional } => (
                "Selector",
                json!({ "value": self.expr(*value), "attr": name.name.as_str(), "has_question": optional }),
            ),
            Expr::Index { value, index, optional } => (
                "Subscript",
                json!({ "value": self.expr(*value), "index": self.expr(*index), "has_question": optional }),
            ),
            Expr::Slice { value, lower, upper, step, optional } => {
                let parts = json!({
                    "value": self.expr(*value), "lower": self.maybe(*lower), "upper": self.maybe(*upper),
                    "step": self.maybe(*step), "has_question": optional,
                });
                ("Subscript", parts)
            }
            Expr::Call(call) => ("Call", self.call(call)),
            Expr::List(items) => ("List", json!({ "elts": self.exprs(items) })),
            Expr::Star(value) => ("Starred", json!({ "value": self.expr(*value) })),
            Expr::ListIf { cond, then, orelse } => (
                "ListIfItem",
                json!({ "if_cond": self.expr(*cond), "exprs": self.exprs(then), "orelse": self.exprs(orelse) }),
            ),
            Expr::ListComp { elt, clauses } => {
                ("ListComp", json!({ "elt": self.expr(*elt), "generators": self.clauses(clauses) }))
            }
            Expr::Config(entries) => {
                let items: Vec<Value> = entries.iter().map(|entry| self.entry(entry)).collect();
                ("Config", json!({ "items": items }))
            }
            Expr::DictComp { entry, clauses } => {
                ("DictComp", json!({ "entry": self.entry(entry), "generators": self.clauses(clauses) }))
            }
            Expr::Quant(quant) => ("Quant", self.quant(quant)),
            Expr::Schema(schema) => ("Schema", self.instance(schema)),
            Expr::Lambda(lambda) => ("Lambda", self.lambda(lambda)),
        };
        self.node(kind, span, parts)
    }

    fn call(&self, call: &Call) -> Value {
        let keyword = |k: &Keyword| json!({ "arg": k.name.name.as_str(), "value": self.expr(k.value) });
        let keywords: Vec<Value> = call.kwargs.iter().map(keyword).collect();
        json!({ "func": self.expr(call.func), "args": self.exprs(&call.args), "keywords": keywords })
    }

    fn quant(&self, quant: &Quant) -> Value {
        json!({
            "op": format!("{:?}", quant.op), "variables": names(&quant.targets), "target": self.expr(quant.iter),
            "test": self.expr(quant.body), "if_cond": self.maybe(quant.cond),
        })
    }

    fn instance(&self, schema: &SchemaExpr) -> Value {
        let args = self.exprs(&schema.args);
        json!({ "name": self.expr(schema.name), "args": args, "config": self.expr(schema.config) })
    }

    fn lambda(&self, lambda: &Lambda) -> Value {
        let returned = lambda.ret.map(|ty| self.ty(ty));
        json!({ "args": self.params(&lambda.params), "return_ty": returned, "body": self.body(&lambda.body) })
    }

    fn joined(&self, parts: &[JoinPart]) -> Value {
        let part = |part: &JoinPart| match part {
            JoinPart::Text(text) => Value::String(text.to_string()),
            JoinPart::Value { expr, spec } => {
                json!({ "value": self.expr(*expr), "format_spec": spec.as_deref() })
            }
        };
        parts.iter().map(part).collect()
    }

    fn clauses(&self, clauses: &[CompClause]) -> Value {
        let clause = |c: &CompClause| json!({ "targets": names(&c.targets), "iter": self.expr(c.iter), "if_cond": self.maybe(c.cond) });
        clauses.iter().map(clause).collect()
    }

    fn entry(&self, entry: &Entry) -> Value {
        let operation = match entry.op {
            kcl_syntax::ast::EntryOp::Union => "Union",
            kcl_syntax::ast::EntryOp::Override => "Override",
            kcl_syntax::ast::EntryOp::Insert => "Insert",
        };
        let key = match &entry.key {
            Key::Name(name) => json!({ "name": name.as_str() }),
            Key::Str(text) => json!({ "string": text.as_str() }),
            Key::Indexed(name, index) => json!({ "name": name.as_str(), "index": index }),
            Key::Computed(id) => json!({ "computed": self.expr(*id) }),
            Key::Unpack => json!({ "unpack": true }),
            Key::If { cond, orelse } => json!({ "if_cond": self.expr(*cond), "orelse": self.maybe(*orelse) }),
        };
        json!({ "key": key, "operation": operation, "value": self.expr(entry.value) })
    }
}

fn names(idents: &[Ident]) -> Vec<&str> {
    idents.iter().map(|ident| ident.name.as_str()).collect()
}

//! Dumps trees for comparison with the oracle: programs on standard input, each ended by NUL; per program the lines
//! `E line column message` (line from 1, column from 0) and one line `A tree`, then a NUL. With `-s` the tree has ranges.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};

use base_diag::{FileId, LineIndex, Place, Span};
use kcl_syntax::ast::*;
use kcl_syntax::parse_file;

fn main() {
    let mut input = BufReader::new(std::io::stdin());
    loop {
        let mut bytes = Vec::new();
        input.read_until(0, &mut bytes).unwrap();
        if bytes.pop() != Some(0) {
            return;
        }
        let text = &String::from_utf8_lossy(&bytes);
        let mut tree = Tree::default();
        let diags = parse_file(&mut tree, text, FileId(0));
        let lines = LineIndex::new(text);
        for d in &diags {
            if let Place::Span(_, span) = d.place() {
                let p = lines.position(text, span.start);
                println!("E {} {} {}", p.line, p.column - 1, d.message().replace('\n', "\\n"));
            }
        }
        let mut out = String::new();
        let spans = std::env::args().any(|a| a == "-s");
        let dump = Dump { tree: &tree, text, lines: &lines, spans };
        dump.stmts(&mut out, &tree.files[0].body);
        println!("A {out}");
        print!("\0");
        std::io::stdout().flush().unwrap();
    }
}

struct Dump<'a> {
    tree: &'a Tree,
    text: &'a str,
    lines: &'a LineIndex,
    spans: bool,
}

fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 32 || (c as u32) > 126 => write!(out, "\\u{{{:x}}}", c as u32).unwrap(),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn dotted(parts: &[Ident]) -> String {
    parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(".")
}

impl Dump<'_> {
    fn at(&self, out: &mut String, span: Span) {
        if self.spans {
            let p = self.lines.position(self.text, span.start);
            let e = self.lines.position(self.text, span.end);
            write!(out, "@{}:{}-{}:{}", p.line, p.column - 1, e.line, e.column - 1).unwrap();
        }
    }

    fn stmts(&self, out: &mut String, list: &[StmtId]) {
        out.push('[');
        for id in list {
            self.stmt(out, *id);
        }
        out.push(']');
    }

    fn exprs(&self, out: &mut String, list: &[ExprId]) {
        out.push('[');
        for id in list {
            self.expr(out, *id);
        }
        out.push(']');
    }

    fn opt(&self, out: &mut String, id: Option<ExprId>) {
        match id {
            Some(id) => self.expr(out, id),
            None => out.push('-'),
        }
    }

    fn opt_ty(&self, out: &mut String, id: Option<TypeId>) {
        match id {
            Some(id) => self.ty(out, id),
            None => out.push('-'),
        }
    }

    fn target(&self, out: &mut String, t: &Target) {
        write!(out, "(target {}", t.name.name).unwrap();
        for step in &t.path {
            match step {
                TargetStep::Member(m) => write!(out, ".{}", m.name).unwrap(),
                TargetStep::Index(i) => {
                    out.push('[');
                    self.expr(out, *i);
                    out.push(']');
                }
            }
        }
        out.push(')');
    }

    fn params(&self, out: &mut String, params: &[Param]) {
        out.push_str("(params");
        for p in params {
            write!(out, "({} ", p.name.name).unwrap();
            self.opt_ty(out, p.ty);
            self.opt(out, p.default);
            out.push(')');
        }
        out.push(')');
    }

    fn checks(&self, out: &mut String, checks: &[Check]) {
        out.push('[');
        for c in checks {
            out.push_str("(check ");
            self.expr(out, c.cond);
            self.opt(out, c.guard);
            self.opt(out, c.msg);
            out.push(')');
        }
        out.push(']');
    }

    fn stmt(&self, out: &mut String, id: StmtId) {
        self.at(out, self.tree.stmt_span(id));
        match self.tree.stmt(id) {
            Stmt::Expr(e) => {
                out.push_str("(expr ");
                self.expr(out, *e);
            }
            Stmt::Assign { targets, ty, value } => {
                out.push_str("(assign ");
                for t in targets {
                    self.target(out, t);
                }
                self.opt_ty(out, *ty);
                self.expr(out, *value);
            }
            Stmt::AugAssign { target, op, value } => {
                write!(out, "(aug {op:?} ").unwrap();
                self.target(out, target);
                self.expr(out, *value);
            }
            Stmt::Unification { target, value, .. } => {
                write!(out, "(unify {} ", target.name).unwrap();
                self.expr(out, *value);
            }
            Stmt::If { cond, body, orelse } => {
                out.push_str("(if ");
                self.expr(out, *cond);
                self.stmts(out, body);
                self.stmts(out, orelse);
            }
            Stmt::Assert { cond, guard, msg } => {
                out.push_str("(assert ");
                self.expr(out, *cond);
                self.opt(out, *guard);
                self.opt(out, *msg);
            }
            Stmt::Import(i) => {
                write!(out, "(import {} {}", i.raw_path(), i.bound_name()).unwrap();
            }
            Stmt::TypeAlias { name, ty } => {
                write!(out, "(type {} ", name.name).unwrap();
                self.ty(out, *ty);
            }
            Stmt::Schema(s) => self.schema(out, s),
            Stmt::Rule(r) => {
                write!(out, "(rule {} ", r.name.name).unwrap();
                self.exprs(out, &r.decorators);
                self.params(out, &r.params);
                for p in &r.parents {
                    write!(out, "(parent {})", dotted(&p.parts)).unwrap();
                }
                if let Some(h) = &r.host {
                    write!(out, "(for {})", dotted(&h.parts)).unwrap();
                }
                self.checks(out, &r.checks);
            }
            Stmt::Attr(a) => {
                write!(out, "(attr {} {} {:?} ", quote(&a.name.name), a.optional, a.op).unwrap();
                self.exprs(out, &a.decorators);
                self.ty(out, a.ty);
                self.opt(out, a.default);
            }
        }
        out.push(')');
    }

    fn schema(&self, out: &mut String, s: &SchemaDef) {
        write!(out, "(schema {} {:?} ", s.name.name, s.kind).unwrap();
        self.exprs(out, &s.decorators);
        self.params(out, &s.params);
        if let Some(b) = &s.base {
            write!(out, "(base {})", dotted(&b.parts)).unwrap();
        }
        if let Some(h) = &s.host {
            write!(out, "(for {})", dotted(&h.parts)).unwrap();
        }
        for m in &s.mixins {
            write!(out, "(mixin {})", dotted(&m.parts)).unwrap();
        }
        if let Some(i) = &s.index_signature {
            write!(out, "(index {} {} ", i.name.as_ref().map_or("-", |n| &n.name), i.any_other).unwrap();
            self.ty(out, i.key);
            self.ty(out, i.value);
            self.opt(out, i.default);
            out.push(')');
        }
        self.stmts(out, &s.body);
        self.checks(out, &s.checks);
    }

    fn entry(&self, out: &mut String, e: &Entry) {
        match &e.key {
            Key::Name(n) => write!(out, "(entry (id {n}) ").unwrap(),
            Key::Str(s) => write!(out, "(entry (str {}) ", quote(s)).unwrap(),
            Key::Indexed(n, i) => write!(out, "(entry (indexed {n} {i}) ").unwrap(),
            Key::Computed(k) => {
                out.push_str("(entry ");
                self.expr(out, *k);
                out.push(' ');
            }
            Key::Unpack => out.push_str("(unpack "),
            Key::If { cond, orelse } => {
                out.push_str("(ifentry ");
                self.expr(out, *cond);
                self.expr(out, e.value);
                self.opt(out, *orelse);
                out.push(')');
                return;
            }
        }
        if !matches!(e.key, Key::Unpack) {
            write!(out, "{:?} ", e.op).unwrap();
        }
        self.expr(out, e.value);
        out.push(')');
    }

    fn clauses(&self, out: &mut String, clauses: &[CompClause]) {
        for c in clauses {
            write!(out, "(for {:?} ", c.targets.iter().map(|t| t.name.as_str()).collect::<Vec<_>>()).unwrap();
            self.expr(out, c.iter);
            self.opt(out, c.cond);
            out.push(')');
        }
    }

    fn call(&self, out: &mut String, args: &[ExprId], kwargs: &[Keyword]) {
        self.exprs(out, args);
        for k in kwargs {
            write!(out, "(kw {} ", k.name.name).unwrap();
            self.expr(out, k.value);
            out.push(')');
        }
    }

    fn expr(&self, out: &mut String, id: ExprId) {
        self.at(out, self.tree.expr_span(id));
        match self.tree.expr(id) {
            Expr::Missing => out.push_str("(missing"),
            Expr::Name(n) => write!(out, "(id {}", dotted(n)).unwrap(),
            Expr::Int(v) => write!(out, "(int {v}").unwrap(),
            Expr::Unit(v, s) => write!(out, "(unit {v} {}", s.text()).unwrap(),
            Expr::Float(v) => write!(out, "(float {:x}", v.to_bits()).unwrap(),
            Expr::Str(s) => write!(out, "(str {}", quote(s)).unwrap(),
            Expr::Joined(parts) => {
                out.push_str("(join ");
                for p in parts {
                    match p {
                        JoinPart::Text(t) => write!(out, "{}", quote(t)).unwrap(),
                        JoinPart::Value { expr, spec } => {
                            out.push_str("(v ");
                            self.expr(out, *expr);
                            write!(out, "{})", spec.as_deref().unwrap_or("-")).unwrap();
                        }
                    }
                }
            }
            Expr::Bool(true) => out.push_str("(True"),
            Expr::Bool(false) => out.push_str("(False"),
            Expr::None => out.push_str("(None"),
            Expr::Undefined => out.push_str("(Undefined"),
            Expr::Unary(op, e) => {
                write!(out, "(un {op:?} ").unwrap();
                self.expr(out, *e);
            }
            Expr::Binary(op, a, b) => {
                write!(out, "(bin {op:?} ").unwrap();
                self.expr(out, *a);
                self.expr(out, *b);
            }
            Expr::Compare(a, links) => {
                out.push_str("(cmp ");
                self.expr(out, *a);
                for (op, e) in links {
                    write!(out, "{op:?} ").unwrap();
                    self.expr(out, *e);
                }
            }
            Expr::As(e, t) => {
                out.push_str("(as ");
                self.expr(out, *e);
                self.ty(out, *t);
            }
            Expr::If { cond, then, orelse } => {
                out.push_str("(cond ");
                self.expr(out, *cond);
                self.expr(out, *then);
                self.expr(out, *orelse);
            }
            Expr::Paren(e) => {
                out.push_str("(paren ");
                self.expr(out, *e);
            }
            Expr::Selector { value, name, optional } => {
                write!(out, "(sel {} {optional} ", name.name).unwrap();
                self.expr(out, *value);
            }
            Expr::Index { value, index, optional } => {
                write!(out, "(index {optional} ").unwrap();
                self.expr(out, *value);
                self.expr(out, *index);
            }
            Expr::Slice { value, lower, upper, step, optional } => {
                write!(out, "(slice {optional} ").unwrap();
                self.expr(out, *value);
                self.opt(out, *lower);
                self.opt(out, *upper);
                self.opt(out, *step);
            }
            Expr::Call(c) => {
                out.push_str("(call ");
                self.expr(out, c.func);
                self.call(out, &c.args, &c.kwargs);
            }
            Expr::List(items) => {
                out.push_str("(list ");
                self.exprs(out, items);
            }
            Expr::Star(e) => {
                out.push_str("(star ");
                self.expr(out, *e);
            }
            Expr::ListIf { cond, then, orelse } => {
                out.push_str("(listif ");
                self.expr(out, *cond);
                self.exprs(out, then);
                self.exprs(out, orelse);
            }
            Expr::ListComp { elt, clauses } => {
                out.push_str("(listcomp ");
                self.expr(out, *elt);
                self.clauses(out, clauses);
            }
            Expr::Config(entries) => {
                out.push_str("(config ");
                for e in entries {
                    self.entry(out, e);
                }
            }
            Expr::DictComp { entry, clauses } => {
                out.push_str("(dictcomp ");
                self.entry(out, entry);
                self.clauses(out, clauses);
            }
            Expr::Quant(q) => {
                let names = q.targets.iter().map(|t| t.name.as_str()).collect::<Vec<_>>();
                write!(out, "(quant {:?} {names:?} ", q.op).unwrap();
                self.expr(out, q.iter);
                self.expr(out, q.body);
                self.opt(out, q.cond);
            }
            Expr::Schema(s) => {
                out.push_str("(schemaexpr ");
                self.expr(out, s.name);
                self.call(out, &s.args, &s.kwargs);
                self.expr(out, s.config);
            }
            Expr::Lambda(l) => {
                out.push_str("(lambda ");
                self.params(out, &l.params);
                self.opt_ty(out, l.ret);
                self.stmts(out, &l.body);
            }
        }
        out.push(')');
    }

    fn ty(&self, out: &mut String, id: TypeId) {
        self.at(out, self.tree.type_span(id));
        match self.tree.ty(id) {
            Type::Missing | Type::NotAType(_) => out.push_str("<missing"),
            Type::Any => out.push_str("<any"),
            Type::Basic(b) => write!(out, "<{b:?}").unwrap(),
            Type::Literal(LiteralType::Float(f)) => write!(out, "<Float {:x}", f.to_bits()).unwrap(),
            Type::Literal(LiteralType::Bool(b)) => write!(out, "<lit {b}").unwrap(),
            Type::Literal(LiteralType::Int(b)) => write!(out, "<lit {b}").unwrap(),
            Type::Literal(LiteralType::Unit(b, s)) => write!(out, "<lit {b}{}", s.text()).unwrap(),
            Type::Literal(LiteralType::Str(b)) => write!(out, "<lit {}", quote(b)).unwrap(),
            Type::Named(n) => write!(out, "<named {}", dotted(n)).unwrap(),
            Type::List(t) => {
                out.push_str("<list ");
                self.opt_ty(out, *t);
            }
            Type::Dict(k, v) => {
                out.push_str("<dict ");
                self.opt_ty(out, *k);
                self.opt_ty(out, *v);
            }
            Type::Union(list) => {
                out.push_str("<union ");
                for t in list {
                    self.ty(out, *t);
                }
            }
            Type::Function(params, ret) => {
                out.push_str("<fn ");
                for t in params {
                    self.ty(out, *t);
                }
                out.push_str("->");
                self.opt_ty(out, *ret);
            }
        }
        out.push('>');
    }
}

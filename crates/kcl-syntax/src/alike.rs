//! Are two trees the same program? Everything is compared but the places.
//!
//! Ids are compared as numbers: the parser hands them out in the order of the text, so equal programs get equal ids.

use std::borrow::Cow;

use base_diag::Span;

use crate::ast::*;
use crate::strings::docstring;

/// True if two trees, each of one file with its text, are the same but for places.
pub fn alike((a, a_text): (&Tree, &str), (b, b_text): (&Tree, &str)) -> bool {
    a.exprs.len() == b.exprs.len()
        && a.stmts.len() == b.stmts.len()
        && a.types.len() == b.types.len()
        && a.files.len() == b.files.len()
        && a.files.iter().zip(&b.files).all(|(a, b)| a.body == b.body)
        && docs(a, a_text) == docs(b, b_text)
        && a.exprs.iter().zip(&b.exprs).all(|(a, b)| a.kind.alike(&b.kind))
        && a.stmts.iter().zip(&b.stmts).all(|(a, b)| a.kind.alike(&b.kind))
        && a.types.iter().zip(&b.types).all(|(a, b)| a.kind.alike(&b.kind))
}

/// The docstrings of a file: its own, and those of its schemas and rules.
fn docs<'t>(tree: &Tree, text: &'t str) -> Vec<Option<Cow<'t, str>>> {
    let files = tree.files.iter().map(|file| file.doc);
    let stmts = tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
        Stmt::Schema(def) => Some(def.doc),
        Stmt::Rule(def) => Some(def.doc),
        _ => None,
    });
    let token = |span: Span| text.get(span.start as usize..span.end as usize).unwrap_or_default();
    files.chain(stmts).map(|doc| doc.map(|span| docstring(token(span)))).collect()
}

trait Alike {
    fn alike(&self, other: &Self) -> bool;
}

impl<T: Alike> Alike for [T] {
    fn alike(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(a, b)| a.alike(b))
    }
}

impl<T: Alike + ?Sized> Alike for Box<T> {
    fn alike(&self, other: &Self) -> bool {
        (**self).alike(other)
    }
}

impl<T: Alike> Alike for Option<T> {
    fn alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(a), Some(b)) => a.alike(b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

impl<A: Alike, B: Alike> Alike for (A, B) {
    fn alike(&self, other: &Self) -> bool {
        self.0.alike(&other.0) && self.1.alike(&other.1)
    }
}

/// Types without places.
macro_rules! plain {
    ($($ty:ty),*) => {$(
        impl Alike for $ty {
            fn alike(&self, other: &Self) -> bool {
                self == other
            }
        }
    )*};
}

plain!(bool, u32, i64, Str, ExprId, StmtId, TypeId, UnaryOp, BinaryOp, CompareOp, EntryOp, QuantOp);
plain!(AttrOp, SchemaKind, BasicType, UnitSuffix);

impl Alike for f64 {
    fn alike(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

/// Structs: the fields that are no places.
macro_rules! fields {
    ($($ty:ident { $($field:ident),* })*) => {$(
        impl Alike for $ty {
            fn alike(&self, other: &Self) -> bool {
                $(self.$field.alike(&other.$field))&&*
            }
        }
    )*};
}

fields! {
    Ident { name }
    Call { func, args, kwargs }
    Keyword { name, value }
    SchemaExpr { name, has_args, args, kwargs, config }
    Lambda { params, ret, body }
    Param { name, ty, default }
    Quant { op, targets, iter, body, cond }
    CompClause { targets, iter, cond }
    Entry { key, op, value }
    Target { name, path }
    Import { dots, path, alias }
    SchemaDef {
        name, kind, keyword, decorators, params, base, host, mixins, body, index_signature, checks
    }
    DottedRef { parts }
    RuleDef { name, decorators, params, parents, host, checks }
    Check { cond, guard, msg }
    Attr { name, decorators, optional, ty, selected, op, default }
    IndexSignature { name, any_other, key, value, default }
}

/// Enums: the variants with their parts.
macro_rules! variants {
    ($($ty:ident {
        $($unit:ident),* ; $($tuple:ident ( $($a:ident $b:ident),+ )),* ; $($record:ident { $($field:ident $twin:ident),+ }),*
    })*) => {$(
        impl Alike for $ty {
            fn alike(&self, other: &Self) -> bool {
                match (self, other) {
                    $(($ty::$unit, $ty::$unit) => true,)*
                    $(($ty::$tuple($($a),+), $ty::$tuple($($b),+)) => $($a.alike($b))&&+,)*
                    $(($ty::$record { $($field),+ }, $ty::$record { $($field: $twin),+ }) => $($field.alike($twin))&&+,)*
                    _ => false,
                }
            }
        }
    )*};
}

variants! {
    Expr {
        Missing, None, Undefined;
        Name(a b), Int(a b), Unit(a b, c d), Float(a b), Str(a b), Joined(a b), Bool(a b), Unary(a b, c d),
        Binary(a b, c d, e f), Compare(a b, c d), As(a b, c d), Paren(a b), Call(a b), List(a b), Star(a b),
        Config(a b), Quant(a b), Schema(a b), Lambda(a b);
        If { cond a, then b, orelse c }, Selector { value a, name b, optional c },
        Index { value a, index b, optional c }, Slice { value a, lower b, upper c, step d, optional e },
        ListIf { cond a, then b, orelse c }, ListComp { elt a, clauses b }, DictComp { entry a, clauses b }
    }
    Key {
        Unpack;
        Name(a b), Str(a b), Indexed(a b, c d), Computed(a b);
        If { cond a, orelse b }
    }
    JoinPart {
        ;
        Text(a b);
        Value { expr a, spec b }
    }
    TargetStep {
        ;
        Member(a b), Index(a b);
    }
    Stmt {
        ;
        Expr(a b), Import(a b), Schema(a b), Rule(a b), Attr(a b);
        Assign { targets a, ty b, value c }, AugAssign { target a, op b, value c },
        Unification { target a, value b, selected c }, If { cond a, body b, orelse c },
        Assert { cond a, guard b, msg c }, TypeAlias { name a, ty b }
    }
    Type {
        Missing, Any;
        NotAType(a b), Basic(a b), Literal(a b), Named(a b), List(a b), Dict(a b, c d), Union(a b),
        Function(a b, c d);
    }
    LiteralType {
        ;
        Bool(a b), Int(a b), Unit(a b, c d), Float(a b), Str(a b);
    }
}

#[cfg(test)]
mod tests {
    use super::alike;
    use crate::ast::Tree;
    use crate::parse_file;

    fn tree(text: &str) -> Tree {
        let mut tree = Tree::default();
        parse_file(&mut tree, text, base_diag::FileId(0));
        tree
    }

    #[test]
    fn places_do_not_count_and_everything_else_does() {
        let same = |a: &str, b: &str| alike((&tree(a), a), (&tree(b), b));
        assert!(same("a={b:[1,2]}", "# c\na = {\n    b: [1\n2]\n}\n"));
        assert!(same(
            "schema A:\n a: int\n check:\n  a\n",
            "schema A:\n    a : int\n\n    check:\n        a"
        ));
        for (a, b) in [
            ("a = 1", "a = 1.0"),
            ("a = 1", "b = 1"),
            ("a = {b = 1}", "a = {b: 1}"),
            ("a = -0.0", "a = 0.0"),
            ("a: int = 1", "a: 'int' = 1"),
            ("a = \"${b}\"", "a = \"${c}\""),
            ("a = b.c", "a = (b).c"),
            ("schema A:\n    a: int", "schema A:\n    a?: int"),
            ("schema A:\n    \"\"\"b\"\"\"", "schema A:\n    \"\"\"c\"\"\""),
            ("schema A:\n    \"\"\"b\"\"\"", "schema A:\n    a?: int"),
            ("\"\"\"b\"\"\"\na = 1", "\"\"\"c\"\"\"\na = 1"),
            ("if a:\n    b\nc", "if a:\n    b\n    c"),
        ] {
            assert!(!same(a, b), "{a} / {b}");
        }
    }
}

//! More of the checker's mistakes: operators, calls, inheritance (see [`crate::words`]).
//!
//! Each function takes the facts of a mistake; its words are a row of the table in `mistake.rs`.

use base_diag::Span;
use kcl_syntax::ast::Str;

use crate::checker::Checker;
use crate::diag::RawDiag;
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::suggest;
use crate::ty::{ParamTy, Ty, TyId};

impl<R: Recorder> Checker<'_, R> {
    /// A type without the values of its literals.
    pub(crate) fn kind_words(&mut self, ty: TyId) -> String {
        let wide = if ty == TyId::NONE { ty } else { self.types.widen(ty) };
        self.types.words(wide)
    }

    /// An operator that does not take what stands left and right of it; `at` is the left operand.
    pub(crate) fn unsupported(&mut self, op: &'static str, left: TyId, right: TyId, at: Span) {
        let hint = self.operator_help(op, left, right);
        let kinds = (self.kind_words(left), self.kind_words(right));
        let (left, right) = (self.text(left), self.text(right));
        self.error(at, &Mistake::Operands { op, left, right, kinds, hint });
    }

    fn operator_help(&self, op: &str, left: TyId, right: TyId) -> Option<&'static str> {
        let (l, r) = (self.types.kind(left), self.types.kind(right));
        let is_text = |ty: &Ty| matches!(ty, Ty::Str | Ty::StrLit(_));
        let is_unit = |ty: &Ty| matches!(ty, Ty::Unit(_));
        Some(match op {
            _ if left == TyId::NONE || right == TyId::NONE => {
                "the value is None: test it first, or give another: `(x or 0)`"
            }
            _ if is_unit(l) || is_unit(r) => "a number with a unit is converted first: int(1Ki)",
            _ if matches!(l, Ty::Union(_)) || matches!(r, Ty::Union(_)) => {
                "it may have several types: say which with `as`, or test typeof(..)"
            }
            "+" if is_text(l) != is_text(r) => {
                "convert it: str(..), or write it into the text: \"..${value}\""
            }
            "+" if matches!(l, Ty::Dict(_) | Ty::Schema(..)) => "`|` merges: {..} | {..}",
            "+" if matches!(l, Ty::List(_)) => "put it into brackets: [..] + [..]",
            "%" if is_text(l) => "values are written into a text: \"..${value}\", or \"..{}\".format(value)",
            "<" | "<=" | ">" | ">=" if is_text(l) || is_text(r) => "texts are compared with == and != only",
            "is" | "is not" => "`==` compares values; `is` is for None",
            "|" => "`|` merges dicts, instances and lists, or the bits of whole numbers",
            _ => return None,
        })
    }

    /// Parameters as they are listed.
    fn listed(params: &[ParamTy]) -> Option<String> {
        let names: Vec<&str> = params.iter().map(|p| p.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("it takes {}", names.join(", ")))
    }

    /// Fewer arguments than parameters without a default.
    pub(crate) fn too_few(&mut self, callee: &str, params: &[ParamTy], given: usize, at: Span) {
        let required = params.iter().filter(|p| !p.optional).count();
        let (callee, takes) = (callee.to_owned(), Self::listed(params));
        self.error(at, &Mistake::MissingArgument { callee, required, given, takes });
    }

    /// More arguments than parameters; `at` is the first that is too many.
    pub(crate) fn too_many(&mut self, callee: &str, params: &[ParamTy], given: usize, at: Span) {
        let (callee, takes) = (callee.to_owned(), Self::listed(params));
        self.error(at, &Mistake::TooManyArguments { callee, count: params.len(), given, takes });
    }

    /// A keyword that is no parameter.
    pub(crate) fn no_parameter(&mut self, callee: &str, params: &[ParamTy], name: &Str, at: Span) {
        let similar = suggest::similar(name, params.iter().map(|p| &p.name));
        let mistake = Mistake::UnexpectedKeyword {
            callee: callee.to_owned(),
            name: name.clone(),
            similar: similar.clone(),
            takes: if similar.is_empty() { Self::listed(params) } else { None },
        };
        let diag = RawDiag::of(&mistake, self.home, at);
        self.report(self.did_you_mean(diag, name, at, &similar));
    }

    /// A call of what is no function.
    pub(crate) fn not_callable(&mut self, ty: TyId, at: Span) {
        let mistake = match self.types.kind(ty) {
            Ty::Schema(id, true) => Mistake::InstanceCalled { schema: self.schema_name(*id) },
            _ => Mistake::NotCallable { ty: self.shown(ty) },
        };
        self.error(at, &mistake);
    }

    /// A walk through what has no items.
    pub(crate) fn not_iterable(&mut self, ty: TyId, at: Span) {
        let counts = matches!(self.types.kind(ty), Ty::Int | Ty::IntLit(_));
        let ty = self.kind_shown(ty);
        self.error(at, &Mistake::NotIterable { ty, counts });
    }

    /// `value[index]` of what has no items.
    pub(crate) fn not_subscriptable(&mut self, ty: TyId, at: Span) {
        let ty = self.kind_shown(ty);
        self.error(at, &Mistake::NotSubscriptable { ty });
    }

    /// An attribute that is declared again with a type that says something else.
    pub(crate) fn type_changed(&mut self, name: &str, (old, new): (TyId, TyId), own: bool, at: Span) {
        let from = self.text(if own { old } else { new });
        let (old, new) = (self.types.words(old), self.shown(new));
        self.error(at, &Mistake::FieldTypeChange { name: name.into(), from, old, new, own });
    }

    /// A base, mixin or host that is something else.
    pub(crate) fn illegal_base(&mut self, expected: &'static str, got: &str, name: &str, at: Span) {
        let (got, name) = (got.to_owned(), name.to_owned());
        self.error(at, &Mistake::IllegalBase { expected, got, name });
    }
}

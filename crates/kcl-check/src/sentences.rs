//! More of the checker's mistakes in words for people: operators, calls, inheritance (see [`crate::words`]).
//!
//! Each function makes the whole diagnostic: the sentence of the reference, which tools compare, and what a person reads.

use base_diag::{Code, Span};
use kcl_syntax::ast::Str;

use crate::checker::Checker;
use crate::diag::RawDiag;
use crate::index::Recorder;
use crate::suggest;
use crate::ty::{ParamTy, Ty, TyId};

impl<R: Recorder> Checker<'_, R> {
    /// Reports a mistake with the sentence of the reference, one for people, and what to try.
    pub(crate) fn mistake(
        &mut self,
        (code, id): (Code, &'static str),
        at: Span,
        message: impl Into<String>,
        title: impl Into<String>,
        help: Option<String>,
    ) {
        let diag = RawDiag::new(code, id, self.home, at, message).told(title).help(help);
        self.report(diag);
    }

    /// A type without the values of its literals.
    pub(crate) fn kind_words(&mut self, ty: TyId) -> String {
        let wide = if ty == TyId::NONE { ty } else { self.types.widen(ty) };
        self.types.words(wide)
    }

    /// An operator that does not take what stands left and right of it; `at` is the left operand.
    pub(crate) fn unsupported(&mut self, op: &str, left: TyId, right: TyId, at: Span) {
        let message =
            format!("unsupported operand type(s) for {op}: '{}' and '{}'", self.text(left), self.text(right));
        let (l, r) = (self.kind_words(left), self.kind_words(right));
        let title = match op {
            "in" | "not in" => format!("`{op}` does not look into `{r}`"),
            _ => format!("`{op}` does not take `{l}` and `{r}`"),
        };
        let help = self.operator_help(op, left, right).map(str::to_owned);
        self.mistake((Code::TYPE, "operand-types"), at, message, title, help);
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
        let message = format!("expected {}, found {given}", positional(required));
        let title = format!("{} needs {}, found {given}", callee_words(callee), arguments(required));
        self.mistake((Code::COMPILE, "missing-argument"), at, message, title, Self::listed(params));
    }

    /// More arguments than parameters; `at` is the first that is too many.
    pub(crate) fn too_many(&mut self, callee: &str, params: &[ParamTy], given: usize, at: Span) {
        let count = params.len();
        let message = format!("{callee} takes {} but {given} were given", positional(count));
        let takes = if count == 0 { "no arguments".to_owned() } else { arguments(count) };
        let title = format!("{} takes {takes}, found {given}", callee_words(callee));
        self.mistake((Code::COMPILE, "too-many-arguments"), at, message, title, Self::listed(params));
    }

    /// A keyword that is no parameter.
    pub(crate) fn no_parameter(&mut self, callee: &str, params: &[ParamTy], name: &Str, at: Span) {
        let similar = suggest::similar(name, params.iter().map(|p| &p.name));
        let mut message = format!("{callee} got an unexpected keyword argument '{name}'");
        if !similar.is_empty() {
            message.push_str(&format!(", did you mean '{}'?", similar.join("' or '")));
        }
        let diag = RawDiag::new(Code::COMPILE, "unexpected-keyword", self.home, at, message);
        let diag = diag.told(format!("{} has no parameter `{name}`", callee_words(callee)));
        let help = if similar.is_empty() { Self::listed(params) } else { None };
        self.report(self.did_you_mean(diag.help(help), name, at, &similar));
    }

    /// A call of what is no function.
    pub(crate) fn not_callable(&mut self, ty: TyId, at: Span) {
        let (message, title, help) = match self.types.kind(ty) {
            Ty::Schema(id, true) => {
                let name = self.schema_name(*id);
                (
                    format!("schema '{name}' instance is not callable"),
                    format!("this is an instance of `{name}`, no function"),
                    Some("to change some of its attributes: `name {attribute = value}`".to_owned()),
                )
            }
            _ => {
                let title = format!("`{}` is no function", self.types.words(ty));
                (format!("'{}' object is not callable", self.text(ty)), title, None)
            }
        };
        self.mistake((Code::COMPILE, "not-callable"), at, message, title, help);
    }

    /// A walk through what has no items.
    pub(crate) fn not_iterable(&mut self, ty: TyId, at: Span) {
        let message = format!("'{}' object is not iterable", self.text(ty));
        let title = format!("`{}` has no items to walk through", self.kind_words(ty));
        let help = match self.types.kind(ty) {
            Ty::Int | Ty::IntLit(_) => Some("to count: `for i in range(n)`".to_owned()),
            _ => None,
        };
        self.mistake((Code::COMPILE, "not-iterable"), at, message, title, help);
    }

    /// `value[index]` of what has no items.
    pub(crate) fn not_subscriptable(&mut self, ty: TyId, at: Span) {
        let message = format!("'{}' object is not subscriptable", self.text(ty));
        let title = format!("`{}` has no items", self.kind_words(ty));
        self.mistake((Code::COMPILE, "not-subscriptable"), at, message, title, None);
    }

    /// An attribute that is declared again with a type that says something else.
    pub(crate) fn type_changed(&mut self, name: &str, (old, new): (TyId, TyId), is_own: bool, at: Span) {
        // Against a base the reference prints the new type twice.
        let from = self.text(if is_own { old } else { new });
        let message = format!("can't change schema field type of '{name}' from {from} to {}", self.text(new));
        let (was, is) = (self.types.words(old), self.types.words(new));
        let place = if is_own { "further up" } else { "in the base schema" };
        let title = format!("`{name}` is `{was}` {place}, which `{is}` does not fit");
        let help = (!is_own).then(|| "a sub-schema may only narrow a type".to_owned());
        self.mistake((Code::TYPE, "field-type-change"), at, message, title, help);
    }

    /// A base, mixin or host that is something else.
    pub(crate) fn illegal_base(&mut self, expected: &str, shown: &str, name: &str, at: Span) {
        let message = format!("invalid schema inherit object type, expect {expected}, got '{shown}'");
        let help = match expected {
            "protocol" => "a protocol is declared like this: `protocol NameProtocol:`",
            _ if name.ends_with("Mixin") => {
                "a mixin goes into the first line of the body: `mixin [NameMixin]`"
            }
            _ => "a base is a schema, not a value, mixin or protocol",
        };
        let title = format!("`{name}` is no {expected}");
        self.mistake((Code::INHERIT, "illegal-base"), at, message, title, Some(help.to_owned()));
    }
}

/// `"f"` as `f`.
fn callee_words(callee: &str) -> String {
    match callee.strip_prefix('"').and_then(|c| c.strip_suffix('"')) {
        Some(name) => format!("`{name}`"),
        None => format!("this {callee}"),
    }
}

fn arguments(count: usize) -> String {
    if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") }
}

fn positional(count: usize) -> String {
    // Upstream says "0 positional argument".
    if count > 1 { format!("{count} positional arguments") } else { format!("{count} positional argument") }
}

//! The checker's mistakes in words for people.
//!
//! Both sentences of a mistake are a row of the table in `mistake.rs`; here are its facts, what is said beside the carets, what to
//! try, and where it can be told, the change that mends it.

use base_diag::Span;
use kcl_syntax::ast::{ExprId, Str};

use crate::checker::Checker;
use crate::diag::RawDiag;
use crate::index::Recorder;
use crate::mistake::{Mistake, Shown};
use crate::signatures::SYSTEM_MODULES;
use crate::suggest;
use crate::ty::{Loc, SchemaId, Ty, TyId, Types};

/// Names of other languages, and what they are called here.
const FOREIGN: &[(&str, &str)] = &[
    ("null", "None"),
    ("nil", "None"),
    ("none", "None"),
    ("undefined", "Undefined"),
    ("true", "True"),
    ("false", "False"),
    ("string", "str"),
    ("String", "str"),
    ("integer", "int"),
    ("number", "float"),
    ("boolean", "bool"),
    ("Any", "any"),
];

/// Words of other languages, and what is done here.
const WORDS: &[(&str, &str)] = &[
    ("pass", "an empty body is left out"),
    ("self", "attributes are read by their names alone"),
    ("this", "attributes are read by their names alone"),
    ("else", "a condition is one expression: `a if condition else b` needs parentheses in a check"),
];

/// Attributes and members are listed up to this many.
const LISTED: usize = 8;

/// What something has.
pub(crate) fn listed<'a>(names: impl ExactSizeIterator<Item = &'a Str>) -> Option<String> {
    let more = if names.len() > LISTED { ", …" } else { "" };
    let known: Vec<&str> = names.take(LISTED).map(Str::as_str).collect();
    (!known.is_empty()).then(|| format!("it has {}{more}", known.join(", ")))
}

impl<R: Recorder> Checker<'_, R> {
    /// A value of another type than the one that is expected; `value` is where it was written.
    pub(crate) fn mismatch(&mut self, got: TyId, expected: TyId, at: Loc, value: Option<ExprId>) -> RawDiag {
        let found = if self.types.has_literal(expected) { got } else { self.types.widen(got) };
        let found = self.types.words(found);
        let said = format!("this is `{found}`");
        let have = Shown { text: self.text(got), words: found };
        let (want, convert) = (self.shown(expected), self.conversion(got, expected));
        let diag = RawDiag::of(&Mistake::Mismatch { want, have, convert }, at.pkg, at.span).said_here(said);
        match value {
            Some(value) => diag.mark(self.here(self.tree.expr_span(value))),
            None => diag,
        }
    }

    /// Adds where the expected type was declared.
    pub(crate) fn declared_at(&self, diag: RawDiag, loc: Loc, expected: TyId, got: TyId) -> RawDiag {
        let (want, have) = (self.text(expected), self.text(got));
        diag.label(loc, format!("variable is defined here, its type is {want}, but got {have}"))
            .related("declared here")
    }

    /// A type as the reference writes it and as a person does.
    pub(crate) fn shown(&self, ty: TyId) -> Shown {
        Shown { text: self.text(ty), words: self.types.words(ty) }
    }

    /// The same, for a person without the values of its literals.
    pub(crate) fn kind_shown(&mut self, ty: TyId) -> Shown {
        Shown { text: self.text(ty), words: self.kind_words(ty) }
    }

    /// How a value of a near type is written.
    fn conversion(&self, got: TyId, expected: TyId) -> Option<String> {
        Some(match (self.types.kind(got), self.types.kind(expected)) {
            (Ty::StrLit(text), Ty::Int) if text.parse::<i64>().is_ok() => format!("without quotes: {text}"),
            (Ty::StrLit(text), Ty::Float) if text.parse::<f64>().is_ok() => format!("without quotes: {text}"),
            (Ty::StrLit(text), Ty::Bool) if text.eq_ignore_ascii_case("true") => "write True".to_owned(),
            (Ty::StrLit(text), Ty::Bool) if text.eq_ignore_ascii_case("false") => "write False".to_owned(),
            (Ty::Int | Ty::IntLit(_) | Ty::StrLit(_) | Ty::Str, Ty::Bool) => "write True or False".to_owned(),
            (Ty::StrLit(_) | Ty::Str, Ty::Int) => "write a whole number, or convert it: int(..)".to_owned(),
            (Ty::IntLit(number), Ty::Str) => format!("in quotes: \"{number}\""),
            (Ty::Int | Ty::Float | Ty::FloatLit(_) | Ty::Bool | Ty::BoolLit(_), Ty::Str) => {
                "put it into quotes, or convert it: str(..)".to_owned()
            }
            (_, Ty::List(item)) if self.types.assignable(got, *item) => {
                "put it into brackets: [..]".to_owned()
            }
            _ => return None,
        })
    }

    /// A name that nobody defined.
    pub(crate) fn undefined(&mut self, name: &Str, at: Span) {
        // It may be an attribute of the base that does not exist, which was told already.
        if self.current_schema().is_some_and(|id| self.schema_info(id).incomplete) {
            return;
        }
        let similar = self.similar_names(name);
        let module = SYSTEM_MODULES.contains(&name.as_str());
        let help = match () {
            () if module => Some(format!("it is a module of the language: `import {name}`")),
            () => WORDS.iter().find(|(word, _)| name == word).map(|(_, help)| (*help).to_owned()),
        };
        let mistake = Mistake::UnknownName { name: name.clone(), similar: similar.clone(), help };
        let diag = RawDiag::of(&mistake, self.home, at);
        let foreign = FOREIGN.iter().find(|(theirs, _)| name == theirs).map(|(_, ours)| Str::from(*ours));
        let similar = foreign.map_or(similar, |ours| vec![ours]);
        self.report(if module { diag } else { self.did_you_mean(diag, name, at, &similar) });
    }

    /// A key that a schema does not have.
    pub(crate) fn no_attribute(&self, id: SchemaId, name: &str, at: Span) -> RawDiag {
        let schema = self.schema_name(id);
        let attrs = &self.schema_info(id).attrs;
        let similar = suggest::similar(name, attrs.keys());
        let known = similar.is_empty().then(|| listed(attrs.keys())).flatten();
        let mistake =
            Mistake::UnknownAttribute { schema, name: name.into(), similar: similar.clone(), known };
        self.did_you_mean(RawDiag::of(&mistake, self.home, at), name, at, &similar)
    }

    /// Says which name was meant, and offers it, where the place is that of the name.
    pub(crate) fn did_you_mean(&self, diag: RawDiag, name: &str, at: Span, similar: &[Str]) -> RawDiag {
        // The most similar comes last.
        let Some(best) = similar.last() else { return diag };
        let diag = diag.said_here(format!("did you mean `{best}`?"));
        if at.end.saturating_sub(at.start) as usize == name.len() {
            diag.fix(self.here(at), best)
        } else {
            diag
        }
    }
}

impl Types {
    /// Tells whether a literal stands in a type.
    fn has_literal(&self, id: TyId) -> bool {
        match self.kind(id) {
            Ty::BoolLit(_) | Ty::IntLit(_) | Ty::FloatLit(_) | Ty::StrLit(_) => true,
            Ty::Union(members) => members.iter().any(|m| self.has_literal(*m)),
            _ => false,
        }
    }

    /// A type as one writes it.
    pub(crate) fn words(&self, id: TyId) -> String {
        let list = |items: &[TyId]| items.iter().map(|i| self.words(*i)).collect::<Vec<_>>().join(" | ");
        match self.kind(id) {
            Ty::None => "None".to_owned(),
            Ty::BoolLit(true) => "True".to_owned(),
            Ty::BoolLit(false) => "False".to_owned(),
            Ty::IntLit(number) => number.to_string(),
            Ty::FloatLit(bits) => f64::from_bits(*bits).to_string(),
            Ty::StrLit(text) => format!("{text:?}"),
            Ty::Union(members) => list(members),
            Ty::List(item) if *item == TyId::ANY => "[]".to_owned(),
            Ty::List(item) => format!("[{}]", self.words(*item)),
            Ty::Dict(dict) => {
                let side = |id: TyId| if id == TyId::ANY { String::new() } else { self.words(id) };
                format!("{{{}:{}}}", side(dict.key), side(dict.val))
            }
            _ => self.text(id),
        }
    }
}

//! Written types.

use super::Parser;
use super::expr::named_type;
use crate::ast::{LiteralType, Str, Type, TypeId};
use crate::mistake::Mistake;
use crate::numbers;
use crate::sink::{Made, Mark, NodeKind, Sink};
use crate::strings;
use crate::token::TokenKind as T;

/// What starts a type, as messages list it.
const TYPE: &[&str] =
    &["any", "bool", "int", "float", "str", "True", "False", "identifier", "literal", "[", "{", ")"];

impl<S: Sink> Parser<'_, S> {
    /// `element {| element}`.
    pub(crate) fn ty(&mut self) -> TypeId {
        let start = self.start();
        self.deeper(Self::ty_inner).unwrap_or_else(|| self.add_type(Type::Missing, start))
    }

    fn ty_inner(&mut self) -> TypeId {
        let (start, mark) = (self.start(), self.mark());
        let first = self.type_element();
        if !self.at(T::Pipe) {
            return first;
        }
        let mut parts = vec![first];
        while self.eat(T::Pipe) {
            parts.push(self.type_element());
        }
        self.type_node(mark, Type::Union(parts.into_boxed_slice()), start)
    }

    /// Adds a type and closes its node.
    fn type_node(&mut self, mark: Mark, kind: Type, start: u32) -> TypeId {
        let id = self.add_type(kind, start);
        self.sink.node(mark, NodeKind::Type, Made::Type(id));
        id
    }

    fn type_element(&mut self) -> TypeId {
        let (start, mark) = (self.start(), self.mark());
        let kind = match self.kind {
            T::KwTrue => self.take_type(Type::Literal(LiteralType::Bool(true))),
            T::KwFalse => self.take_type(Type::Literal(LiteralType::Bool(false))),
            T::Int => self.int_type(),
            T::Float => {
                let value = self.float_value();
                self.take_type(Type::Literal(LiteralType::Float(value)))
            }
            T::Str => {
                let value = Str::from(strings::text(&strings::literal(self.token_text())).as_ref());
                self.take_type(Type::Literal(LiteralType::Str(value)))
            }
            T::LBracket => self.list_type(),
            T::LBrace => self.dict_type(),
            T::LParen => self.function_type(),
            kind if kind.is_name() => self.name_type(),
            _ => {
                let got = self.got();
                self.error(Mistake::ExpectedType { wanted: TYPE, got });
                self.take_type(Type::Missing)
            }
        };
        self.type_node(mark, kind, start)
    }

    fn take_type(&mut self, kind: Type) -> Type {
        self.bump();
        kind
    }

    fn int_type(&mut self) -> Type {
        let (digits, suffix) = numbers::split_suffix(self.token_text());
        let value = self.int_value(digits);
        let literal = match suffix {
            Some(suffix) => LiteralType::Unit(value, suffix),
            None => LiteralType::Int(value),
        };
        self.take_type(Type::Literal(literal))
    }

    fn name_type(&mut self) -> Type {
        match named_type(self.token_text()) {
            Some(kind) => self.take_type(kind),
            None => Type::Named(self.dotted()),
        }
    }

    fn list_type(&mut self) -> Type {
        self.bump();
        let item = (!self.at(T::RBracket)).then(|| self.ty());
        self.expect_or_take(T::RBracket);
        Type::List(item)
    }

    fn dict_type(&mut self) -> Type {
        self.bump();
        let key = (!self.at(T::Colon)).then(|| self.ty());
        self.expect_or_take(T::Colon);
        let value = (!self.at(T::RBrace)).then(|| self.ty());
        self.expect_or_take(T::RBrace);
        Type::Dict(key, value)
    }

    fn function_type(&mut self) -> Type {
        self.bump();
        let mut params = Vec::new();
        while !matches!(self.kind, T::RParen | T::Eof) {
            let before = self.pos;
            params.push(self.ty());
            if !self.eat(T::Comma) && self.pos == before {
                self.bump();
            }
        }
        self.expect_or_take(T::RParen);
        let ret = self.eat(T::Arrow).then(|| self.ty());
        Type::Function(params.into_boxed_slice(), ret)
    }
}

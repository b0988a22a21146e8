//! Tokens: kinds, ranges, and the names they have in messages.

use crate::mistake::Mistake;

/// What a token is. Contextual keywords have kinds of their own, but count as names ([`TokenKind::is_name`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum TokenKind {
    Eof,
    Newline,
    Indent,
    Dedent,
    /// A dedent to a level between two open ones; how many spaces too many is in [`Lexed::odd`].
    OddDedent,
    /// Only in placeholders, where it can be a format spec.
    Comment,
    /// What [`super::lexer`] calls a character that starts no token; never in a token list.
    Unknown,
    Ident,
    KwAs,
    KwImport,
    KwRule,
    KwSchema,
    KwMixin,
    KwProtocol,
    KwCheck,
    KwFor,
    KwAssert,
    KwIf,
    KwElif,
    KwElse,
    KwOr,
    KwAnd,
    KwNot,
    KwIn,
    KwIs,
    KwLambda,
    KwAll,
    KwAny,
    KwFilter,
    KwMap,
    KwType,
    KwTrue,
    KwFalse,
    KwNone,
    KwUndefined,
    Int,
    Float,
    Str,
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    Dot,
    Ellipsis,
    Comma,
    Colon,
    At,
    Question,
    /// A `$` that no name follows.
    Dollar,
    Arrow,
    /// `!`: already reported, taken as `not`.
    Bang,
    Assign,
    Plus,
    Minus,
    Star,
    Slash,
    SlashSlash,
    Percent,
    StarStar,
    Amp,
    Pipe,
    Caret,
    Tilde,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    PlusEq,
    MinusEq,
    StarEq,
    SlashEq,
    SlashSlashEq,
    PercentEq,
    StarStarEq,
    AmpEq,
    PipeEq,
    CaretEq,
    ShlEq,
    ShrEq,
}

/// A token: kind and byte range in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A mistake found while lexing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LexError {
    /// Where.
    pub start: u32,
    /// One past the end.
    pub end: u32,
    /// What it is.
    pub mistake: Mistake,
}

/// The result of lexing: significant and layout tokens. Trivia are the gaps between them.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// Tokens in order; the last is `Eof`.
    pub tokens: Vec<Token>,
    /// (index of an `OddDedent` token, spaces too many).
    pub odd: Vec<(u32, u32)>,
    /// Whether some long string has a `$`: most files have pages of text without one, which nobody needs to search again.
    pub long_dollar: bool,
    /// Mistakes in order.
    pub errors: Vec<LexError>,
}

impl TokenKind {
    /// True for identifiers and contextual keywords.
    pub fn is_name(self) -> bool {
        (self as u8) >= Self::Ident as u8 && (self as u8) <= Self::KwUndefined as u8
    }

    /// True for numbers and strings.
    pub fn is_literal(self) -> bool {
        matches!(self, Self::Int | Self::Float | Self::Str)
    }

    /// True for newline, indent and dedent.
    pub fn is_layout(self) -> bool {
        matches!(self, Self::Newline | Self::Indent | Self::Dedent | Self::OddDedent)
    }

    /// Returns the kind of a word.
    pub fn of_word(word: &str) -> Self {
        if word.len() < 2 || word.len() > 9 {
            return Self::Ident;
        }
        match word {
            "as" => Self::KwAs,
            "import" => Self::KwImport,
            "rule" => Self::KwRule,
            "schema" => Self::KwSchema,
            "mixin" => Self::KwMixin,
            "protocol" => Self::KwProtocol,
            "check" => Self::KwCheck,
            "for" => Self::KwFor,
            "assert" => Self::KwAssert,
            "if" => Self::KwIf,
            "elif" => Self::KwElif,
            "else" => Self::KwElse,
            "or" => Self::KwOr,
            "and" => Self::KwAnd,
            "not" => Self::KwNot,
            "in" => Self::KwIn,
            "is" => Self::KwIs,
            "lambda" => Self::KwLambda,
            "all" => Self::KwAll,
            "any" => Self::KwAny,
            "filter" => Self::KwFilter,
            "map" => Self::KwMap,
            "type" => Self::KwType,
            "True" => Self::KwTrue,
            "False" => Self::KwFalse,
            "None" => Self::KwNone,
            "Undefined" => Self::KwUndefined,
            _ => Self::Ident,
        }
    }

    /// Returns the text of a token that the parser asks for.
    pub(crate) fn wanted(self) -> &'static [&'static str] {
        match self {
            Self::KwIn => &["in"],
            Self::KwElse => &["else"],
            other => other.listed(),
        }
    }

    /// Returns the name that messages use.
    pub fn name(self) -> &'static str {
        self.listed()[0]
    }

    /// The name as a list of one, for messages that list what may stand somewhere.
    fn listed(self) -> &'static [&'static str; 1] {
        match self {
            Self::Eof => &["eof"],
            Self::Newline => &["newline"],
            Self::Indent => &["indent"],
            Self::Dedent | Self::OddDedent => &["dedent"],
            Self::Comment => &["inline_comment"],
            Self::Unknown => &["unknown"],
            Self::Int | Self::Float | Self::Str => &["literal"],
            Self::LParen => &["("],
            Self::RParen => &[")"],
            Self::LBracket => &["["],
            Self::RBracket => &["]"],
            Self::LBrace => &["{"],
            Self::RBrace => &["}"],
            Self::Dot => &["."],
            Self::Ellipsis => &["..."],
            Self::Comma => &[","],
            Self::Colon => &[":"],
            Self::At => &["@"],
            Self::Question => &["?"],
            Self::Dollar => &["$"],
            Self::Arrow => &["->"],
            Self::Bang => &["not"],
            Self::Assign => &["="],
            Self::Plus => &["+"],
            Self::Minus => &["-"],
            Self::Star => &["*"],
            Self::Slash => &["/"],
            Self::SlashSlash => &["//"],
            Self::Percent => &["%"],
            Self::StarStar => &["**"],
            Self::Amp => &["&"],
            Self::Pipe => &["|"],
            Self::Caret => &["^"],
            Self::Tilde => &["~"],
            Self::Shl => &["<<"],
            Self::Shr => &[">>"],
            Self::Eq => &["=="],
            Self::Ne => &["!="],
            Self::Lt => &["<"],
            Self::Le => &["<="],
            Self::Gt => &[">"],
            Self::Ge => &[">="],
            Self::PlusEq => &["+="],
            Self::MinusEq => &["-="],
            Self::StarEq => &["*="],
            Self::SlashEq => &["/="],
            Self::SlashSlashEq => &["//="],
            Self::PercentEq => &["%="],
            Self::StarStarEq => &["**="],
            Self::AmpEq => &["&="],
            Self::PipeEq => &["|="],
            Self::CaretEq => &["^="],
            Self::ShlEq => &["<<="],
            Self::ShrEq => &[">>="],
            _ => &["identifier"],
        }
    }
}
/// Whether a word can be the name of something, and a key without quotes.
pub fn is_name(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && matches!(TokenKind::of_word(word), TokenKind::Ident | TokenKind::KwType)
}

/// Finds the longest symbol.
pub(crate) fn symbol(a: u8, b: u8, c: u8) -> (TokenKind, usize) {
    use TokenKind as T;
    match (a, b, c) {
        (b'.', b'.', b'.') => (T::Ellipsis, 3),
        (b'*', b'*', b'=') => (T::StarStarEq, 3),
        (b'/', b'/', b'=') => (T::SlashSlashEq, 3),
        (b'<', b'<', b'=') => (T::ShlEq, 3),
        (b'>', b'>', b'=') => (T::ShrEq, 3),
        (b'*', b'*', _) => (T::StarStar, 2),
        (b'/', b'/', _) => (T::SlashSlash, 2),
        (b'<', b'<', _) => (T::Shl, 2),
        (b'>', b'>', _) => (T::Shr, 2),
        (b'-', b'>', c) if c != b'=' => (T::Arrow, 2),
        (b'=', b'=', _) => (T::Eq, 2),
        (b'!', b'=', _) => (T::Ne, 2),
        (b'<', b'=', _) => (T::Le, 2),
        (b'>', b'=', _) => (T::Ge, 2),
        (b'+', b'=', _) => (T::PlusEq, 2),
        (b'-', b'=', _) => (T::MinusEq, 2),
        (b'*', b'=', _) => (T::StarEq, 2),
        (b'/', b'=', _) => (T::SlashEq, 2),
        (b'%', b'=', _) => (T::PercentEq, 2),
        (b'&', b'=', _) => (T::AmpEq, 2),
        (b'|', b'=', _) => (T::PipeEq, 2),
        (b'^', b'=', _) => (T::CaretEq, 2),
        _ => (single(a), 1),
    }
}

fn single(byte: u8) -> TokenKind {
    use TokenKind as T;
    match byte {
        b'(' => T::LParen,
        b')' => T::RParen,
        b'[' => T::LBracket,
        b']' => T::RBracket,
        b'{' => T::LBrace,
        b'}' => T::RBrace,
        b'.' => T::Dot,
        b',' => T::Comma,
        b':' => T::Colon,
        b'@' => T::At,
        b'?' => T::Question,
        b'!' => T::Bang,
        b'=' => T::Assign,
        b'+' => T::Plus,
        b'-' => T::Minus,
        b'*' => T::Star,
        b'/' => T::Slash,
        b'%' => T::Percent,
        b'&' => T::Amp,
        b'|' => T::Pipe,
        b'^' => T::Caret,
        b'~' => T::Tilde,
        b'<' => T::Lt,
        b'>' => T::Gt,
        _ => T::Unknown,
    }
}

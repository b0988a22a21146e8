//! The types that a Go file declares, as data. Functions, variables and constants are passed over.

use crate::tokens::{Cursor, Word, documented};

/// Types in types.
const MAX_DEPTH: u32 = 60;

/// A declared type.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) doc: String,
    pub(super) ty: GoType,
}

#[derive(Clone, Debug)]
pub(super) enum GoType {
    /// `string`, `Port`, `time.Time`.
    Named(String),
    Pointer(Box<GoType>),
    /// A slice, or an array of so many elements.
    List(Box<GoType>, Option<u64>),
    Map(Box<GoType>, Box<GoType>),
    Struct(Vec<GoField>),
    Interface,
    /// What no configuration holds, or a type with parameters: what it is called.
    Other(String),
    /// A type that takes others: what it is made of is not known.
    Generic(String),
}

#[derive(Clone, Debug)]
pub(super) struct GoField {
    /// None if the type is embedded.
    pub(super) name: Option<String>,
    pub(super) ty: GoType,
    pub(super) tag: String,
    pub(super) doc: String,
    /// The comment with its marks for tools (`+optional`).
    pub(super) marks: Vec<String>,
}

/// Reads the declarations of a file.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Declared>, String> {
    let mut cursor = Cursor::new(name, text)?;
    let mut found = Vec::new();
    while let Some(token) = cursor.peek() {
        let declares = matches!(&token.word, Word::Name(word) if word == "type") && !cursor.on_this_line();
        if !declares {
            cursor.skip();
            continue;
        }
        let above = token.above.clone();
        cursor.take();
        if !cursor.eat('(') {
            found.push(declared(&mut cursor, &above)?);
            continue;
        }
        while !cursor.eat(')') {
            if cursor.peek().is_none() {
                return Err(cursor.wrong("`)`"));
            }
            if !cursor.eat(';') {
                let above = cursor.peek().map(|token| token.above.clone()).unwrap_or_default();
                found.push(declared(&mut cursor, &above)?);
            }
        }
    }
    Ok(found)
}

/// `Name Type`, `Name = Type`, `Name[T any] Type`.
fn declared(cursor: &mut Cursor, above: &str) -> Result<Declared, String> {
    let line = cursor.peek().map_or(0, |token| token.line);
    let name = cursor.name()?;
    // `A []int` is a list, `A [3]int` an array, `A[T any] struct` has parameters.
    let parameters = cursor.is_mark('[')
        && matches!(cursor.peek_word(1), Some(Word::Name(_)))
        && cursor.peek_word(2) != Some(&Word::Mark(']'));
    if parameters {
        cursor.skip();
    }
    cursor.eat('=');
    let ty = go_type(cursor, 0)?;
    let ty = if parameters { GoType::Generic(name.clone()) } else { ty };
    Ok(Declared { name, line, doc: documented(above, ""), ty })
}

fn go_type(cursor: &mut Cursor, depth: u32) -> Result<GoType, String> {
    if depth > MAX_DEPTH {
        return Err(cursor.wrong("an end of types in types"));
    }
    if cursor.eat('*') {
        return Ok(GoType::Pointer(go_type(cursor, depth + 1)?.into()));
    }
    if cursor.eat('(') {
        let inner = go_type(cursor, depth + 1)?;
        cursor.expect(')')?;
        return Ok(inner);
    }
    if cursor.is_mark('[') {
        let length = match (cursor.peek_word(1), cursor.peek_word(2)) {
            (Some(Word::Number(n)), Some(Word::Mark(']'))) => n.parse().ok(),
            _ => None,
        };
        cursor.skip();
        return Ok(GoType::List(go_type(cursor, depth + 1)?.into(), length));
    }
    if cursor.is_mark('<') {
        cursor.take();
        cursor.eat('-');
    }
    let word = cursor.name()?;
    Ok(match word.as_str() {
        "struct" if cursor.is_mark('{') => GoType::Struct(fields(cursor, depth + 1)?),
        "interface" if cursor.is_mark('{') => {
            cursor.skip();
            GoType::Interface
        }
        "map" if cursor.eat('[') => {
            let key = go_type(cursor, depth + 1)?;
            cursor.expect(']')?;
            GoType::Map(key.into(), go_type(cursor, depth + 1)?.into())
        }
        "chan" => {
            if cursor.eat('<') {
                cursor.eat('-');
            }
            go_type(cursor, depth + 1)?;
            GoType::Other("a channel".to_owned())
        }
        "func" => {
            cursor.skip();
            // What it returns: brackets, or one type on the same line.
            if cursor.on_this_line() && cursor.is_mark('(') {
                cursor.skip();
            } else if cursor.on_this_line()
                && (cursor.is_mark('*')
                    || cursor.is_mark('[')
                    || matches!(cursor.peek_word(0), Some(Word::Name(_))))
            {
                go_type(cursor, depth + 1)?;
            }
            GoType::Other("a function".to_owned())
        }
        _ => named(cursor, word)?,
    })
}

/// `Port`, `time.Time`, `List[int]`.
fn named(cursor: &mut Cursor, mut word: String) -> Result<GoType, String> {
    if cursor.eat('.') {
        word = format!("{word}.{}", cursor.name()?);
    }
    if cursor.is_mark('[') && cursor.on_this_line() {
        cursor.skip();
        return Ok(GoType::Generic(word));
    }
    Ok(GoType::Named(word))
}

fn fields(cursor: &mut Cursor, depth: u32) -> Result<Vec<GoField>, String> {
    cursor.expect('{')?;
    let mut found = Vec::new();
    while !cursor.eat('}') {
        if cursor.eat(';') {
            continue;
        }
        let Some(first) = cursor.peek().cloned() else { return Err(cursor.wrong("`}`")) };
        let mut names = Vec::new();
        if !is_embedded(cursor) {
            names.push(cursor.name()?);
            while cursor.eat(',') {
                names.push(cursor.name()?);
            }
        }
        let ty = go_type(cursor, depth)?;
        let tag = match cursor.peek_word(0) {
            Some(Word::Text(_)) if cursor.on_this_line() => cursor.text()?,
            _ => String::new(),
        };
        cursor.eat(';');
        let doc = documented(&first.above, cursor.behind());
        let marks = first.above.lines().filter_map(|line| line.trim().strip_prefix('+'));
        let marks: Vec<String> = marks.map(|mark| mark.trim().to_owned()).collect();
        let field = |name: Option<String>| GoField {
            name,
            ty: ty.clone(),
            tag: tag.clone(),
            doc: doc.clone(),
            marks: marks.clone(),
        };
        match names.is_empty() {
            true => found.push(field(None)),
            false => found.extend(names.into_iter().map(|name| field(Some(name)))),
        }
    }
    Ok(found)
}

/// Whether a field has no name of its own: `*Base`, `v1.Meta`, `Base` at the end of a line.
fn is_embedded(cursor: &Cursor) -> bool {
    match (cursor.peek_word(0), cursor.peek_word(1)) {
        (Some(Word::Name(_)), Some(Word::Mark('.' | ';' | '}') | Word::Text(_))) => true,
        // `List[int]` on a line of its own.
        (Some(Word::Name(_)), Some(Word::Mark('['))) => {
            let closed = cursor.peek_word(3) == Some(&Word::Mark(']'));
            closed && matches!(cursor.peek_word(2), Some(Word::Name(_))) && !cursor.same_line(4)
        }
        (Some(Word::Name(_)), _) => !cursor.same_line(1),
        _ => true,
    }
}

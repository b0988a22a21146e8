//! A protobuf file as data: what its messages and enumerations say. Services, options and extensions are passed over.

use kcl_model::Value;

use crate::tokens::{Cursor, Token, Word, documented};

/// Messages in messages.
const MAX_DEPTH: u32 = 60;

/// One file.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) package: String,
    /// A field without a label has a value at any rate, as in `proto3`.
    pub(super) implicit: bool,
    pub(super) imports: Vec<String>,
    pub(super) messages: Vec<Message>,
    pub(super) enums: Vec<Enum>,
}

/// A message with its full name; those inside of it stand beside it.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) fields: Vec<Field>,
    /// Fields of which one at most is set.
    pub(super) one_of: Vec<Vec<String>>,
}

/// An enumeration with its full name.
#[derive(Debug)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label {
    Plain,
    Optional,
    Required,
    Repeated,
}

#[derive(Debug)]
pub(super) enum FieldType {
    Named(String),
    Map(String, String),
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) label: Label,
    pub(super) ty: FieldType,
    pub(super) doc: String,
    pub(super) deprecated: bool,
    pub(super) default: Option<Value>,
}

/// Reads a file.
pub(super) fn read(name: &str, text: &str) -> Result<File, String> {
    let mut file = File::default();
    let mut cursor = Cursor::new(name, text)?;
    while let Some(token) = cursor.peek().cloned() {
        let Word::Name(word) = &token.word else {
            cursor.skip();
            continue;
        };
        match (word.as_str(), cursor.peek_word(1)) {
            ("syntax" | "edition", Some(Word::Mark('='))) => {
                cursor.take();
                cursor.expect('=')?;
                file.implicit = cursor.text()? == "proto3";
            }
            ("package", Some(Word::Name(_))) => {
                cursor.take();
                file.package = dotted(&mut cursor)?;
            }
            ("import", _) => {
                cursor.take();
                let _ = cursor.eat_name("public") || cursor.eat_name("weak") || cursor.eat_name("option");
                file.imports.push(cursor.text()?);
            }
            ("message", Some(Word::Name(_))) => {
                let scope = file.package.clone();
                message(&mut cursor, &scope, &mut file, 0)?;
            }
            ("enum", Some(Word::Name(_))) => {
                let scope = file.package.clone();
                enumeration(&mut cursor, &scope, &mut file)?;
            }
            _ => cursor.skip(),
        }
    }
    Ok(file)
}

/// `a.b.c`, perhaps with a dot before it.
fn dotted(cursor: &mut Cursor) -> Result<String, String> {
    let mut name = if cursor.eat('.') { String::from(".") } else { String::new() };
    name.push_str(&cursor.name()?);
    while cursor.eat('.') {
        name.push('.');
        name.push_str(&cursor.name()?);
    }
    Ok(name)
}

fn within(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") }
}

fn message(cursor: &mut Cursor, scope: &str, file: &mut File, depth: u32) -> Result<(), String> {
    let doc = cursor.take().map(|token| token.above).unwrap_or_default();
    let name = within(scope, &cursor.name()?);
    body(cursor, name, doc, file, depth)
}

/// The braces of a message.
fn body(cursor: &mut Cursor, name: String, doc: String, file: &mut File, depth: u32) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(cursor.wrong("an end of messages in messages"));
    }
    // What is outside stands before what is inside of it.
    let own = file.messages.len();
    file.messages.push(Message { name: name.clone(), doc: documented(&doc, ""), ..Message::default() });
    cursor.expect('{')?;
    while !cursor.eat('}') {
        let field = member(cursor, &name, file, depth, own)?;
        file.messages[own].fields.extend(field);
    }
    Ok(())
}

/// One statement of a message; a field if it is one.
fn member(
    cursor: &mut Cursor,
    scope: &str,
    file: &mut File,
    depth: u32,
    own: usize,
) -> Result<Option<Field>, String> {
    let Some(token) = cursor.peek().cloned() else { return Err(cursor.wrong("`}`")) };
    let Word::Name(word) = &token.word else {
        // `;`, or a type that begins with a dot.
        return if cursor.is_mark('.') {
            field(cursor, scope, Label::Plain, &token, file, depth)
        } else {
            cursor.skip();
            Ok(None)
        };
    };
    let named = matches!(cursor.peek_word(1), Some(Word::Name(_)));
    let opens = |ahead: usize| cursor.peek_word(ahead) == Some(&Word::Mark('{'));
    match word.as_str() {
        "message" if named && opens(2) => message(cursor, scope, file, depth + 1).map(|()| None),
        "enum" if named && opens(2) => enumeration(cursor, scope, file).map(|()| None),
        "oneof" if named && opens(2) => one_of(cursor, scope, file, depth, own).map(|()| None),
        "option" | "reserved" | "extensions" | "extend"
            if !named || word == "extend" || word == "option" || word == "reserved" =>
        {
            statement(cursor);
            Ok(None)
        }
        "repeated" | "optional" | "required" if !matches!(cursor.peek_word(1), Some(Word::Mark('='))) => {
            cursor.take();
            let label = match word.as_str() {
                "repeated" => Label::Repeated,
                "required" => Label::Required,
                _ => Label::Optional,
            };
            field(cursor, scope, label, &token, file, depth)
        }
        _ => field(cursor, scope, Label::Plain, &token, file, depth),
    }
}

/// Passes over a statement: to its `;`, or to the end of its braces.
fn statement(cursor: &mut Cursor) {
    while let Some(token) = cursor.peek() {
        let last = matches!(token.word, Word::Mark(';' | '{'));
        if token.word == Word::Mark('}') {
            return;
        }
        cursor.skip();
        if last {
            return;
        }
    }
}

fn one_of(cursor: &mut Cursor, scope: &str, file: &mut File, depth: u32, own: usize) -> Result<(), String> {
    cursor.take();
    cursor.name()?;
    cursor.expect('{')?;
    let mut names = Vec::new();
    while !cursor.eat('}') {
        if let Some(mut field) = member(cursor, scope, file, depth, own)? {
            field.label = Label::Optional;
            names.push(field.name.clone());
            file.messages[own].fields.push(field);
        }
    }
    file.messages[own].one_of.push(names);
    Ok(())
}

fn field(
    cursor: &mut Cursor,
    scope: &str,
    label: Label,
    first: &Token,
    file: &mut File,
    depth: u32,
) -> Result<Option<Field>, String> {
    let ty = if cursor.is_name("map") && cursor.peek_word(1) == Some(&Word::Mark('<')) {
        cursor.take();
        cursor.expect('<')?;
        let key = dotted(cursor)?;
        cursor.expect(',')?;
        let value = dotted(cursor)?;
        cursor.expect('>')?;
        FieldType::Map(key, value)
    } else {
        FieldType::Named(dotted(cursor)?)
    };
    let name = cursor.name()?;
    cursor.expect('=')?;
    cursor.take();
    let options = if cursor.is_mark('[') { options(cursor) } else { Options::default() };
    let label = options.label.unwrap_or(label);
    let json_name = options.json_name;
    let (name, ty) = match ty {
        // A group is a message and a field in one.
        FieldType::Named(word) if word == "group" => {
            body(cursor, within(scope, &name), first.above.clone(), file, depth + 1)?;
            (name.to_ascii_lowercase(), FieldType::Named(name))
        }
        ty => {
            cursor.expect(';')?;
            (name, ty)
        }
    };
    let doc = documented(&first.above, cursor.behind());
    // Configurations are JSON: who gives a field a name there means it.
    let name = json_name.unwrap_or(name);
    Ok(Some(Field { name, label, ty, doc, deprecated: options.deprecated, default: options.default }))
}

#[derive(Default)]
struct Options {
    deprecated: bool,
    default: Option<Value>,
    json_name: Option<String>,
    label: Option<Label>,
}

/// `[deprecated = true, default = 5, (other) = {..}]`.
fn options(cursor: &mut Cursor) -> Options {
    let mut found = Options::default();
    cursor.eat('[');
    while !cursor.eat(']') {
        let mut name = String::new();
        while let Some(token) = cursor.peek() {
            match &token.word {
                Word::Mark('=' | ']' | ',' | ';') => break,
                Word::Name(word) => name = word.clone(),
                _ => {}
            }
            cursor.skip();
        }
        if !cursor.eat('=') {
            if cursor.peek().is_none() || cursor.is_mark(';') {
                return found;
            }
            cursor.eat(',');
            continue;
        }
        let minus = cursor.eat('-');
        let word = cursor.peek_word(0).cloned();
        match (name.as_str(), &word) {
            ("deprecated", Some(Word::Name(word))) => found.deprecated = word == "true",
            ("field_presence", Some(Word::Name(word))) if word == "LEGACY_REQUIRED" => {
                found.label = Some(Label::Required);
            }
            ("json_name", Some(Word::Text(text))) => found.json_name = Some(text.clone()),
            ("default", Some(word)) => found.default = constant(word, minus),
            _ => {}
        }
        // A value may be a message in braces, or several strings.
        while cursor.peek().is_some_and(|token| !matches!(token.word, Word::Mark(',' | ']' | ';'))) {
            cursor.skip();
        }
        cursor.eat(',');
    }
    found
}

fn constant(word: &Word, minus: bool) -> Option<Value> {
    match word {
        Word::Text(text) => Some(Value::Str(text.clone())),
        Word::Number(text) => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(n), _) => Some(Value::Int(if minus { -n } else { n })),
            (_, Ok(f)) => Some(Value::Float(if minus { -f } else { f })),
            _ => None,
        },
        Word::Name(word) => Some(match word.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "inf" | "nan" => return None,
            word => Value::Str(word.to_owned()),
        }),
        Word::Mark(_) => None,
    }
}

fn enumeration(cursor: &mut Cursor, scope: &str, file: &mut File) -> Result<(), String> {
    cursor.take();
    let name = within(scope, &cursor.name()?);
    cursor.expect('{')?;
    let mut values = Vec::new();
    while !cursor.eat('}') {
        if cursor.peek().is_none() {
            return Err(cursor.wrong("`}`"));
        }
        match (cursor.peek_word(0).cloned(), cursor.peek_word(1)) {
            (Some(Word::Name(value)), Some(Word::Mark('='))) => {
                values.push(value);
                statement(cursor);
            }
            _ => statement(cursor),
        }
    }
    file.enums.push(Enum { name, values });
    Ok(())
}

//! TOML text to nodes with places.

use base_yaml::{Data, MapEntry, Node, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::data::Mistake;

/// Tables may nest this deep.
const MAX_DEPTH: usize = 128;

/// Reads one document.
pub(crate) fn read(text: &str) -> Result<Node, Mistake> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Mistake { at, what: error.message().trim_end().replace('\n', "; ") }
    })?;
    let span = Span { start: 0, end: text.len(), line: 1, column: 1 };
    Ok(Node { value: map(table.get_ref(), MAX_DEPTH)?, span })
}

// Lines and columns are counted by whoever shows a place; the tree needs bytes only.
fn place(range: std::ops::Range<usize>) -> Span {
    Span { start: range.start, end: range.end, line: 0, column: 0 }
}

fn map(table: &DeTable<'_>, depth: usize) -> Result<Data, Mistake> {
    let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let value = node(value, depth)?;
        Ok(MapEntry { key: key.get_ref().to_string(), key_span: place(key.span()), value })
    };
    table.iter().map(entry).collect::<Result<_, _>>().map(Data::Map)
}

fn node(value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Mistake> {
    let mistake = |what: &str| Mistake { at: value.span().start, what: what.to_owned() };
    let Some(below) = depth.checked_sub(1) else { return Err(mistake("it nests too deep")) };
    let data = match value.get_ref() {
        DeValue::String(text) => Data::Str(text.to_string()),
        DeValue::Boolean(value) => Data::Bool(*value),
        DeValue::Datetime(time) => Data::Str(time.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Data::Int(number),
            Err(_) => return Err(mistake("an integer has 64 bits at most")),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Data::Float(number),
            Err(_) => return Err(mistake("this is no number")),
        },
        DeValue::Array(items) => {
            Data::List(items.iter().map(|item| node(item, below)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => map(table, below)?,
    };
    Ok(Node { value: data, span: place(value.span()) })
}

//! `template`: Handlebars.

use base_yaml::Sink;
use handlebars::{
    Context, Handlebars, Helper, HelperResult, Output, RenderContext, RenderError, RenderErrorReason,
    TemplateError, TemplateErrorReason,
};
use kcl_value::{OutputOptions, Value, write_value};
use serde_json::{Map, Value as Json};

use super::{text, wrong};
use crate::{Args, Error, Host, Mistake, Wanted};

/// Bytes a template may render.
const OUTPUT_LIMIT: usize = 16 << 20;

/// Pieces of text, empty ones included, that a template may write: nested loops end here.
const PIECE_LIMIT: usize = 4 << 20;

/// `execute(template, data={})`.
pub(crate) fn execute(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let template = text(args, 0, "template");
    let data = match args.get(1, "data") {
        None => Json::Object(Map::new()),
        Some(value) if value.is_config() => to_json(value),
        other => return Err(wrong("data", Wanted::Dict, other)),
    };
    host.charge(template.len() as u64 / 16)?;
    let mut engine = Handlebars::new();
    engine.register_helper("raw", Box::new(raw));
    engine.register_template_string("template", template).map_err(|error| unreadable(&error))?;
    let mut out = Bounded::default();
    engine.render_to_write("template", &data, &mut out).map_err(|error| failed(&error))?;
    host.charge(out.bytes.len() as u64 / 16)?;
    let not_text =
        |_| Mistake::TemplateFailed { debug: "not UTF-8".into(), why: "its text is no UTF-8".into() };
    Ok(String::from_utf8(out.bytes).map(Value::from).map_err(not_text)?)
}

/// The reference shows the engine's errors as a programmer sees them; people read the reason and its place.
fn unreadable(error: &TemplateError) -> Mistake {
    let place = error.pos().map(|(line, column)| (line, Some(column)));
    let why = match error.reason() {
        // Its text lists the rules of the engine's grammar.
        TemplateErrorReason::InvalidSyntax(_) => told(&"a tag is wrong or not closed", place),
        other => told(other, place),
    };
    Mistake::BadTemplate { debug: format!("{error:?}"), why }
}

fn failed(error: &RenderError) -> Mistake {
    let place = error.line_no.map(|line| (line, error.column_no));
    Mistake::TemplateFailed { debug: format!("{error:?}"), why: told(error.reason(), place) }
}

fn told(reason: &impl std::fmt::Display, place: Option<(usize, Option<usize>)>) -> String {
    match place {
        Some((line, Some(column))) => format!("{reason} (line {line}, column {column})"),
        Some((line, None)) => format!("{reason} (line {line})"),
        None => reason.to_string(),
    }
}

/// `{{raw x}}`: not escaped.
fn raw(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    let value = helper.param(0).ok_or(RenderErrorReason::Other("Parameter not found".to_owned()))?;
    match value.value() {
        Json::String(text) => out.write(text)?,
        other => out.write(&other.to_string())?,
    }
    Ok(())
}

/// A buffer that refuses to grow without bound.
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    pieces: usize,
}

impl std::io::Write for Bounded {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.pieces += 1;
        if self.bytes.len() + buf.len() > OUTPUT_LIMIT || self.pieces > PIECE_LIMIT {
            return Err(std::io::Error::other("the output is too large"));
        }
        self.bytes.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// `html_escape(data)`.
pub(crate) fn html_escape(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    Ok(Value::from(handlebars::html_escape(text(args, 0, "data"))))
}

fn to_json(value: &Value) -> Json {
    let mut sink = JsonTree::default();
    write_value(&mut sink, value, &OutputOptions { show_hidden: true, ..OutputOptions::default() });
    sink.result
}

/// Builds the tree that the template engine wants.
#[derive(Default)]
struct JsonTree {
    open: Vec<(Json, Option<String>)>,
    result: Json,
}

impl JsonTree {
    fn put(&mut self, value: Json) {
        match self.open.last_mut() {
            None => self.result = value,
            Some((Json::Array(items), _)) => items.push(value),
            Some((Json::Object(map), key)) => {
                map.insert(key.take().unwrap_or_default(), value);
            }
            Some(_) => {}
        }
    }

    fn close(&mut self) {
        if let Some((value, _)) = self.open.pop() {
            self.put(value);
        }
    }
}

impl Sink for JsonTree {
    fn null(&mut self) {
        self.put(Json::Null);
    }

    fn bool(&mut self, b: bool) {
        self.put(Json::Bool(b));
    }

    fn int(&mut self, i: i64) {
        self.put(Json::from(i));
    }

    fn float(&mut self, f: f64) {
        self.put(Json::from(f));
    }

    fn str(&mut self, text: &str) {
        self.put(Json::from(text));
    }

    fn begin_list(&mut self) {
        self.open.push((Json::Array(Vec::new()), None));
    }

    fn end_list(&mut self) {
        self.close();
    }

    fn begin_map(&mut self) {
        self.open.push((Json::Object(Map::new()), None));
    }

    fn key(&mut self, key: &str) {
        if let Some((_, slot)) = self.open.last_mut() {
            *slot = Some(key.to_owned());
        }
    }

    fn end_map(&mut self) {
        self.close();
    }
}

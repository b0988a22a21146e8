//! Which mistakes are told, and what the way a program was called adds to them.
//!
//! One mistake is told once: the first word about a place is the last, and a value of the wrong type is not told again as part of
//! the value around it. What a text means is not judged while it cannot be read: a name in a statement that is broken, or that a
//! misspelt `import` would have brought, would be missed elsewhere.

use base_diag::{Code, Diagnostic, Place, SourceMap, Telling};

use crate::request::Request;

/// Returns the mistakes that are told, in words for whoever made the request.
pub(crate) fn told(
    mut diagnostics: Vec<Diagnostic>,
    request: &Request,
    sources: &SourceMap,
) -> Vec<Diagnostic> {
    without_echoes(&mut diagnostics);
    if let Some(diagnostic) = diagnostics.first().and_then(|first| misspelt(first, sources)) {
        return vec![diagnostic];
    }
    let diagnostics = diagnostics.into_iter().map(|diagnostic| of_elsewhere(diagnostic, sources));
    if request.overrides.is_empty() {
        return diagnostics.collect();
    }
    diagnostics.map(with_quotes_in_mind).map(from_the_command_line).collect()
}

/// A word of the language with a mistake in it reads as a name that nobody defined, and the rest of its line as something else.
fn misspelt(diagnostic: &Diagnostic, sources: &SourceMap) -> Option<Diagnostic> {
    let (word, meant) = first_word(diagnostic, sources, kcl_syntax::misspelt_keyword)?;
    let labels =
        vec![base_diag::Label { place: diagnostic.place(), message: format!("did you mean `{meant}`?") }];
    let telling = Telling { title: format!("`{word}` is not defined"), labels };
    Some(diagnostic.clone().with_telling(telling))
}

/// The unknown name of a diagnostic with what is known about it, if it begins a line that goes on as if it were a word of the
/// language.
fn first_word<'a>(
    diagnostic: &Diagnostic,
    sources: &'a SourceMap,
    known: fn(&str) -> Option<&'static str>,
) -> Option<(&'a str, &'static str)> {
    let Place::Span(file, span) = diagnostic.place() else { return None };
    let text = &sources.get(file).filter(|_| diagnostic.id == "unknown-name")?.text;
    let word = text.get(span.start as usize..span.end as usize)?;
    let known = known(word)?;
    let begins =
        text[..span.start as usize].rsplit('\n').next().is_some_and(|before| before.trim().is_empty());
    let goes_on = text[span.end as usize..].strip_prefix(' ')?.starts_with(char::is_alphanumeric);
    (begins && goes_on).then_some((word, known))
}

/// `let a = 1`: a statement of another language reads as a name that nobody defined, and another statement.
fn of_elsewhere(diagnostic: Diagnostic, sources: &SourceMap) -> Diagnostic {
    let Some((word, help)) = first_word(&diagnostic, sources, kcl_syntax::foreign) else { return diagnostic };
    let telling = Telling { title: format!("there is no `{word}`"), labels: Vec::new() };
    Diagnostic { fix: None, ..diagnostic.with_telling(telling).with_help(help) }
}

/// Drops what repeats an earlier mistake.
fn without_echoes(diagnostics: &mut Vec<Diagnostic>) {
    let mut told: Vec<Place> = Vec::new();
    let mut values: Vec<(Place, Option<Place>)> = Vec::new();
    diagnostics.retain(|diagnostic| {
        let place = diagnostic.place();
        let value = mistyped_value(diagnostic);
        let first = place == Place::None || !told.contains(&place);
        let declared = diagnostic.labels.get(1).map(|label| label.place);
        let around = value.is_some_and(|value| {
            values.iter().any(|(inner, at)| {
                encloses(value, *inner)
                    || declared.is_some() && declared == *at && stands_before(place, *inner)
            })
        });
        // A file full of mistakes must not become quadratic.
        if told.len() < 1000 {
            told.push(place);
            values.extend(value.map(|value| (value, declared)));
        }
        first && !around
    });
    if diagnostics.first().is_some_and(|first| first.code == Code::SYNTAX) {
        diagnostics.retain(|diagnostic| diagnostic.code == Code::SYNTAX);
    }
}

/// `-O app.image=nginx` is the likely reason of a name that nobody defined.
fn with_quotes_in_mind(diagnostic: Diagnostic) -> Diagnostic {
    if diagnostic.id != "unknown-name" {
        return diagnostic;
    }
    diagnostic
        .with_help("a value of -O is an expression; a text has quotes of its own: -O 'app.image=\"nginx\"'")
}

/// A value of -O that does not fit stands in no file: what can be shown is what it does not fit.
fn from_the_command_line(mut diagnostic: Diagnostic) -> Diagnostic {
    let nowhere = matches!(diagnostic.place(), Place::Span(_, span) if span.start == span.end);
    if !nowhere || diagnostic.code != Code::TYPE || diagnostic.labels.len() < 2 {
        return diagnostic;
    }
    let declared = diagnostic.labels.remove(1);
    diagnostic.labels[0].place = declared.place;
    diagnostic.telling = None;
    diagnostic.with_help("the value was given by -O")
}

/// The value that has another type than the one expected, as it was written.
fn mistyped_value(diagnostic: &Diagnostic) -> Option<Place> {
    let labels = &diagnostic.telling.as_ref()?.labels;
    labels.first().filter(|_| diagnostic.id == "type-mismatch").map(|label| label.place)
}

/// Mistakes come in the order of the text; only the key around a value that was told comes after it.
fn stands_before(key: Place, value: Place) -> bool {
    matches!((key, value), (Place::Span(file, key), Place::Span(of, value)) if file == of && key.start < value.start)
}

fn encloses(outer: Place, inner: Place) -> bool {
    match (outer, inner) {
        (Place::Span(file, outer), Place::Span(of, inner)) => {
            file == of && outer != inner && outer.start <= inner.start && inner.end <= outer.end
        }
        _ => false,
    }
}

//! Data on stdout; everything else goes to stderr.

use std::borrow::Cow;
use std::io::Write as _;

use base_secret::Redactor;
use serde_json::Value;

use crate::input::flags::Given;
use crate::views::failure::{Exit, Failure};
use crate::views::screen::fitted;

/// What a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// Reads `-o`.
pub(crate) fn format_of(given: &Given) -> Result<Format, Failure> {
    match given.last("output").as_deref() {
        None | Some("text") => Ok(Format::Text),
        Some("json") => Ok(Format::Json),
        Some(other) => {
            Err(Failure::usage(format!("there is no output format `{other}`")).next("use -o text or -o json"))
        }
    }
}

/// Whether the words ask for JSON, also where they could not be read otherwise.
pub(crate) fn is_json(words: &[String]) -> bool {
    let named = |at: usize, word: &str| match word {
        "-o" | "--output" => words.get(at + 1).is_some_and(|value| value == "json"),
        other => matches!(other, "-ojson" | "-o=json" | "--output=json"),
    };
    let before = words.iter().take_while(|word| *word != "--").enumerate();
    before.into_iter().any(|(at, word)| named(at, word))
        || std::env::var("KUSION_OUTPUT").is_ok_and(|value| value == "json")
}

/// Prints what programs read, or what is copied, without secrets; a reader that has gone away ends the command quietly.
pub(crate) fn print_data(text: &str) -> Result<(), Failure> {
    print_as_is(&without_secrets(text))
}

/// Prints what people read: the same, and on a terminal no word is cut at its edge.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_data(&fitted(text))
}

/// A text as the redactor of this process leaves it: what is written to a stream comes through here.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    Redactor::clean_for_process(text)
}

/// Prints what has no secret in it, or what the user has asked to see.
pub(crate) fn print_as_is(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::told(Exit::Done)),
        Err(error) => Err(Failure::new(Exit::Usage, "the output cannot be written").cause(error.to_string())),
        Ok(()) => Ok(()),
    }
}

/// Draws on the terminal. A terminal that has gone away is no reason to stop an apply.
pub(crate) fn draw(text: &str) {
    let _ = print_data(text);
}

/// Prints one JSON document.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    let mut value = Cow::Borrowed(value);
    if let Some(redactor) = Redactor::installed() {
        // Cleaned as a document, so that it stays one.
        redactor.clean_json(value.to_mut());
    }
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.push('\n');
    print_as_is(&text)
}

/// Tells a person something, beside the data.
pub(crate) fn tell(text: &str) {
    let _ = std::io::stderr().lock().write_all(without_secrets(text).as_bytes());
}

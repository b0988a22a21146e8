//! Colours and glyphs, decided once per stream. Each colour means one thing and has a word or glyph beside it.

use std::io::IsTerminal;

/// How to write on one stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    colour: bool,
    unicode: bool,
}

impl Style {
    pub(crate) fn stdout() -> Style {
        Style::of(std::io::stdout().is_terminal())
    }

    pub(crate) fn stderr() -> Style {
        Style::of(std::io::stderr().is_terminal())
    }

    fn of(terminal: bool) -> Style {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let dumb = set("TERM").as_deref() == Some("dumb");
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let utf8 = locale.to_ascii_uppercase().replace('-', "").contains("UTF8");
        Style { colour: terminal && !dumb && set("NO_COLOR").is_none(), unicode: utf8 && !dumb }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn green(&self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn yellow(&self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn red(&self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn magenta(&self, text: &str) -> String {
        self.paint("35", text)
    }

    pub(crate) fn cyan(&self, text: &str) -> String {
        self.paint("36", text)
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn has_colour(&self) -> bool {
        self.colour
    }

    /// A glyph, or its plain stand-in.
    pub(crate) fn glyph(&self, glyph: &'static str, plain: &'static str) -> &'static str {
        if self.unicode { glyph } else { plain }
    }
}

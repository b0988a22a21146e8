//! What a provider writes beside its answers: kept in bounded memory, searchable, without the values of attributes, and told
//! to the facade `log` as it comes.
//!
//! Providers write JSON lines (`@level`, `@module`, `@message`, and free keys that may hold values of attributes) and plain
//! lines. Of a JSON line only level, module and message are kept. A plain line of Go's `log` package may say its level
//! (`[DEBUG] ..`), and goes on in the lines after it; those below a warning are dropped whole, because whole requests with
//! all values stand in them. From `panic: ` or `fatal error: ` on everything is kept for the report of a crash.
//!
//! Warnings and worse are told. Lower levels are told only where `TF_LOG` or `TF_LOG_PROVIDER` asks for them, and only of
//! JSON lines.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// So much is kept of one line.
const MAX_LINE: usize = 64 << 10;
/// So much is kept of all lines.
const MAX_KEPT: usize = 256 << 10;
/// So much is kept of a crash.
const MAX_PANIC: usize = 64 << 10;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    /// A line that says no level: what a program prints when it cannot go on.
    Plain,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Trace => "trace",
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
            Level::Plain => "",
        })
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub level: Level,
    pub text: String,
}

/// The log of one provider, shared by everybody who reads from it.
#[derive(Clone)]
pub struct Logs {
    inner: Arc<Mutex<Inner>>,
    /// Whose it is.
    of: Arc<str>,
    /// Lines below it are not kept.
    least: Level,
    /// JSON lines below it are not told; none where nobody listens.
    told: Option<Level>,
}

#[derive(Default)]
struct Inner {
    /// The level of the plain line before.
    plain: Option<Level>,
    lines: VecDeque<LogLine>,
    n_bytes: usize,
    panic: String,
    panicked: bool,
}

impl Logs {
    /// Keeps lines of a provider from a level on.
    #[must_use]
    pub fn new(of: &str, least: Level) -> Self {
        let listens = ::log::log_enabled!(::log::Level::Debug);
        let told = listens.then(|| asked().map_or(Level::Warn, |asked| asked.min(Level::Warn)));
        Logs { inner: Arc::default(), of: of.into(), least, told }
    }

    /// Whose log it is.
    #[must_use]
    pub fn of(&self) -> &str {
        &self.of
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one line, without its end.
    pub fn take(&self, bytes: &[u8]) {
        let text = plain(&String::from_utf8_lossy(bytes.get(..MAX_LINE).unwrap_or(bytes)));
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        let structured = read(text);
        let mut inner = self.inner();
        let is_structured = structured.is_some();
        let line = structured.unwrap_or_else(|| {
            let level = plain_level(text, inner.plain);
            inner.plain = Some(level);
            LogLine { level, text: text.to_owned() }
        });
        if !inner.panicked && (text.starts_with("panic: ") || text.starts_with("fatal error: ")) {
            inner.panicked = true;
        }
        if inner.panicked && line.level == Level::Plain && inner.panic.len() + text.len() < MAX_PANIC {
            inner.panic.push_str(text);
            inner.panic.push('\n');
        }
        let least_told = if is_structured { self.told } else { self.told.map(|_| Level::Warn) };
        if least_told.is_some_and(|least| line.level >= least) {
            let level = if line.level == Level::Plain { String::new() } else { format!("{}: ", line.level) };
            ::log::debug!("provider {}: {level}{}", self.of, line.text);
        }
        if line.level < self.least {
            return;
        }
        inner.n_bytes += line.text.len();
        inner.lines.push_back(line);
        while inner.n_bytes > MAX_KEPT {
            let Some(first) = inner.lines.pop_front() else { break };
            inner.n_bytes -= first.text.len();
        }
    }

    /// Returns the kept lines in which a text stands; an empty one stands in all.
    #[must_use]
    pub fn search(&self, text: &str) -> Vec<LogLine> {
        self.inner().lines.iter().filter(|line| line.text.contains(text)).cloned().collect()
    }

    /// Returns what a crashed provider said last: its panic, or else its last lines.
    #[must_use]
    pub fn last_words(&self) -> Vec<String> {
        const WORDS: usize = 12;
        let inner = self.inner();
        if inner.panicked {
            return inner.panic.lines().take(WORDS).map(str::to_owned).collect();
        }
        let skip = inner.lines.len().saturating_sub(WORDS);
        inner.lines.iter().skip(skip).map(|line| line.text.clone()).collect()
    }
}

/// The level that the user asks of providers, by the variables that Terraform has for it.
fn asked() -> Option<Level> {
    let set = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    match set("TF_LOG_PROVIDER").or_else(|| set("TF_LOG"))?.to_ascii_lowercase().as_str() {
        "trace" | "json" => Some(Level::Trace),
        "debug" => Some(Level::Debug),
        "info" => Some(Level::Info),
        _ => None,
    }
}

/// A line without what would steer a terminal: escape sequences, and control characters other than tabs.
fn plain(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text.chars());
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => match rest.next() {
                Some('[') => drop(rest.find(|c| ('@'..='~').contains(c))),
                // Titles and links end with a bell, or with ESC and a backslash.
                Some(']' | 'P' | '_' | '^') => drop(rest.find(|c| matches!(c, '\u{7}' | '\\'))),
                _ => {}
            },
            '\t' => out.push('\t'),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// The level of a plain line: what it says, that of the message which it goes on with, or none.
fn plain_level(text: &str, before: Option<Level>) -> Level {
    const SAID: [(&str, Level); 5] = [
        ("[TRACE]", Level::Trace),
        ("[DEBUG]", Level::Debug),
        ("[INFO]", Level::Info),
        ("[WARN]", Level::Warn),
        ("[ERROR]", Level::Error),
    ];
    // `2024/05/01 10:00:00 `: a new message.
    const STAMP: usize = 8;
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || "/:.- TZ".contains(c));
    if let Some((_, level)) = SAID.iter().find(|(word, _)| rest.starts_with(word)) {
        return *level;
    }
    let stamped = text.starts_with(|c: char| c.is_ascii_digit()) && text.len() - rest.len() >= STAMP;
    let crashed = ["panic: ", "fatal error: "].iter().any(|word| text.starts_with(word));
    if stamped || crashed { Level::Plain } else { before.unwrap_or(Level::Plain) }
}

/// A JSON line, without the keys that may hold values.
fn read(text: &str) -> Option<LogLine> {
    if !text.starts_with('{') {
        return None;
    }
    let Ok(Value::Object(map)) = serde_json::from_str::<Value>(text) else { return None };
    let field = |key: &str| map.get(key).and_then(Value::as_str);
    let (level, message) = (field("@level")?, field("@message")?);
    let level = match level {
        "trace" => Level::Trace,
        "debug" => Level::Debug,
        "info" => Level::Info,
        "warn" => Level::Warn,
        _ => Level::Error,
    };
    let text = match field("@module") {
        Some(module) => format!("{module}: {message}"),
        None => message.to_owned(),
    };
    Some(LogLine { level, text })
}

/// Cuts a stream into lines, with bounded memory: the rest of a line that is too long is dropped.
#[derive(Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    pub(crate) fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(&[u8])) {
        let mut pieces = bytes.split(|&byte| byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            let ends = pieces.peek().is_some();
            if ends && self.partial.is_empty() {
                take(piece);
                continue;
            }
            let room = MAX_LINE.saturating_sub(self.partial.len());
            self.partial.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if ends {
                take(&self.partial);
                self.partial.clear();
            }
        }
    }

    pub(crate) fn end(&mut self, take: &mut dyn FnMut(&[u8])) {
        if !self.partial.is_empty() {
            take(&std::mem::take(&mut self.partial));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_lose_their_values_and_low_levels_are_dropped() {
        let logs = Logs::new("lab", Level::Warn);
        logs.take(br#"{"@level":"trace","@message":"canary","@module":"sdk"}"#);
        logs.take(br#"{"@level":"warn","@message":"slow","@module":"sdk","password":"canary"}"#);
        logs.take(b"cannot start: missing libfoo\n");
        let texts: Vec<String> = logs.search("").into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["sdk: slow", "cannot start: missing libfoo"]);
        assert_eq!(logs.search("libfoo").len(), 1);
    }

    #[test]
    fn plain_lines_below_a_warning_are_dropped_with_the_lines_that_belong_to_them() {
        let logs = Logs::new("lab", Level::Warn);
        let lines = [
            "2024/05/01 10:00:00 [DEBUG] request:",
            "POST /users",
            "password=canary",
            "2024/05/01 10:00:01 [WARN] slow",
            "by two seconds",
            "[TRACE] canary",
            "2024-05-01T10:00:02.000Z cannot go on",
            "[INFO] canary",
            "panic: out of range",
            "goroutine 1 [running]:",
        ];
        lines.iter().for_each(|line| logs.take(line.as_bytes()));
        let texts: Vec<String> = logs.search("").into_iter().map(|line| line.text).collect();
        let kept = [lines[3], lines[4], lines[6], lines[8], lines[9]];
        assert_eq!(texts, kept);
        assert_eq!(logs.last_words(), [lines[8], lines[9]]);
    }

    #[test]
    fn nothing_of_a_line_steers_a_terminal() {
        let logs = Logs::new("lab", Level::Plain);
        logs.take(b"a\x1b[31mred\x1b[0m\x1b]0;title\x07 b\x08\tc\x1b");
        assert_eq!(logs.last_words(), ["ared b\tc"]);
    }

    #[test]
    fn memory_is_bounded_and_a_panic_is_kept_whole() {
        let logs = Logs::new("lab", Level::Warn);
        logs.take(b"panic: runtime error: index out of range");
        logs.take(b"goroutine 1 [running]:");
        for _ in 0..50 {
            logs.take(&[b'x'; 20_000]);
        }
        assert!(logs.search("").iter().map(|line| line.text.len()).sum::<usize>() <= MAX_KEPT);
        assert_eq!(
            logs.last_words()[..2],
            ["panic: runtime error: index out of range", "goroutine 1 [running]:"]
        );
    }

    #[test]
    fn lines_come_whole_from_pieces_and_too_long_ones_are_cut() {
        let mut lines = Lines::default();
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let mut take = |line: &[u8]| seen.push(line.to_vec());
        for piece in [&b"a"[..], b"b\nc\n\nd", b""] {
            lines.feed(piece, &mut take);
        }
        lines.feed(&vec![b'z'; MAX_LINE * 2], &mut take);
        lines.feed(b"\ne", &mut take);
        lines.end(&mut take);
        assert_eq!(seen[..3], [b"ab".to_vec(), b"c".to_vec(), b"".to_vec()]);
        assert_eq!(seen[3].len(), MAX_LINE);
        assert_eq!(seen[4], b"e");
    }
}

//! What a provider writes beside its answers: kept in bounded memory, searchable, without the values of attributes.
//!
//! Providers write JSON lines (`@level`, `@module`, `@message`, and free keys that may hold values of attributes) and plain
//! lines. Of a JSON line only level, module and message are kept. From `panic: ` or `fatal error: ` on everything is kept
//! for the report of a crash.

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

/// Is told every line that is kept, as it comes.
pub type OnLine = Arc<dyn Fn(&LogLine) + Send + Sync>;

/// The log of one provider, shared by everybody who reads from it.
#[derive(Clone)]
pub struct Logs {
    inner: Arc<Mutex<Inner>>,
    /// Lines below it are dropped.
    least: Level,
    listener: Option<OnLine>,
}

#[derive(Default)]
struct Inner {
    lines: VecDeque<LogLine>,
    n_bytes: usize,
    panic: String,
    panicked: bool,
}

impl Logs {
    /// Keeps lines from a level on.
    #[must_use]
    pub fn new(least: Level, listener: Option<OnLine>) -> Self {
        Logs { inner: Arc::default(), least, listener }
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
        let line = read(text);
        let mut inner = self.inner();
        if !inner.panicked && (text.starts_with("panic: ") || text.starts_with("fatal error: ")) {
            inner.panicked = true;
        }
        if inner.panicked && line.level == Level::Plain && inner.panic.len() + text.len() < MAX_PANIC {
            inner.panic.push_str(text);
            inner.panic.push('\n');
        }
        if line.level < self.least {
            return;
        }
        if let Some(listener) = &self.listener {
            listener(&line);
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

fn read(text: &str) -> LogLine {
    let plain = || LogLine { level: Level::Plain, text: text.to_owned() };
    if !text.starts_with('{') {
        return plain();
    }
    let Ok(Value::Object(map)) = serde_json::from_str::<Value>(text) else { return plain() };
    let field = |key: &str| map.get(key).and_then(Value::as_str);
    let (Some(level), Some(message)) = (field("@level"), field("@message")) else { return plain() };
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
    LogLine { level, text }
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
        let logs = Logs::new(Level::Warn, None);
        logs.take(br#"{"@level":"trace","@message":"canary","@module":"sdk"}"#);
        logs.take(br#"{"@level":"warn","@message":"slow","@module":"sdk","password":"canary"}"#);
        logs.take(b"cannot start: missing libfoo\n");
        let texts: Vec<String> = logs.search("").into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["sdk: slow", "cannot start: missing libfoo"]);
        assert_eq!(logs.search("libfoo").len(), 1);
    }

    #[test]
    fn nothing_of_a_line_steers_a_terminal() {
        let logs = Logs::new(Level::Plain, None);
        logs.take(b"a\x1b[31mred\x1b[0m\x1b]0;title\x07 b\x08\tc\x1b");
        assert_eq!(logs.last_words(), ["ared b\tc"]);
    }

    #[test]
    fn memory_is_bounded_and_a_panic_is_kept_whole() {
        let logs = Logs::new(Level::Warn, None);
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

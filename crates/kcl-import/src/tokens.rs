//! Words of source text: protobuf and Go have comments, strings, names and marks in common.

/// What a token is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    Name(String),
    /// A string, without its quotes and escapes.
    Text(String),
    Number(String),
    Mark(char),
}

/// A word with what stands around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) word: Word,
    /// From 1.
    pub(crate) line: u32,
    /// The comment directly above.
    pub(crate) above: String,
    /// The comment behind it, on its line.
    pub(crate) behind: String,
}

/// Walks over tokens.
pub(crate) struct Cursor {
    name: String,
    tokens: Vec<Token>,
    at: usize,
}

impl Cursor {
    /// Reads the words of a text; `name` is that of the file, for messages.
    pub(crate) fn new(name: &str, text: &str) -> Result<Cursor, String> {
        Ok(Cursor { name: name.to_owned(), tokens: tokens(name, text)?, at: 0 })
    }

    pub(crate) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub(crate) fn peek_word(&self, ahead: usize) -> Option<&Word> {
        self.tokens.get(self.at + ahead).map(|token| &token.word)
    }

    /// Whether the next token stands on the line of the one before it.
    pub(crate) fn on_this_line(&self) -> bool {
        match (self.at.checked_sub(1).and_then(|before| self.tokens.get(before)), self.peek()) {
            (Some(before), Some(next)) => before.line == next.line,
            _ => false,
        }
    }

    /// Whether the token so many behind the next one stands on its line.
    pub(crate) fn same_line(&self, ahead: usize) -> bool {
        match (self.tokens.get(self.at), self.tokens.get(self.at + ahead)) {
            (Some(next), Some(after)) => next.line == after.line,
            _ => false,
        }
    }

    /// What the token that was taken last has behind it.
    pub(crate) fn behind(&self) -> &str {
        self.at.checked_sub(1).and_then(|before| self.tokens.get(before)).map_or("", |token| &token.behind)
    }

    pub(crate) fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        self.peek_word(0) == Some(&Word::Mark(mark))
    }

    pub(crate) fn is_name(&self, name: &str) -> bool {
        matches!(self.peek_word(0), Some(Word::Name(found)) if found == name)
    }

    /// Takes a mark if it is next.
    pub(crate) fn eat(&mut self, mark: char) -> bool {
        let found = self.is_mark(mark);
        self.at += usize::from(found);
        found
    }

    /// Takes a name if it is next.
    pub(crate) fn eat_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.eat(mark) { Ok(()) } else { Err(self.wrong(&format!("`{mark}`"))) }
    }

    pub(crate) fn name(&mut self) -> Result<String, String> {
        match self.peek_word(0) {
            Some(Word::Name(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.wrong("a name")),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, String> {
        match self.peek_word(0) {
            Some(Word::Text(text)) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.wrong("a string")),
        }
    }

    /// Skips what stands in brackets, the next token being the first of them; any other token is skipped alone.
    pub(crate) fn skip(&mut self) {
        let mut depth = 0u32;
        while let Some(token) = self.take() {
            match token.word {
                Word::Mark('(' | '[' | '{') => depth += 1,
                Word::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// The sentence for a word that is not what was expected.
    pub(crate) fn wrong(&self, expected: &str) -> String {
        let line = self.peek().or(self.tokens.last()).map_or(1, |token| token.line);
        let found = match self.peek_word(0) {
            Some(Word::Name(word) | Word::Number(word)) => format!("`{word}`"),
            Some(Word::Text(_)) => "a string".to_owned(),
            Some(Word::Mark(mark)) => format!("`{mark}`"),
            None => "the end".to_owned(),
        };
        format!("{}:{line}: {expected} is expected, {found} stands there", self.name)
    }
}

struct Lexer<'t> {
    name: &'t str,
    rest: &'t str,
    line: u32,
    found: Vec<Token>,
    /// Lines of a comment that belongs to what follows, and the line it ends on.
    comment: (Vec<String>, u32),
}

fn tokens(name: &str, text: &str) -> Result<Vec<Token>, String> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lexer = Lexer { name, rest, line: 1, found: Vec::new(), comment: (Vec::new(), 0) };
    while let Some(c) = lexer.rest.chars().next() {
        lexer.one(c)?;
    }
    Ok(lexer.found)
}

impl Lexer<'_> {
    fn one(&mut self, c: char) -> Result<(), String> {
        if let Some(after) = self.rest.strip_prefix("//") {
            let end = after.find('\n').unwrap_or(after.len());
            self.comment(&after[..end], self.line);
            self.rest = &after[end..];
        } else if let Some(after) = self.rest.strip_prefix("/*") {
            let end = after.find("*/").ok_or_else(|| self.wrong("this comment has no end"))?;
            let begun = self.line;
            self.line += lines(&after[..end]);
            self.comment(&after[..end], begun);
            self.rest = &after[end + 2..];
        } else if c.is_whitespace() {
            self.line += u32::from(c == '\n');
            self.rest = &self.rest[c.len_utf8()..];
        } else if c == '`' {
            let after = &self.rest[1..];
            let end = after.find('`').ok_or_else(|| self.wrong("this string has no end"))?;
            self.push(Word::Text(after[..end].to_owned()));
            self.line += lines(&after[..end]);
            self.rest = &after[end + 1..];
        } else if c == '"' || c == '\'' {
            let text = self.quoted(c)?;
            self.push(Word::Text(text));
        } else if c.is_alphanumeric() || c == '_' {
            // A number may have a fraction; a name has none: `a.b` is two names.
            let number = c.is_ascii_digit();
            let inside = |n: char| n.is_alphanumeric() || n == '_' || number && n == '.';
            let end = self.rest.find(|n| !inside(n)).unwrap_or(self.rest.len());
            let word = self.rest[..end].to_owned();
            self.push(if number { Word::Number(word) } else { Word::Name(word) });
            self.rest = &self.rest[end..];
        } else {
            self.push(Word::Mark(c));
            self.rest = &self.rest[c.len_utf8()..];
        }
        Ok(())
    }

    fn push(&mut self, word: Word) {
        let (said, until) = std::mem::take(&mut self.comment);
        let above = if until + 1 >= self.line { said.join("\n") } else { String::new() };
        self.found.push(Token { word, line: self.line, above, behind: String::new() });
    }

    fn comment(&mut self, text: &str, begun: u32) {
        let said = text.lines().map(|line| line.trim().trim_start_matches(['*', '/']).trim().to_owned());
        if let Some(before) = self.found.last_mut().filter(|token| token.line == begun) {
            before.behind = said.collect::<Vec<_>>().join("\n").trim().to_owned();
            return;
        }
        // A blank line between two comments: only the second one is about what follows.
        if self.comment.1 + 1 < begun {
            self.comment.0.clear();
        }
        self.comment.0.extend(said);
        self.comment.1 = self.line;
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(text);
                }
                '\n' => break,
                '\\' => match escaped(&self.rest[at + 1..]) {
                    Some((c, length)) => {
                        text.push(c);
                        chars.nth(length - 1);
                    }
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(self.wrong("this string has no end"))
    }

    fn wrong(&self, what: &str) -> String {
        format!("{}:{}: {what}", self.name, self.line)
    }
}

/// What an escape stands for, and of how many characters it is: `n`, `x41`, `101`, `u00e9`.
fn escaped(rest: &str) -> Option<(char, usize)> {
    let first = rest.chars().next()?;
    let number = |skip: usize, most: usize, base: u32| {
        let digits: String = rest.chars().skip(skip).take(most).take_while(|c| c.is_digit(base)).collect();
        let code = u32::from_str_radix(&digits, base).ok().and_then(char::from_u32)?;
        Some((code, skip + digits.len()))
    };
    let simple = match first {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        other => other,
    };
    let coded = match first {
        'x' | 'X' => number(1, 2, 16),
        'u' => number(1, 4, 16),
        'U' => number(1, 8, 16),
        '0'..='7' => number(0, 3, 8),
        _ => None,
    };
    Some(coded.unwrap_or((simple, 1)))
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX)
}

/// A comment as documentation: its words without marks for tools.
pub(crate) fn documented(above: &str, behind: &str) -> String {
    let words = |text: &str| {
        let kept: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('+')).collect();
        kept.join("\n").trim().to_owned()
    };
    let above = words(above);
    if above.is_empty() { words(behind) } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_their_lines_and_comments() {
        let text = "// far\n\n// near\n/* and\n * more */\nmessage A { // behind\n  x = 1.5 'a\\'b' `c\nd` }";
        let found = tokens("f", text).unwrap();
        let words: Vec<&Word> = found.iter().map(|token| &token.word).collect();
        let name = |text: &str| Word::Name(text.into());
        let text = |text: &str| Word::Text(text.into());
        assert_eq!(
            words,
            [
                &name("message"),
                &name("A"),
                &Word::Mark('{'),
                &name("x"),
                &Word::Mark('='),
                &Word::Number("1.5".into()),
                &text("a'b"),
                &text("c\nd"),
                &Word::Mark('}')
            ]
        );
        assert_eq!((found[0].above.as_str(), found[0].line), ("near\nand\nmore", 6));
        assert_eq!((found[2].behind.as_str(), found[8].line), ("behind", 8));
        assert_eq!(tokens("f", "a\n\"b").unwrap_err(), "f:2: this string has no end");
        assert_eq!(tokens("f", "/* a").unwrap_err(), "f:1: this comment has no end");
        assert_eq!(documented("+optional\nA size.", "x"), "A size.");
    }
}

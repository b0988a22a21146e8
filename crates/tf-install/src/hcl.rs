//! The part of HCL that configuration and lock files are written in, and the same in JSON, as one tree.
//!
//! A block `a "b" { .. }` is an entry `a` with a table that has an entry `b`; entries keep their order and may repeat.
//! Nothing is evaluated.

/// Longest text.
const MAX_TEXT: usize = 4 << 20;
/// Tables and lists inside each other.
const MAX_DEPTH: u32 = 64;

/// A value with the line it stands on; 0 in JSON.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    pub(crate) line: u32,
    pub(crate) data: Data,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Data {
    Text(String),
    /// A number, `true`, `false` or `null`, as it is written.
    Word(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    /// Entries of a table; none of anything else.
    pub(crate) fn entries(&self) -> &[(String, Node)] {
        match &self.data {
            Data::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The values of every entry of a name; a list of tables (JSON's repeated block) counts as its members.
    pub(crate) fn each<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n Node> {
        self.entries().iter().filter(move |(key, _)| key == name).flat_map(|(_, node)| node.members())
    }

    /// The members of a list of tables, else the node itself.
    pub(crate) fn members(&self) -> &[Node] {
        match &self.data {
            Data::List(nodes) if nodes.iter().all(|node| matches!(node.data, Data::Table(_))) => nodes,
            _ => std::slice::from_ref(self),
        }
    }

    /// The text of the last entry of a name.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, String> {
        match self.entries().iter().rev().find(|(key, _)| key == name) {
            None => Ok(None),
            Some((_, Node { data: Data::Text(text), .. })) => Ok(Some(text)),
            Some((_, node)) => Err(format!("{}`{name}` is no text", node.place())),
        }
    }

    /// The texts of a list.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<&str>, String> {
        let Some((_, node)) = self.entries().iter().rev().find(|(key, _)| key == name) else {
            return Ok(Vec::new());
        };
        let wrong = || format!("{}`{name}` is no list of texts", node.place());
        let Data::List(nodes) = &node.data else { return Err(wrong()) };
        nodes
            .iter()
            .map(|node| if let Data::Text(text) = &node.data { Ok(text.as_str()) } else { Err(wrong()) })
            .collect()
    }

    /// `line 3: `, or nothing where lines are not known.
    pub(crate) fn place(&self) -> String {
        if self.line == 0 { String::new() } else { format!("line {}: ", self.line) }
    }
}

/// Reads a configuration: JSON if it begins as JSON does. `${..}` in texts stays as it is written.
pub(crate) fn configuration(text: &str) -> Result<Node, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.trim_start().starts_with('{') {
        return native(text, true);
    }
    if text.len() > MAX_TEXT {
        return Err(format!("it is longer than {MAX_TEXT} bytes"));
    }
    serde_json::from_str(text).map(from_json).map_err(|e| e.to_string())
}

fn from_json(value: serde_json::Value) -> Node {
    use serde_json::Value;
    let data = match value {
        Value::String(text) => Data::Text(text),
        Value::Array(values) => Data::List(values.into_iter().map(from_json).collect()),
        Value::Object(map) => {
            Data::Table(map.into_iter().map(|(key, value)| (key, from_json(value))).collect())
        }
        other => Data::Word(other.to_string()),
    };
    Node { line: 0, data }
}

/// Reads the native form; `templates` says whether `${..}` may stand in texts (it is not evaluated).
pub(crate) fn native(text: &str, templates: bool) -> Result<Node, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("it is longer than {MAX_TEXT} bytes"));
    }
    let mut reader = Reader { rest: text, line: 1, templates };
    let entries = reader.body(0)?;
    match reader.peek()? {
        None => Ok(Node { line: 1, data: Data::Table(entries) }),
        Some(other) => Err(reader.wrong(&format!("`{other}` closes nothing"))),
    }
}

struct Reader<'t> {
    rest: &'t str,
    line: u32,
    templates: bool,
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> String {
        format!("line {}: {what}", self.line)
    }

    /// The next letter behind white space and comments.
    fn peek(&mut self) -> Result<Option<char>, String> {
        loop {
            self.skip(|c| c.is_whitespace());
            if self.rest.starts_with('#') || self.rest.starts_with("//") {
                self.skip(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/").ok_or_else(|| self.wrong("a comment does not end"))?;
                self.take(end + 2);
            } else {
                return Ok(self.rest.chars().next());
            }
        }
    }

    fn skip(&mut self, mut wanted: impl FnMut(char) -> bool) -> &str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn take(&mut self, bytes: usize) -> &str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line = self.line.saturating_add(u32::try_from(taken.matches('\n').count()).unwrap_or(u32::MAX));
        self.rest = rest;
        taken
    }

    /// Takes a letter if it is next.
    fn eat(&mut self, wanted: char) -> Result<bool, String> {
        let found = self.peek()? == Some(wanted);
        if found {
            self.take(wanted.len_utf8());
        }
        Ok(found)
    }

    /// Entries up to the end or a closing brace, which stays.
    fn body(&mut self, depth: u32) -> Result<Vec<(String, Node)>, String> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("blocks stand too deep inside each other"));
        }
        let mut entries = Vec::new();
        while self.peek()?.is_some_and(|c| c != '}') {
            let line = self.line;
            let key = self.key()?;
            let mut labels = Vec::new();
            while self.peek()?.is_some_and(|c| c == '"' || is_word(c)) {
                if labels.len() as u32 + depth > MAX_DEPTH {
                    return Err(self.wrong("a block has too many labels"));
                }
                labels.push(self.key()?);
            }
            let value = match self.peek()? {
                Some('=' | ':') if labels.is_empty() => {
                    self.take(1);
                    self.value(depth + 1)?
                }
                Some('{') => self.table(depth + 1 + labels.len() as u32)?,
                _ => return Err(self.wrong(&format!("`{key}` has neither a value nor a block"))),
            };
            let inside = labels
                .into_iter()
                .rev()
                .fold(value, |node, label| Node { line, data: Data::Table(vec![(label, node)]) });
            entries.push((key, inside));
            self.eat(',')?;
        }
        Ok(entries)
    }

    fn key(&mut self) -> Result<String, String> {
        match self.peek()? {
            Some('"') => self.string(),
            Some(c) if is_word(c) => Ok(self.skip(is_word).to_owned()),
            Some(c) => Err(self.wrong(&format!("a name is expected, not `{}`", c.escape_debug()))),
            None => Err(self.wrong("a name is expected, not the end")),
        }
    }

    fn table(&mut self, depth: u32) -> Result<Node, String> {
        let line = self.line;
        self.eat('{')?;
        let entries = self.body(depth)?;
        if !self.eat('}')? {
            return Err(self.wrong(&format!("the block of line {line} does not end")));
        }
        Ok(Node { line, data: Data::Table(entries) })
    }

    fn value(&mut self, depth: u32) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("values stand too deep inside each other"));
        }
        let next = self.peek()?;
        let line = self.line;
        let data = match next {
            Some('"') => Data::Text(self.string()?),
            Some('[') => Data::List(self.list(depth)?),
            Some('{') => return self.table(depth),
            Some(c) if is_word(c) => {
                let word = self.skip(is_word).to_owned();
                let number = word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                if !number && !matches!(word.as_str(), "true" | "false" | "null") {
                    return Err(self.wrong(&format!("`{word}` is no value: nothing is evaluated here")));
                }
                Data::Word(word)
            }
            Some('<') => return Err(self.wrong("texts of several lines (`<<`) are not understood here")),
            Some(c) => return Err(self.wrong(&format!("a value is expected, not `{}`", c.escape_debug()))),
            None => return Err(self.wrong("a value is expected, not the end")),
        };
        Ok(Node { line, data })
    }

    fn list(&mut self, depth: u32) -> Result<Vec<Node>, String> {
        let line = self.line;
        self.eat('[')?;
        let mut nodes = Vec::new();
        while !self.eat(']')? {
            if self.peek()?.is_none() {
                return Err(self.wrong(&format!("the list of line {line} does not end")));
            }
            nodes.push(self.value(depth + 1)?);
            if !self.eat(',')? && self.peek()? != Some(']') {
                return Err(self.wrong("a comma is missing"));
            }
        }
        Ok(nodes)
    }

    fn string(&mut self) -> Result<String, String> {
        self.take(1);
        let mut out = String::new();
        loop {
            let c = self.rest.chars().next().filter(|c| *c != '\n');
            let c = c.ok_or_else(|| self.wrong("a text does not end"))?;
            self.take(c.len_utf8());
            match c {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                '$' | '%' if !self.templates && self.rest.starts_with('{') => {
                    return Err(self.wrong(&format!("`{c}{{` in a text: nothing is evaluated here")));
                }
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let c = self.rest.chars().next().ok_or_else(|| self.wrong("a text does not end"))?;
        self.take(c.len_utf8());
        let digits = match c {
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            '"' | '\\' => return Ok(c),
            'u' => 4,
            'U' => 8,
            other => return Err(self.wrong(&format!("`\\{}` means nothing in a text", other.escape_debug()))),
        };
        let code = self
            .rest
            .get(..digits)
            .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            .and_then(char::from_u32);
        let code = code
            .ok_or_else(|| self.wrong(&format!("`\\{c}` needs {digits} hexadecimal digits of a letter")))?;
        self.take(digits);
        Ok(code)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_labels_and_lists_are_read() {
        let text = "# note\na \"b\" {\n  x = \"1\\u00e9\" // end\n  \"y/z\" = [\"p\", true, 3,]\n}\nc = { d: \"e\", f = null }\n/* */";
        let node = native(text, false).unwrap();
        let inner = node.each("a").next().unwrap().each("b").next().unwrap();
        assert_eq!(inner.text("x").unwrap(), Some("1é"));
        assert_eq!(inner.entries()[1].1.line, 4);
        assert_eq!(node.each("c").next().unwrap().text("d").unwrap(), Some("e"));
        assert!(inner.texts("y/z").is_err());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, told) in [
            ("a {\n\n", "line 3: the block of line 1 does not end"),
            ("a = \"x\n\"", "line 1: a text does not end"),
            ("a = [1 2]", "line 1: a comma is missing"),
            ("a", "line 1: `a` has neither a value nor a block"),
            ("\n}", "line 2: `}` closes nothing"),
            ("a = b", "line 1: `b` is no value: nothing is evaluated here"),
            ("a = \"${b}\"", "line 1: `${` in a text: nothing is evaluated here"),
            ("a = \"\\q\"", "line 1: `\\q` means nothing in a text"),
            ("a = <<E\nE", "line 1: texts of several lines (`<<`) are not understood here"),
            ("/* ", "line 1: a comment does not end"),
        ] {
            assert_eq!(native(text, false).unwrap_err(), told, "{text}");
        }
        assert!(native(&"a {".repeat(1000), false).unwrap_err().contains("too deep"));
        assert!(native(&format!("a = {}", "[".repeat(1000)), false).unwrap_err().contains("too deep"));
    }
}

//! Source files, byte spans and the line index.

use std::sync::{Arc, OnceLock};

/// A file of one [`SourceMap`]; the number is its position there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct FileId(pub u32);

/// A half-open byte range in a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Makes a span from two byte offsets.
    pub fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// Returns the smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A place as people read it: both numbers start at 1, columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Byte offsets of line starts; turns an offset into a [`Position`] by binary search.
#[derive(Clone, Debug, Default)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Scans a text once.
    pub fn new(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1));
        // A newline at the very end begins no line: the end of the file stands behind it, on the last one.
        if starts.len() > 1 && starts.last() == Some(&(text.len() as u32)) {
            starts.pop();
        }
        LineIndex { starts }
    }

    /// Returns the line of an offset, from 1.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|s| *s <= offset) as u32
    }

    /// Returns the byte offset at which a line (from 1) starts.
    pub fn line_start(&self, line: u32) -> u32 {
        self.starts.get(line.saturating_sub(1) as usize).copied().unwrap_or(u32::MAX)
    }

    /// Returns line and column of an offset in the text this index was made from.
    pub fn position(&self, text: &str, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.line_start(line) as usize;
        let end = (offset as usize).min(text.len());
        let column = text.get(start..end).map_or(0, |s| s.chars().count()) as u32 + 1;
        Position { line, column }
    }
}

/// One source text with its name and line index.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Its path; people see it as [`SourceMap::shown_path`] has it.
    pub path: String,
    /// The whole text.
    pub text: Arc<str>,
    lines: OnceLock<LineIndex>,
}

impl SourceFile {
    /// Returns the line starts, counted when somebody first asks: a run without a message never does.
    pub fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }
}

/// All sources of one run, by [`FileId`].
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<Arc<SourceFile>>,
    /// The folder people stand in.
    folder: Option<String>,
}

impl SourceMap {
    /// Adds a text and returns its id.
    pub fn add(&mut self, path: impl Into<String>, text: Arc<str>) -> FileId {
        self.add_file(Arc::new(SourceFile { path: path.into(), text, lines: OnceLock::new() }))
    }

    /// Adds a file that was scanned before (shared packages).
    pub fn add_file(&mut self, file: Arc<SourceFile>) -> FileId {
        self.files.push(file);
        FileId(self.files.len() as u32 - 1)
    }

    /// Returns a file, if the id belongs to this map.
    pub fn get(&self, id: FileId) -> Option<&Arc<SourceFile>> {
        self.files.get(id.0 as usize)
    }

    /// Shows the paths of files under a folder from there.
    pub fn show_from(&mut self, folder: impl Into<String>) {
        self.folder = Some(folder.into());
    }

    /// Returns the path of a file as people see it.
    pub fn shown_path(&self, id: FileId) -> &str {
        let path = self.get(id).map_or("", |file| file.path.as_str());
        let inside = self.folder.as_deref().and_then(|folder| path.strip_prefix(folder)?.strip_prefix('/'));
        inside.unwrap_or(path)
    }

    /// Returns line and column of an offset.
    pub fn position(&self, id: FileId, offset: u32) -> Position {
        match self.get(id) {
            Some(file) => file.lines().position(&file.text, offset),
            None => Position { line: 1, column: 1 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_from_the_folder_people_stand_in() {
        let mut map = SourceMap::default();
        let (inside, outside) = (map.add("/w/app/main.k", "".into()), map.add("/w/apple/main.k", "".into()));
        map.show_from("/w/app");
        assert_eq!((map.shown_path(inside), map.shown_path(outside)), ("main.k", "/w/apple/main.k"));
    }

    #[test]
    fn columns_count_characters_not_bytes() {
        let mut map = SourceMap::default();
        let id = map.add("a.k", "x = 1\nname = \"é\" + y\n".into());
        assert_eq!(map.position(id, 0), Position { line: 1, column: 1 });
        assert_eq!(map.position(id, 6), Position { line: 2, column: 1 });
        assert_eq!(map.position(id, 20), Position { line: 2, column: 14 });
    }
}

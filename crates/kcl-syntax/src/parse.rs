//! The doors of the parser: files, single expressions, single types.

use base_diag::{Diagnostic, FileId, Span};

use crate::ast::{ExprId, FileTree, StmtId, Tree, TypeId};
use crate::cascade::without_echoes;
use crate::found::{Found, dedup};
use crate::lexer::{LexMode, lex, lex_into, tokens_for};
use crate::lossless::{NodeSink, SyntaxTree};
use crate::mistake::Mistake;
use crate::parser::Parser;
use crate::sink::{NoSink, Sink};
use crate::token::{Lexed, Token, TokenKind};

/// How many bytes the files of a package may have together: offsets have 32 bits.
const MAX_BYTES: u64 = 1 << 31;

/// Parses a file and appends it to the package's tree (base = [`Tree::next_base`]).
pub fn parse_file(tree: &mut Tree, text: &str, file: FileId) -> Vec<Diagnostic> {
    parse_with(tree, text, file, &mut Vec::new(), |_| NoSink).0
}

/// Parses the files of a package, one after the other. What a file needs on the way serves the next one, too.
#[derive(Debug)]
pub struct PackageParser {
    tree: Tree,
    tokens: Vec<Token>,
}

impl PackageParser {
    /// Makes room for files of these lengths: nodes that are moved whenever their list grows touch twice the memory.
    pub fn new(lengths: impl Iterator<Item = usize>) -> PackageParser {
        let (bytes, longest) = lengths.fold((0, 0), |(sum, longest), len| (sum + len, len.max(longest)));
        let mut tree = Tree::default();
        tree.exprs.reserve(bytes / 16);
        tree.stmts.reserve(bytes / 32);
        tree.types.reserve(bytes / 32);
        PackageParser { tree, tokens: tokens_for(longest) }
    }

    /// Parses the next file.
    pub fn add(&mut self, text: &str, file: FileId) -> Vec<Diagnostic> {
        parse_with(&mut self.tree, text, file, &mut self.tokens, |_| NoSink).0
    }

    /// Returns the tree of all files; room that is left is given back.
    pub fn finish(self) -> Tree {
        let mut tree = self.tree;
        tree.exprs.shrink_to_fit();
        tree.stmts.shrink_to_fit();
        tree.types.shrink_to_fit();
        tree
    }
}

/// Appends a file whose statements are made, not parsed; the text is what their ranges are ranges of.
pub fn add_file(tree: &mut Tree, text: &str, make: impl FnOnce(&mut Tree, u32) -> Vec<StmtId>) {
    let base = tree.next_base();
    let body = make(tree, base);
    tree.files.push(FileTree { base, len: text.len() as u32, body, doc: None });
}

/// Parses a file once into both trees: appends it to the package's tree, and returns the lossless one, whose nodes know
/// the ids of the first.
pub fn parse_both(tree: &mut Tree, text: &str, file: FileId) -> SyntaxTree {
    let (errors, sink) = parse_with(tree, text, file, &mut Vec::new(), |tree| NodeSink::new(text, tree));
    sink.finish(tree, errors)
}

/// Parses a text into its lossless tree.
pub fn parse_lossless(text: &str) -> SyntaxTree {
    parse_both(&mut Tree::default(), text, FileId::default())
}

fn parse_with<S: Sink>(
    tree: &mut Tree,
    text: &str,
    file: FileId,
    tokens: &mut Vec<Token>,
    sink: impl FnOnce(&Tree) -> S,
) -> (Vec<Diagnostic>, S) {
    let sink = sink(tree);
    if tree.files.last().map_or(0, |f| u64::from(f.base) + u64::from(f.len) + 1) + text.len() as u64
        > MAX_BYTES
    {
        tree.files.push(FileTree { base: tree.next_base(), ..FileTree::default() });
        let found = Found::new(Mistake::FileTooLarge, Span::default());
        return (vec![found.into_diagnostic(file)], sink);
    }
    let base = tree.next_base();
    let lexed = lex_into(std::mem::take(tokens), text, (0, text.len()), LexMode::File);
    tree.exprs.reserve(lexed.tokens.len() / 2);
    let mut parser = Parser::new(tree, text, lexed, base, sink);
    let (doc, body) = parser.file();
    let (found, sink, lexed) = parser.finish();
    tree.files.push(FileTree { base, len: text.len() as u32, body, doc });
    let diagnostics = told(without_echoes(dedup(found), text, &lexed.tokens), file);
    *tokens = lexed.tokens;
    (diagnostics, sink)
}

/// Parses one expression into a tree; its spans start at `base`. Leftover tokens are an error.
pub fn parse_expr(tree: &mut Tree, text: &str, file: FileId, base: u32) -> (ExprId, Vec<Diagnostic>) {
    let lexed = lex(text, 0, text.len(), LexMode::File);
    let mut parser = Parser::new(tree, text, lexed, base, NoSink);
    let id = parser.whole_expr();
    let (found, ..) = parser.finish();
    (id, told(dedup(found), file))
}

/// Parses one type (signatures of built-in functions); its spans start at `base`.
pub fn parse_type_text(tree: &mut Tree, text: &str, base: u32) -> (TypeId, Vec<Diagnostic>) {
    let lexed: Lexed = lex(text, 0, text.len(), LexMode::Placeholder);
    let mut parser = Parser::new(tree, text, lexed, base, NoSink);
    let id = parser.whole_type();
    let (found, ..) = parser.finish();
    (id, told(dedup(found), FileId::default()))
}

/// Puts mistakes into words.
fn told(found: Vec<Found>, file: FileId) -> Vec<Diagnostic> {
    found.into_iter().map(|one| one.into_diagnostic(file)).collect()
}

impl<S: Sink> Parser<'_, S> {
    fn whole_expr(&mut self) -> ExprId {
        let id = self.top_expr();
        self.only_end();
        id
    }

    fn whole_type(&mut self) -> TypeId {
        let id = self.ty();
        self.only_end();
        id
    }

    fn only_end(&mut self) {
        self.skip_end();
        if self.kind() != TokenKind::Eof {
            self.leftover();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_package_are_parsed_as_each_would_be() {
        let texts = [
            "\"\"\"\nWhat ${1 +} it is.\n\"\"\"\nschema A:\n    \"\"\"Text \\\"\"\" with $ and \\\\\"\"\"\n    a.b: int = 1\n",
            "",
            "a = [1, 2,\n",
            "b: A {\n    c += 1\n    d = \"${1 < 2 < 3}\"\n}\nb += 'x\\q'\n'''open",
        ];
        let mut parser = PackageParser::new(texts.iter().map(|text| text.len()));
        let mut tree = Tree::default();
        for (number, text) in texts.iter().enumerate() {
            let id = FileId(number as u32);
            let (ours, theirs) = (parser.add(text, id), parse_file(&mut tree, text, id));
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{text}");
        }
        assert_eq!(format!("{:?}", parser.finish()), format!("{tree:?}"));
    }
}

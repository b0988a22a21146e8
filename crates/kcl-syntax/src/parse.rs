//! The doors of the parser: files, single expressions, single types.

use base_diag::{Diagnostic, FileId, Span};

use crate::ast::{ExprId, FileTree, StmtId, Tree, TypeId};
use crate::cascade::without_echoes;
use crate::found::{Found, dedup};
use crate::lexer::{LexMode, lex};
use crate::lossless::{NodeSink, SyntaxTree};
use crate::mistake::Mistake;
use crate::parser::Parser;
use crate::sink::{NoSink, Sink};
use crate::token::{Lexed, TokenKind};

/// How many bytes the files of a package may have together: offsets have 32 bits.
const MAX_BYTES: u64 = 1 << 31;

/// Parses a file and appends it to the package's tree (base = [`Tree::next_base`]).
pub fn parse_file(tree: &mut Tree, text: &str, file: FileId) -> Vec<Diagnostic> {
    parse_with(tree, text, file, |_| NoSink).0
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
    let (errors, sink) = parse_with(tree, text, file, |tree| NodeSink::new(text, tree));
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
    let lexed = lex(text, 0, text.len(), LexMode::File);
    tree.exprs.reserve(lexed.tokens.len() / 2);
    let mut parser = Parser::new(tree, text, lexed, base, sink);
    let (doc, body) = parser.file();
    let (found, sink, lexed) = parser.finish();
    tree.files.push(FileTree { base, len: text.len() as u32, body, doc });
    (told(without_echoes(dedup(found), text, &lexed.tokens), file), sink)
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

//! Measures lexing and parsing of a generated file: 100,000 lines, about 3 MB.
#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::time::Instant;

use base_diag::FileId;
use kcl_syntax::ast::Tree;
use kcl_syntax::lexer::{LexMode, lex};
use kcl_syntax::{parse_file, parse_lossless};

fn program(lines: usize) -> String {
    let mut text = String::from("import math\n\nschema Server:\n    name: str\n    port?: int = 80\n\n");
    let mut count = 6;
    let mut i = 0;
    while count < lines {
        let _ = write!(
            text,
            "server_{i} = Server {{\n    name = \"server-{i}\"\n    port = 8000 + {i} % 100\n    labels: {{\n        \
             app = \"shop\"  # label\n        \"tier/{i}\": \"web-${{env}}\"\n    }}\n    ports = [80, 443, {i}]\n    \
             if env == \"prod\":\n        replicas = 3 if {i} > 10 else 1\n}}\n\n"
        );
        count += 12;
        i += 1;
    }
    text
}

fn main() {
    let text = program(100_000);
    // For CPU time: `time parse_speed only` is 20 runs of the fast road.
    if std::env::args().any(|a| a == "only") {
        let runs = (0..20).map(|_| parse_file(&mut Tree::default(), &text, FileId(0)).len());
        println!("{} bytes, {} errors in 20 runs", text.len(), runs.sum::<usize>());
        return;
    }
    println!("{} bytes, {} lines", text.len(), text.lines().count());
    for _ in 0..5 {
        let start = Instant::now();
        let lexed = lex(&text, 0, text.len(), LexMode::File);
        let lexing = start.elapsed();
        let start = Instant::now();
        let mut tree = Tree::default();
        let diags = parse_file(&mut tree, &text, FileId(0));
        let parsing = start.elapsed();
        let start = Instant::now();
        let lossless = parse_lossless(&text);
        println!(
            "lex {lexing:?} ({} tokens), lex+parse {parsing:?} ({} exprs, {} errors), lossless {:?} ({} errors)",
            lexed.tokens.len(),
            tree.exprs.len(),
            diags.len(),
            start.elapsed(),
            lossless.errors.len()
        );
    }
}

//! Random bytes, random tokens and broken programs never panic and never lose text.

use kcl_syntax::parse_lossless;

use crate::{corpus, parse};

/// A small deterministic generator (the tests must not depend on luck).
struct Lcg(u64);

impl Lcg {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % below
    }
}

const WORDS: &[&str] = &[
    "a",
    "b",
    "$c",
    "_d",
    "é",
    "1",
    "0x",
    "1.5",
    "1Ki",
    "\"s\"",
    "'t'",
    "\"${a}\"",
    "\"${\"",
    "\"\"\"",
    "r'x",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "=",
    "+=",
    "|=",
    ".",
    "...",
    "?",
    "?.",
    "->",
    "@",
    ";",
    "!",
    "~",
    "**",
    "*",
    "+",
    "-",
    "|",
    "==",
    "<",
    "if",
    "elif",
    "else",
    "for",
    "in",
    "not",
    "is",
    "as",
    "and",
    "lambda",
    "all",
    "any",
    "map",
    "filter",
    "schema",
    "mixin",
    "protocol",
    "rule",
    "check",
    "import",
    "type",
    "assert",
    "True",
    "None",
    "Undefined",
    "\n",
    "\n  ",
    "\n    ",
    "\n\t",
    "\\\n",
    "# c\n",
    " ",
    "int",
    "str",
    "\u{a0}",
    "\u{2028}",
    "\r\n",
];

fn survives(text: &str) {
    parse(text);
    assert_eq!(parse_lossless(text).text(), text);
}

#[test]
fn token_soup() {
    let mut random = Lcg(1);
    for _ in 0..4000 {
        let count = random.next(40);
        let mut text = String::new();
        for _ in 0..count {
            text.push_str(WORDS[random.next(WORDS.len())]);
            if random.next(2) == 0 {
                text.push(' ');
            }
        }
        survives(&text);
    }
}

#[test]
fn random_bytes() {
    let mut random = Lcg(2);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..random.next(60)).map(|_| random.next(256) as u8).collect();
        survives(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn every_prefix_of_every_program() {
    for text in corpus() {
        for (i, _) in text.char_indices().step_by(3) {
            survives(&text[..i]);
        }
    }
}

#[test]
fn programs_with_a_piece_cut_out_or_put_in() {
    let mut random = Lcg(3);
    for text in corpus() {
        let marks: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
        for _ in 0..10 {
            let (a, b) = (marks[random.next(marks.len())], marks[random.next(marks.len())]);
            let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 20));
            let to = *marks.iter().rev().find(|m| **m <= to).unwrap();
            survives(&format!(
                "{}{}{}",
                &text[..from],
                WORDS[random.next(WORDS.len())],
                &text[to.max(from)..]
            ));
        }
    }
}

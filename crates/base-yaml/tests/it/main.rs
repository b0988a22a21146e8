//! Writers and readers together, and hostile texts.
#![allow(clippy::unwrap_used)]

use base_yaml::{
    Data, JsonWriter, Limits, Node, YamlWriter, lossy_float, parse_documents, parse_json, write_node,
};

/// A small deterministic generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

const PIECES: [&str; 40] = [
    "a", "b", "yes", "null", "~", "1", "0", "-", "+", ".", ":", " ", "  ", "#", "\n", "\n\n", "\t", "'",
    "\"", "[", "]", "{", "}", ",", "&", "*", "!", "|", ">", "%", "@", "`", "?", "é", "\u{85}", "\u{7f}",
    "\\", "=", "true", "中",
];

fn text(random: &mut Random) -> String {
    (0..random.below(6)).map(|_| PIECES[random.below(PIECES.len())]).collect()
}

fn data(random: &mut Random, depth: usize) -> Data {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => Data::Null,
        1 => Data::Bool(random.below(2) == 0),
        2 => Data::Int(random.below(2000) as i64 - 1000),
        3 => Data::Float(random.below(1000) as f64 / 8.0),
        4 => Data::Str(text(random)),
        5 | 6 => Data::List((0..random.below(4)).map(|_| node(random, depth - 1)).collect()),
        _ => {
            let mut entries: Vec<base_yaml::MapEntry> = Vec::new();
            for _ in 0..random.below(4) {
                let key = text(random);
                if entries.iter().all(|e| e.key != key) {
                    let value = node(random, depth - 1);
                    entries.push(base_yaml::MapEntry { key, key_span: Default::default(), value });
                }
            }
            Data::Map(entries)
        }
    }
}

fn node(random: &mut Random, depth: usize) -> Node {
    Node { value: data(random, depth), span: Default::default() }
}

fn same(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Data::List(a), Data::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Data::Map(a), Data::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.key == b.key && same(&a.value, &b.value))
        }
        (a, b) => a == b,
    }
}

fn yaml_of(node: &Node) -> String {
    let mut writer = YamlWriter::new();
    write_node(&mut writer, node);
    writer.into_document()
}

#[test]
fn what_is_written_is_read_back() {
    let mut random = Random(7);
    for _ in 0..5000 {
        let node = node(&mut random, 4);
        let yaml = yaml_of(&node);
        let read = parse_documents(&yaml, &Limits::default()).unwrap_or_else(|err| panic!("{err}\n{yaml}"));
        assert!(read.len() == 1 && same(&node, &read[0]), "{node:?}\n{yaml}\n{read:?}");
        for indent in [0, 4] {
            let mut writer = JsonWriter::indented(indent);
            write_node(&mut writer, &node);
            let json = writer.into_string();
            assert!(same(&node, &parse_json(&json, &Limits::default()).unwrap()), "{json}");
        }
    }
}

#[test]
fn no_text_makes_the_readers_panic() {
    let mut random = Random(11);
    for _ in 0..20_000 {
        let mut text: String = (0..random.below(12)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        if random.below(3) == 0 {
            text.push_str(
                ["---\n", "...", "- ", "? ", ": ", "|2\n", ">+\n", "&a ", "*a", "!!int ", "%YAML 1"]
                    [random.below(11)],
            );
            text.push_str(PIECES[random.below(PIECES.len())]);
        }
        let _ = parse_documents(&text, &Limits::default());
        let _ = parse_json(&text, &Limits::default());
    }
}

#[test]
fn alias_bombs_and_deep_texts_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..30 {
        let before = i - 1;
        bomb.push_str(&format!("a{i}: &a{i} [{}]\n", vec![format!("*a{before}"); 9].join(", ")));
    }
    let err = parse_documents(&bomb, &Limits { nodes: 100_000, ..Limits::default() }).unwrap_err();
    assert!(err.message.starts_with("repetition limit exceeded"), "{err}");
    for deep in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(100_000),
        (0..300).map(|i| format!("{}a:\n", " ".repeat(i))).collect(),
    ] {
        assert!(parse_documents(&deep, &Limits::default()).is_err());
        assert!(parse_json(&deep, &Limits::default()).is_err());
    }
}

#[test]
fn anchors_tags_and_words_mean_what_the_reference_says() {
    let read = |text: &str| parse_documents(text, &Limits::default()).unwrap().remove(0);
    let node = read(
        "a: &x {b: 1}\nc: *x\nd: {<<: *x}\ne: !!str 1\nf: [yes, 0x10, 017, 1_0, .inf, ~, 1e3]\n1.50: z\n",
    );
    assert_eq!(node.get("c"), node.get("a"));
    assert!(node.get("d").unwrap().get("<<").is_some());
    assert_eq!(node.get("e").unwrap().value, Data::Str("1".into()));
    let Data::List(words) = &node.get("f").unwrap().value else { panic!() };
    let words: Vec<&Data> = words.iter().map(|n| &n.value).collect();
    let text = |t: &str| Data::Str(t.into());
    assert_eq!(
        words,
        [
            &text("yes"),
            &Data::Int(16),
            &text("017"),
            &text("1_0"),
            &Data::Float(f64::INFINITY),
            &Data::Null,
            &Data::Float(1e3)
        ]
    );
    assert!(node.get("1.50").is_some());
}

#[test]
fn places_are_told() {
    let node = parse_documents("a: 1\nb:\n  - x\n  - é: y\n", &Limits::default()).unwrap().remove(0);
    let Data::List(items) = &node.get("b").unwrap().value else { panic!() };
    assert_eq!((items[0].span.line, items[0].span.column), (3, 5));
    let y = items[1].get("é").unwrap().span;
    assert_eq!((y.line, y.column, y.start), (4, 8, 22));
    for (text, message) in [
        (
            "a:\n1",
            "could not find expected ':' at line 3 column 1, while scanning a simple key at line 2 column 1",
        ),
        ("a: b: c", "mapping values are not allowed in this context at line 1 column 5"),
        (
            "a: [1",
            "did not find expected ',' or ']' at line 2 column 1, while parsing a flow sequence at line 1 column 4",
        ),
        ("a: !foo 1", "a: invalid type: enum, expected any valid JSON value at line 1 column 4"),
        ("- {, b: 1}", "did not find expected node content at line 1 column 4, while parsing a flow node"),
    ] {
        assert_eq!(parse_documents(text, &Limits::default()).unwrap_err().message, message);
    }
    for (text, message) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{\n\"a\"}", "expected `:` at line 2 column 4"),
        ("[1,]", "trailing comma at line 1 column 4"),
        ("1e400", "number out of range at line 1 column 5"),
        ("01", "invalid number at line 1 column 2"),
    ] {
        assert_eq!(parse_json(text, &Limits::default()).unwrap_err().message, message);
    }
}

#[test]
fn floats_settle_after_one_road_through_text() {
    let mut random = Random(3);
    for _ in 0..2000 {
        let f = f64::from_bits((random.below(1 << 30) as u64) << 33 | random.below(1 << 30) as u64);
        if f.is_finite() {
            let yaml = yaml_of(&Node { value: Data::Float(f), span: Default::default() });
            let shown: f64 = yaml.trim_end().parse().unwrap();
            assert_eq!(shown.to_bits(), lossy_float(f).to_bits(), "{f:e} {yaml}");
        }
    }
}

//! Random JSON Schemas and random values: what is made of a schema accepts what the schema accepts, or a warning says that it may not.
//!
//! `RANDOM_SCHEMAS=2000 RANDOM_SEED=7 cargo test -p kcl-import --test random` looks at more of them.
#![allow(clippy::unwrap_used)]

mod judge;

use base_yaml::{Limits, Node, parse_json};
use kcl::{Compiler, Disk, MemoryFiles, NoOutside, Request};
use kcl_import::{Imported, Input, Mode, import};

/// A source of numbers that are the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len() as u64) as usize]
    }

    /// Words with a small number behind them, each or not.
    fn rules(&mut self, words: &[&str], most: u64) -> Vec<String> {
        let mut rules = Vec::new();
        for word in words {
            if self.below(3) == 0 {
                rules.push(format!("\"{word}\": {}", self.below(most)));
            }
        }
        rules
    }

    fn schema(&mut self, depth: u32) -> String {
        let kinds = if depth == 0 { 6 } else { 14 };
        let mut words = match self.below(kinds) {
            0 => self.text(),
            1 => self.number("integer"),
            2 => self.number("number"),
            3 => vec!["\"type\": \"boolean\"".into()],
            4 => self.listed(),
            5 => self.free(),
            6 | 7 => self.list(depth),
            8 | 9 => self.object(depth),
            10 | 11 => self.parts(depth),
            12 => self.logic(depth),
            _ => self.reference(),
        };
        if depth > 0 && self.below(8) == 0 {
            words.push(format!("\"not\": {}", self.schema(0)));
        }
        format!("{{{}}}", words.join(", "))
    }

    fn text(&mut self) -> Vec<String> {
        let mut words = self.rules(&["minLength", "maxLength"], 4);
        words.push("\"type\": \"string\"".into());
        if self.below(3) == 0 {
            words.push(format!("\"pattern\": \"{}\"", self.one(&["^a", "b$", "^[a-c]+$"])));
        }
        words
    }

    fn number(&mut self, word: &str) -> Vec<String> {
        let mut words = self.rules(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], 9);
        words.push(format!("\"type\": \"{word}\""));
        if word == "integer" && self.below(4) == 0 {
            words.push(format!("\"multipleOf\": {}", 1 + self.below(3)));
        }
        words
    }

    fn listed(&mut self) -> Vec<String> {
        let mut words = match self.below(3) {
            0 => vec![format!("\"const\": {}", self.value(1))],
            _ => {
                let values: Vec<String> = (0..self.below(4)).map(|_| self.value(0)).collect();
                vec![format!("\"enum\": [{}]", values.join(", "))]
            }
        };
        if self.below(3) == 0 {
            words.push(format!("\"type\": \"{}\"", self.one(&["string", "integer", "boolean"])));
        }
        if self.below(4) == 0 {
            words.extend(self.rules(&["minimum", "minLength"], 5));
        }
        words
    }

    /// Rules without a type, and several types.
    fn free(&mut self) -> Vec<String> {
        let mut words = self.rules(&["minimum", "maximum", "minLength", "maxLength", "minItems"], 6);
        if self.below(2) == 0 {
            let types = self.one(&[
                "\"string\", \"integer\"",
                "\"boolean\", \"number\"",
                "\"array\", \"string\"",
                "\"object\", \"integer\"",
            ]);
            words.push(format!("\"type\": [{types}]"));
        }
        words
    }

    fn list(&mut self, depth: u32) -> Vec<String> {
        let mut words = self.rules(&["minItems", "maxItems"], 4);
        words.push("\"type\": \"array\"".into());
        if self.below(2) == 0 {
            words.push(format!("\"items\": {}", self.schema(depth - 1)));
        }
        if self.below(4) == 0 {
            let places: Vec<String> = (0..1 + self.below(2)).map(|_| self.schema(depth - 1)).collect();
            words.push(format!("\"prefixItems\": [{}]", places.join(", ")));
        }
        if self.below(4) == 0 {
            words.push(format!("\"contains\": {}", self.schema(0)));
            words.extend(self.rules(&["minContains", "maxContains"], 3));
        }
        if self.below(4) == 0 {
            words.push("\"uniqueItems\": true".into());
        }
        words
    }

    fn object(&mut self, depth: u32) -> Vec<String> {
        let mut words = vec!["\"type\": \"object\"".to_owned()];
        let names: Vec<&str> = ["a", "b", "x-c"].into_iter().filter(|_| self.below(2) == 0).collect();
        if !names.is_empty() {
            let entries: Vec<String> =
                names.iter().map(|name| format!("\"{name}\": {}", self.schema(depth - 1))).collect();
            words.push(format!("\"properties\": {{{}}}", entries.join(", ")));
        }
        // A constant, and the only value of an enumeration, is its own default: it need not be given.
        let constant = |word: &String| word.contains("\"const\"") || word.contains("\"enum\"");
        if self.below(3) == 0 && !words.iter().any(constant) {
            words.push(format!("\"required\": [\"{}\"]", self.one(&["a", "b"])));
        }
        if self.below(5) == 0 && !words.iter().any(constant) {
            words.push("\"dependentRequired\": {\"a\": [\"b\"]}".to_owned());
        }
        if self.below(5) == 0 {
            let (one, other) = (self.schema(0), self.schema(0));
            words.push(match self.below(2) {
                0 => format!("\"patternProperties\": {{\"^x-\": {one}}}"),
                _ => format!("\"patternProperties\": {{\"^x-\": {one}, \"b\": {other}}}"),
            });
        }
        // Without this word KCL's objects are closed and those of JSON Schema open.
        words.push(match self.below(3) {
            0 => "\"additionalProperties\": false".into(),
            1 => "\"additionalProperties\": true".into(),
            _ => format!("\"additionalProperties\": {}", self.schema(depth - 1)),
        });
        if self.below(5) == 0 {
            words.extend(self.rules(&["minProperties", "maxProperties"], 3));
        }
        if self.below(6) == 0 {
            words.push(format!("\"propertyNames\": {{\"maxLength\": {}}}", 1 + self.below(3)));
        }
        words
    }

    fn parts(&mut self, depth: u32) -> Vec<String> {
        let word = self.one(&["allOf", "anyOf", "oneOf"]);
        let parts: Vec<String> = (0..1 + self.below(3)).map(|_| self.schema(depth - 1)).collect();
        let mut words = vec![format!("\"{word}\": [{}]", parts.join(", "))];
        if self.below(4) == 0 {
            words.extend(self.number("integer"));
        }
        words
    }

    fn logic(&mut self, depth: u32) -> Vec<String> {
        let mut words = if self.below(2) == 0 { self.text() } else { self.object(depth) };
        words.push(format!("\"if\": {}", self.schema(0)));
        words.push(format!("\"then\": {}", self.schema(0)));
        if self.below(2) == 0 {
            words.push(format!("\"else\": {}", self.schema(0)));
        }
        words
    }

    fn reference(&mut self) -> Vec<String> {
        let mut words = vec![format!("\"$ref\": \"#/$defs/{}\"", self.one(&["Num", "Text", "Obj"]))];
        words.extend(self.rules(&["maximum", "minLength", "maxProperties"], 6));
        words
    }

    fn value(&mut self, depth: u32) -> String {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 | 1 => format!("{}", self.below(12) as i64 - 1),
            2 => format!("{}.5", self.below(9)),
            3 => self.one(&["true", "false"]).to_owned(),
            4 | 5 => format!("\"{}\"", self.one(&["", "a", "b", "ab", "abc", "xb", "cab"])),
            6 | 7 => {
                let items: Vec<String> = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                format!("[{}]", items.join(", "))
            }
            _ => {
                let names: Vec<&str> =
                    ["a", "b", "x-c", "zz"].into_iter().filter(|_| self.below(2) == 0).collect();
                let entries: Vec<String> =
                    names.iter().map(|name| format!("\"{name}\": {}", self.value(depth - 1))).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }
}

const DEFINED: &str = r#"{"Num": {"type": "integer", "minimum": 3}, "Text": {"type": "string", "maxLength": 3},
    "Obj": {"type": "object", "properties": {"a": {"type": "integer", "maximum": 7}}, "required": ["a"], "additionalProperties": false}}"#;

fn imported(schema: &str) -> Imported {
    let load = |path: &str| Err(format!("there is no {path}"));
    let input = Input { name: "root.json".into(), text: schema.into(), load: &load };
    import(&input, Mode::JsonSchema, "").unwrap_or_else(|error| panic!("{schema}: {error}"))
}

fn parsed(text: &str) -> Node {
    parse_json(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What is wrong with what is made of a schema; whether it was judged at all.
fn tried(random: &mut Random, schema: &str) -> (Option<String>, bool) {
    let root = format!(
        "{{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\", \"type\": \"object\", \"properties\": {{\"p\": {schema}}}, \
         \"$defs\": {DEFINED}}}"
    );
    let made = imported(&root);
    let program = &made.files[0].1;
    let checked = Compiler::new(MemoryFiles::default()).checked(&Request::source("main.k", program.as_str()));
    if !checked.diagnostics.is_empty() {
        return (Some(format!("{schema}\n{program}\n{:?}", checked.diagnostics)), false);
    }
    let document = parsed(&root);
    let judge = judge::Judge { root: &document };
    for _ in 0..12 {
        let value = random.value(2);
        let wanted = judge.accepts(&document, &parsed(&format!("{{\"p\": {value}}}")));
        let written = value.replace("true", "True").replace("false", "False");
        let text = format!("{program}\nx = Root {{p = {written}}}\n");
        let run = Compiler::new(Disk).run(&Request::source("main.k", text), &NoOutside);
        if run.is_ok() != wanted && made.warnings.is_empty() {
            let told = run.diagnostics.first().map(|told| told.message().to_owned());
            return (Some(format!("{schema}\nmust be {wanted} for {value}: {told:?}\n{program}")), false);
        }
    }
    (None, made.warnings.is_empty())
}

#[test]
fn what_is_lost_is_told() {
    let number =
        |name: &str, or: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(or);
    let (count, seed) = (number("RANDOM_SCHEMAS", 300), number("RANDOM_SEED", 1));
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (mut wrong, mut exact) = (Vec::new(), 0);
    for _ in 0..count {
        let schema = random.schema(2);
        let (problem, judged) = tried(&mut random, &schema);
        wrong.extend(problem);
        exact += u64::from(judged);
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} are wrong\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n---\n")
    );
    assert!(exact * 2 > count, "{exact} of {count} are exact: the others only have warnings");
}

//! Random programs from a seed.
//!
//! In: a seed. Out: a [`Program`] of one or several files. The generator writes text but keeps a model of what it declared
//! (types, names, schemas, functions), so that most programs evaluate: about 60 of 100 are meant to, 25 carry a mistake for the
//! compiler, 15 one for the run. Names come from a small pool on purpose: attributes, sibling keys and globals that share a name
//! are where the rules of the language are hard.
//!
//! Invariant: the same seed gives the same program on every machine; a program is never larger than some hundred lines.

mod calls;
mod config;
mod expr;
mod fault;
mod model;
mod rng;
mod schema;
mod stmt;

pub use rng::Rng;

use crate::{Flags, Program, SourceText};
use model::{Declared, Function, Schema, Var};

/// What the program is meant to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Good,
    Compile,
    RunTime,
}

struct Gen {
    rng: Rng,
    kind: Kind,
    world: Declared,
    locals: Vec<Var>,
    indent: usize,
    flat_level: usize,
    effort: usize,
    counter: usize,
    /// After how many typed expressions the planned mistake comes.
    mistake_in: Option<usize>,
}

const KEYS: &[&str] = &["a", "b", "c", "d", "x", "y", "n", "name", "port", "tags", "on", "kind", "a-b", "v"];
const ATTRS: &[&str] = &["a", "b", "c", "d", "x", "y", "n", "name", "v", "w"];
const GLOBALS: &[&str] = &["a", "b", "c", "d", "x", "y", "n", "name", "v", "w", "p", "q", "data", "conf"];

/// Makes the program of a seed.
pub fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let kind = kind(&mut rng);
    let mut generator = Gen {
        rng,
        kind,
        world: Declared::default(),
        locals: Vec::new(),
        indent: 0,
        flat_level: 0,
        effort: 0,
        counter: 0,
        mistake_in: None,
    };
    generator.program()
}

fn kind(rng: &mut Rng) -> Kind {
    match rng.below(100) {
        0..=59 => Kind::Good,
        60..=84 => Kind::Compile,
        _ => Kind::RunTime,
    }
}

/// Whether the program of a seed is meant to evaluate.
pub fn is_meant_to_evaluate(seed: u64) -> bool {
    kind(&mut Rng::new(seed)) == Kind::Good
}

impl Gen {
    fn program(&mut self) -> Program {
        let mut files = Vec::new();
        let mut imports = Vec::new();
        if self.rng.chance(15) {
            files.push(self.package("pkg", "pkg/p.k"));
            imports.push("pkg");
        }
        let count = 2 + self.rng.below(8);
        let style = if self.kind == Kind::Good { 0 } else { self.rng.weighted(&[55, 30, 15]) };
        if self.kind != Kind::Good && style == 1 {
            self.mistake_in = Some(self.rng.below(25));
        }
        let split = if self.rng.chance(12) { 1 + self.rng.below(count) } else { count };
        let (mut first, mut second) = (String::new(), String::new());
        let fault_at = if self.kind != Kind::Good && style != 1 { self.rng.below(count) } else { count };
        for number in 0..count {
            self.effort = 0;
            let mut text = if self.rng.chance(6) { "\n".to_string() } else { String::new() };
            text.push_str(&self.statement());
            if number == fault_at && style == 0 {
                text.push_str(&self.fault_statement());
            }
            if number < split { first.push_str(&text) } else { second.push_str(&text) }
        }
        if style == 2 {
            first = self.damage(&first);
        }
        let head = self.header(&imports, &first);
        files.push(SourceText { path: "main.k".into(), text: head + &first, entry: true });
        if !second.is_empty() {
            let head = self.header(&[], &second);
            files.push(SourceText { path: "second.k".into(), text: head + &second, entry: true });
        }
        Program { files, flags: self.flags() }
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        if self.rng.chance(5) {
            flags
                .options
                .push((*self.rng.pick(&["k=1", "k=text", "k=[1,2]", "k=true", "k=1.5"])).to_string());
        }
        if self.rng.chance(2) {
            flags.sort_keys = true;
        }
        if self.rng.chance(2) {
            flags.disable_none = true;
        }
        if self.rng.chance(2) {
            flags.show_hidden = true;
        }
        flags
    }

    /// A package of its own world; what it offers is then known under its prefix.
    fn package(&mut self, name: &str, path: &str) -> SourceText {
        let kind = std::mem::replace(&mut self.kind, Kind::Good);
        let mut text = String::new();
        for _ in 0..2 + self.rng.below(4) {
            self.effort = 0;
            text.push_str(&match self.rng.below(4) {
                0 | 1 => self.schema(),
                _ => self.statement(),
            });
        }
        self.kind = kind;
        let text = self.header(&[], &text) + &text;
        let inside = std::mem::take(&mut self.world);
        let prefix = |n: &str| format!("{name}.{n}");
        let public = |n: &str| !n.starts_with('_');
        self.world.schemas =
            inside.schemas.into_iter().map(|s| Schema { name: prefix(&s.name), ..s }).collect();
        self.world.functions = inside
            .functions
            .into_iter()
            .filter(|f| public(&f.name))
            .map(|f| Function { name: prefix(&f.name), ..f })
            .collect();
        self.world.vars = inside
            .vars
            .into_iter()
            .filter(|v| public(&v.name))
            .map(|v| Var { name: prefix(&v.name), ..v })
            .collect();
        SourceText { path: path.into(), text, entry: false }
    }

    /// Imports of what a file uses.
    fn header(&mut self, imports: &[&str], text: &str) -> String {
        self.world.modules.clear();
        self.note_modules(text);
        let modules = std::mem::take(&mut self.world.modules);
        let mut out = String::new();
        for module in imports.iter().map(|m| (*m).to_string()).chain(modules) {
            out.push_str(&format!("import {module}\n"));
        }
        out
    }

    /// Runs a part that must stay on one line.
    fn flat<T>(&mut self, part: impl FnOnce(&mut Gen) -> T) -> T {
        self.flat_level += 1;
        let result = part(self);
        self.flat_level -= 1;
        result
    }

    fn pad(&self) -> String {
        "    ".repeat(self.indent)
    }

    fn key_name(&mut self) -> String {
        (*self.rng.pick(KEYS)).to_string()
    }

    fn attr_name(&mut self) -> String {
        (*self.rng.pick(ATTRS)).to_string()
    }

    /// A global name that is not taken.
    fn fresh(&mut self, private: bool) -> String {
        loop {
            let mut name = (*self.rng.pick(GLOBALS)).to_string();
            if self.rng.chance(40) {
                self.counter += 1;
                name = format!("{name}{}", self.counter);
            }
            if private {
                name.insert(0, '_');
            }
            if !self.world.taken.contains(&name) {
                self.world.taken.push(name.clone());
                return name;
            }
            self.counter += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_program_every_time() {
        for seed in 0..50 {
            assert_eq!(program(seed), program(seed));
        }
        assert_ne!(program(1), program(2));
    }

    #[test]
    fn programs_stay_small_and_never_empty() {
        for seed in 0..500 {
            let program = program(seed);
            assert!(program.size() > 0 && program.size() < 40_000, "seed {seed}: {}", program.size());
            assert!(program.entries().next().is_some());
        }
    }
}

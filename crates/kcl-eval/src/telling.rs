//! Run-time errors in words for people: the rule that does not hold, the values it looked at, and who set them.
//!
//! Facts are taken when a fault is made (cheaply: most faults of a program that catches them are never told), places are looked for here.

use base_diag::{Diagnostic, Label, Place, Span, Telling};
use kcl_syntax::ast::{Check, Entry, Expr, ExprId, Key, Stmt, Tree};
use kcl_syntax::program::Program;
use kcl_value::{Position, Precision, Str, Value};

use crate::machine::Machine;
use crate::mistake::Broken;

/// So many names of a condition are told with their values.
const NAMES: usize = 4;
/// Longer texts are cut.
const TEXT: usize = 60;
/// Names with these words in them are not told: neither their values nor the lines that set them.
const HIDDEN: &[&str] = &["pass", "secret", "token", "key", "credential"];

impl Machine<'_> {
    /// What is known about a check that does not hold: the names in its condition that are attributes, with their values.
    pub(crate) fn broken_check(
        &self,
        check: &Check,
        schema: &Str,
        position: Position,
        said: String,
    ) -> Broken {
        let tree = self.tree(self.pkg);
        let mut values: Vec<(Str, Value)> = Vec::new();
        for name in names_in(tree, check.cond) {
            let Some(record) = self.record() else { break };
            if values.len() < NAMES
                && !is_secret(&name)
                && values.iter().all(|(known, _)| *known != name)
                && let Some(at) = record.position(&name)
            {
                values.push((name, record.stored(at)));
            }
        }
        let rule = (self.pkg as u32, tree.expr_span(check.cond));
        Broken { schema: schema.clone(), position, rule, said, values, further: Vec::new() }
    }
}

/// Names in an expression, in the order in which they stand.
fn names_in(tree: &Tree, id: ExprId) -> Vec<Str> {
    let mut names = Vec::new();
    crate::walk::walk_expr(tree, id, &mut |expr| {
        if let Expr::Name(parts) = expr
            && let Some(first) = parts.first()
        {
            names.push(first.name.clone());
        }
        true
    });
    names
}

fn is_secret(name: &str) -> bool {
    let lower = name.to_lowercase();
    HIDDEN.iter().any(|word| lower.contains(word))
}

/// A value as it is told.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Undefined => "not set".to_owned(),
        Value::Str(text) => format!("{:?}", text.as_str()),
        Value::List(list) => format!("a list of {}", list.items.len()),
        Value::Dict(_) | Value::Schema(_) | Value::Func(_) => "{...}".to_owned(),
        other => kcl_value::to_text(other),
    };
    match text.char_indices().nth(TEXT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Adds the words for people to the diagnostic of a broken check.
pub(crate) fn broken_check(diagnostic: Diagnostic, broken: &Broken, program: &Program) -> Diagnostic {
    Teller { broken, program }.tell(diagnostic)
}

struct Teller<'a> {
    broken: &'a Broken,
    program: &'a Program,
}

impl Teller<'_> {
    fn tell(&self, diagnostic: Diagnostic) -> Diagnostic {
        let rule = self.place(self.broken.rule.0, self.broken.rule.1);
        let title = match self.text(rule) {
            text if self.broken.said.is_empty() => format!("check failed: {text}"),
            _ => format!("check failed: {}", self.broken.said),
        };
        let mut labels = Vec::new();
        if self.broken.position.precision != Precision::Unknown {
            let message = format!("this `{}`", self.broken.schema);
            labels.push(Label { place: diagnostic.place(), message });
        }
        labels.push(Label { place: rule, message: "does not hold".to_owned() });
        let unplaced: Vec<String> = self
            .broken
            .values
            .iter()
            .filter_map(|(name, value)| {
                let message = format!("`{name}` is {}", shown(value));
                let Some(place) = self.setter(name) else { return Some(message) };
                labels.push(Label { place, message });
                None
            })
            .collect();
        for further in &self.broken.further {
            let said = if further.said.is_empty() { String::new() } else { format!(": {}", further.said) };
            let place = self.place(further.rule.0, further.rule.1);
            labels.push(Label { place, message: format!("does not hold either{said}") });
        }
        let diagnostic = diagnostic.with_telling(Telling { title, labels });
        unplaced.into_iter().fold(diagnostic, Diagnostic::with_note)
    }

    fn place(&self, package: u32, span: Span) -> Place {
        self.program.packages.get(package as usize).map_or(Place::None, |package| package.place(span))
    }

    /// The source under a place, on one line.
    fn text(&self, place: Place) -> String {
        let Place::Span(file, span) = place else { return String::new() };
        let source = self.program.sources.get(file);
        let text = source.and_then(|s| s.text.get(span.start as usize..span.end as usize)).unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Where an attribute got its value: in the braces of the instance, else its default in the schema of the rule.
    fn setter(&self, name: &str) -> Option<Place> {
        self.entry(name).or_else(|| self.default(name))
    }

    fn entry(&self, name: &str) -> Option<Place> {
        if self.broken.position.precision != Precision::Exact {
            return None;
        }
        let tree = &self.program.packages.get(self.broken.position.package as usize)?.tree;
        let config = tree.exprs.iter().find_map(|node| match &node.kind {
            Expr::Schema(schema) if tree.expr_span(schema.name).start == self.broken.position.offset => {
                Some(schema.config)
            }
            _ => None,
        })?;
        let Expr::Config(entries) = tree.expr(config) else { return None };
        let named = |entry: &&Entry| matches!(&entry.key, Key::Name(n) | Key::Str(n) if n == name);
        let entry = entries.iter().rev().find(named)?;
        let span = Span::new(entry.key_span.start, tree.expr_span(entry.value).end);
        Some(self.place(self.broken.position.package, span))
    }

    fn default(&self, name: &str) -> Option<Place> {
        let tree = &self.program.packages.get(self.broken.rule.0 as usize)?.tree;
        let found = tree.stmts.iter().find_map(|node| match &node.kind {
            Stmt::Schema(def) if def.name.name == self.broken.schema => {
                def.body.iter().find_map(|stmt| match tree.stmt(*stmt) {
                    Stmt::Attr(attr) if attr.name.name == name && attr.default.is_some() => {
                        Some(tree.stmt_span(*stmt))
                    }
                    _ => None,
                })
            }
            _ => None,
        })?;
        Some(self.place(self.broken.rule.0, found))
    }
}

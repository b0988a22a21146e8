//! `ListVariables`: what the files of a program set, as it is written.

use std::collections::BTreeMap;

use kcl::Entry;
use kcl_syntax::ast::{EntryOp, Expr, ExprId, Key, Stmt, StmtId};
use kcl_syntax::program::{Package, Program};
use kcl_syntax::source::{SourcePath, Step};

use super::options::source_text;
use super::{compiler, folder, refuse_no_input, request};
use crate::messages::{ListVariablesArgs, ListVariablesResult, MapEntry, Variable, VariableList};
use crate::{Answer, Budget, Failure, texts};

/// Lists the variables of files, or what is set at the given paths. Nothing is evaluated; declarations `x: S {..}` of one
/// variable are one, as in the program that runs.
///
/// # Errors
/// No input, or a path that is none.
pub fn list_variables(args: &ListVariablesArgs, budget: &Budget) -> Answer<ListVariablesResult> {
    let mut request = request(folder("")?, &[], budget);
    request.entries = args.files.iter().cloned().map(Entry::Path).collect();
    let loaded = compiler(budget).load(&request);
    refuse_no_input(&loaded.diagnostics, &loaded.program.sources)?;
    let mut lister = Lister {
        program: &loaded.program,
        package: loaded.program.main_package(),
        found: BTreeMap::new(),
        unsupported: Vec::new(),
    };
    for file in &lister.package.tree.files {
        lister.statements(&file.body);
    }
    let Lister { found, mut unsupported, .. } = lister;
    let variables = match args.specs.is_empty() {
        true => found.into_iter().map(|(name, variable)| (name, list(variable))).collect(),
        false => {
            unsupported.clear();
            selected(&args.specs, &found)?
        }
    };
    let parse_errors = texts::messages(&loaded.diagnostics, &loaded.program.sources);
    Ok(ListVariablesResult { variables, unsupported_codes: unsupported, parse_errors })
}

fn list(variable: Variable) -> VariableList {
    VariableList { variables: vec![variable] }
}

fn selected(specs: &[String], found: &BTreeMap<String, Variable>) -> Answer<BTreeMap<String, VariableList>> {
    let mut out = BTreeMap::new();
    for spec in specs {
        let path = SourcePath::parse(spec)
            .map_err(|error| Failure::wrong(format!("`{spec}` is no path: {}", error.message())))?;
        let Some((name, steps)) = path.split() else { continue };
        let mut at = found.get(name.as_str());
        for step in steps {
            at = at.and_then(|variable| step_into(variable, step));
        }
        if let Some(variable) = at {
            out.insert(spec.clone(), list(variable.clone()));
        }
    }
    Ok(out)
}

fn step_into<'v>(variable: &'v Variable, step: &Step) -> Option<&'v Variable> {
    match step {
        Step::Key(key) => {
            let entry = variable.dict_entries.iter().rev().find(|entry| entry.key == key.as_str())?;
            entry.value.as_deref()
        }
        Step::Index(number) => {
            let count = variable.list_items.len() as i64;
            let at = if *number < 0 { count + number } else { *number };
            variable.list_items.get(usize::try_from(at).ok()?)
        }
        Step::Item { .. } => None,
    }
}

struct Lister<'p> {
    program: &'p Program,
    package: &'p Package,
    found: BTreeMap<String, Variable>,
    unsupported: Vec<String>,
}

impl Lister<'_> {
    fn statements(&mut self, body: &[StmtId]) {
        let tree = &self.package.tree;
        for id in body {
            match tree.stmt(*id) {
                Stmt::Assign { targets, value, .. } => {
                    for target in targets.iter().filter(|target| target.path.is_empty()) {
                        self.set(&target.name.name, "=", *value);
                    }
                }
                Stmt::AugAssign { target, value, .. } if target.path.is_empty() => {
                    self.set(&target.name.name, "+=", *value);
                }
                Stmt::Unification { target, value, .. } => self.set(&target.name, ":", *value),
                Stmt::If { body, orelse, .. } => {
                    self.statements(body);
                    self.statements(orelse);
                }
                _ => {}
            }
        }
    }

    fn set(&mut self, name: &str, operator: &str, value: ExprId) {
        if let Some(variable) = self.variable(value, operator) {
            self.found.insert(name.to_owned(), variable);
        }
    }

    fn text(&self, value: ExprId) -> String {
        source_text(self.program, self.package, value)
    }

    /// A value with its parts. Its depth is bounded by the height of the tree.
    fn variable(&mut self, value: ExprId, operator: &str) -> Option<Variable> {
        let package = self.package;
        let mut variable = Variable { op_sym: operator.to_owned(), ..Variable::default() };
        match package.tree.expr(value) {
            Expr::Lambda(_) | Expr::ListComp { .. } | Expr::DictComp { .. } | Expr::If { .. } => {
                let text = self.text(value);
                self.unsupported.push(text);
                return None;
            }
            Expr::Missing => {}
            Expr::Config(entries) => {
                variable.dict_entries = self.entries(entries);
                variable.value = braces(&variable.dict_entries);
            }
            Expr::List(items) => {
                variable.list_items = items.iter().filter_map(|item| self.variable(*item, "")).collect();
                variable.value = brackets(&variable.list_items);
            }
            Expr::Schema(schema) => {
                variable.type_name = self.text(schema.name);
                if let Expr::Config(entries) = package.tree.expr(schema.config) {
                    variable.dict_entries = self.entries(entries);
                }
                variable.value = format!("{} {}", variable.type_name, braces(&variable.dict_entries));
            }
            _ => variable.value = self.text(value),
        }
        Some(variable)
    }

    fn entries(&mut self, entries: &[kcl_syntax::ast::Entry]) -> Vec<MapEntry> {
        let mut out = Vec::new();
        for entry in entries {
            let key = match &entry.key {
                Key::Name(name) | Key::Str(name) => name.to_string(),
                Key::Indexed(name, number) => format!("{name}[{number}]"),
                Key::Computed(id) => self.text(*id),
                Key::Unpack | Key::If { .. } => continue,
            };
            let operator = match entry.op {
                EntryOp::Union => ":",
                EntryOp::Override => "=",
                EntryOp::Insert => "+=",
            };
            let value = self.variable(entry.value, operator).map(Box::new);
            out.push(MapEntry { key, value });
        }
        out
    }
}

/// Entries between braces, one per line.
fn braces(entries: &[MapEntry]) -> String {
    let line = |entry: &MapEntry| {
        let (operator, value) =
            entry.value.as_ref().map_or(("=", ""), |v| (v.op_sym.as_str(), v.value.as_str()));
        let gap = if operator == ":" { "" } else { " " };
        format!("{}{gap}{operator} {value}", kcl_model::quote_name(&entry.key))
    };
    block('{', '}', entries.iter().map(line))
}

fn brackets(items: &[Variable]) -> String {
    block('[', ']', items.iter().map(|item| item.value.clone()))
}

fn block(open: char, close: char, lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.map(|line| format!("    {}", line.replace('\n', "\n    "))).collect();
    match lines.is_empty() {
        true => format!("{open}{close}"),
        false => format!("{open}\n{}\n{close}", lines.join("\n")),
    }
}

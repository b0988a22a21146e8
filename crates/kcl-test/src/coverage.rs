//! Coverage of a program by its tests: lines, branches and check rules, file by file.

use std::collections::BTreeMap;

use kcl::{Coverage, Prepared};
use kcl_syntax::ast::{Check, Expr, ExprId, Key, Lambda, Stmt, StmtId, Tree};
use kcl_syntax::program::Package;

use crate::cases::is_test_file;
use crate::snapshots::HELPER;

/// A condition, and how often it was answered each way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// Its line, from 1.
    pub line: u32,
    /// How often it was true.
    pub yes: u64,
    /// How often it was not.
    pub no: u64,
}

/// What ran of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Covered {
    /// Its path.
    pub path: String,
    /// Executable lines with how often they ran.
    pub lines: BTreeMap<u32, u64>,
    /// `if`s of all kinds: statements, values, entries, filters of loops, guards of rules and assertions.
    pub branches: Vec<Branch>,
    /// Rules of check blocks: how often they held, and how often not.
    pub rules: Vec<Branch>,
}

/// How much of what there is ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ratio {
    /// What ran.
    pub covered: usize,
    /// What there is.
    pub all: usize,
}

impl Ratio {
    /// Returns the part in percent; nothing is all of nothing.
    pub fn percent(self) -> f64 {
        if self.all == 0 { 100.0 } else { self.covered as f64 * 100.0 / self.all as f64 }
    }

    /// Adds another.
    pub fn add(&mut self, other: Ratio) {
        *self = Ratio { covered: self.covered + other.covered, all: self.all + other.all };
    }
}

impl Covered {
    /// Returns how many lines ran.
    pub fn line_ratio(&self) -> Ratio {
        Ratio { covered: self.lines.values().filter(|hits| **hits > 0).count(), all: self.lines.len() }
    }

    /// Returns how many sides of branches were taken.
    pub fn branch_ratio(&self) -> Ratio {
        let taken = |branch: &Branch| usize::from(branch.yes > 0) + usize::from(branch.no > 0);
        Ratio { covered: self.branches.iter().map(taken).sum(), all: 2 * self.branches.len() }
    }

    /// Returns how many rules were looked at.
    pub fn rule_ratio(&self) -> Ratio {
        let seen = |rule: &&Branch| rule.yes + rule.no > 0;
        Ratio { covered: self.rules.iter().filter(seen).count(), all: self.rules.len() }
    }

    fn add(&mut self, other: &Covered) {
        for (line, hits) in &other.lines {
            *self.lines.entry(*line).or_default() += hits;
        }
        let add = |own: &mut Vec<Branch>, other: &[Branch]| {
            for (own, other) in own.iter_mut().zip(other) {
                (own.yes, own.no) = (own.yes + other.yes, own.no + other.no);
            }
        };
        add(&mut self.branches, &other.branches);
        add(&mut self.rules, &other.rules);
    }
}

/// Adds the files of one program to those of others: a package that several tests import is one.
pub fn unite(all: &mut BTreeMap<String, Covered>, files: Vec<Covered>) {
    for file in files {
        match all.get_mut(&file.path) {
            Some(known) => known.add(&file),
            None => {
                all.insert(file.path.clone(), file);
            }
        }
    }
}

/// Returns what ran of the files of a program that stand below a folder; test files are not what is tested.
pub fn of(prepared: &Prepared, coverage: &Coverage, root: &str) -> Vec<Covered> {
    let program = prepared.program();
    let mut files = Vec::new();
    for (number, package) in program.packages.iter().enumerate() {
        for (at, id) in package.files.iter().enumerate() {
            let Some(source) = program.sources.get(*id) else { continue };
            let inside = source.path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
            if !inside || is_test_file(&source.path) || source.path.ends_with(HELPER) {
                continue;
            }
            let covered = Covered { path: source.path.clone(), ..Covered::default() };
            let mut walker =
                Walker { package, number, coverage, source, file: at, covered, guards: Vec::new() };
            let body = package.tree.files.get(at).map(|file| file.body.as_slice()).unwrap_or_default();
            walker.statements(body);
            walker.conditions();
            files.push(walker.covered);
        }
    }
    files
}

struct Walker<'a> {
    package: &'a Package,
    number: usize,
    coverage: &'a Coverage,
    source: &'a base_diag::SourceFile,
    file: usize,
    covered: Covered,
    /// Guards of check rules.
    guards: Vec<ExprId>,
}

impl<'a> Walker<'a> {
    fn tree(&self) -> &'a Tree {
        &self.package.tree
    }

    fn line(&self, offset: u32) -> u32 {
        self.source.lines().line(self.tree().locate(offset).1)
    }

    fn statements(&mut self, body: &[StmtId]) {
        body.iter().for_each(|stmt| self.statement(*stmt));
    }

    fn statement(&mut self, id: StmtId) {
        let tree = self.tree();
        match tree.stmt(id) {
            Stmt::Import(_) | Stmt::TypeAlias { .. } => return,
            Stmt::Schema(def) => {
                self.statements(&def.body);
                self.rules(&def.checks);
                return;
            }
            Stmt::Rule(def) => return self.rules(&def.checks),
            Stmt::Attr(attr) if attr.default.is_none() => return,
            Stmt::If { body, orelse, .. } => {
                self.statements(body);
                self.statements(orelse);
            }
            _ => {}
        }
        let line = self.line(tree.stmt_span(id).start);
        *self.covered.lines.entry(line).or_default() += self.coverage.statement(self.number, id);
    }

    fn rules(&mut self, checks: &[Check]) {
        for check in checks {
            let line = self.line(check.span.start);
            let (yes, no) = self.coverage.decision(self.number, check.cond);
            // A line whose guard says no ran all the same; its rule did not.
            let reached = self.coverage.decision(self.number, check.guard.unwrap_or(check.cond));
            *self.covered.lines.entry(line).or_default() += reached.0 + reached.1;
            self.covered.rules.push(Branch { line, yes, no });
            self.guards.extend(check.guard);
        }
    }

    /// Conditions, and bodies of lambdas, wherever they stand in the file.
    fn conditions(&mut self) {
        let tree = self.tree();
        let at_itself = |cond: ExprId| (tree.expr_span(cond).start, cond);
        let mut found: Vec<(u32, ExprId)> = self.guards.drain(..).map(at_itself).collect();
        for node in &tree.exprs {
            match &node.kind {
                Expr::ListComp { clauses, .. } | Expr::DictComp { clauses, .. } => {
                    found.extend(clauses.iter().filter_map(|clause| clause.cond).map(at_itself));
                }
                Expr::Quant(quant) => found.extend(quant.cond.map(at_itself)),
                Expr::If { cond, .. } | Expr::ListIf { cond, .. } => found.push((node.span.start, *cond)),
                Expr::Config(entries) => found.extend(entries.iter().filter_map(|entry| match &entry.key {
                    Key::If { cond, .. } => Some((entry.key_span.start, *cond)),
                    _ => None,
                })),
                Expr::Lambda(lambda) if self.is_here(node.span.start) => self.lambda(lambda),
                _ => {}
            }
        }
        found.extend(tree.stmts.iter().filter_map(|node| match &node.kind {
            Stmt::If { cond, .. } => Some((node.span.start, *cond)),
            Stmt::Assert { guard, .. } => guard.map(at_itself),
            _ => None,
        }));
        found.retain(|(start, _)| self.is_here(*start));
        found.sort_unstable_by_key(|(start, _)| *start);
        for (start, cond) in found {
            let (yes, no) = self.coverage.decision(self.number, cond);
            let line = self.line(start);
            // Readers of LCOV refuse branches on lines that they do not know.
            self.covered.lines.entry(line).or_insert(yes + no);
            self.covered.branches.push(Branch { line, yes, no });
        }
    }

    fn is_here(&self, offset: u32) -> bool {
        self.tree().locate(offset).0 == self.file
    }

    fn lambda(&mut self, lambda: &Lambda) {
        self.statements(&lambda.body);
    }
}

/// Returns the report in the LCOV format, as its readers take it. Rules are branches of the lines they stand on.
pub fn lcov(files: &BTreeMap<String, Covered>) -> String {
    let mut out = String::new();
    for file in files.values() {
        out.push_str(&format!("TN:\nSF:{}\n", file.path));
        for (number, branch) in file.branches.iter().chain(&file.rules).enumerate() {
            let seen = branch.yes + branch.no > 0;
            let taken = |count: u64| if seen { count.to_string() } else { "-".to_owned() };
            out.push_str(&format!("BRDA:{},{number},0,{}\n", branch.line, taken(branch.yes)));
            out.push_str(&format!("BRDA:{},{number},1,{}\n", branch.line, taken(branch.no)));
        }
        let both: Vec<&Branch> = file.branches.iter().chain(&file.rules).collect();
        let hit: usize = both.iter().map(|b| usize::from(b.yes > 0) + usize::from(b.no > 0)).sum();
        out.push_str(&format!("BRF:{}\nBRH:{hit}\n", 2 * both.len()));
        for (line, hits) in &file.lines {
            out.push_str(&format!("DA:{line},{hits}\n"));
        }
        let lines = file.line_ratio();
        out.push_str(&format!("LF:{}\nLH:{}\nend_of_record\n", lines.all, lines.covered));
    }
    out
}

/// Returns the reference's line about all files, and what it does not count.
pub fn summary(files: &BTreeMap<String, Covered>) -> String {
    let mut total = [Ratio::default(); 3];
    for file in files.values() {
        total[0].add(file.line_ratio());
        total[1].add(file.branch_ratio());
        total[2].add(file.rule_ratio());
    }
    let part = |ratio: Ratio, what: &str| {
        format!("{:.1}% ({}/{}) {what}", ratio.percent(), ratio.covered, ratio.all)
    };
    let [lines, branches, rules] = total;
    format!(
        "Coverage: {}\nBranches: {}\nRules: {}\n",
        part(lines, "lines"),
        part(branches, "sides"),
        part(rules, "check rules")
    )
}

/// Returns the lines of a file with how often each ran; colours are for a terminal.
pub fn listing(file: &Covered, text: &str, shown: &str, colour: bool) -> String {
    let lines = file.line_ratio();
    let mut out = format!("{shown}: {:.1}% ({}/{}) lines\n", lines.percent(), lines.covered, lines.all);
    for (number, line) in (1..).zip(text.lines()) {
        let hits = file.lines.get(&number);
        let half = |branch: &&Branch| branch.line == number && (branch.yes == 0) != (branch.no == 0);
        let note = match file.branches.iter().find(half) {
            Some(branch) if branch.yes == 0 => "  <- never true",
            Some(_) => "  <- always true",
            None => "",
        };
        let count = hits.map_or_else(String::new, u64::to_string);
        let (on, off) = match hits {
            Some(0) if colour => ("\x1b[31m", "\x1b[0m"),
            Some(_) if colour && !note.is_empty() => ("\x1b[33m", "\x1b[0m"),
            Some(_) if colour => ("\x1b[32m", "\x1b[0m"),
            _ => ("", ""),
        };
        let mark = if hits == Some(&0) { "!" } else { " " };
        out.push_str(&format!("{on}{mark}{number:>5} {count:>7} | {line}{note}{off}\n"));
    }
    out
}

//! From a change to edits: where the path is set, and which bytes that is.

use std::ops::Range;

use base_diag::Span;
use kcl_syntax::ast::{EntryOp, Expr, ExprId, Stmt, StmtId, Tree};
use kcl_syntax::source::{Reached, Site, SourcePath, Step, entries, reach, setters, sites, value_at};

use crate::layout::{self, Brackets};
use crate::value::{self, Value};
use crate::{Action, Change, Edit, EditPlan, Effect, File, Member, Refusal};

/// A place where a path is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Number of the member.
    pub file: usize,
    /// The value.
    pub value: Span,
    /// `=`, `:` or `+=`; nothing for an item of a list.
    pub operator: &'static str,
}

/// Returns every place that sets a path, in the order in which the files run.
pub fn find(members: &[Member], path: &SourcePath) -> Vec<Found> {
    let Some((name, rest)) = path.split() else { return Vec::new() };
    let mut out = Vec::new();
    for (file, member) in members.iter().enumerate() {
        let tree = member.file.tree();
        if tree.files.is_empty() {
            continue;
        }
        if rest.is_empty() {
            out.extend(setters(tree, 0, name).into_iter().map(|(stmt, value)| {
                let operator = match tree.stmt(stmt) {
                    Stmt::Unification { .. } => ":",
                    Stmt::AugAssign { .. } => "+=",
                    _ => "=",
                };
                Found { file, value: tree.expr_span(value), operator }
            }));
            continue;
        }
        for (_, root) in declarations(tree, name) {
            for spot in spots(tree, root, rest) {
                let operator = entries(tree, spot.0).get(spot.1).map_or("", |entry| operator_text(entry.op));
                let value = value_at(tree, spot.0, spot.1).map(|id| tree.expr_span(id)).unwrap_or_default();
                out.push(Found { file, value, operator });
            }
        }
    }
    out
}

/// Finds the edits that make a change.
///
/// # Errors
/// Why it cannot be made exactly.
pub fn plan(members: &[Member], change: &Change) -> Result<EditPlan, Refusal> {
    let Some((name, rest)) = change.path.split() else {
        return Err(Refusal::new("bad-path", "a path starts with the name of a variable", "write app.image"));
    };
    let ask = Ask { members, path: &change.path, name, rest };
    ask.all_parse()?;
    match &change.action {
        Action::Set(text) => ask.set(&value::checked(text)?),
        Action::Append(text) => ask.append(&value::checked(text)?),
        Action::Unset => ask.unset(),
    }
}

pub(crate) fn operator_text(op: EntryOp) -> &'static str {
    match op {
        EntryOp::Union => ":",
        EntryOp::Override => "=",
        EntryOp::Insert => "+=",
    }
}

/// The statements that declare a variable, with their values.
pub(crate) fn declarations(tree: &Tree, name: &str) -> Vec<(StmtId, ExprId)> {
    let declared = |site| match site {
        Site::Declaration(stmt, value) => Some((stmt, value)),
        Site::Braces(_) => None,
    };
    if tree.files.is_empty() { Vec::new() } else { sites(tree, 0, name).filter_map(declared).collect() }
}

/// Holder and number of everything that a path names below a value.
fn spots(tree: &Tree, root: ExprId, rest: &[Step]) -> Spots {
    let ends = reach(tree, root, rest).into_iter().filter(|at| at.is_end(rest));
    ends.flat_map(|at| at.found.into_iter().map(move |i| (at.holder, i))).collect()
}

pub(crate) fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// Braces that only a dotted key stands for: `b = 1` of `a.b = 1`.
pub(crate) fn is_derived(file: &File, braces: ExprId) -> bool {
    let tree = file.tree();
    matches!(tree.expr(braces), Expr::Config(_)) && !file.slice(tree.expr_span(braces)).starts_with('{')
}

/// A change while it is planned.
pub(crate) struct Ask<'a> {
    pub(crate) members: &'a [Member],
    pub(crate) path: &'a SourcePath,
    pub(crate) name: &'a str,
    pub(crate) rest: &'a [Step],
}

impl Ask<'_> {
    /// The files of the stack itself, the last first.
    pub(crate) fn own(&self) -> impl Iterator<Item = (usize, &File)> {
        let own = self.members.iter().enumerate().rev().filter(|(_, member)| member.own);
        own.map(|(number, member)| (number, &*member.file))
    }

    fn all_parse(&self) -> Result<(), Refusal> {
        for (number, file) in self.own() {
            if let Some(error) = file.errors().first() {
                let message = format!("{} does not parse: {}", file.name, error.message());
                let refusal = Refusal::new("broken-file", message, "correct the file first");
                return Err(match error.place() {
                    base_diag::Place::Span(_, span) => refusal.at(number, span),
                    _ => refusal,
                });
            }
        }
        Ok(())
    }

    fn set(&self, value: &Value<'_>) -> Result<EditPlan, Refusal> {
        for (number, file) in self.own() {
            let ranges = match self.rest.is_empty() {
                true => self.variable_values(number, file, value)?,
                false => self.entry_values(number, file)?,
            };
            if !ranges.is_empty() {
                return Ok(replaced(number, file, &ranges, value.text));
            }
        }
        self.create("=", value.text)
    }

    /// The values of a whole variable in a file, with what goes before the new one.
    fn variable_values(
        &self,
        number: usize,
        file: &File,
        value: &Value<'_>,
    ) -> Result<Vec<Replaced>, Refusal> {
        let tree = file.tree();
        let found = setters(tree, 0, self.name);
        for (stmt, _) in &found {
            self.alone(number, file, *stmt)?;
            let wrong = match tree.stmt(*stmt) {
                Stmt::AugAssign { .. } => Some("is also changed by this statement"),
                Stmt::Unification { .. } if found.len() > 1 => Some("is declared by several blocks"),
                Stmt::Unification { .. } if !value.is_schema => Some("is declared with a schema here"),
                _ => None,
            };
            if let Some(wrong) = wrong {
                let help = format!("set a part of it ({}.NAME=VALUE), or edit the file by hand", self.name);
                let message = format!("`{}` {wrong}: one value cannot replace it", self.name);
                return Err(Refusal::new("not-one-value", message, help).at(number, tree.stmt_span(*stmt)));
            }
        }
        Ok(found.iter().map(|(_, value)| (range(tree.expr_span(*value)), "")).collect())
    }

    /// The values at a path below a variable, in the last statement of a file that has it.
    fn entry_values(&self, number: usize, file: &File) -> Result<Vec<Replaced>, Refusal> {
        let Some((stmt, spots)) = self.spots_in(number, file)? else { return Ok(Vec::new()) };
        self.alone(number, file, stmt)?;
        let tree = file.tree();
        let span_of = |(holder, at): (ExprId, usize)| {
            let value = value_at(tree, holder, at)?;
            let span = range(tree.expr_span(value));
            match entries(tree, holder).get(at) {
                // `a.b = 1` becomes `a: VALUE`.
                Some(entry) if is_derived(file, value) => Some((entry.key_span.end as usize..span.end, ": ")),
                _ => Some((span, "")),
            }
        };
        Ok(spots.into_iter().filter_map(span_of).collect())
    }

    /// What the path names in the last statement of a file that has it.
    fn spots_in(&self, number: usize, file: &File) -> Result<Option<(StmtId, Spots)>, Refusal> {
        for (stmt, root) in declarations(file.tree(), self.name).into_iter().rev() {
            self.one_item(number, file, root)?;
            let found = spots(file.tree(), root, self.rest);
            if !found.is_empty() {
                return Ok(Some((stmt, found)));
            }
        }
        Ok(None)
    }

    /// Refuses a path whose `[key=value]` fits several items.
    pub(crate) fn one_item(&self, number: usize, file: &File, root: ExprId) -> Result<(), Refusal> {
        let tree = file.tree();
        for (i, step) in self.rest.iter().enumerate() {
            let Step::Item { key, value } = step else { continue };
            let path = &self.rest[..=i];
            let many = |at: &Reached| at.is_end(path) && at.found.len() > 1;
            if let Some(at) = reach(tree, root, path).into_iter().find(many) {
                let message = format!("{} items of the list have {key} = {value}", at.found.len());
                let help = "name one by its number: [0] is the first, [-1] the last";
                let second = value_at(tree, at.holder, at.found[1]).map(|id| tree.expr_span(id));
                let refusal = Refusal::new("several-items", message, help);
                return Err(second.into_iter().fold(refusal, |refusal, span| refusal.at(number, span)));
            }
        }
        Ok(())
    }

    /// Refuses a statement that sets several variables.
    pub(crate) fn alone(&self, number: usize, file: &File, stmt: StmtId) -> Result<(), Refusal> {
        match file.tree().stmt(stmt) {
            Stmt::Assign { targets, .. } if targets.len() > 1 => {
                let message = format!("`{}` shares its value with other variables", self.name);
                let help = "write a statement for each variable first";
                let span = file.tree().stmt_span(stmt);
                Err(Refusal::new("shared-value", message, help).at(number, span))
            }
            _ => Ok(()),
        }
    }

    fn append(&self, value: &Value<'_>) -> Result<EditPlan, Refusal> {
        for (number, file) in self.own() {
            let tree = file.tree();
            let lists: Vec<ExprId> = if self.rest.is_empty() {
                let found = setters(tree, 0, self.name).into_iter().last();
                found.map(|(_, value)| value).into_iter().collect()
            } else {
                let found = self.spots_in(number, file)?.map(|(_, spots)| spots).unwrap_or_default();
                found.into_iter().filter_map(|(holder, at)| value_at(tree, holder, at)).collect()
            };
            if let Some(list) = lists.last() {
                return self.add_item(number, file, *list, value.text);
            }
        }
        let declared = self.rest.is_empty()
            && self.members.iter().any(|m| !declarations(m.file.tree(), self.name).is_empty());
        if declared {
            let message = format!("the list `{}` stands in a file that the stack shares", self.path);
            return Err(Refusal::new("not-own", message, "append to it there, if all stacks should have it"));
        }
        let operator = if self.rest.is_empty() { "=" } else { "+=" };
        self.create(operator, &format!("[{}]", value.text))
    }

    fn add_item(&self, number: usize, file: &File, list: ExprId, item: &str) -> Result<EditPlan, Refusal> {
        let tree = file.tree();
        let span = tree.expr_span(list);
        let place = match tree.expr(list) {
            Expr::List(items) => {
                let members = items.iter().map(|id| range(tree.expr_span(*id))).collect();
                let last = items.last().map(|id| tree.expr(*id));
                let ends_open = matches!(last, Some(Expr::ListIf { .. }));
                layout::insertion(&file.text, &Brackets { span: range(span), members, ends_open }, item)
            }
            _ => None,
        };
        let Some((start, text)) = place else {
            let message = format!("`{}` is no list that an item can be added to", self.path);
            let help = "only a list that is written out, [a, b], can be appended to";
            return Err(Refusal::new("no-list", message, help).at(number, span));
        };
        let edit = Edit { file: number, start, end: start, text: fitted(file, &text) };
        Ok(EditPlan { edits: vec![edit], outcome: Effect::Created, file: Some(number) })
    }

    fn unset(&self) -> Result<EditPlan, Refusal> {
        for (number, file) in self.own() {
            let edits = match self.rest.is_empty() {
                true => self.without_variable(number, file),
                false => self.without_entries(number, file)?,
            };
            if !edits.is_empty() {
                return Ok(EditPlan { edits, outcome: Effect::Removed, file: Some(number) });
            }
        }
        if let Some(found) = find(self.members, self.path).last() {
            let name = self.members.get(found.file).map_or("", |member| &member.file.name);
            let message = format!("`{}` is set in {name}, a file that the stack shares", self.path);
            let help = "take it out there, if no stack should have it";
            return Err(Refusal::new("not-own", message, help).at(found.file, found.value));
        }
        Ok(EditPlan { edits: Vec::new(), outcome: Effect::Unchanged, file: None })
    }

    fn without_variable(&self, number: usize, file: &File) -> Vec<Edit> {
        let tree = file.tree();
        let gone = setters(tree, 0, self.name).into_iter().map(|(stmt, value)| match tree.stmt(stmt) {
            // `a = b = 1` without a is `b = 1`.
            Stmt::Assign { targets, .. } if targets.len() > 1 => {
                let mine = targets.iter().position(|t| t.name.name == self.name && t.path.is_empty());
                let mine = mine.unwrap_or(0);
                let next = targets.get(mine + 1).map_or(tree.expr_span(value).start, |t| t.span.start);
                targets[mine].span.start as usize..next as usize
            }
            _ => layout::removal(&file.text, range(tree.stmt_span(stmt))),
        });
        removed(number, gone.collect())
    }

    fn without_entries(&self, number: usize, file: &File) -> Result<Vec<Edit>, Refusal> {
        let Some((stmt, spots)) = self.spots_in(number, file)? else { return Ok(Vec::new()) };
        self.alone(number, file, stmt)?;
        let tree = file.tree();
        let (mut gone, mut edits) = (Vec::new(), Vec::new());
        for (holder, at) in spots {
            let Some(value) = value_at(tree, holder, at) else { continue };
            let end = tree.expr_span(value).end as usize;
            match entries(tree, holder).get(at) {
                // Of a dotted key the braces stay: `k.v = 1` becomes `k: {}`.
                Some(entry) if is_derived(file, holder) => {
                    let before = file.text[..entry.key_span.start as usize].trim_end();
                    let start = before.strip_suffix('.').unwrap_or(before).trim_end().len();
                    edits.push(Edit { file: number, start, end, text: ": {}".to_owned() });
                }
                Some(entry) => {
                    gone.push(layout::removal(&file.text, entry.key_span.start as usize..end));
                }
                None => gone.push(layout::removal(&file.text, range(tree.expr_span(value)))),
            }
        }
        edits.extend(removed(number, gone));
        Ok(edits)
    }
}

/// Holders, and numbers in them.
type Spots = Vec<(ExprId, usize)>;

/// A range, and what goes before the new value.
type Replaced = (Range<usize>, &'static str);

fn replaced(number: usize, file: &File, ranges: &[Replaced], value: &str) -> EditPlan {
    let value = fitted(file, value);
    let edits: Vec<Edit> = ranges
        .iter()
        .filter(|(range, before)| !before.is_empty() || file.text[range.clone()] != *value)
        .map(|(range, before)| Edit {
            file: number,
            start: range.start,
            end: range.end,
            text: format!("{before}{value}"),
        })
        .collect();
    let outcome = if edits.is_empty() { Effect::Unchanged } else { Effect::Replaced };
    EditPlan { edits, outcome, file: Some(number) }
}

fn removed(number: usize, ranges: Vec<Range<usize>>) -> Vec<Edit> {
    let edit =
        |range: Range<usize>| Edit { file: number, start: range.start, end: range.end, text: String::new() };
    layout::united(ranges).into_iter().map(edit).collect()
}

/// A new text with the line ends of a file.
pub(crate) fn fitted(file: &File, text: &str) -> String {
    match layout::line_end(&file.text) {
        "\r\n" => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        _ => text.to_owned(),
    }
}

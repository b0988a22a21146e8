//! What a path names is missing: where it is written, and how.

use base_diag::Span;
use kcl_syntax::ast::{Expr, ExprId, Key, Stmt, StmtId, Tree};
use kcl_syntax::source::{Reached, Step, entries, reach, setters, value_at};
use kcl_syntax::token::is_name;

use crate::layout::{self, Brackets};
use crate::plan::{Ask, declarations, fitted, is_derived, range};
use crate::value::entry_text;
use crate::{Edit, EditPlan, Effect, File, Refusal};

impl Ask<'_> {
    /// Writes `path OP value` where the stack's own files reach furthest.
    pub(crate) fn create(&self, operator: &str, value: &str) -> Result<EditPlan, Refusal> {
        match self.furthest()? {
            Some(place) => self.add_entry(&place, operator, value),
            None => self.add_statement(operator, value),
        }
    }

    /// The braces in the stack's own files that most of the path leads to; of several the last.
    fn furthest(&self) -> Result<Option<PathEnd<'_>>, Refusal> {
        let mut best: Option<PathEnd<'_>> = None;
        for (number, file) in self.own().collect::<Vec<_>>().into_iter().rev() {
            for (stmt, root) in declarations(file.tree(), self.name) {
                self.one_item(number, file, root)?;
                for reached in reach(file.tree(), root, self.rest) {
                    if best.as_ref().is_none_or(|best| best.reached.depth <= reached.depth) {
                        best = Some(PathEnd { number, file, stmt, root, reached });
                    }
                }
            }
        }
        Ok(best)
    }

    fn add_entry(&self, place: &PathEnd<'_>, operator: &str, value: &str) -> Result<EditPlan, Refusal> {
        let PathEnd { number, file, stmt, reached, .. } = place;
        let tree = file.tree();
        self.alone(*number, file, *stmt)?;
        self.can_go_on(place)?;
        let (holder, depth) = place.real_holder(self.rest);
        let keys: Vec<&str> =
            self.rest[depth..].iter().filter_map(Step::key).map(|key| key.as_str()).collect();
        let span = tree.expr_span(holder);
        let found = entries(tree, holder);
        let member = |entry: &kcl_syntax::ast::Entry| {
            entry.key_span.start as usize..tree.expr_span(entry.value).end as usize
        };
        let brackets = Brackets {
            span: range(span),
            members: found.iter().map(member).collect(),
            ends_open: found.last().is_some_and(|entry| matches!(entry.key, Key::If { .. })),
        };
        let new = entry_text(&keys, operator, value);
        let Some((start, text)) = layout::insertion(&file.text, &brackets, &new) else {
            let message = format!("there is no room for `{}` behind the `if` on one line", self.path);
            let help = "write the braces on several lines first (`kcl fmt` does)";
            return Err(Refusal::new("no-room", message, help).at(*number, tree.expr_span(reached.holder)));
        };
        let edit = Edit { file: *number, start, end: start, text: fitted(file, &text) };
        Ok(EditPlan { edits: vec![edit], outcome: Effect::Created, file: Some(*number) })
    }

    /// Refuses what cannot be created: items of lists, and keys of what is no braces.
    fn can_go_on(&self, place: &PathEnd<'_>) -> Result<(), Refusal> {
        let PathEnd { number, file, reached, .. } = place;
        let tree = file.tree();
        let holder = tree.expr_span(reached.holder);
        if self.rest[reached.depth..].iter().any(|step| step.key().is_none()) {
            let message = format!("`{}` names an item that is not there", self.path);
            let help = "add the item first: kcl edit append TARGET LIST='{..}'";
            return Err(Refusal::new("no-item", message, help).at(*number, holder));
        }
        let values = reached.found.iter().filter_map(|at| value_at(tree, reached.holder, *at));
        for value in values {
            let what = match tree.expr(value) {
                Expr::Str(_) | Expr::Joined(_) => "a text",
                Expr::Int(_) | Expr::Float(_) | Expr::Unit(..) => "a number",
                Expr::Bool(_) | Expr::None | Expr::Undefined => "a constant",
                Expr::List(_) => "a list",
                Expr::Lambda(_) => "a function",
                _ => continue,
            };
            let message = format!("`{}` goes on where {what} stands", self.path);
            let help = "set the whole value, or choose another path";
            return Err(Refusal::new("no-braces", message, help).at(*number, tree.expr_span(value)));
        }
        Ok(())
    }

    fn add_statement(&self, operator: &str, value: &str) -> Result<EditPlan, Refusal> {
        if self.rest.iter().any(|step| step.key().is_none()) {
            let message = format!("there is no list for `{}`", self.path);
            return Err(Refusal::new("no-item", message, "set the list first: PATH='[..]'"));
        }
        for (number, member) in self.members.iter().enumerate() {
            if member.own
                && let Some(refusal) = self.in_the_way(number, &member.file)
            {
                return Err(refusal);
            }
        }
        let Some((number, file)) = self.home() else {
            let message = "the stack has no file of its own to write to";
            return Err(Refusal::new("no-own-file", message, "make a main.k in its folder, or name a file"));
        };
        let keys: Vec<&str> = self.rest.iter().filter_map(Step::key).map(|key| key.as_str()).collect();
        let mut edits = Vec::new();
        let statement = match self.shared_schema()? {
            Some((schema, import)) => {
                edits.extend(import.and_then(|(name, text)| missing_import(number, file, &name, &text)));
                format!("{}: {schema} {{\n    {}\n}}", self.name, entry_text(&keys, operator, value))
            }
            None if !is_name(self.name) => {
                let message = format!("`{}` is no name for a variable", self.name);
                return Err(Refusal::new("bad-name", message, "letters, digits and _, no digit first"));
            }
            None if keys.is_empty() => format!("{} = {value}", self.name),
            None => format!("{} = {{{}}}", self.name, entry_text(&keys, operator, value)),
        };
        let end = file.text.len();
        let text = layout::at_end(&file.text, &fitted(file, &statement));
        edits.push(Edit { file: number, start: end, end, text });
        Ok(EditPlan { edits, outcome: Effect::Created, file: Some(number) })
    }

    /// The file that gets new statements: `main.k`, else the last of the stack's own.
    fn home(&self) -> Option<(usize, &File)> {
        let is_main = |file: &File| file.name == "main.k" || file.name.ends_with("/main.k");
        self.own().find(|(_, file)| is_main(file)).or_else(|| self.own().next())
    }

    /// What has the name already and is no literal that could be changed.
    fn in_the_way(&self, number: usize, file: &File) -> Option<Refusal> {
        let tree = file.tree();
        let by_hand = "edit the file by hand, or set what it is computed from";
        if let Some((stmt, _)) = setters(tree, 0, self.name).first() {
            let message = format!(
                "`{}` is not written out as braces here: it cannot be changed at `{}`",
                self.name, self.path
            );
            return Some(Refusal::new("computed", message, by_hand).at(number, tree.stmt_span(*stmt)));
        }
        let inside = |node: &&kcl_syntax::ast::StmtNode| match &node.kind {
            Stmt::If { .. } => assigns(tree, node.span, self.name),
            _ => false,
        };
        let top = || tree.files.iter().flat_map(|f| &f.body).map(|id| &tree.stmts[id.0 as usize]);
        if let Some(node) = top().find(inside) {
            let message = format!("`{}` is set inside an `if`", self.name);
            return Some(Refusal::new("conditional", message, by_hand).at(number, node.span));
        }
        let other = top().find_map(|node| match &node.kind {
            Stmt::Schema(def) if def.name.name == self.name => Some(("a schema", node.span)),
            Stmt::Rule(def) if def.name.name == self.name => Some(("a rule", node.span)),
            Stmt::Import(import) if import.bound_name() == self.name => Some(("an import", node.span)),
            Stmt::TypeAlias { name, .. } if name.name == self.name => Some(("a type", node.span)),
            _ => None,
        });
        let (what, span) = other?;
        let message = format!("`{}` is {what}, no variable", self.name);
        Some(Refusal::new("no-variable", message, "name a variable of the file").at(number, span))
    }

    /// The schema with which a file that the stack shares declares the variable, and the import that it needs.
    fn shared_schema(&self) -> Result<Option<Declared>, Refusal> {
        let shared = self.members.iter().enumerate().rev().filter(|(_, member)| !member.own);
        for (number, member) in shared {
            let (file, tree) = (&*member.file, member.file.tree());
            let Some((stmt, value)) = declarations(tree, self.name).into_iter().last() else { continue };
            if let Expr::Schema(expr) = tree.expr(value)
                && !self.rest.is_empty()
            {
                let schema = file.slice(tree.expr_span(expr.name)).to_owned();
                let package = schema.split_once('.').map(|(package, _)| package.trim().to_owned());
                let import = package.and_then(|name| import_text(file, &name).map(|text| (name, text)));
                return Ok(Some((schema, import)));
            }
            let message = format!("`{}` is set in {}, a file that the stack shares", self.name, file.name);
            let help = "change it there for all stacks, or declare it there with a schema (x: S {..}): then a stack can add to it";
            return Err(Refusal::new("not-own", message, help).at(number, tree.stmt_span(stmt)));
        }
        Ok(None)
    }
}

/// A schema as it is written, and name and text of the import that it needs.
type Declared = (String, Option<(String, String)>);

/// Where a path ends.
struct PathEnd<'a> {
    number: usize,
    file: &'a File,
    stmt: StmtId,
    root: ExprId,
    reached: Reached,
}

impl PathEnd<'_> {
    /// The innermost braces on the way that are written as braces, and how many steps lead to them: an entry cannot be put
    /// into the inner braces of a dotted key.
    fn real_holder(&self, rest: &[Step]) -> (ExprId, usize) {
        let mut way = Vec::new();
        go(self.file.tree(), self.root, rest, self.reached.holder, &mut way);
        way.reverse();
        let written = way.iter().rposition(|holder| !is_derived(self.file, *holder));
        match written {
            Some(depth) => (way[depth], depth),
            None => (self.reached.holder, self.reached.depth),
        }
    }
}

/// Collects the holders from a goal back to where the path starts. Depth is bounded by the path.
fn go(tree: &Tree, value: ExprId, rest: &[Step], goal: ExprId, way: &mut Vec<ExprId>) -> bool {
    let Some(step) = rest.first() else { return false };
    for at in reach(tree, value, std::slice::from_ref(step)) {
        let mut values = at.found.iter().filter_map(|i| value_at(tree, at.holder, *i));
        if at.holder == goal || values.any(|value| go(tree, value, &rest[1..], goal, way)) {
            way.push(at.holder);
            return true;
        }
    }
    false
}

fn assigns(tree: &Tree, outer: Span, name: &str) -> bool {
    tree.stmts.iter().any(|node| {
        let mine = match &node.kind {
            Stmt::Assign { targets, .. } => targets.iter().any(|t| t.name.name == name),
            Stmt::AugAssign { target, .. } => target.name.name == name,
            Stmt::Unification { target, .. } => target.name == name,
            _ => false,
        };
        mine && outer.start <= node.span.start && node.span.end <= outer.end
    })
}

/// The import statement of a file that binds a name, as it is written.
fn import_text(file: &File, name: &str) -> Option<String> {
    let tree = file.tree();
    tree.files.iter().flat_map(|f| &f.body).find_map(|id| match tree.stmt(*id) {
        Stmt::Import(import) if import.bound_name() == name => {
            Some(file.slice(tree.stmt_span(*id)).trim_end().to_owned())
        }
        _ => None,
    })
}

/// The edit that adds an import to a file, if it has none of that name: after its last import, else before its first statement.
fn missing_import(number: usize, file: &File, name: &str, text: &str) -> Option<Edit> {
    if import_text(file, name).is_some() {
        return None;
    }
    let tree = file.tree();
    let body = || tree.files.iter().flat_map(|f| &f.body);
    let last = body().rfind(|id| matches!(tree.stmt(**id), Stmt::Import(_)));
    let end = layout::line_end(&file.text);
    let (start, text) = match (last, body().next()) {
        (Some(last), _) => (tree.stmt_span(*last).end as usize, format!("{end}{text}")),
        (None, Some(first)) => (tree.stmt_span(*first).start as usize, format!("{text}{end}{end}")),
        (None, None) => (file.text.len(), format!("{text}{end}")),
    };
    Some(Edit { file: number, start, end: start, text })
}

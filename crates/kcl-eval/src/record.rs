//! Lazy records: the globals of a package, and the attributes of an instance under construction.
//!
//! Both are the same thing: named slots, each with the statements that set it (its *setters*). Reading a slot whose
//! statements have not run yet runs the last of them on demand; what was read is cached. The rules that decide who
//! runs when are in `lazy.rs`; this file holds the data.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use kcl_syntax::ast::{self, Expr, Key, Stmt, StmtId, Tree, TypeId};
use kcl_value::{Dict, Entry, KeyIndex, NO_INDEX, Op, OriginId, Position, Str, Value};
use smallvec::SmallVec;

use crate::schema::Schema;
use crate::scope::Frame;

/// Names of a record and who sets them. Computed once per package or schema and shared by all its records.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    pub(crate) names: Vec<Str>,
    index: KeyIndex,
    /// Nearly every name has one.
    pub(crate) setters: Vec<SmallVec<[Setter; 1]>>,
}

/// A shape as one run holds it: counting who shares it is then the run's own affair, not one between threads.
#[derive(Clone, Debug)]
pub(crate) struct Shaped(Arc<Shape>);

impl Shaped {
    pub(crate) fn new(shape: &Arc<Shape>) -> Rc<Shaped> {
        Rc::new(Shaped(shape.clone()))
    }
}

impl std::ops::Deref for Shaped {
    type Target = Shape;

    fn deref(&self) -> &Shape {
        &self.0
    }
}

/// A statement that sets a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setter {
    /// Which body of an inheritance chain it belongs to; 0 for packages.
    pub(crate) part: u32,
    /// The statement to run: for a branch the outermost `if`.
    pub(crate) stmt: StmtId,
    /// For a branch: the assignment to stop after, and the side it stands on.
    pub(crate) branch: Option<(StmtId, Side)>,
}

/// Side of an `if`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Then,
    Else,
}

impl Shape {
    /// Enters a name, keeping the place of one that is there.
    pub(crate) fn enter(&mut self, name: &Str) -> usize {
        if let Some(at) = self.position(name) {
            return at;
        }
        let next = self.names.len();
        self.index.insert_new(name, next);
        self.names.push(name.clone());
        self.setters.push(SmallVec::new());
        next
    }

    /// Returns where a name stands.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.index.find(name, |at| &self.names[at])
    }

    /// Makes a name unknown; its slot stays.
    pub(crate) fn hide(&mut self, name: &str) {
        self.index.remove(name, |at| &self.names[at]);
    }

    /// Enters the names that a list of statements declares: in the output of a package `+=` alone does not give a name its place.
    pub(crate) fn enter_declared(&mut self, tree: &Tree, body: &[StmtId]) {
        for stmt in body {
            match tree.stmt(*stmt) {
                Stmt::If { body, orelse, .. } => {
                    self.enter_declared(tree, body);
                    self.enter_declared(tree, orelse);
                }
                Stmt::AugAssign { .. } => {}
                other => for_each_target(other, |name| {
                    self.enter(name);
                }),
            }
        }
    }

    /// Enters everything that a list of statements sets, in order.
    pub(crate) fn collect(&mut self, tree: &Tree, body: &[StmtId], part: u32) {
        for stmt in body {
            match tree.stmt(*stmt) {
                Stmt::If { body, orelse, .. } => {
                    self.collect_branch(tree, body, part, *stmt, Side::Then);
                    self.collect_branch(tree, orelse, part, *stmt, Side::Else);
                }
                other => {
                    for_each_target(other, |name| {
                        let i = self.enter(name);
                        self.setters[i].push(Setter { part, stmt: *stmt, branch: None });
                    });
                }
            }
        }
    }

    fn collect_branch(&mut self, tree: &Tree, body: &[StmtId], part: u32, outer: StmtId, side: Side) {
        for stmt in body {
            match tree.stmt(*stmt) {
                Stmt::If { body, orelse, .. } => {
                    self.collect_branch(tree, body, part, outer, side);
                    self.collect_branch(tree, orelse, part, outer, side);
                }
                other => for_each_target(other, |name| {
                    let i = self.enter(name);
                    self.setters[i].push(Setter { part, stmt: outer, branch: Some((*stmt, side)) });
                }),
            }
        }
    }
}

/// Calls `f` with the first name of every target of a statement.
pub(crate) fn for_each_target(stmt: &Stmt, mut f: impl FnMut(&Str)) {
    match stmt {
        Stmt::Assign { targets, .. } => targets.iter().for_each(|t| f(&t.name.name)),
        Stmt::AugAssign { target, .. } => f(&target.name.name),
        Stmt::Unification { target, .. } => f(&target.name),
        Stmt::Attr(attr) => f(&attr.name.name),
        _ => {}
    }
}

/// Returns true if an expression mentions a name outside lambdas: as a value, a key, a keyword or a loop variable.
pub(crate) fn mentions(tree: &Tree, id: ast::ExprId, name: &str) -> bool {
    let mut found = false;
    crate::walk::walk_expr(tree, id, &mut |expr| {
        found = found || mentions_itself(expr, name);
        !matches!(expr, Expr::Lambda(_)) && !found
    });
    found
}

fn mentions_itself(expr: &Expr, name: &str) -> bool {
    let is_key = |entry: &ast::Entry| matches!(&entry.key, Key::Name(k) | Key::Indexed(k, _) if k == name);
    let is_loop = |targets: &[ast::Ident]| targets.iter().any(|t| t.name == name);
    match expr {
        Expr::Name(parts) => parts.first().is_some_and(|p| p.name == name),
        Expr::Selector { name: member, .. } => member.name == name,
        Expr::Config(entries) => entries.iter().any(is_key),
        Expr::DictComp { entry, clauses } => is_key(entry) || clauses.iter().any(|c| is_loop(&c.targets)),
        Expr::ListComp { clauses, .. } => clauses.iter().any(|c| is_loop(&c.targets)),
        Expr::Quant(quant) => is_loop(&quant.targets),
        Expr::Call(call) => call.kwargs.iter().any(|k| k.name.name == name),
        Expr::Schema(schema) => schema.kwargs.iter().any(|k| k.name.name == name),
        _ => false,
    }
}

/// What a slot holds now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) value: Value,
    /// The operator the attribute remembers.
    pub(crate) op: Op,
    pub(crate) origin: OriginId,
}

impl Slot {
    /// The slot as an entry of a finished instance.
    pub(crate) fn entry(&self) -> Entry {
        Entry { value: self.value.clone(), index: NO_INDEX, origin: self.origin, op: self.op }
    }
}

/// Bookkeeping of laziness for one name.
#[derive(Clone, Debug, Default)]
pub(crate) struct LazyState {
    pub(crate) cache: Option<(Value, OriginId)>,
    pub(crate) level: u32,
    pub(crate) done: u32,
    pub(crate) resolved: bool,
}

/// A package's globals, or an instance under construction.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) shape: Rc<Shaped>,
    pub(crate) slots: RefCell<Vec<Slot>>,
    pub(crate) lazy: RefCell<Vec<LazyState>>,
    /// The package whose statements these are; of an instance: that of its outermost schema.
    pub(crate) package: usize,
    /// Present for instances.
    pub(crate) instance: Option<Building>,
    /// Whether something was stored since this was last put back: checks may run statements once more.
    pub(crate) changed: Cell<bool>,
    /// The slot after the one that was stored last: statements run in the order of their names.
    next: Cell<usize>,
}

/// What an instance under construction needs besides its slots.
#[derive(Debug)]
pub(crate) struct Building {
    pub(crate) schema: Rc<Schema>,
    pub(crate) config: Rc<Dict>,
    pub(crate) args: Rc<Vec<Value>>,
    pub(crate) kwargs: Rc<Vec<(Str, Value)>>,
    pub(crate) position: Position,
    /// Parameters of each body of the chain, once bound; most have none.
    pub(crate) frames: RefCell<Vec<Option<Rc<Frame>>>>,
    /// The body that is running.
    pub(crate) active: Cell<u32>,
    /// The type that each slot was declared with last: by the attribute statement that *ran* last, of whichever body.
    pub(crate) declared: RefCell<Vec<Option<(u32, TypeId)>>>,
    /// The helper binding of a named index signature.
    pub(crate) index_key: RefCell<Option<(Str, Value)>>,
    /// Globals that its bodies made run: package and slot.
    pub(crate) woken: RefCell<Vec<(usize, usize)>>,
    /// Slots that are no attributes of the finished instance, and the body whose variables they are.
    pub(crate) lost: RefCell<Vec<(usize, u32)>>,
    /// What bodies changed inside values of the configuration; none for a run over finished values, which have seen it.
    pub(crate) reached: Option<RefCell<Reached>>,
}

/// Changes inside values of the configuration. Where an attribute is the very instance that was configured, a body that assigns to a
/// part of it (`tree.names += ..`) changes that instance: laying the configuration over the attribute again must not undo it.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    /// Slots, and what their configured value is by now.
    values: Vec<(usize, Value)>,
    /// The statements that did it: body and place.
    by: Vec<(u32, u32)>,
}

impl Reached {
    /// Puts a changed value in the place of the configured one.
    pub(crate) fn put(&mut self, slot: usize, value: Value, by: (u32, u32)) {
        self.values.retain(|(at, _)| *at != slot);
        self.values.push((slot, value));
        self.by.push(by);
    }

    /// Whether a statement has had its effect: one that a reader made run early is not repeated in its turn.
    pub(crate) fn is_done(&self, by: (u32, u32)) -> bool {
        self.by.contains(&by)
    }
}

impl Building {
    /// Returns what is configured for a name, with what bodies changed in it.
    pub(crate) fn configured(&self, slot: usize, name: &str) -> Option<Cow<'_, Entry>> {
        let entry = self.config.entry(name)?;
        if let Some(reached) = &self.reached
            && let Some((_, value)) = reached.borrow().values.iter().find(|(at, _)| *at == slot)
        {
            return Some(Cow::Owned(Entry { value: value.clone(), ..entry.clone() }));
        }
        Some(Cow::Borrowed(entry))
    }
}

impl Record {
    pub(crate) fn new(shape: Rc<Shaped>, package: usize, instance: Option<Building>) -> Self {
        let n = shape.names.len();
        let slots = RefCell::new(vec![Slot::default(); n]);
        let lazy = RefCell::new(vec![LazyState::default(); n]);
        Record { shape, slots, lazy, package, instance, changed: Cell::new(false), next: Cell::new(0) }
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.shape.position(name)
    }

    /// As [`Record::position`], for a statement that stores: usually it is the next slot, which needs no hashing.
    pub(crate) fn position_to_store(&self, name: &str) -> Option<usize> {
        let next = self.next.get();
        let found = match self.shape.names.get(next) {
            Some(expected) if expected == name => next,
            _ => self.position(name)?,
        };
        self.next.set(found + 1);
        Some(found)
    }

    pub(crate) fn stored(&self, i: usize) -> Value {
        self.slots.borrow()[i].value.clone()
    }
}

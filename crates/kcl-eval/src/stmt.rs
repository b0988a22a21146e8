//! Statements.

use std::rc::Rc;

use kcl_syntax::ast::{BinaryOp, Expr, ExprId, Stmt, StmtId, Target, TargetStep, TypeId};
use kcl_value::{Op, Str, Value};

use crate::access::Step;
use crate::fault::Eval;
use crate::lazy::{Sequential, same_object};
use crate::machine::{Machine, StorePlace};
use crate::mistake::Mistake;
use crate::origin::OriginKind;
use crate::package::Symbol;
use crate::record::{Building, Record, Slot, mentions};
use crate::rtype::RType;

impl<'p> Machine<'p> {
    /// Runs a statement; its value matters where it ends a lambda or stands at top level.
    pub(crate) fn exec(&mut self, place: StorePlace, stmt: StmtId) -> Eval<Value> {
        self.step()?;
        let tree = self.tree(self.pkg);
        self.started = (self.pkg, stmt);
        self.cover(stmt);
        match tree.stmt(stmt) {
            // Imports are done before anything runs.
            Stmt::Import(_) => return Ok(Value::Undefined),
            Stmt::Attr(_) if self.is_013() => {}
            // A decorated schema begins at its keyword.
            Stmt::Schema(def) if !def.decorators.is_empty() => self.start_at(def.name.span),
            _ => self.start_at(tree.stmt_span(stmt)),
        }
        match tree.stmt(stmt) {
            Stmt::Expr(expr) => {
                let value = self.expr(*expr)?;
                // A value that stands alone is output; the result of a call is dropped.
                if place == StorePlace::Globals {
                    match tree.expr(*expr) {
                        Expr::Call(_) => {}
                        Expr::Schema(_) => self.packages[self.pkg].add_schema_output(value.clone()),
                        _ => self.packages[self.pkg].outputs.push(value.clone()),
                    }
                }
                Ok(value)
            }
            Stmt::Assign { targets, ty, value } => self.exec_assign(place, targets, *ty, *value),
            Stmt::AugAssign { target, op, value } => self.exec_aug_assign(place, target, *op, *value),
            Stmt::Unification { target, value, .. } => {
                self.exec_unification(place, &target.name, tree.stmt_span(stmt), *value)
            }
            Stmt::Attr(attr) => self.exec_attr(attr, stmt),
            Stmt::If { cond, body, orelse } => {
                self.exec_if(place, *cond, body, orelse)?;
                Ok(Value::Undefined)
            }
            Stmt::Assert { cond, guard, msg } => self.exec_assert(*cond, *guard, *msg),
            Stmt::Schema(def) => {
                if let Some(Symbol::Schema(id)) = self.symbol(self.pkg, &def.name.name) {
                    self.defined[id as usize] = true;
                }
                Ok(Value::Undefined)
            }
            Stmt::Import(_) | Stmt::TypeAlias { .. } | Stmt::Rule(_) => Ok(Value::Undefined),
        }
    }

    fn exec_assign(
        &mut self,
        place: StorePlace,
        targets: &[Target],
        ty: Option<TypeId>,
        value: ExprId,
    ) -> Eval<Value> {
        self.marks.clear();
        let pushed = self.targets.len();
        self.targets.extend(targets.iter().map(|t| t.name.name.clone()));
        let mut result = self.expr(value)?;
        if let Some(ty) = ty {
            let ty = self.rtype(self.pkg, ty);
            result = self.pack(result, ty)?;
        }
        if let Some(target) = targets.first() {
            self.trace(target.span.to(self.tree(self.pkg).expr_span(value)), OriginKind::Assigned);
        }
        for target in targets {
            self.store(place, target, result.clone(), Sequential::IfMentions(value))?;
        }
        self.targets.truncate(pushed);
        Ok(result)
    }

    fn exec_aug_assign(
        &mut self,
        place: StorePlace,
        target: &Target,
        op: BinaryOp,
        value: ExprId,
    ) -> Eval<Value> {
        self.targets.push(target.name.name.clone());
        let right = self.expr(value)?;
        self.trace(target.span.to(self.tree(self.pkg).expr_span(value)), OriginKind::Appended);
        let newer = self.origin;
        let left = self.read_target(place, target)?;
        let older = self.origin;
        let result = self.binary(op, left, right)?;
        self.origin = self.trace_over(OriginKind::Appended, newer, older);
        self.store(place, target, result.clone(), Sequential::Augmented)?;
        self.targets.pop();
        Ok(result)
    }

    fn exec_unification(
        &mut self,
        place: StorePlace,
        name: &Str,
        span: base_diag::Span,
        value: ExprId,
    ) -> Eval<Value> {
        self.marks.clear();
        self.targets.push(name.clone());
        let new = self.expr(value)?;
        self.trace(span, OriginKind::Assigned);
        let old = match place {
            StorePlace::Globals => match self.symbol(self.pkg, name) {
                Some(Symbol::Schema(_)) => {
                    let schema = self.load(name)?;
                    return self.binary(BinaryOp::BitOr, schema, new);
                }
                _ => stored(&self.packages[self.pkg].globals, name),
            },
            StorePlace::Instance => self.record().map_or(Value::Undefined, |r| stored(r, name)),
            StorePlace::Locals => {
                self.packages[self.pkg].frames.lookup(name).map_or(Value::Undefined, |e| e.value.clone())
            }
        };
        let result = match old {
            Value::Undefined => new,
            old => self.binary(BinaryOp::BitOr, old, new)?,
        };
        self.store_name(place, name, result.clone(), Sequential::Never)?;
        self.targets.pop();
        Ok(result)
    }

    fn exec_assert(&mut self, cond: ExprId, guard: Option<ExprId>, msg: Option<ExprId>) -> Eval<Value> {
        if let Some(guard) = guard
            && !self.decide(guard)?
        {
            return Ok(Value::Undefined);
        }
        let holds = self.decide(cond)?;
        let message = match msg {
            Some(msg) => self.expr(msg)?,
            None => Value::Undefined,
        };
        if holds {
            return Ok(Value::Undefined);
        }
        let mut fault =
            self.fault(Mistake::AssertionFailed { said: message.as_str().unwrap_or_default().into() });
        if self.shows_sides {
            fault.sides = self.sides(cond);
        }
        Err(fault)
    }

    fn store(&mut self, place: StorePlace, target: &Target, value: Value, seq: Sequential) -> Eval<()> {
        if target.path.is_empty() {
            return self.store_name(place, &target.name.name, value, seq);
        }
        let name = &target.name.name;
        let root = self.load(name)?;
        let steps = self.target_steps(&target.path)?;
        if place == StorePlace::Instance && self.has_reached(target, seq) {
            return Ok(());
        }
        let changed = self.set_path(root.clone(), &steps, value.clone())?;
        match place {
            StorePlace::Locals => {
                let origin = self.origin;
                if let Some(frame) = self.packages[self.pkg].frames.top_mut() {
                    frame.bind(name.clone(), changed, origin);
                }
            }
            StorePlace::Globals => {
                let record = self.packages[self.pkg].globals.clone();
                if let Some(i) = record.position(name) {
                    self.replace_in_place(&record, i, &root, &changed);
                }
            }
            StorePlace::Instance => {
                if let Some(record) = self.record().cloned()
                    && let Some(i) = record.position(name)
                {
                    self.replace_in_place(&record, i, &root, &changed);
                    self.reach_configured(
                        &record,
                        i,
                        target,
                        &Change { root, steps, value, changed: &changed },
                    )?;
                    self.store_attribute(&record, i, changed.clone())?;
                    // A reader that holds the changed object sees the configuration laid over it.
                    let stored = record.stored(i);
                    if let Some((cached, _)) = &mut record.lazy.borrow_mut()[i].cache
                        && same_object(cached, &changed)
                    {
                        *cached = stored;
                    }
                }
            }
        }
        Ok(())
    }

    // Whether an assignment that builds on the old value was made in the configured value already, when a reader made it run early.
    fn has_reached(&self, target: &Target, seq: Sequential) -> bool {
        let Some(record) = self.record() else { return false };
        let Some(building) = &record.instance else { return false };
        let Some(reached) = &building.reached else { return false };
        let builds_on_old = match seq {
            Sequential::Augmented => true,
            Sequential::IfMentions(value) => mentions(self.tree(self.pkg), value, &target.name.name),
            Sequential::Never => false,
        };
        builds_on_old && reached.borrow().is_done((building.active.get(), target.span.start))
    }

    // An assignment to a part of an instance that was configured changes what is configured.
    fn reach_configured(
        &mut self,
        record: &Record,
        i: usize,
        target: &Target,
        change: &Change<'_>,
    ) -> Eval<()> {
        let Some(building) = &record.instance else { return Ok(()) };
        let Some(reached) = &building.reached else { return Ok(()) };
        let name = &record.shape.names[i];
        let Some(entry) = building.configured(i, name) else { return Ok(()) };
        let anything = match self.stored_type(building, i, name)? {
            Some(ty) => matches!(*ty, RType::Any),
            None => true,
        };
        if !shares(&change.root, &entry.value, &change.steps, anything) {
            return Ok(());
        }
        let value = if same_object(&change.root, &entry.value) {
            change.changed.clone()
        } else {
            let configured = entry.value.clone();
            self.set_path(configured, &change.steps, change.value.clone())?
        };
        reached.borrow_mut().put(i, value, (building.active.get(), target.span.start));
        Ok(())
    }

    fn store_name(&mut self, place: StorePlace, name: &Str, value: Value, seq: Sequential) -> Eval<()> {
        match place {
            StorePlace::Globals => {
                // Quirk: a global that a body makes run lands in the instance, if that has an attribute of the name.
                if !self.records.is_empty() && self.store_in_instance(name, &value)? {
                    return Ok(());
                }
                self.store_global(name, value, seq);
            }
            StorePlace::Locals => {
                let origin = self.origin;
                if let Some(frame) = self.packages[self.pkg].frames.top_mut() {
                    frame.bind(name.clone(), value, origin);
                }
            }
            StorePlace::Instance => drop(self.store_in_instance(name, &value)?),
        }
        Ok(())
    }

    fn store_in_instance(&mut self, name: &str, value: &Value) -> Eval<bool> {
        let Some(record) = self.record().cloned() else { return Ok(false) };
        let Some(i) = record.position(name) else { return Ok(false) };
        let Some(building) = &record.instance else { return Ok(false) };
        // Quirk: in an instance that a read made come into being, a variable of a body that the schema did not know when it was
        // defined is seen by that body only.
        if self.cx.woken > 0
            && !self.cx.in_lambda
            && record.shape.setters[i].is_empty()
            && building.declared.borrow()[i].is_none()
            && building.config.entry(name).is_none()
        {
            building.lost.borrow_mut().push((i, building.active.get()));
        }
        self.store_attribute(&record, i, value.clone())?;
        Ok(true)
    }

    /// Stores a body value: packed to its declared type, with the configuration merged over it once more.
    pub(crate) fn store_attribute(&mut self, record: &Rc<Record>, i: usize, value: Value) -> Eval<()> {
        let Some(building) = &record.instance else { return Ok(()) };
        let name = &record.shape.names[i];
        let ty = self.stored_type(building, i, name)?;
        let origin = self.origin;
        let value = match &ty {
            Some(ty) => self.pack(value, ty)?,
            None => value,
        };
        let mut slot = Slot { value, op: Op::Override, origin };
        if let Some(entry) = building.configured(i, name) {
            slot = self.merge_config(slot, &entry)?;
            if let Some(ty) = &ty {
                slot.value = self.pack(slot.value, ty)?;
            }
        }
        self.store_slot(record, i, slot);
        Ok(())
    }

    /// The type that a body stores a name with: that of the declaration that ran last. So a base does not know what is derived
    /// from it, a mixin knows its host, and a declaration that a read made run early counts from then on.
    fn stored_type<'b>(&mut self, building: &'b Building, i: usize, name: &str) -> Eval<Option<&'b RType>>
    where
        'p: 'b,
    {
        if self.is_013() {
            return self.outermost_type(building, name);
        }
        let declared = building.declared.borrow()[i];
        Ok(declared.map(|(package, ty)| self.rtype(package as usize, ty)))
    }

    fn read_target(&mut self, place: StorePlace, target: &Target) -> Eval<Value> {
        let _ = place;
        let mut value = self.load(&target.name.name)?;
        for step in self.target_steps(&target.path)? {
            value = self.take_step(&value, &step)?;
        }
        Ok(value)
    }

    fn target_steps(&mut self, path: &[TargetStep]) -> Eval<Vec<Step>> {
        let mut steps = Vec::with_capacity(path.len());
        for step in path {
            steps.push(match step {
                TargetStep::Member(name) => Step::Member(name.name.clone()),
                TargetStep::Index(expr) => Step::Index(self.expr(*expr)?),
            });
        }
        Ok(steps)
    }
}

/// An assignment to a part of an attribute.
struct Change<'a> {
    /// The attribute before.
    root: Value,
    steps: Vec<Step>,
    /// What the part becomes.
    value: Value,
    /// The attribute after.
    changed: &'a Value,
}

/// Whether a path leads through an object that both values hold. Conversion to a type copies dicts and lists, not instances; `any` copies
/// nothing.
fn shares(one: &Value, other: &Value, steps: &[Step], anything: bool) -> bool {
    let (mut one, mut other) = (one, other);
    for step in steps {
        if same_object(one, other) && (anything || matches!(one, Value::Schema(_))) {
            return true;
        }
        match (step.part_of(one), step.part_of(other)) {
            (Some(a), Some(b)) => (one, other) = (a, b),
            _ => return false,
        }
    }
    false
}

fn stored(record: &Record, name: &str) -> Value {
    record.position(name).map_or(Value::Undefined, |i| record.stored(i))
}

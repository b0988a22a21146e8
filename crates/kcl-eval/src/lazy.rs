//! Who runs when: reading and storing names of a lazy record.
//!
//! A name that is read before its statement ran makes the statement run. With several setters the *last* one runs first;
//! if that one reads the name again, it lands here one level deeper and runs the one before it. What was read is cached,
//! so a foreign read sees the final value. In-order execution then runs every statement once more for its effects.
//!
//! Under a lambda, laziness is limited, as in the reference: a body reads globals and unset attributes as they are, a lambda
//! that was made in a body reads all of its instance as it is, and a lazily run assignment is lost.

use std::rc::Rc;

use kcl_syntax::ast::{ExprId, Stmt, StmtId};
use kcl_value::{Entry, Op, OriginId, Str, Value};
use rustc_hash::FxHashSet;

use crate::context::Backtrack;
use crate::fault::Eval;
use crate::machine::{Machine, StorePlace};
use crate::record::{Record, Setter, Side, Slot, mentions};
use crate::scope::{Frame, FrameKind, TextStart};

impl Machine<'_> {
    /// Reads a slot, running its setter if nobody has yet.
    pub(crate) fn lazy_read(&mut self, record: &Rc<Record>, i: usize) -> Eval<Value> {
        let setters = record.shape.setters[i].len() as u32;
        let level = {
            let mut lazy = record.lazy.borrow_mut();
            let state = &mut lazy[i];
            let own_target = self.targets.last() == Some(&record.shape.names[i]);
            if own_target && (state.level == 0 || setters <= 1) {
                return Ok(self.load_slot(record, i));
            }
            if let Some((value, origin)) = &state.cache {
                self.origin = *origin;
                return Ok(value.clone());
            }
            if state.level >= setters {
                return Ok(self.load_slot(record, i));
            }
            state.level += 1;
            state.level
        };
        // Inside braces, loops, lambdas and bodies the lazily run statement stores into that scope: the read sees the value, the
        // global keeps its own until its turn comes.
        let inner = !self.records.is_empty() || self.packages[record.package].frames.top().is_some();
        let keep = inner && (setters > 1 || !self.is_013()) && record.instance.is_none() && level == 1;
        let kept = keep.then(|| self.begin_keeping(record, i));
        let outer = self.cx;
        self.cx = outer.of_early();
        let ran = self.run_setters(record, i, level);
        self.cx = outer;
        // Also after an error, which `runtime.catch` may swallow.
        record.lazy.borrow_mut()[i].level = level - 1;
        ran?;
        let value = self.load_slot(record, i);
        if let Some(kept) = kept {
            self.end_keeping(kept);
            // (What landed in the instance is not here.)
            if !self.records.is_empty() && !value.is_undefined() {
                self.note_woken(record, i, &value);
            }
        }
        let mut lazy = record.lazy.borrow_mut();
        let state = &mut lazy[i];
        state.cache = Some((value.clone(), self.origin));
        state.resolved = true;
        Ok(value)
    }

    // Reading an attribute inside a schema's body can be what computes it. Lambdas that the body calls then see the value,
    // until the body ends; where braces or a loop inside of the body read it, until these end.
    fn note_woken(&mut self, record: &Record, i: usize, value: &Value) {
        let (at, origin) = (record.package, self.origin);
        let frames = &self.packages[self.pkg].frames;
        let in_body =
            frames.len() <= self.cx.text.text || frames.top().is_some_and(|f| f.kind == FrameKind::Body);
        if !in_body && at == self.pkg {
            return self.bind_apart(at, &record.shape.names[i], value.clone(), origin);
        }
        if let Some(building) = self.record().and_then(|record| record.instance.as_ref()) {
            building.woken.borrow_mut().push((at, i));
        }
    }

    // Binds a name in the innermost scope of a package, not as a key or loop variable of it.
    fn bind_apart(&mut self, package: usize, name: &Str, value: Value, origin: OriginId) {
        let package = &mut self.packages[package];
        if let Some(frame) = package.frames.top_mut() {
            frame.set_apart(name, Some(Entry { origin, ..Entry::new(value, Op::Union) }));
            package.add_framed(name);
        }
    }

    fn begin_keeping(&mut self, record: &Rc<Record>, i: usize) -> usize {
        let start = self.kept.len();
        let slot = record.slots.borrow()[i].clone();
        self.kept.push((record.clone(), i, slot));
        self.cx.keeping += 1;
        start
    }

    // What a statement stored that ran in an inner scope is there until that scope ends: bodies that run meanwhile see it, and not
    // the older value that the global still has, and gets back.
    fn end_keeping(&mut self, start: usize) {
        self.cx.keeping -= 1;
        let mut bound = FxHashSet::default();
        for (record, i, before) in self.kept.split_off(start).into_iter().rev() {
            // The last value of each.
            if !before.value.is_undefined() && self.records.is_empty() && bound.insert((record.package, i)) {
                let Slot { value, origin, .. } = record.slots.borrow()[i].clone();
                self.bind_apart(record.package, &record.shape.names[i], value, origin);
            }
            record.slots.borrow_mut()[i] = before;
        }
    }

    // Runs the setter of a level. One that turned out to be the other side of an `if` stored nothing: edition 0.13 then goes on with
    // the one before it.
    fn run_setters(&mut self, record: &Rc<Record>, i: usize, level: u32) -> Eval<()> {
        let setters = &record.shape.setters[i];
        let mut level = level as usize;
        loop {
            self.skipped = false;
            self.run_setter(record, &setters[setters.len() - level])?;
            if !self.skipped || record.instance.is_none() || level == setters.len() {
                return Ok(());
            }
            level += 1;
            record.lazy.borrow_mut()[i].level = level as u32;
        }
    }

    fn load_slot(&mut self, record: &Record, i: usize) -> Value {
        let slots = record.slots.borrow();
        self.origin = slots[i].origin;
        slots[i].value.clone()
    }

    fn run_setter(&mut self, record: &Rc<Record>, setter: &Setter) -> Eval<()> {
        self.enter()?;
        let outer = self.save();
        let place = match &record.instance {
            None => {
                self.pkg = record.package;
                let frames = self.packages[self.pkg].frames.len();
                self.cx = self.cx.of_setter(TextStart { global: true, ..TextStart::at(frames) });
                self.exec_setter(StorePlace::Globals, setter)?;
                self.resume(outer);
                self.leave();
                return Ok(());
            }
            // Under a lambda only attribute statements reach the instance; what others assign is lost.
            Some(_) if self.cx.in_lambda && !self.is_attribute(record, setter) => StorePlace::Locals,
            Some(_) => StorePlace::Instance,
        };
        let Some(building) = &record.instance else { return Ok(()) };
        let package = self.links(&building.schema)?.package_of(setter.part, &building.schema);
        let saved_part = building.active.replace(setter.part);
        self.pkg = package;
        let text = TextStart::at(self.packages[self.pkg].frames.len());
        // Parameters of another body of the chain are not on the stack: lend them for the time of this statement.
        let frame = (saved_part != setter.part)
            .then(|| building.frames.borrow().get(setter.part as usize).cloned().flatten())
            .flatten();
        let lent = frame.is_some();
        if let Some(frame) = frame {
            self.packages[package].frames.push(frame);
        }
        self.records.push(record.clone());
        if place == StorePlace::Locals {
            self.packages[self.pkg].frames.push(Rc::new(Frame::new(FrameKind::Body)));
        }
        self.cx = self.cx.of_setter(text);
        let result = self.exec_setter(place, setter);
        if place == StorePlace::Locals {
            self.packages[package].frames.pop();
        }
        self.records.pop();
        if lent {
            self.packages[package].frames.pop();
        }
        building.active.set(saved_part);
        self.resume(outer);
        self.leave();
        result
    }

    fn is_attribute(&mut self, record: &Record, setter: &Setter) -> bool {
        let Some(building) = &record.instance else { return false };
        let Ok(links) = self.links(&building.schema) else { return false };
        let package = links.package_of(setter.part, &building.schema);
        setter.branch.is_none() && matches!(self.tree(package).stmt(setter.stmt), Stmt::Attr(_))
    }

    fn exec_setter(&mut self, place: StorePlace, setter: &Setter) -> Eval<()> {
        let Some((inner, side)) = setter.branch else { return self.exec(place, setter.stmt).map(drop) };
        let backtrack = Backtrack { stmt: (self.pkg, setter.stmt), inner, side };
        let saved = self.cx.backtrack.replace(backtrack);
        let result = self.exec(place, setter.stmt);
        self.cx.backtrack = saved;
        result.map(drop)
    }

    /// Runs an `if`: the side that its condition chooses, unless it is run lazily for the other one.
    pub(crate) fn exec_if(
        &mut self,
        place: StorePlace,
        cond: ExprId,
        body: &[StmtId],
        orelse: &[StmtId],
    ) -> Eval<()> {
        let taken = if self.decide(cond)? { Side::Then } else { Side::Else };
        // If the condition itself made another statement run, the restriction to one side is forgotten.
        if self.cx.backtrack.is_some_and(|b| b.stmt == self.started && b.side != taken) {
            self.skipped = self.is_013();
            return Ok(());
        }
        let branch = if taken == Side::Then { body } else { orelse };
        for stmt in branch {
            self.exec(place, *stmt)?;
            if self.cx.backtrack.is_some_and(|b| b.inner == *stmt && b.stmt.0 == self.pkg) {
                break;
            }
        }
        Ok(())
    }

    /// Stores a value into a slot and keeps the books of in-order execution.
    pub(crate) fn store_slot(&mut self, record: &Rc<Record>, i: usize, slot: Slot) {
        let before = std::mem::replace(&mut record.slots.borrow_mut()[i], slot);
        if self.cx.keeping > 0 && record.instance.is_none() {
            self.kept.push((record.clone(), i, before));
        }
        record.changed.set(true);
        self.count_execution(record, i);
    }

    /// Counts an in-order execution of a setter, and fills the cache after the last one.
    pub(crate) fn count_execution(&mut self, record: &Record, i: usize) {
        let mut lazy = record.lazy.borrow_mut();
        let state = &mut lazy[i];
        if state.level != 0 {
            return;
        }
        state.done += 1;
        let setters = &record.shape.setters[i];
        if state.cache.is_none() && (state.done as usize >= setters.len() || self.is_last_setter(record, i)) {
            let slots = record.slots.borrow();
            state.cache = Some((slots[i].value.clone(), slots[i].origin));
        }
    }

    fn is_last_setter(&self, record: &Record, i: usize) -> bool {
        record.shape.setters[i].last().is_some_and(|s| {
            let stmt = s.branch.map_or(s.stmt, |(inner, _)| inner);
            self.started == (self.pkg, stmt)
        })
    }

    /// Stores a global.
    pub(crate) fn store_global(&mut self, name: &Str, value: Value, sequential: Sequential) {
        let record = self.packages[self.pkg].globals.clone();
        let Some(i) = record.position_to_store(name) else { return };
        let origin = self.origin;
        let state_is_new = {
            let state = &record.lazy.borrow()[i];
            state.cache.is_none() && state.level == 0 && record.shape.setters[i].len() == 1
        };
        self.store_slot(&record, i, Slot { value: value.clone(), op: Op::Union, origin });
        // The only setter of a name that nobody read yet: the cache is filled, and what its value mentions changes nothing.
        if state_is_new {
            return;
        }
        let sequential = match sequential {
            Sequential::Augmented => true,
            Sequential::IfMentions(rhs) => mentions(self.tree(self.pkg), rhs, name),
            Sequential::Never => false,
        };
        if sequential {
            let last = self.is_last_setter(&record, i);
            let state = &mut record.lazy.borrow_mut()[i];
            if state.level == 0 && (!state.resolved || last) {
                state.cache = Some((value, origin));
            }
        }
    }

    /// Replaces the value that a path assignment changed in place: the slot, and a cache that held the same object.
    pub(crate) fn replace_in_place(&mut self, record: &Rc<Record>, i: usize, old: &Value, new: &Value) {
        if self.cx.keeping > 0 && record.instance.is_none() {
            let before = record.slots.borrow()[i].clone();
            self.kept.push((record.clone(), i, before));
        }
        // What was read from the cache may be older than what is stored by now: then only the cache is changed.
        let slot = &mut record.slots.borrow_mut()[i].value;
        if same_object(slot, old) {
            *slot = new.clone();
        }
        if let Some((cached, _)) = &mut record.lazy.borrow_mut()[i].cache
            && same_object(cached, old)
        {
            *cached = new.clone();
        }
    }
}

/// Whether an assignment belongs to a chain of changes, which later foreign reads see up to that point.
#[derive(Clone, Copy)]
pub(crate) enum Sequential {
    /// `_a += ..`
    Augmented,
    /// `_a = .. _a ..`
    IfMentions(ExprId),
    /// Anything else.
    Never,
}

pub(crate) fn same_object(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
        (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
        (Value::Schema(a), Value::Schema(b)) => Rc::ptr_eq(a, b),
        _ => false,
    }
}

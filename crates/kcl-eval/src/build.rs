//! Instances: what happens when `S(args) {config}` is computed.
//!
//! All bodies of the chain (base first, own, mixins) run on one record. An attribute takes its default unless the
//! configuration replaces it; then the configuration is merged over it; whatever a body stores later, the configuration
//! is merged over it again and so has the last word. When the outermost body is done the record becomes an instance:
//! extra keys are judged, required attributes tested (for a top-level instance, recursively), checks run.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use kcl_syntax::ast::{Attr, AttrOp, Expr, ExprId, IndexSignature, SchemaExpr, StmtId};
use kcl_value::{Dict, Entry, Function, Instance, NO_INDEX, Op, Position, Precision, Str, Value};

use rustc_hash::FxHashSet;

use crate::fault::Eval;
use crate::machine::{Machine, StorePlace};
use crate::mistake::Mistake;
use crate::record::{Building, Record, Shaped, Slot};
use crate::schema::Schema;
use crate::scope::{Frame, FrameKind, TextStart};
use crate::union::{Mode, Path};

/// Longest chain of bases that `instances()` follows; a cycle ends here.
const MAX_CHAIN: u32 = 256;

/// What an instance is made from.
pub(crate) struct Run {
    pub(crate) config: Rc<Dict>,
    pub(crate) args: Rc<Vec<Value>>,
    pub(crate) kwargs: Rc<Vec<(Str, Value)>>,
    pub(crate) position: Position,
    /// Whether the configuration holds values of an instance that is finished already.
    pub(crate) again: bool,
}

impl Machine<'_> {
    /// `S {..}`, `S(..) {..}`, `v {..}`
    pub(crate) fn schema_expr(&mut self, expr: &SchemaExpr) -> Eval<Value> {
        self.cx.nesting += 1;
        let siblings = self.enter_siblings();
        let config = self.expr(expr.config)?;
        self.cx.siblings = siblings;
        // The name of the schema does not move the current line.
        let callee = match self.tree(self.pkg).expr(expr.name) {
            Expr::Name(parts) => self.load_dotted(parts)?,
            _ => self.expr(expr.name)?,
        };
        let (args, kwargs) = self.arguments(&expr.args, &expr.kwargs)?;
        self.cx.nesting -= 1;
        let Value::Func(func) = &callee else {
            return self.binary(kcl_syntax::ast::BinaryOp::BitOr, callee, config);
        };
        let config = match config {
            Value::Dict(dict) => dict,
            _ => Rc::default(),
        };
        let offset = self.tree(self.pkg).expr_span(expr.name).start;
        let position = Position { package: self.pkg as u32, offset, precision: Precision::Exact };
        match &**func {
            Function::SchemaType(schema) => {
                let schema = self.schema(schema.id).clone();
                let (args, kwargs) = self.kept_arguments(args, kwargs);
                let run = Run { config, args, kwargs, position, again: false };
                self.run_schema(&schema, run)
            }
            Function::RuleType(id) => {
                let rule = self.rule(*id);
                self.run_rule_at(rule, config, args, kwargs, position)
            }
            // A lambda is no schema, but nobody complains.
            Function::Lambda(_) => Ok(Value::Undefined),
            _ => Err(self.fault(Mistake::NotASchema { ty: callee.type_name() })),
        }
    }

    /// `S(..)` without braces.
    pub(crate) fn call_schema(
        &mut self,
        schema: &Rc<Schema>,
        args: Vec<Value>,
        kwargs: Vec<(Str, Value)>,
    ) -> Eval<Value> {
        let (args, kwargs) = self.kept_arguments(args, kwargs);
        let position = Position::default();
        self.run_schema(schema, Run { config: Rc::default(), args, kwargs, position, again: false })
    }

    /// Makes an instance.
    pub(crate) fn run_schema(&mut self, schema: &Rc<Schema>, run: Run) -> Eval<Value> {
        self.enter()?;
        let site = self.leave_from();
        let links = self.links(schema)?;
        let shape = self.shape_of(schema, links).clone();
        self.charge(4 + shape.names.len() as u64)?;
        let building = Building {
            schema: schema.clone(),
            config: run.config,
            args: run.args,
            kwargs: run.kwargs,
            position: run.position,
            frames: RefCell::new(Vec::new()),
            active: Cell::new(0),
            declared: RefCell::new(vec![None; shape.names.len()]),
            index_key: RefCell::new(None),
            woken: RefCell::new(Vec::new()),
            lost: RefCell::new(Vec::new()),
            reached: (!run.again).then(RefCell::default),
        };
        let used = self.begin_use(schema.package, Some(self.place_of(building.position)));
        let record = Rc::new(Record::new(shape, schema.package, Some(building)));
        let (creator, outer) = (self.pkg, self.save());
        self.records.push(record.clone());
        self.cx = self.cx.of_body(self.packages[schema.package].frames.len());
        self.run_body(&record, schema, 0)?;
        self.cx.nesting -= 1;
        let value = self.finish(&record, schema, creator)?;
        self.resume(outer);
        self.records.pop();
        self.end_frame(used);
        self.return_to(site);
        self.leave();
        Ok(value)
    }

    // Where an instance is made, for origins.
    fn place_of(&self, position: Position) -> (u32, u32) {
        match position.precision {
            Precision::Unknown => self.at,
            _ => (position.package, position.offset),
        }
    }

    /// Runs the bodies of a schema: base, own, mixins. `start` is the number of its first part in the record's chain.
    fn run_body(&mut self, record: &Rc<Record>, schema: &Rc<Schema>, start: u32) -> Eval<()> {
        let Some(building) = &record.instance else { return Ok(()) };
        let links = self.links(schema)?;
        if let Some(base) = &links.base {
            self.run_apart(record, base, start)?;
        }
        let own = start + links.base_count;
        let outer = self.save();
        self.pkg = schema.package;
        self.cx.text = TextStart::at(self.packages[self.pkg].frames.len());
        let saved_part = building.active.replace(own);
        let def = schema.def();
        if !def.params.is_empty() {
            self.bind_schema_params(building, schema, own)?;
        }
        for stmt in &def.body {
            self.exec(StorePlace::Instance, *stmt)?;
        }
        for decorator in &def.decorators {
            self.decorator(*decorator, &def.name.name, building.position)?;
        }
        let mut next = own + 1;
        for mixin in &links.mixins {
            self.run_apart(record, mixin, next)?;
            next += self.links(mixin)?.parts.len() as u32;
        }
        if !def.params.is_empty() {
            self.packages[schema.package].frames.pop();
        }
        building.active.set(saved_part);
        self.resume(outer);
        Ok(())
    }

    // A base or mixin works on the shared values, but on its own copy of who was read and run.
    fn run_apart(&mut self, record: &Rc<Record>, schema: &Rc<Schema>, start: u32) -> Eval<()> {
        let books = record.lazy.borrow().clone();
        self.run_body(record, schema, start)?;
        *record.lazy.borrow_mut() = books;
        Ok(())
    }

    fn bind_schema_params(&mut self, building: &Building, schema: &Schema, part: u32) -> Eval<()> {
        let marks = self.marks.clone();
        self.packages[self.pkg].frames.push(Rc::new(Frame::new(FrameKind::Body)));
        self.bind_params(&schema.def().params, building.args.to_vec(), building.kwargs.to_vec())?;
        self.marks = marks;
        let frame = self.packages[self.pkg].frames.capture().pop();
        let mut frames = building.frames.borrow_mut();
        if frames.len() <= part as usize {
            frames.resize(part as usize + 1, None);
        }
        frames[part as usize] = frame;
        Ok(())
    }

    /// An attribute statement.
    pub(crate) fn exec_attr(&mut self, attr: &Attr, stmt: StmtId) -> Eval<Value> {
        self.marks.clear();
        let name = &attr.name.name;
        let Some(record) = self.record().cloned() else { return Ok(Value::Undefined) };
        let (Some(building), Some(i)) = (&record.instance, record.position_to_store(name)) else {
            return Ok(Value::Undefined);
        };
        self.targets.push(name.clone());
        building.declared.borrow_mut()[i] = Some((self.pkg as u32, attr.ty));
        let entry = building.configured(i, name);
        let entry = entry.as_deref();
        if entry.is_some() {
            for decorator in &attr.decorators {
                self.decorator(*decorator, name, building.position)?;
            }
        }
        let replaced = entry.is_some_and(|e| e.op == Op::Override && e.index == NO_INDEX);
        let outermost = if self.is_013() { self.outermost_type(building, name)? } else { None };
        let ty = outermost.unwrap_or_else(|| self.rtype(self.pkg, attr.ty));
        let mut slot = record.slots.borrow()[i].clone();
        match attr.default {
            Some(default) if !replaced => {
                let ty = (!self.is_013() || entry.is_none()).then_some(ty);
                slot = self.default_slot(attr, default, slot, stmt, ty)?;
            }
            // The default is not computed, but it is what a reader would have got.
            Some(_) if self.origins.is_some() => {
                let span = self.tree(self.pkg).stmt_span(stmt);
                slot.origin = self.trace_default(span, Default::default(), slot.origin);
            }
            _ => {}
        }
        if let Some(entry) = entry {
            slot = self.merge_config(slot, entry)?;
            slot.value = self.pack(slot.value, ty)?;
        }
        self.store_slot(&record, i, slot);
        self.targets.pop();
        Ok(Value::Undefined)
    }

    fn default_slot(
        &mut self,
        attr: &Attr,
        default: ExprId,
        earlier: Slot,
        stmt: StmtId,
        ty: Option<&crate::rtype::RType>,
    ) -> Eval<Slot> {
        let mut value = self.expr(default)?;
        if attr.op == Some(AttrOp::Union) {
            value = self.binary(kcl_syntax::ast::BinaryOp::BitOr, earlier.value.clone(), value)?;
        }
        if let Some(ty) = ty {
            value = self.pack(value, ty)?;
        }
        if self.origins.is_some() {
            let span = self.tree(self.pkg).stmt_span(stmt);
            self.origin = self.trace_default(span, self.origin, earlier.origin);
        }
        Ok(Slot { value, op: Op::Override, origin: self.origin })
    }

    /// Turns the record into an instance and judges it.
    fn finish(&mut self, record: &Rc<Record>, schema: &Rc<Schema>, creator: usize) -> Eval<Value> {
        let Some(building) = &record.instance else { return Ok(Value::Undefined) };
        let mut attrs = Dict::with_capacity(record.shape.names.len());
        let lost = building.lost.borrow();
        for (i, (name, slot)) in record.shape.names.iter().zip(record.slots.borrow().iter()).enumerate() {
            if lost.is_empty() || !lost.iter().any(|(slot, _)| *slot == i) {
                attrs.push_new(name.clone(), slot.entry());
            }
        }
        drop(lost);
        let saved_pkg = std::mem::replace(&mut self.pkg, schema.package);
        // The default of an index signature may use the schema's own parameters.
        let own = self.links(schema)?.base_count;
        let frame = building.frames.borrow().get(own as usize).cloned().flatten();
        let pushed = frame.map(|frame| self.packages[schema.package].frames.push(frame)).is_some();
        // Instances that come from an index signature are parts of this one: they are tested with it, once all is merged.
        self.cx.nesting += 1;
        self.extra_keys(record, schema, &mut attrs)?;
        self.cx.nesting -= 1;
        if pushed {
            self.packages[schema.package].frames.pop();
        }
        self.pkg = saved_pkg;
        let instance = Instance {
            schema: schema.reference.clone(),
            attrs,
            config_keys: schema.config_keys(&building.config),
            args: building.args.clone(),
            kwargs: building.kwargs.clone(),
            position: building.position,
        };
        let value = Value::Schema(Rc::new(instance));
        self.remember_instance(schema, creator, &value)?;
        if self.cx.nesting == 0 {
            self.require(&value, &mut FxHashSet::default())?;
        }
        if schema.named_index().is_none() {
            record.changed.set(false);
            self.run_checks(record, schema, 0)?;
            if record.changed.get() {
                return Ok(with_slots(value, record));
            }
        }
        Ok(value)
    }

    fn extra_keys(&mut self, record: &Rc<Record>, schema: &Rc<Schema>, attrs: &mut Dict) -> Eval<()> {
        let Some(building) = &record.instance else { return Ok(()) };
        let name = schema.named_index();
        // A parameter of the same name hides the key.
        let shown = name.filter(|name| schema.def().params.iter().all(|param| param.name.name != **name));
        let first = attrs.len();
        let mut default = match schema.def().index_signature.as_deref() {
            // Computed once, needed or not; one that may use the key is computed for each.
            Some(IndexSignature { default: Some(default), name: None, .. }) => Some(self.expr(*default)?),
            _ => None,
        };
        for (key, entry) in building.config.iter() {
            if let Some(at) = record.position(key) {
                // A run of the schema over the finished values sees the index once more.
                if entry.index != NO_INDEX
                    && let Some(slot) = attrs.at_mut(at)
                {
                    slot.index = entry.index;
                }
                continue;
            }
            let Some(signature) = &schema.def().index_signature else {
                let schema = schema.reference.name.clone();
                return Err(self.fault(Mistake::UnknownAttribute { schema, name: key.clone() }));
            };
            if name.is_some() {
                *building.index_key.borrow_mut() = shown.map(|name| (name.clone(), Value::Str(key.clone())));
                default = signature.default.map(|default| self.expr(default)).transpose()?;
            }
            let merged = self.indexed_value(default.as_ref(), signature, key, entry)?;
            attrs.insert(key.clone(), merged);
            // With a named key the checks run for each extra key, before required attributes are tested.
            if name.is_some() {
                self.run_checks(record, schema, 0)?;
                *building.index_key.borrow_mut() = None;
            }
        }
        // The helper binding of a named key stood before the extra keys and is removed by moving the last one there.
        // A key of that very name goes with it.
        if let Some(name) = name.filter(|name| attrs.position(name).is_some_and(|at| at >= first)) {
            attrs.remove(name);
        }
        if name.is_some() && attrs.len() > first + 1 {
            let mut entries: Vec<(Str, Entry)> = attrs.iter().map(|(k, e)| (k.clone(), e.clone())).collect();
            let last = entries.pop();
            entries.splice(first..first, last);
            *attrs = entries.into_iter().collect();
        }
        Ok(())
    }

    fn indexed_value(
        &mut self,
        default: Option<&Value>,
        signature: &IndexSignature,
        key: &Str,
        entry: &Entry,
    ) -> Eval<Entry> {
        let mut merged = Dict::default();
        if let Some(default) = default
            && entry.op != Op::Override
        {
            merged.set(key.clone(), default.clone(), Op::Override);
        }
        // What is inserted at an index is appended: the index belonged to the braces.
        let entry = Entry { index: NO_INDEX, ..entry.clone() };
        self.merge_entry(&mut merged, key, entry, Mode::INDEX_DEFAULT, &mut Path::new())?;
        let mut merged = merged.remove(key).unwrap_or_default();
        let ty = self.rtype(self.pkg, signature.value);
        merged.value = self.pack(merged.value, ty)?;
        Ok(merged)
    }

    // A record that only answers reads: the finished attributes of an instance.
    pub(crate) fn finished_record(&mut self, schema: &Rc<Schema>, value: &Value) -> Eval<Rc<Record>> {
        let mut shape = crate::record::Shape::default();
        let attrs = value.as_dict().cloned().unwrap_or_default();
        attrs.keys().for_each(|k| {
            shape.enter(k);
        });
        let record = Record::new(Shaped::new(&Arc::new(shape)), schema.package, None);
        for (slot, (_, entry)) in record.slots.borrow_mut().iter_mut().zip(attrs.iter()) {
            slot.value = entry.value.clone();
        }
        Ok(Rc::new(record))
    }

    fn remember_instance(&mut self, schema: &Rc<Schema>, creator: usize, value: &Value) -> Eval<()> {
        if self.instances.is_none() {
            return Ok(());
        }
        self.record_instance(schema.reference.id, creator, value);
        let mut above = self.links(schema)?.base.clone();
        for _ in 0..MAX_CHAIN {
            let Some(base) = above else { break };
            self.record_instance(base.reference.id, schema.package, value);
            above = self.links(&base)?.base.clone();
        }
        Ok(())
    }

    fn record_instance(&mut self, id: u32, package: usize, value: &Value) {
        if let Some(list) = self.instances.as_mut().and_then(|all| all.get_mut(id as usize)) {
            list.push((package, value.clone()));
        }
    }

    /// `S.instances()`
    pub(crate) fn instances_of(&self, schema: u32, full: bool) -> Value {
        let Some(list) = self.instances.as_ref().and_then(|all| all.get(schema as usize)) else {
            return Vec::new().into();
        };
        let main = self.program.main.0 as usize;
        if !full {
            return list
                .iter()
                .filter(|(p, _)| *p == main)
                .map(|(_, v)| v.clone())
                .collect::<Vec<_>>()
                .into();
        }
        let mut packages: Vec<usize> = Vec::new();
        for (package, _) in list {
            if !packages.contains(package) {
                packages.push(*package);
            }
        }
        let of = |p: &usize| list.iter().filter(|(q, _)| q == p).map(|(_, v)| v.clone()).collect::<Vec<_>>();
        packages.iter().flat_map(of).collect::<Vec<_>>().into()
    }
}

/// The instance with the lists that its checks made grow: one that reads an attribute of a base makes that statement, and with it
/// the `+=` of the configuration, run once more. Whatever else a check stores is not seen.
fn with_slots(value: Value, record: &Record) -> Value {
    let Value::Schema(mut instance) = value else { return value };
    let attrs = &mut Rc::make_mut(&mut instance).attrs;
    for (name, slot) in record.shape.names.iter().zip(record.slots.borrow().iter()) {
        if let Some(at) = attrs.position(name)
            && let Some(entry) = attrs.at_mut(at)
            && slot.op == Op::Insert
            && matches!((&entry.value, &slot.value), (Value::List(_), Value::List(_)))
        {
            *entry = Entry { index: entry.index, ..slot.entry() };
        }
    }
    Value::Schema(instance)
}

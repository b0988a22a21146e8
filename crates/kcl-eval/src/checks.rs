//! Rules: the check blocks of schemas, `rule` statements, and what decorators say at run time.
//!
//! Checks run when an instance is finished: those of the base first, then its own, then those of its mixins, each in the package that wrote it.
//! The first that does not hold ends the program, unless the caller wants to know all; what is known about it is in `telling.rs`.

use std::rc::Rc;

use kcl_syntax::ast::{Check, Expr, ExprId};
use kcl_value::{Dict, Position, Precision, Str, Value};

use crate::build::Run;
use crate::fault::{Eval, Fault};
use crate::machine::Machine;
use crate::mistake::{Broken, Mistake};
use crate::record::Record;
use crate::schema::{Rule, Schema};
use crate::scope::{Frame, FrameKind};

/// So many broken checks are told besides the first.
const FURTHER: usize = 8;

impl Machine<'_> {
    /// Runs the checks of a finished instance. The first that does not hold is the error; the others are looked at for whoever
    /// reads it.
    pub(crate) fn run_checks(&mut self, record: &Rc<Record>, schema: &Rc<Schema>, start: u32) -> Eval<()> {
        let mut broken = None;
        self.checks_of(record, schema, start, &mut broken)?;
        broken.map_or(Ok(()), Err)
    }

    fn checks_of(
        &mut self,
        record: &Rc<Record>,
        schema: &Rc<Schema>,
        start: u32,
        broken: &mut Option<Box<Fault>>,
    ) -> Eval<()> {
        let links = self.links(schema)?;
        if let Some(base) = &links.base {
            self.checks_of(record, base, start, broken)?;
        }
        let Some(building) = &record.instance else { return Ok(()) };
        let own = start + links.base_count;
        let saved = std::mem::replace(&mut self.pkg, schema.package);
        let frame = building.frames.borrow().get(own as usize).cloned().flatten();
        let pushed = frame.map(|frame| self.packages[schema.package].frames.push(frame)).is_some();
        self.cx.nesting += 1;
        for check in &schema.def().checks {
            self.check_or_look(check, &schema.def().name.name, building.position, broken)?;
        }
        self.cx.nesting -= 1;
        if pushed {
            self.packages[schema.package].frames.pop();
        }
        self.pkg = saved;
        let mut next = own + 1;
        for mixin in &links.mixins {
            self.checks_of(record, mixin, next, broken)?;
            next += self.links(mixin)?.parts.len() as u32;
        }
        Ok(())
    }

    /// Runs a line. One that does not hold is kept, and the lines after it are only looked at; where somebody may catch the fault,
    /// it ends the instance at once.
    fn check_or_look(
        &mut self,
        check: &Check,
        schema: &Str,
        position: Position,
        broken: &mut Option<Box<Fault>>,
    ) -> Eval<()> {
        let Some(first) = broken else {
            let rule = (self.pkg as u32, self.tree(self.pkg).expr_span(check.cond));
            return match self.check_or_note(check, schema, position) {
                Err(fault) if self.looks_on() && fault.is_of(rule, position) => {
                    *broken = Some(fault);
                    Ok(())
                }
                done => done,
            };
        };
        let Mistake::CheckFailed { broken: first } = &mut first.mistake else { return Ok(()) };
        if first.further.len() < FURTHER {
            first.further.extend(self.look_at(check, schema, position));
        }
        Ok(())
    }

    /// Whether lines after the first that does not hold are looked at.
    fn looks_on(&self) -> bool {
        !self.options.keep_going && self.catching == 0
    }

    /// Runs a line that the program does not reach any more: it changes nothing, prints nothing, and may fail.
    fn look_at(&mut self, check: &Check, schema: &Str, position: Position) -> Option<Broken> {
        let before = self.checkpoint();
        let (printed, looking) = (self.log.len(), std::mem::replace(&mut self.looking, true));
        let result = self.check_line(check, schema, position);
        self.looking = looking;
        self.log.truncate(printed);
        let fault = result.err()?;
        self.rewind(before);
        let rule = (self.pkg as u32, self.tree(self.pkg).expr_span(check.cond));
        match fault.mistake {
            Mistake::CheckFailed { broken } if broken.rule == rule => Some(broken),
            _ => None,
        }
    }

    /// Runs a line. Where all is told, one that cannot be computed is no reason to leave out the others.
    fn check_or_note(&mut self, check: &Check, schema: &Str, position: Position) -> Eval<()> {
        if !self.collects() {
            return self.check_line(check, schema, position);
        }
        let before = self.checkpoint();
        match self.check_line(check, schema, position) {
            Err(mut fault) if !fault.is_fatal() => {
                self.rewind(before);
                if position.precision != Precision::Unknown {
                    fault.related = Some((self.position_place(position), format!("of this `{schema}`")));
                }
                self.tolerate(fault)
            }
            done => done,
        }
    }

    fn check_line(&mut self, check: &Check, schema: &Str, position: Position) -> Eval<()> {
        self.start_at(check.span);
        if let Some(guard) = check.guard
            && !self.decide(guard)?
        {
            return Ok(());
        }
        let holds = self.decide(check.cond)?;
        let message = match check.msg {
            Some(msg) => {
                let said = self.expr(msg)?;
                self.charge_whole(&said)?;
                kcl_value::to_text(&said)
            }
            None => String::new(),
        };
        if holds {
            return Ok(());
        }
        let known = position.precision != Precision::Unknown;
        let instance = known.then(|| self.position_place(position));
        let broken = self.broken_check(check, schema, position, message);
        let place = self.current_place();
        let mistake = Mistake::CheckFailed { broken };
        self.tolerate(Box::new(Fault { mistake, place, instance, related: None, caller: None, sides: None }))
    }

    /// Runs `@deprecated`; `@info` and anything else does nothing.
    pub(crate) fn decorator(&mut self, decorator: ExprId, name: &str, position: Position) -> Eval<()> {
        let tree = self.tree(self.pkg);
        let (func, kwargs) = match tree.expr(decorator) {
            Expr::Call(call) => {
                let (_, kwargs) = self.arguments(&call.args, &call.kwargs)?;
                (tree.expr(call.func), kwargs)
            }
            other => (other, Vec::new()),
        };
        if !matches!(func, Expr::Name(parts) if parts.len() == 1 && parts[0].name == "deprecated") {
            return Ok(());
        }
        // Only keywords count; the reference does not look at the others.
        let args = kcl_std::Args { positional: &[], keyword: &kwargs };
        let text = |name| args.keyword(name).and_then(Value::as_str).unwrap_or_default();
        let (version, reason) = (text("version").into(), text("reason").into());
        if !args.keyword("strict").is_none_or(Value::truthy) {
            return Ok(());
        }
        let place = self.position_line(position);
        Err(Fault::at(place, Mistake::Deprecated { name: name.into(), version, reason }))
    }

    /// `R(..)` without braces.
    pub(crate) fn run_rule(
        &mut self,
        rule: Rule,
        config: Rc<Dict>,
        args: Vec<Value>,
        kwargs: Vec<(Str, Value)>,
    ) -> Eval<Value> {
        self.run_rule_at(rule, config, args, kwargs, Position::default())
    }

    /// `R {cfg}`: builds the host protocol's value, runs the checks of the parents, then its own.
    pub(crate) fn run_rule_at(
        &mut self,
        rule: Rule,
        config: Rc<Dict>,
        args: Vec<Value>,
        kwargs: Vec<(Str, Value)>,
        position: Position,
    ) -> Eval<Value> {
        self.enter()?;
        let site = self.leave_from();
        let def = self.rule_def(rule);
        let host = def.host.as_ref().and_then(|h| self.find_schema(rule.package, &h.parts));
        let marks = self.marks.clone();
        let saved = std::mem::replace(&mut self.pkg, rule.package);
        let Some(host) = host else {
            self.rule_decorators(rule, position)?;
            self.rule_checks(rule, args, kwargs, position)?;
            self.pkg = saved;
            self.marks = marks;
            self.return_to(site);
            self.leave();
            return Ok(Dict::default().into());
        };
        let run = Run { config, args: Rc::default(), kwargs: Rc::default(), position, again: false };
        let value = self.run_schema(&host, run)?;
        self.rule_decorators(rule, position)?;
        let record = self.finished_record(&host, &value)?;
        self.records.push(record);
        self.rule_checks(rule, args, kwargs, position)?;
        self.records.pop();
        self.pkg = saved;
        self.marks = marks;
        self.return_to(site);
        self.leave();
        Ok(value)
    }

    // Those of its parents do not run.
    fn rule_decorators(&mut self, rule: Rule, position: Position) -> Eval<()> {
        let def = self.rule_def(rule);
        for decorator in &def.decorators {
            self.decorator(*decorator, &def.name.name, position)?;
        }
        Ok(())
    }

    fn rule_checks(
        &mut self,
        rule: Rule,
        args: Vec<Value>,
        kwargs: Vec<(Str, Value)>,
        position: Position,
    ) -> Eval<()> {
        self.enter()?;
        let def = self.rule_def(rule);
        for parent in &def.parents {
            if let Some(crate::package::Symbol::Rule(id)) = self.find_symbol(rule.package, &parent.parts) {
                let parent = self.rule(id);
                self.rule_checks(parent, args.clone(), kwargs.clone(), position)?;
            }
        }
        let saved = std::mem::replace(&mut self.pkg, rule.package);
        self.packages[self.pkg].frames.push(Rc::new(Frame::new(FrameKind::Body)));
        self.bind_params(&def.params, args, kwargs)?;
        for check in &def.checks {
            self.check_line(check, &def.name.name, position)?;
        }
        self.packages[self.pkg].frames.pop();
        self.pkg = saved;
        self.leave();
        Ok(())
    }
}

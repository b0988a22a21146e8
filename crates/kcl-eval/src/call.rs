//! Calls.

use std::rc::Rc;

use kcl_syntax::ast::{Expr, ExprId, Param};
use kcl_value::{Function, Str, Value};

use crate::context::OwnLambda;
use crate::fault::Eval;
use crate::host::MachineHost;
use crate::machine::{Machine, StorePlace};
use crate::mistake::Mistake;
use crate::record::Record;
use crate::scope::{Frame, FrameKind, TextStart};

/// A lambda with what it captured: the frames of its package, and the instance it was made in.
pub(crate) struct Closure {
    pub(crate) package: usize,
    pub(crate) expr: ExprId,
    pub(crate) frames: Vec<Rc<Frame>>,
    pub(crate) record: Option<Rc<Record>>,
    /// Whether it stands in a statement of the package, which a body made run.
    pub(crate) global: bool,
    /// How many of the frames belong to whoever made the statement run that it stands in.
    pub(crate) foreign: usize,
    /// In how many scopes it was made.
    pub(crate) scopes: usize,
}

impl Machine<'_> {
    /// Calls a value. Calling something that is not a function gives Undefined: the checker knew it only as any.
    pub(crate) fn call_value(
        &mut self,
        func: &Value,
        args: Vec<Value>,
        kwargs: Vec<(Str, Value)>,
    ) -> Eval<Value> {
        let Value::Func(func) = func else { return Ok(Value::Undefined) };
        self.enter()?;
        let value = match &**func {
            Function::Lambda(lambda) => match lambda.downcast_ref::<Closure>() {
                Some(closure) => {
                    let site = self.leave_from();
                    let value = self.call_lambda(closure, args, kwargs);
                    let value = value.map_err(|fault| self.called_from(fault, site))?;
                    self.return_to(site);
                    value
                }
                None => Value::Undefined,
            },
            Function::Builtin(id) => self.call_library(*id, &Value::Undefined, &args, &kwargs)?,
            Function::Method(id, receiver) => self.call_library(*id, receiver, &args, &kwargs)?,
            Function::SchemaType(schema) => {
                let schema = self.schema(schema.id).clone();
                self.call_schema(&schema, args, kwargs)?
            }
            Function::RuleType(id) => {
                let rule = self.rule(*id);
                self.run_rule(rule, Rc::default(), args, kwargs)?
            }
            Function::Instances(schema) => {
                let full = kwargs.iter().map(|(_, v)| v).chain(&args).next().is_some_and(Value::truthy);
                self.instances_of(schema.id, full)
            }
            Function::Plugin(module, name) => self.call_plugin(module, name, &args, &kwargs)?,
        };
        self.leave();
        Ok(value)
    }

    fn call_library(
        &mut self,
        id: u16,
        receiver: &Value,
        args: &[Value],
        kwargs: &[(Str, Value)],
    ) -> Eval<Value> {
        let args = kcl_std::Args { positional: args, keyword: kwargs };
        let mut host = MachineHost { machine: self };
        match kcl_std::call(id, &mut host, receiver, args) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.library_fault(error)),
        }
    }

    fn call_lambda(&mut self, closure: &Closure, args: Vec<Value>, kwargs: Vec<(Str, Value)>) -> Eval<Value> {
        let Expr::Lambda(lambda) = self.tree(closure.package).expr(closure.expr) else {
            return Ok(Value::Undefined);
        };
        let used = self.begin_use(closure.package, None);
        let outer = self.save();
        let saved_marks = self.marks.clone();
        self.pkg = closure.package;
        let depth = self.packages[self.pkg].frames.len();
        let own = match (&closure.record, closure.global) {
            (None, _) => OwnLambda::Free,
            (Some(_), true) => OwnLambda::Woken(depth as u32),
            (Some(_), false) => OwnLambda::Method(depth as u32),
        };
        for frame in &closure.frames {
            self.packages[self.pkg].frames.push_captured(frame.clone());
        }
        let start = TextStart {
            text: depth + closure.foreign,
            loops: self.packages[self.pkg].frames.len(),
            global: false,
            made: closure.scopes,
            called: depth,
            entered: self.scopes() + 1,
        };
        self.cx = self.cx.of_lambda(start, own);
        let entered = closure.record.clone().map(|record| self.records.push(record)).is_some();
        if entered {
            // Loop variables and parameters around a lambda of a body give way to the attributes.
            self.marks.clear();
        }
        self.packages[self.pkg].frames.push(Rc::new(Frame::new(FrameKind::Call)));
        self.bind_params(&lambda.params, args, kwargs)?;
        if let Some(frame) = self.packages[self.pkg].frames.top_mut() {
            frame.params = lambda.params.len();
        }
        let mut result = Value::Undefined;
        for stmt in &lambda.body {
            result = self.exec(StorePlace::Locals, *stmt)?;
        }
        if let Some(ret) = lambda.ret {
            let ty = self.rtype(self.pkg, ret);
            result = self.pack(result, ty)?;
        }
        if entered {
            self.records.pop();
        }
        self.packages[self.pkg].frames.truncate(depth);
        self.marks = saved_marks;
        self.resume(outer);
        self.end_frame(used);
        Ok(result)
    }

    /// Binds parameters in the innermost frame: defaults, then positional, then keyword arguments.
    pub(crate) fn bind_params(
        &mut self,
        params: &[Param],
        args: Vec<Value>,
        kwargs: Vec<(Str, Value)>,
    ) -> Eval<()> {
        let origins = self.take_origins();
        // Defaults are computed whether or not there is an argument: they can fail, and they move the current line.
        for param in params {
            let value = match param.default {
                Some(default) => {
                    let value = self.expr(default)?;
                    self.pack_param(param, value)?
                }
                None => Value::None,
            };
            self.bind_local(&param.name.name, value);
        }
        for (i, (param, value)) in params.iter().zip(args.iter()).enumerate() {
            let value = self.pack_param(param, value.clone())?;
            self.origin = origins.get(i).copied().unwrap_or(self.origin);
            self.bind_local(&param.name.name, value);
            self.mark(&param.name.name);
        }
        for (i, (name, value)) in kwargs.into_iter().enumerate() {
            let Some(param) = params.iter().find(|p| p.name.name == name) else { continue };
            let value = self.pack_param(param, value)?;
            self.origin = origins.get(args.len() + i).copied().unwrap_or(self.origin);
            self.bind_local(&name, value);
            self.mark(&name);
        }
        Ok(())
    }

    fn pack_param(&mut self, param: &Param, value: Value) -> Eval<Value> {
        match param.ty {
            Some(ty) => {
                let ty = self.rtype(self.pkg, ty);
                self.pack(value, ty)
            }
            None => Ok(value),
        }
    }

    /// Binds a name in the innermost frame of the running package.
    pub(crate) fn bind_local(&mut self, name: &Str, value: Value) {
        let origin = self.origin;
        if let Some(frame) = self.packages[self.pkg].frames.top_mut() {
            frame.bind(name.clone(), value, origin);
        }
    }

    fn call_plugin(
        &mut self,
        module: &str,
        name: &str,
        args: &[Value],
        kwargs: &[(Str, Value)],
    ) -> Eval<Value> {
        for value in args.iter().chain(kwargs.iter().map(|(_, value)| value)) {
            self.charge_whole(value)?;
        }
        let arguments = crate::output::plugin_arguments(args, kwargs);
        let answer = match self.looking {
            true => Err(kcl_std::Reason::OnlyLooking.to_string()),
            false => self.world.call_plugin(module, name, &arguments),
        };
        let parsed = answer.and_then(|text| kcl_std::value_from_json(&text).map_err(|error| error.message));
        parsed.map_err(|said| self.fault(Mistake::PluginFailed { said }))
    }
}

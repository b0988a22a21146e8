//! A program that runs for one of its functions: a test case, a property.

use std::sync::Arc;

use kcl_syntax::ast::{CompareOp, Expr, ExprId};
use kcl_syntax::program::Program;
use kcl_value::{Function, Value};

use crate::call::Closure;
use crate::coverage::Coverage;
use crate::fault::{Eval, Fault};
use crate::machine::Machine;
use crate::options::{Options, Outside};
use crate::outline::Outline;

/// What became of a call.
#[derive(Debug)]
pub struct Called {
    /// What `print` wrote.
    pub log: String,
    /// Whether the arguments are none that the parameters take: the function did not run.
    pub refused: bool,
    /// The run-time error, if there was one.
    pub fault: Option<Fault>,
    /// What ran, if that was asked for.
    pub coverage: Option<Coverage>,
}

/// Runs a checked program and calls a function of its main package with arguments, which are JSON texts.
pub fn call(
    program: &Program,
    outlines: &[Arc<Outline>],
    options: &Options,
    world: &dyn Outside,
    (function, arguments): (&str, &[String]),
) -> Called {
    let mut machine = Machine::new(program, outlines, options, world);
    machine.load_packages();
    machine.shows_sides = true;
    let mut refused = false;
    let mut run = || {
        crate::run_packages(&mut machine)?;
        let function = machine.load(&function.into())?;
        let arguments = match machine.fitting(&function, arguments) {
            Ok(arguments) => arguments,
            Err(fault) => {
                refused = true;
                return Err(fault);
            }
        };
        machine.call_value(&function, arguments, Vec::new())
    };
    let fault = run().err().map(|fault| *fault);
    let coverage = machine.coverage.take().map(|coverage| *coverage);
    Called { log: std::mem::take(&mut machine.log), refused, fault, coverage }
}

impl Machine<'_> {
    /// Turns texts into values of the types of the parameters.
    fn fitting(&mut self, function: &Value, arguments: &[String]) -> Eval<Vec<Value>> {
        let Value::Func(function) = function else { return Ok(Vec::new()) };
        let Function::Lambda(lambda) = &**function else { return Ok(Vec::new()) };
        let Some(closure) = lambda.downcast_ref::<Closure>() else { return Ok(Vec::new()) };
        let package = closure.package;
        let Expr::Lambda(lambda) = self.tree(package).expr(closure.expr) else { return Ok(Vec::new()) };
        let mut values = Vec::with_capacity(arguments.len());
        for (param, text) in lambda.params.iter().zip(arguments) {
            let value = kcl_std::value_from_json(text).unwrap_or(Value::Undefined);
            values.push(match param.ty {
                Some(ty) => {
                    let ty = self.rtype(package, ty);
                    self.pack(value, ty)?
                }
                None => value,
            });
        }
        Ok(values)
    }

    /// Both sides of a comparison that did not hold, as YAML. They are computed once more: nothing in the language changes by that
    /// but the log, which is put back.
    pub(crate) fn sides(&mut self, condition: ExprId) -> Option<Box<(String, String)>> {
        let tree = self.tree(self.pkg);
        let mut condition = condition;
        while let Expr::Paren(inner) = tree.expr(condition) {
            condition = *inner;
        }
        let Expr::Compare(left, rest) = tree.expr(condition) else { return None };
        let [(CompareOp::Eq, right)] = &**rest else { return None };
        let (log, before) = (self.log.len(), self.checkpoint());
        let left = self.expr(*left);
        let right = self.expr(*right);
        self.rewind(before);
        self.log.truncate(log);
        let text = |value: &Value| crate::output::yaml_text(value, &self.options.output);
        Some(Box::new((text(&left.ok()?), text(&right.ok()?))))
    }
}

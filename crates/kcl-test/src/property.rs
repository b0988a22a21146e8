//! Properties: a lambda that must hold for all values of its parameters' types. It is tried with random ones; what fails is made
//! as simple as it still fails.

use base_diag::{Code, Diagnostic, Place};
use kcl::{Call, Outside};
use kcl_syntax::ast::{Expr, Param};
use serde_json::Value;

use crate::cases::Case;
use crate::chance::{Dice, Maker, simpler};
use crate::snapshots::Recorder;
use crate::suite::{Failure, Ran, Suite};

/// How properties are tried.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The same seed tries the same values.
    pub seed: u64,
    /// So many values must hold.
    pub samples: u32,
}

impl Default for Trial {
    fn default() -> Self {
        Trial { seed: 1, samples: 100 }
    }
}

/// So many values are thrown away, because a check refuses them, for each that is kept.
const PATIENCE: u32 = 50;
/// So many simpler values are tried.
const SHRINKING: u32 = 500;

impl Suite {
    /// Tries a property.
    pub(crate) fn try_property(&self, case: &Case, trial: Trial, world: &dyn Outside) -> Ran {
        let params = self.params(&case.name);
        let program = self.prepared.program();
        let mut maker = Maker::new(program, Dice::new(trial.seed, &case.name));
        let mut ran = Ran::default();
        let mut kept = 0;
        for _ in 0..trial.samples.saturating_mul(PATIENCE) {
            if kept >= trial.samples {
                break;
            }
            let make = |param: &Param| param.ty.map_or(Value::Null, |ty| maker.value(program.main, ty, 0));
            let arguments: Vec<Value> = params.iter().map(make).collect();
            let call = self.call(case, &arguments, world);
            if call.refused {
                continue;
            }
            kept += 1;
            // What a check refused was never a value of the property: it covers nothing.
            if let Some(covered) = &call.coverage {
                ran.coverage.get_or_insert_default().add(covered);
            }
            if call.diagnostic.is_some() {
                let (arguments, call, steps) = self.shrink(case, arguments, call, world);
                ran.log.clone_from(&call.log);
                ran.failure = self.failure(call).map(|mut failure| {
                    failure.diagnostic.notes.extend(notes(params, &arguments, trial.seed, (kept, steps)));
                    failure
                });
                return ran;
            }
        }
        if kept == 0 {
            let message = format!("no value was found that the types and checks of `{}` accept", case.name);
            let help =
                "the checks refuse nearly everything: give the parameter a narrower type, or write a test";
            let package = program.main_package();
            let place = crate::cases::lambda(package, &case.name);
            let place = place.map_or(Place::None, |(name, _)| package.place(name.span));
            let diagnostic = Diagnostic::error(Code::EVALUATION, "property-without-values", place, message);
            ran.failure = Some(Failure { diagnostic: diagnostic.with_help(help), diff: String::new() });
        }
        ran
    }

    fn params(&self, name: &str) -> &[Param] {
        let package = self.prepared.program().main_package();
        match crate::cases::lambda(package, name).map(|(_, id)| package.tree.expr(id)) {
            Some(Expr::Lambda(lambda)) => &lambda.params,
            _ => &[],
        }
    }

    fn call(&self, case: &Case, arguments: &[Value], world: &dyn Outside) -> Call {
        let texts: Vec<String> = arguments.iter().map(Value::to_string).collect();
        self.prepared.call(&case.name, &texts, &Recorder::of_property(world))
    }

    /// Makes the arguments simpler as long as the property still fails; returns what is left and how many steps it took.
    fn shrink(
        &self,
        case: &Case,
        from: Vec<Value>,
        call: Call,
        world: &dyn Outside,
    ) -> (Vec<Value>, Call, u32) {
        let (mut best, mut failed, mut steps, mut budget) = (from, call, 0, SHRINKING);
        'again: loop {
            let places = [true, false].into_iter().flat_map(|bold| (0..best.len()).map(move |at| (bold, at)));
            for (bold, at) in places.collect::<Vec<_>>() {
                for candidate in simpler(&best[at], bold) {
                    if budget == 0 {
                        break 'again;
                    }
                    budget -= 1;
                    let mut arguments = best.clone();
                    if arguments[at] == candidate {
                        continue;
                    }
                    arguments[at] = candidate;
                    let call = self.call(case, &arguments, world);
                    if !call.refused && call.diagnostic.is_some() {
                        (best, failed, steps) = (arguments, call, steps + 1);
                        continue 'again;
                    }
                }
            }
            break;
        }
        (best, failed, steps)
    }
}

/// What a property failed for, and how that was found.
fn notes(params: &[Param], arguments: &[Value], seed: u64, (kept, steps): (u32, u32)) -> Vec<String> {
    let values = params.iter().zip(arguments);
    let mut notes: Vec<String> =
        values.map(|(param, argument)| format!("for {} = {argument}", param.name.name)).collect();
    let plural = if steps == 1 { "" } else { "s" };
    notes.push(format!("value {kept} of --seed {seed}, made simpler in {steps} step{plural}"));
    notes
}

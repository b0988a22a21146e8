//! The machine: everything that changes while a program runs.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use base_diag::{Place, Span};
use kcl_syntax::ast::{StmtId, Tree};
use kcl_syntax::program::Program;
use kcl_value::{Dict, OriginId, OutputOptions, Position, Precision, Str, Value};
use rustc_hash::FxHashMap;

use crate::context::Context;
use crate::coverage::Coverage;
use crate::fault::{Eval, Fault};
use crate::mistake::Mistake;
use crate::options::{Cancel, Options, Outside};
use crate::origin::Origins;
use crate::outline::Outline;
use crate::package::PackageState;
use crate::record::{Record, Slot};
use crate::rtype::Converting;
use crate::schema::Schema;

/// The current line before a call, and the place of the call around it.
pub(crate) type CallSite = ((u32, u32), Option<(u32, u32)>);

/// What a schema was given, as its instances keep it: by position, and by name.
pub(crate) type KeptArguments = (Rc<Vec<Value>>, Rc<Vec<(Str, Value)>>);

/// A running program.
pub(crate) struct Machine<'p> {
    pub(crate) program: &'p Program,
    pub(crate) options: &'p Options,
    pub(crate) world: &'p dyn Outside,
    /// The outlines of its packages.
    pub(crate) outlines: &'p [Arc<Outline>],
    pub(crate) packages: Vec<PackageState<'p>>,
    /// Where each package of an outline stands in the program.
    pub(crate) homes: FxHashMap<u64, usize>,
    /// Schemas of all packages, made when they are first used.
    pub(crate) schemas: Vec<OnceCell<Rc<Schema>>>,
    /// Whether the statement of a schema was reached: what it knows of its bases depends on it.
    pub(crate) defined: Vec<bool>,
    /// The package whose code is running.
    pub(crate) pkg: usize,
    /// Instances under construction, innermost last.
    pub(crate) records: Vec<Rc<Record>>,
    /// Names that are local right now and therefore skip the instance under construction.
    pub(crate) marks: Vec<Str>,
    /// Names that the running statements set, innermost statement last.
    pub(crate) targets: Vec<Str>,
    /// The statement that was started last.
    pub(crate) started: (usize, StmtId),
    /// Where the last node started: the line of a run-time error.
    pub(crate) at: (u32, u32),
    /// What the running code stands in.
    pub(crate) cx: Context,
    /// Edition 0.13: the `if` that ran last for one of its assignments took the other side.
    pub(crate) skipped: bool,
    /// What the globals were before statements changed them that run lazily in an inner scope.
    pub(crate) kept: Vec<(Rc<Record>, usize, Slot)>,
    pub(crate) converting: Converting,
    pub(crate) depth: u32,
    /// The deepest that a walk over early definitions went.
    pub(crate) deepest: u32,
    pub(crate) steps: u64,
    /// The step after which the budget and the caller's wish to stop are looked at.
    pause_at: u64,
    pub(crate) cells: u64,
    /// What ran, if that is recorded.
    pub(crate) coverage: Option<Box<Coverage>>,
    /// Whether a failed assertion tells both sides of its comparison.
    pub(crate) shows_sides: bool,
    /// `keep_going`: what did not hold so far.
    pub(crate) collected: Vec<Fault>,
    /// Calls that are running whose failure somebody may catch.
    pub(crate) catching: u32,
    /// A check runs that the program does not reach: the world stays as it is.
    pub(crate) looking: bool,
    pub(crate) log: String,
    /// Options that were asked for.
    pub(crate) asked: RefCell<Vec<Str>>,
    /// Where interpolated strings are put together.
    pub(crate) scratch: String,
    /// Built-in functions that were read.
    pub(crate) builtins: RefCell<FxHashMap<Str, Value>>,
    /// What most instances are made with: no arguments.
    pub(crate) no_arguments: KeptArguments,
    /// Regular expressions that were compiled.
    pub(crate) patterns: kcl_std::Patterns,
    /// Output that replaces the planned one (`manifests.yaml_stream`).
    pub(crate) output: Option<String>,
    /// Where the call stands that replaced it.
    pub(crate) replaced_at: Place,
    /// The documents of that output, and how they were written.
    pub(crate) streamed: Option<(Value, OutputOptions)>,
    /// Instances per schema id, if the program asks for them: (package of creation, value).
    pub(crate) instances: Option<Vec<Vec<(usize, Value)>>>,
    pub(crate) origins: Option<Origins>,
    /// The origin of the value that was computed last; only meaningful when tracking is on.
    pub(crate) origin: OriginId,
}

/// Where a statement stores what it computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StorePlace {
    /// The globals of the running package.
    Globals,
    /// The instance under construction.
    Instance,
    /// The innermost frame: the body of a lambda.
    Locals,
}

/// So many faults of one run are told.
const MOST_COLLECTED: usize = 100;

/// One value may take this part of all cells.
const LARGEST_PART: u64 = 16;

/// So many bytes of text are one cell.
pub(crate) const TEXT_CELL: usize = 16;

impl<'p> Machine<'p> {
    pub(crate) fn new(
        program: &'p Program,
        outlines: &'p [Arc<Outline>],
        options: &'p Options,
        world: &'p dyn Outside,
    ) -> Self {
        Machine {
            program,
            outlines,
            options,
            world,
            packages: Vec::with_capacity(program.packages.len()),
            homes: FxHashMap::default(),
            schemas: Vec::new(),
            defined: Vec::new(),
            pkg: program.main.0 as usize,
            records: Vec::new(),
            marks: Vec::new(),
            targets: Vec::new(),
            started: (usize::MAX, StmtId(u32::MAX)),
            at: (program.main.0, 0),
            cx: Context::default(),
            skipped: false,
            kept: Vec::new(),
            converting: Converting::default(),
            depth: 0,
            deepest: 0,
            steps: 0,
            pause_at: next_pause(0, options),
            cells: 0,
            coverage: options.cover.then(|| Box::new(Coverage::new(program.packages.len()))),
            shows_sides: false,
            collected: Vec::new(),
            catching: 0,
            looking: false,
            log: String::new(),
            asked: RefCell::default(),
            scratch: String::new(),
            builtins: RefCell::default(),
            no_arguments: KeptArguments::default(),
            patterns: kcl_std::Patterns::default(),
            output: None,
            replaced_at: Place::None,
            streamed: None,
            instances: None,
            origins: options.track_origins.then(Origins::default),
            origin: OriginId::default(),
        }
    }

    /// Returns the tree of a package; it outlives the machine, so nothing stays borrowed.
    pub(crate) fn tree(&self, package: usize) -> &'p Tree {
        &self.program.packages[package].tree
    }

    /// Returns arguments as instances keep them: those that are none are shared.
    pub(crate) fn kept_arguments(&self, args: Vec<Value>, kwargs: Vec<(Str, Value)>) -> KeptArguments {
        let (none, unnamed) = &self.no_arguments;
        (
            if args.is_empty() { none.clone() } else { Rc::new(args) },
            if kwargs.is_empty() { unnamed.clone() } else { Rc::new(kwargs) },
        )
    }

    /// Returns how many scopes are open in the running package.
    pub(crate) fn scopes(&self) -> usize {
        self.packages[self.pkg].frames.len()
    }

    /// Returns the innermost instance under construction.
    pub(crate) fn record(&self) -> Option<&Rc<Record>> {
        self.records.last()
    }

    /// Notes that a node starts: errors from now on are reported at its line.
    pub(crate) fn start_at(&mut self, span: Span) {
        self.at = (self.pkg as u32, span.start);
    }

    /// Makes an error at the current line.
    #[cold]
    pub(crate) fn fault(&self, mistake: Mistake) -> Box<Fault> {
        Fault::at(self.current_place(), mistake)
    }

    /// Whether faults that concern one value only are collected.
    pub(crate) fn collects(&self) -> bool {
        self.options.keep_going && self.catching == 0 && self.collected.len() < MOST_COLLECTED
    }

    /// Notes a fault and goes on, if the caller wants to know all of them; otherwise the fault ends the run.
    pub(crate) fn tolerate(&mut self, fault: Box<Fault>) -> Eval<()> {
        if !self.collects() {
            return Err(fault);
        }
        // A body that runs again finds the same things.
        if !self.collected.iter().any(|known| known.repeats(&fault)) {
            self.collected.push(*fault);
        }
        Ok(())
    }

    /// Returns the current line as a place.
    pub(crate) fn current_place(&self) -> Place {
        let (package, offset) = self.cx.call_site.unwrap_or(self.at);
        self.line_place(package, offset)
    }

    /// Begins the call of a lambda or a schema; returns what [`Self::return_to`] needs.
    pub(crate) fn leave_from(&mut self) -> CallSite {
        let site = (self.at, self.cx.call_site);
        if self.options.debug && self.cx.call_site.is_none() {
            self.cx.call_site = Some(self.at);
        }
        site
    }

    /// Ends a call: with `-d` the current line is put back.
    pub(crate) fn return_to(&mut self, site: CallSite) {
        if self.options.debug {
            (self.at, self.cx.call_site) = site;
        }
    }

    /// Notes where the lambda was called that a fault comes out of; the innermost call counts.
    #[cold]
    pub(crate) fn called_from(&self, mut fault: Box<Fault>, (at, _): CallSite) -> Box<Fault> {
        fault.caller.get_or_insert_with(|| self.line_place(at.0, at.1));
        fault
    }

    fn line_place(&self, package: u32, offset: u32) -> Place {
        let Some(package) = self.program.packages.get(package as usize) else { return Place::None };
        let (file, local) = package.locate(offset);
        Place::Line(file, self.program.sources.position(file, local).line)
    }

    /// Returns the current line as the position of an instance that is made here without braces of its own.
    pub(crate) fn current_position(&self) -> Position {
        let (package, offset) = self.cx.call_site.unwrap_or(self.at);
        Position { package, offset, precision: Precision::Line }
    }

    /// Returns the position of an instance that is made of a dict: the current line, as in the reference; where all is told about
    /// data, the first key of the dict.
    pub(crate) fn position_of(&self, dict: &Dict) -> Position {
        let told = self.origins.as_ref().filter(|_| self.options.keep_going);
        let first = told.and_then(|origins| dict.iter().find_map(|(_, entry)| origins.get(entry.origin)));
        match first {
            Some(row) => {
                Position { package: row.package, offset: row.span.start, precision: Precision::Exact }
            }
            None => self.current_position(),
        }
    }

    /// Turns the position of an instance into a place; without one it is the current line.
    pub(crate) fn position_place(&self, position: Position) -> Place {
        match position.precision {
            Precision::Unknown => self.current_place(),
            Precision::Line => self.line_place(position.package, position.offset),
            Precision::Exact => match self.program.packages.get(position.package as usize) {
                Some(package) => package.place(Span::new(position.offset, position.offset + 1)),
                None => Place::None,
            },
        }
    }

    /// Returns the whole line of a position, for errors that the reference reports without a column; with `-d`, the current line.
    pub(crate) fn position_line(&self, position: Position) -> Place {
        match position.precision {
            _ if self.options.debug => self.current_place(),
            Precision::Exact => self.line_place(position.package, position.offset),
            _ => self.position_place(position),
        }
    }

    /// Enters one level of nesting; fails when the program nests too deep.
    pub(crate) fn enter(&mut self) -> Eval<()> {
        self.depth += 1;
        if self.depth > self.options.max_depth {
            return Err(self.too_deep());
        }
        Ok(())
    }

    #[cold]
    fn too_deep(&self) -> Box<Fault> {
        let (limit, most) = (self.options.max_depth, Options::default().max_depth);
        let flag = if limit < most { "--max-depth" } else { "" };
        self.exhausted("nesting", flag, u64::from(limit))
    }

    /// Fails as [`Machine::enter`] does if so many levels more would be too many; enters none.
    pub(crate) fn enter_many(&self, levels: u32) -> Eval<()> {
        if self.depth.saturating_add(levels) > self.options.max_depth {
            return Err(self.too_deep());
        }
        Ok(())
    }

    /// Leaves one level of nesting.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Counts one step of work.
    pub(crate) fn step(&mut self) -> Eval<()> {
        self.steps += 1;
        if self.steps > self.pause_at { self.pause() } else { Ok(()) }
    }

    #[cold]
    fn pause(&mut self) -> Eval<()> {
        if self.steps > self.options.max_steps {
            return Err(self.exhausted("steps", "--max-steps", self.options.max_steps));
        }
        if self.options.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            return Err(self.fault(Mistake::Cancelled));
        }
        self.pause_at = next_pause(self.steps, self.options);
        Ok(())
    }

    /// Counts the cells of a value that is about to be written out.
    pub(crate) fn charge_whole(&mut self, value: &Value) -> Eval<()> {
        self.charge(kcl_value::added_weight(value))
    }

    /// Counts value cells that are about to be made for one value. One alone may take a part of the budget only: what doubles is
    /// stopped before the next doubling fills the machine.
    pub(crate) fn charge(&mut self, cells: u64) -> Eval<()> {
        if cells > self.options.max_cells / LARGEST_PART {
            return Err(self.exhausted("memory", "--max-memory", self.options.max_cells));
        }
        self.charge_total(cells)
    }

    /// Counts value cells, however many they are.
    pub(crate) fn charge_total(&mut self, cells: u64) -> Eval<()> {
        self.cells = self.cells.saturating_add(cells);
        if self.cells > self.options.max_cells {
            return Err(self.exhausted("memory", "--max-memory", self.options.max_cells));
        }
        Ok(())
    }

    fn exhausted(&self, what: &'static str, flag: &'static str, limit: u64) -> Box<Fault> {
        self.fault(Mistake::BudgetExhausted { what, flag, limit })
    }

    /// Returns true if a name is local right now.
    pub(crate) fn is_marked(&self, name: &str) -> bool {
        self.marks.iter().any(|m| m == name)
    }

    /// Marks a name as local.
    pub(crate) fn mark(&mut self, name: &Str) {
        if !self.is_marked(name) {
            self.marks.push(name.clone());
        }
    }
}

/// Steps between two looks at the caller's wish to stop: a fraction of a millisecond.
const PAUSE_STEPS: u64 = 1024;

fn next_pause(steps: u64, options: &Options) -> u64 {
    match options.cancel {
        Some(_) => options.max_steps.min(steps + PAUSE_STEPS),
        None => options.max_steps,
    }
}

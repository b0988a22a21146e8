//! The machine as library functions see it.

use std::path::{Path, PathBuf};

use base_diag::Mistake as _;
use kcl_std::{Error, FileAnswer, FileOp, Host, Patterns, Reason};
use kcl_syntax::ast::{BasicType, Expr, Tree, Type, TypeId};
use kcl_value::{Function, OutputOptions, Str, Value};

use crate::call::Closure;
use crate::fault::Fault;
use crate::machine::Machine;
use crate::mistake::Mistake;
use crate::union::Mode;

/// Lends a machine to a library function.
pub(crate) struct MachineHost<'m, 'p> {
    pub(crate) machine: &'m mut Machine<'p>,
}

impl Machine<'_> {
    /// Turns a library error into a fault at the current line; a fault that only passed through stays as it is.
    pub(crate) fn library_fault(&self, error: Error) -> Box<Fault> {
        match error {
            Error::Mistake(mistake) => self.fault(Mistake::Library { mistake }),
            Error::Raised(raised) => match raised.downcast::<Fault>() {
                Ok(fault) => fault,
                Err(_) => self.fault(Mistake::Internal { what: "a library function failed" }),
            },
        }
    }
}

/// What a failed call may leave behind, and a caller that goes on must put back.
pub(crate) struct Checkpoint {
    running: crate::context::Saved,
    records: usize,
    targets: usize,
    marks: Vec<Str>,
    depth: u32,
    used: crate::origin::Frame,
    frames: Vec<usize>,
    kept: usize,
}

impl Machine<'_> {
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            running: self.save(),
            records: self.records.len(),
            targets: self.targets.len(),
            marks: self.marks.clone(),
            depth: self.depth,
            used: self.current_frame(),
            frames: self.packages.iter().map(|p| p.frames.len()).collect(),
            kept: self.kept.len(),
        }
    }

    pub(crate) fn rewind(&mut self, to: Checkpoint) {
        self.resume(to.running);
        self.records.truncate(to.records);
        self.targets.truncate(to.targets);
        self.marks = to.marks;
        self.depth = to.depth;
        self.end_frame(to.used);
        for (package, len) in self.packages.iter_mut().zip(to.frames) {
            package.frames.truncate(len);
        }
        for (record, i, before) in self.kept.split_off(to.kept.min(self.kept.len())).into_iter().rev() {
            record.slots.borrow_mut()[i] = before;
        }
    }
}

fn raised(fault: Box<Fault>) -> Error {
    Error::Raised(fault)
}

impl Host for MachineHost<'_, '_> {
    fn call(&mut self, func: &Value, args: &[Value]) -> Result<Value, Error> {
        let before = self.machine.checkpoint();
        self.machine.pass_origins(Vec::new());
        self.machine.catching += 1;
        let result = self.machine.call_value(func, args.to_vec(), Vec::new());
        self.machine.catching -= 1;
        result.map_err(|fault| {
            self.machine.rewind(before);
            raised(fault)
        })
    }

    fn lambda_shape(&self, func: &Value) -> Option<(usize, Option<Str>)> {
        let Value::Func(func) = func else { return None };
        let Function::Lambda(lambda) = &**func else { return None };
        let closure = lambda.downcast_ref::<Closure>()?;
        let tree = self.machine.tree(closure.package);
        let Expr::Lambda(lambda) = tree.expr(closure.expr) else { return None };
        let first = lambda.params.first().and_then(|p| p.ty).map(|ty| type_text(tree, ty));
        Some((lambda.params.len(), first))
    }

    fn union(&mut self, left: Value, right: Value) -> Result<Value, Error> {
        self.machine.union(left, right, Mode::UNION).map_err(raised)
    }

    fn error_text(&self, error: &Error) -> String {
        match error {
            Error::Mistake(mistake) => mistake.sentence().into_owned(),
            Error::Raised(raised) => raised.downcast_ref::<Fault>().map_or_else(String::new, Fault::caught),
        }
    }

    fn is_fatal(&self, error: &Error) -> bool {
        match error {
            Error::Mistake(_) => false,
            Error::Raised(raised) => raised.downcast_ref::<Fault>().is_some_and(Fault::is_fatal),
        }
    }

    fn print(&mut self, text: &str) {
        self.machine.log.push_str(text);
    }

    fn option(&self, key: &str) -> Option<Value> {
        self.machine.asked.borrow_mut().push(key.into());
        self.machine.options.arguments.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.clone())
    }

    fn set_output(&mut self, text: String, documents: &Value, written: OutputOptions) {
        self.machine.output = Some(text);
        self.machine.replaced_at = self.machine.current_place();
        self.machine.streamed = Some((documents.clone(), written));
    }

    fn charge(&mut self, cells: u64) -> Result<(), Error> {
        self.machine.charge(cells).map_err(raised)
    }

    fn patterns(&mut self) -> &mut Patterns {
        &mut self.machine.patterns
    }

    fn strict_range(&self) -> bool {
        self.machine.options.strict_range
    }

    fn debug_mode(&self) -> bool {
        self.machine.options.debug
    }

    fn module_root(&self) -> PathBuf {
        self.machine.options.module_root.clone()
    }

    fn work_dir(&self) -> PathBuf {
        self.machine.options.work_dir.clone()
    }

    fn current_file(&self) -> PathBuf {
        let (package, offset) = self.machine.at;
        let program = self.machine.program;
        let file = program.packages.get(package as usize).map(|p| p.locate(offset).0);
        file.and_then(|f| program.sources.get(f)).map(|f| PathBuf::from(&f.path)).unwrap_or_default()
    }

    fn read_file(&mut self, path: &Path) -> Result<Vec<u8>, Reason> {
        self.machine.world.read_file(path)
    }

    fn write_file(&mut self, path: &Path, data: &[u8], append: bool) -> Result<(), Reason> {
        if self.machine.looking {
            return Err(Reason::OnlyLooking);
        }
        self.machine.world.write_file(path, data, append)
    }

    fn file_op(&mut self, op: FileOp<'_>) -> Result<FileAnswer, Reason> {
        if self.machine.looking {
            return Err(Reason::OnlyLooking);
        }
        self.machine.world.file_op(op)
    }

    fn env(&self, name: &str) -> Option<String> {
        self.machine.world.env(name)
    }

    fn now(&self) -> (i64, u32, i32) {
        self.machine.world.now()
    }

    fn random(&mut self) -> Result<[u8; 16], Reason> {
        self.machine.world.random()
    }
}

/// Returns a written type as text, for `reduce`'s message.
pub(crate) fn type_text(tree: &Tree, ty: TypeId) -> Str {
    let optional = |ty: Option<TypeId>| ty.map_or_else(|| "any".into(), |ty| type_text(tree, ty));
    match tree.ty(ty) {
        Type::Any | Type::Missing | Type::NotAType(_) => "any".into(),
        Type::Basic(BasicType::Int) => "int".into(),
        Type::Basic(BasicType::Str) => "str".into(),
        Type::Basic(BasicType::Float) => "float".into(),
        Type::Basic(BasicType::Bool) => "bool".into(),
        Type::Literal(literal) => crate::rtype::literal_type(literal).to_string().into(),
        Type::Named(parts) => parts.last().map(|p| p.name.clone()).unwrap_or_default(),
        Type::List(item) => ecow::eco_format!("[{}]", optional(*item)),
        Type::Dict(key, value) => ecow::eco_format!("{{{}:{}}}", optional(*key), optional(*value)),
        Type::Union(members) => {
            members.iter().map(|m| type_text(tree, *m).to_string()).collect::<Vec<_>>().join(" | ").into()
        }
        Type::Function(..) => "function".into(),
    }
}

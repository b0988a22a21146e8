//! Braces: entries merged one by one into the dict that is also their scope.

use std::rc::Rc;

use kcl_syntax::ast::{Dotted, Entry as AstEntry, EntryOp, Expr, ExprId, Key};
use kcl_value::{Dict, Entry, NO_INDEX, Op, Str, Value};

use crate::fault::Eval;
use crate::machine::Machine;
use crate::origin::OriginKind;
use crate::scope::{Frame, FrameKind};
use crate::union::{Mode, Path};

impl Machine<'_> {
    /// Computes braces. While they are computed the dict is the innermost frame, so later entries see earlier keys.
    pub(crate) fn braces(&mut self, entries: &[AstEntry]) -> Eval<Dict> {
        self.charge(1 + entries.len() as u64)?;
        let frame = Frame::braces(FrameKind::Braces, entries.len());
        self.packages[self.pkg].frames.push(Rc::new(frame));
        for entry in entries {
            self.brace_entry(entry)?;
        }
        let frame =
            self.packages[self.pkg].frames.pop().unwrap_or_else(|| Rc::new(Frame::new(FrameKind::Braces)));
        Ok(Rc::try_unwrap(frame).map_or_else(|shared| shared.vars.clone(), |frame| frame.vars))
    }

    fn brace_entry(&mut self, entry: &AstEntry) -> Eval<()> {
        match &entry.key {
            Key::Unpack => {
                let value = self.expr(entry.value)?;
                self.with_braces(|machine, dict| machine.unpack_entries(dict, &value))
            }
            Key::If { cond, orelse } => {
                let branch = if self.expr(*cond)?.truthy() { Some(entry.value) } else { *orelse };
                let Some(branch) = branch else { return Ok(()) };
                let value = self.branch_dict(branch)?;
                self.with_braces(|machine, dict| machine.unpack_entries(dict, &value))
            }
            key => {
                let value = self.expr(entry.value)?;
                let origin = self.origin;
                let written = !matches!(key, Key::Computed(_));
                let key = self.entry_key(key)?;
                self.origin = origin;
                self.note_visibility(&key, written);
                self.with_braces(|machine, dict| machine.add_entry(dict, key, entry, value))
            }
        }
    }

    // A written key is a name for the entries after it, a computed one is not.
    fn note_visibility(&mut self, key: &Str, written: bool) {
        let Some(frame) = self.packages[self.pkg].frames.top_mut() else { return };
        if written {
            frame.computed.retain(|k| k != key);
        } else if !frame.vars.contains(key) {
            frame.computed.push(key.clone());
        }
    }

    fn branch_dict(&mut self, branch: ExprId) -> Eval<Value> {
        match self.tree(self.pkg).expr(branch) {
            Expr::Config(entries) => Ok(self.braces(entries)?.into()),
            _ => self.expr(branch),
        }
    }

    // Takes the dict out of its frame for the time of a merge, which reads no names.
    fn with_braces(&mut self, change: impl FnOnce(&mut Self, &mut Dict) -> Eval<()>) -> Eval<()> {
        let mut dict = match self.packages[self.pkg].frames.top_mut() {
            Some(frame) => std::mem::take(&mut frame.vars),
            None => Dict::default(),
        };
        change(self, &mut dict)?;
        if let Some(frame) = self.packages[self.pkg].frames.top_mut() {
            frame.vars = dict;
        }
        Ok(())
    }

    /// Merges a computed value into a dict with the operator and index of its entry.
    pub(crate) fn add_entry(
        &mut self,
        dict: &mut Dict,
        key: Str,
        entry: &AstEntry,
        value: Value,
    ) -> Eval<()> {
        let op = match entry.op {
            EntryOp::Union => Op::Union,
            EntryOp::Override => Op::Override,
            EntryOp::Insert => Op::Insert,
        };
        let index = match &entry.key {
            Key::Indexed(_, i) => i32::try_from(*i).unwrap_or(NO_INDEX),
            _ => NO_INDEX,
        };
        if self.origins.is_some() {
            let end = self.tree(self.pkg).expr_span(entry.value);
            self.trace(entry.key_span.to(end), OriginKind::Entry);
        }
        let origin = self.origin;
        self.merge_entry(dict, &key, Entry { value, index, origin, op }, Mode::BRACES, &mut Path::new())
    }

    /// Returns the key of a plain entry; a bare name that is a loop variable is computed.
    fn entry_key(&mut self, key: &Key) -> Eval<Str> {
        match key {
            Key::Name(name) => match self.packages[self.pkg].frames.loop_variable(name) {
                Some(value) => {
                    let value = value.clone();
                    self.key_text(&value)
                }
                None => Ok(name.clone()),
            },
            Key::Str(name) | Key::Indexed(name, _) => Ok(name.clone()),
            Key::Computed(expr) => {
                let value = self.expr(*expr)?;
                self.key_text(&value)
            }
            Key::Unpack | Key::If { .. } => Ok(Str::new()),
        }
    }

    /// Returns the key of a dict comprehension, where a bare name is always computed.
    pub(crate) fn comp_key(&mut self, key: &Key) -> Eval<Str> {
        match key {
            Key::Name(name) => {
                let value = self.load(name)?;
                self.key_text(&value)
            }
            other => self.entry_key(other),
        }
    }

    /// Returns the key `x.name` of a dict comprehension.
    pub(crate) fn dotted_comp_key(&mut self, parts: &Dotted) -> Eval<Str> {
        let value = self.load_dotted(parts)?;
        self.key_text(&value)
    }

    fn key_text(&self, value: &Value) -> Eval<Str> {
        match value {
            Value::Str(text) => Ok(text.clone()),
            other => Ok(kcl_value::to_text(other).into()),
        }
    }
}

//! Braces: entries merged one by one into the dict that is also their scope.

use std::rc::Rc;

use kcl_syntax::ast::{Dotted, Entry as AstEntry, EntryOp, Expr, Key};
use kcl_value::{Dict, Entry, NO_INDEX, Op, Str, Value};

use crate::fault::Eval;
use crate::machine::Machine;
use crate::origin::OriginKind;
use crate::scope::{Frame, FrameKind};
use crate::union::{Mode, Path};

impl Machine<'_> {
    /// Computes braces. While they are computed the dict is the innermost frame, so later entries see earlier keys.
    pub(crate) fn braces(&mut self, entries: &[AstEntry]) -> Eval<Dict> {
        let frame = self.braces_frame(entries)?;
        Ok(Rc::try_unwrap(frame).map_or_else(|shared| shared.vars.clone(), |frame| frame.vars))
    }

    fn braces_frame(&mut self, entries: &[AstEntry]) -> Eval<Rc<Frame>> {
        self.charge(1 + entries.len() as u64)?;
        let frame = Frame::braces(FrameKind::Braces, entries.len());
        self.packages[self.pkg].frames.push(Rc::new(frame));
        for entry in entries {
            self.brace_entry(entry)?;
        }
        let frame = self.packages[self.pkg].frames.pop();
        Ok(frame.unwrap_or_else(|| Rc::new(Frame::new(FrameKind::Braces))))
    }

    fn brace_entry(&mut self, entry: &AstEntry) -> Eval<()> {
        match &entry.key {
            Key::Unpack => {
                let value = self.expr(entry.value)?;
                self.spread(&value, None)
            }
            Key::If { cond, orelse } => {
                let branch = if self.decide(*cond)? { Some(entry.value) } else { *orelse };
                let Some(branch) = branch else { return Ok(()) };
                let Expr::Config(entries) = self.tree(self.pkg).expr(branch) else {
                    let value = self.expr(branch)?;
                    return self.spread(&value, None);
                };
                let block = self.braces_frame(entries)?;
                self.spread(&block.vars.clone().into(), Some(&block))
            }
            key => {
                let value = self.expr(entry.value)?;
                if let Some(name) = self.plain_key(key) {
                    return self.written_entry(name.clone(), entry, value);
                }
                let origin = self.origin;
                let written = !matches!(key, Key::Computed(_));
                let key = self.entry_key(key)?;
                self.origin = origin;
                if written {
                    if let Key::Name(name) = &entry.key
                        && *name != key
                    {
                        return self.renamed_entry(name, key, entry, value);
                    }
                    return self.written_entry(key, entry, value);
                }
                self.computed_entry(&key, entry, value)
            }
        }
    }

    // The key that an entry has just as it is written: the usual one.
    fn plain_key<'k>(&self, key: &'k Key) -> Option<&'k Str> {
        match key {
            Key::Name(name) => {
                let usual = !self.packages[self.pkg].outline.has_aliases
                    && (self.marks.is_empty() || !self.is_loop_key(name));
                usual.then_some(name)
            }
            Key::Str(name) | Key::Indexed(name, _) => Some(name),
            _ => None,
        }
    }

    // The key is the text of a type: the name stays the alias. Or it is the value of a loop variable: the name is from now on a
    // key that is not there.
    fn renamed_entry(&mut self, name: &Str, key: Str, entry: &AstEntry, value: Value) -> Eval<()> {
        if !self.is_loop_key(name) {
            self.written_entry(key.clone(), entry, value)?;
            if let Some(frame) = self.packages[self.pkg].frames.top_mut() {
                let stored = frame.vars.entry(&key).cloned();
                frame.set_apart(name, stored);
            }
            return Ok(());
        }
        self.computed_entry(&key, entry, value)?;
        if let Some(frame) = self.packages[self.pkg].frames.top_mut() {
            let unset = || Entry::new(Value::Undefined, Op::Union);
            let stored = frame.vars.entry(name).cloned().unwrap_or_else(unset);
            frame.set_apart(name, Some(stored));
        }
        Ok(())
    }

    // A bare key that is a loop variable is computed, as long as the loop variable is known as such: an instance, a quantifier or
    // a statement that was run lazily in between makes it a plain key.
    fn is_loop_key(&self, name: &str) -> bool {
        self.is_marked(name)
            && self.packages[self.pkg].frames.loop_variable(self.cx.text.loops, name).is_some()
    }

    // A computed key is no name.
    fn computed_entry(&mut self, key: &Str, entry: &AstEntry, value: Value) -> Eval<()> {
        let name = self.name_before(key);
        let in_place = entry.op != EntryOp::Override;
        self.with_braces(|machine, dict| machine.add_entry(dict, key.clone(), entry, value))?;
        self.keep_name(key, name, in_place);
        Ok(())
    }

    #[inline]
    fn written_entry(&mut self, key: Str, entry: &AstEntry, value: Value) -> Eval<()> {
        let tracked = self.origins.is_some();
        if let Some(frame) = self.packages[self.pkg].frames.top_mut() {
            frame.set_together(&key);
            // The usual entry is the first of its key and meets nothing.
            let plain = entry.op != EntryOp::Insert && !matches!(entry.key, Key::Indexed(..));
            if plain && !tracked && !frame.vars.contains(&key) {
                frame.vars.push_new(key, Entry::new(value, op_of(entry)));
                return Ok(());
            }
        }
        self.with_braces(|machine, dict| machine.add_entry(dict, key, entry, value))
    }

    /// Merges a dict as if unpacked. Its keys are no names, except those that the block of an `if` wrote.
    fn spread(&mut self, value: &Value, block: Option<&Frame>) -> Eval<()> {
        let package = &self.packages[self.pkg];
        let keys: Vec<(Str, bool)> = match value.as_dict() {
            Some(dict) => dict
                .iter()
                .filter(|(key, _)| package.is_framed(key))
                .map(|(key, entry)| (key.clone(), entry.op != Op::Override))
                .collect(),
            None => Vec::new(),
        };
        let before: Vec<Option<Entry>> = keys.iter().map(|(key, _)| self.name_before(key)).collect();
        let there: Vec<bool> = match self.packages[self.pkg].frames.top_mut() {
            Some(frame) => keys.iter().map(|(key, _)| frame.vars.contains(key)).collect(),
            None => vec![false; keys.len()],
        };
        self.with_braces(|machine, dict| machine.unpack_entries(dict, value))?;
        for (((key, in_place), before), there) in keys.iter().zip(before).zip(there) {
            match block.and_then(|frame| frame.get(key)) {
                Some(entry) => {
                    let there = there || block.is_some_and(|frame| frame.is_apart(key));
                    let Some(frame) = self.packages[self.pkg].frames.top_mut() else { continue };
                    frame.set_together(key);
                    if there {
                        frame.set_apart(key, Some(entry.clone()));
                    }
                }
                None => self.keep_name(key, before, *in_place),
            }
        }
        // Names that mean something although no key is called so.
        if let (Some(block), Some(frame)) = (block, self.packages[self.pkg].frames.top_mut()) {
            for (name, entry) in block.names_without_key() {
                frame.set_apart(name, Some(entry.clone()));
            }
        }
        Ok(())
    }

    // What a key means as a name now.
    fn name_before(&mut self, key: &str) -> Option<Entry> {
        self.packages[self.pkg].frames.top_mut().and_then(|frame| frame.get(key).cloned())
    }

    // A key that was merged without being written keeps its meaning as a name: nothing, or the old value. A container that was
    // merged in place is the same object and shows it.
    fn keep_name(&mut self, key: &Str, before: Option<Entry>, in_place: bool) {
        let Some(frame) = self.packages[self.pkg].frames.top_mut() else { return };
        let container = |value: &Value| matches!(value, Value::List(_) | Value::Dict(_) | Value::Schema(_));
        match before {
            Some(entry) if in_place && container(&entry.value) => {}
            before => frame.set_apart(key, before),
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
        let op = op_of(entry);
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
            Key::Name(name) if self.is_loop_key(name) => {
                let found = self.packages[self.pkg].frames.lookup(name);
                let value = found.map_or(Value::Undefined, |entry| entry.value.clone());
                self.key_text(&value)
            }
            Key::Name(name) if self.packages[self.pkg].outline.has_aliases => Ok(self.alias_key(name)),
            Key::Name(name) => Ok(name.clone()),
            Key::Str(name) | Key::Indexed(name, _) => Ok(name.clone()),
            Key::Computed(expr) => {
                let value = self.expr(*expr)?;
                self.key_text(&value)
            }
            Key::Unpack | Key::If { .. } => Ok(Str::new()),
        }
    }

    /// Quirk: a key that is the name of a type alias is the text of that type, up to its last dot.
    fn alias_key(&self, name: &Str) -> Str {
        if let Some((_, text)) = self.tree(self.pkg).renamed_keys.iter().find(|(key, _)| key == name) {
            return text.clone();
        }
        let Some(crate::package::Symbol::Alias(package, ty)) = self.symbol(self.pkg, name) else {
            return name.clone();
        };
        let text = self.alias_text(package, ty, 0);
        text.rsplit_once('.').map_or(text.as_str(), |(start, _)| start).into()
    }

    pub(crate) fn alias_text(&self, package: usize, ty: kcl_syntax::ast::TypeId, depth: u32) -> String {
        use kcl_syntax::ast::Type;
        const MAX_ALIASES: u32 = 64;
        let tree = self.tree(package);
        let text = |ty: &Option<kcl_syntax::ast::TypeId>| match ty {
            Some(ty) => self.alias_text(package, *ty, depth + 1),
            None => "any".into(),
        };
        match tree.ty(ty) {
            Type::Named(parts) if depth < MAX_ALIASES => match (self.find_symbol(package, parts), &parts[..])
            {
                (Some(crate::package::Symbol::Alias(package, ty)), _) => {
                    self.alias_text(package, ty, depth + 1)
                }
                (_, [one]) => one.name.to_string(),
                (_, [pkg, ..]) => format!("@{}.", pkg.name),
                _ => String::new(),
            },
            Type::List(item) => format!("[{}]", text(item)),
            Type::Dict(key, value) => format!("{{{}:{}}}", text(key), text(value)),
            Type::Union(members) => {
                let members: Vec<String> = members.iter().map(|m| text(&Some(*m))).collect();
                members.join(" | ")
            }
            Type::Function(params, ret) => {
                let params: Vec<String> = params.iter().map(|p| text(&Some(*p))).collect();
                format!("({}) -> {}", params.join(", "), text(ret))
            }
            _ => crate::host::type_text(tree, ty).to_string(),
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

    // A key that is no text, which only the run can see, is the empty one.
    fn key_text(&self, value: &Value) -> Eval<Str> {
        match value {
            Value::Str(text) => Ok(text.clone()),
            _ => Ok(Str::new()),
        }
    }
}

fn op_of(entry: &AstEntry) -> Op {
    match entry.op {
        EntryOp::Union => Op::Union,
        EntryOp::Override => Op::Override,
        EntryOp::Insert => Op::Insert,
    }
}

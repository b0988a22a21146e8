//! What a name means here and now.

use std::rc::Rc;

use kcl_syntax::ast::{Dotted, Ident};
use kcl_value::{Function, OriginId, Str, Value};

use crate::context::OwnLambda;
use crate::fault::Eval;
use crate::machine::Machine;
use crate::mistake::Mistake;
use crate::outline::Meaning;
use crate::package::Symbol;
use crate::record::Record;

impl Machine<'_> {
    /// Reads a plain name: local marks first, then the instance under construction, frames, globals, built-ins.
    pub(crate) fn load(&mut self, name: &Str) -> Eval<Value> {
        if !self.is_marked(name) {
            return self.load_unmarked(name);
        }
        // What is marked is bound in some frame.
        match self.packages[self.pkg].frames.lookup(name) {
            Some(entry) => {
                self.origin = entry.origin;
                Ok(entry.value.clone())
            }
            None => self.read_global(self.pkg, name, true),
        }
    }

    fn load_unmarked(&mut self, name: &Str) -> Eval<Value> {
        if let Some(record) = self.record().cloned() {
            // In a lambda the innermost scope comes first, if it has the name; further out the instance does.
            if self.cx.own_lambda != OwnLambda::None
                && let Some(entry) = self.packages[self.pkg].frames.top().and_then(|frame| frame.get(name))
            {
                self.origin = entry.origin;
                return Ok(entry.value.clone());
            }
            if let Some(base) = self.cx.siblings.base()
                && let Some(entry) = self.packages[self.pkg].frames.lookup_above(base, name)
            {
                self.origin = entry.origin;
                return Ok(entry.value.clone());
            }
            let position = record.position(name);
            let value = match position {
                Some(i) if matches!(self.cx.own_lambda, OwnLambda::Method(_) | OwnLambda::Woken(_)) => {
                    record.stored(i)
                }
                _ => self.read_attribute(&record, name, position)?,
            };
            if !value.is_undefined() || self.is_own_target(&record, name, position) {
                return Ok(value);
            }
            if position.is_some() {
                return self.load_unset(name);
            }
        }
        let package = &self.packages[self.pkg];
        if package.is_framed(name)
            && let Some(entry) = package.frames.lookup(name)
            && !self.global_wins(name)
        {
            // In a body what is not set is looked for further out.
            if !self.records.is_empty() && entry.value.is_undefined() {
                return self.read_variable(name);
            }
            let found = (entry.value.clone(), entry.origin);
            if !self.records.is_empty() || self.keep_captured(name, &found) {
                self.origin = found.1;
                return Ok(found.0);
            }
        }
        self.read_global(self.pkg, name, false)
    }

    // What an unset attribute or parameter may stand for: a global variable, but no schema and no built-in function (`max?: int`).
    fn read_variable(&mut self, name: &str) -> Eval<Value> {
        let package = &self.packages[self.pkg];
        let alias = matches!(package.outline.symbols.get(name), Some(Meaning::Alias(_)));
        if !alias && package.globals.position(name).is_none() {
            return Ok(Value::Undefined);
        }
        self.read_global(self.pkg, name, false)
    }

    // What a lambda captured, and nobody else has now, hides a global that did not run yet only if it was made in more scopes
    // than it reads in; and is then what the global is read as from now on.
    fn keep_captured(&self, name: &str, found: &(Value, OriginId)) -> bool {
        let package = &self.packages[self.pkg];
        let Some(i) = package.globals.position(name).filter(|_| !package.frames.binds_now(name)) else {
            return true;
        };
        let captured = self.cx.text.reads_inwards(self.scopes());
        let cache = &mut package.globals.lazy.borrow_mut()[i].cache;
        if captured && cache.is_none() {
            *cache = Some(found.clone());
        }
        captured
    }

    // What a lambda captured hides a global only as long as the place where it stood is running: afterwards the global that has
    // its value comes first.
    fn global_wins(&self, name: &str) -> bool {
        let package = &self.packages[self.pkg];
        self.records.is_empty()
            && package
                .globals
                .position(name)
                .is_some_and(|i| package.globals.lazy.borrow()[i].cache.is_some())
            && !package.frames.binds_now(name)
    }

    // An attribute that is not set means the global of its name, never a key of the braces around. Under a lambda it means
    // nothing; only a lambda that was made in a body sees what it captured.
    fn load_unset(&mut self, name: &Str) -> Eval<Value> {
        if !self.cx.in_lambda {
            let record = self.packages[self.pkg].globals.clone();
            let Some(i) = record.position(name) else { return self.read_variable(name) };
            let cached = record.lazy.borrow()[i].cache.clone();
            let (value, landed) = match cached {
                Some((value, origin)) => {
                    self.origin = origin;
                    let landed = value.is_undefined() && !record.slots.borrow()[i].value.is_undefined();
                    (value, landed)
                }
                None => {
                    let value = self.read_global(self.pkg, name, false)?;
                    let landed = value.is_undefined() && record.lazy.borrow()[i].cache.is_some();
                    (value, landed)
                }
            };
            // A global that a body made run landed in an instance; the braces around have what is left.
            let Some(entry) = self.packages[self.pkg].frames.lookup(name).filter(|_| landed) else {
                return Ok(value);
            };
            // That is what was read, and so what is read from now on.
            let cache = &mut record.lazy.borrow_mut()[i].cache;
            if record.slots.borrow()[i].value.is_undefined() {
                *cache = Some((entry.value.clone(), entry.origin));
            }
            return Ok(entry.value.clone());
        }
        let frames = &self.packages[self.pkg].frames;
        let found = match self.cx.own_lambda {
            // What it captured, but neither its own parameters nor its locals.
            OwnLambda::Method(base) => frames.lookup_between(base as usize, self.cx.text.loops, name),
            // The braces that it was called from, if they are still open.
            OwnLambda::Woken(base) => frames.lookup_below(base as usize, name),
            _ => None,
        };
        Ok(found.map_or(Value::Undefined, |entry| entry.value.clone()))
    }

    // A statement that reads the attribute it sets means that attribute, set or not, and nothing further out.
    fn is_own_target(&self, record: &Record, name: &str, position: Option<usize>) -> bool {
        self.targets.last().is_some_and(|t| t == name)
            && position
                .is_some_and(|i| record.lazy.borrow()[i].level == 0 || record.shape.setters[i].len() <= 1)
    }

    fn read_attribute(&mut self, record: &Rc<Record>, name: &str, position: Option<usize>) -> Eval<Value> {
        if let Some(building) = &record.instance
            && let Some((key, value)) = &*building.index_key.borrow()
            && key == name
        {
            return Ok(value.clone());
        }
        match position {
            Some(i) if record.shape.setters[i].is_empty() && is_elsewhere(record, i) => Ok(Value::Undefined),
            // A name whose setters are not known is read as it was first stored.
            Some(i) if record.shape.setters[i].is_empty() => Ok(match &record.lazy.borrow()[i].cache {
                Some((first, _)) => first.clone(),
                None => record.stored(i),
            }),
            Some(i) => self.lazy_read(record, i),
            None => Ok(Value::Undefined),
        }
    }

    /// Reads a name at package level.
    pub(crate) fn read_global(&mut self, package: usize, name: &str, marked: bool) -> Eval<Value> {
        let record = self.packages[package].globals.clone();
        let Some(i) = record.position(name) else { return Ok(self.read_symbol(package, name)) };
        if marked || !self.records.is_empty() {
            let mut value = record.stored(i);
            // Under a lambda a body sees what there is or what it read before, and makes nothing run.
            if self.cx.in_lambda
                && !marked
                && value.is_undefined()
                && self.is_woken(package, i)
                && let Some((read, _)) = &record.lazy.borrow()[i].cache
            {
                value = read.clone();
            }
            if marked || self.cx.in_lambda || !value.is_undefined() {
                self.origin = record.slots.borrow()[i].origin;
                return Ok(value);
            }
        }
        self.lazy_read(&record, i)
    }

    // Whether the body that is running made a global run.
    fn is_woken(&self, package: usize, i: usize) -> bool {
        let building = self.record().and_then(|record| record.instance.as_ref());
        building.is_some_and(|building| building.woken.borrow().contains(&(package, i)))
    }

    fn read_symbol(&self, package: usize, name: &str) -> Value {
        match self.symbol(package, name) {
            Some(Symbol::Schema(id)) => self.schema(id).value.clone(),
            Some(Symbol::Rule(id)) => Value::Func(Rc::new(Function::RuleType(id))),
            Some(Symbol::Alias(..)) => self.read_alias(package, name),
            _ => self.read_builtin(name),
        }
    }

    fn read_builtin(&self, name: &str) -> Value {
        if let Some(known) = self.builtins.borrow().get(name) {
            return known.clone();
        }
        let Some(id) = kcl_std::builtin(name) else { return Value::Undefined };
        let function = Value::Func(Rc::new(Function::Builtin(id)));
        self.builtins.borrow_mut().insert(name.into(), function.clone());
        function
    }

    // An alias of a schema can be instantiated; other aliases are not values.
    fn read_alias(&self, package: usize, name: &str) -> Value {
        let Some(Symbol::Alias(pkg, ty)) = self.symbol(package, name) else {
            return Value::Undefined;
        };
        let parts = match self.tree(pkg).ty(ty) {
            kcl_syntax::ast::Type::Named(parts) => parts,
            // The text of the type is read as a name.
            kcl_syntax::ast::Type::Basic(_) => {
                return self.read_builtin(&crate::host::type_text(self.tree(pkg), ty));
            }
            _ => return Value::Undefined,
        };
        match self.find_symbol(pkg, parts) {
            Some(Symbol::Schema(id)) => self.schema(id).value.clone(),
            Some(Symbol::Alias(pkg, _)) if parts.len() == 1 && parts[0].name != name => {
                self.read_alias(pkg, &parts[0].name)
            }
            _ => Value::Undefined,
        }
    }

    // Quirk: a name that stands alone and is a type alias means the text of its type, whatever attribute or local has that name;
    // only keys of the braces around, loop variables and parameters hide it.
    fn load_aliased(&mut self, name: &Str) -> Eval<Value> {
        let package = &self.packages[self.pkg];
        let Some(Symbol::Alias(home, ty)) = self.symbol(self.pkg, name) else { return self.load(name) };
        let text: Str = self.alias_text(home, ty, 0).into();
        if text == *name || package.frames.bound_apart_from_locals(name) {
            return self.load(name);
        }
        if text.starts_with('@') { Ok(self.read_alias(self.pkg, name)) } else { self.load(&text) }
    }

    /// Reads `a`, `a.b.c`, `pkg.x.y`.
    pub(crate) fn load_dotted(&mut self, parts: &Dotted) -> Eval<Value> {
        let Some(first) = parts.first() else { return Ok(Value::Undefined) };
        if parts.len() == 1 {
            return if self.packages[self.pkg].outline.has_aliases {
                self.load_aliased(&first.name)
            } else {
                self.load(&first.name)
            };
        }
        let (mut value, rest) = match self.package_of(first) {
            Some(symbol) => (self.load_member(&symbol, &parts[1].name)?, &parts[2..]),
            None => (self.load(&first.name)?, &parts[1..]),
        };
        for part in rest {
            value = self.select(&value, &part.name)?;
        }
        Ok(value)
    }

    /// Returns the import that a name means, unless a global, a loop variable or a parameter has that name.
    fn package_of(&self, ident: &Ident) -> Option<Symbol> {
        let name = &ident.name;
        let package = &self.packages[self.pkg];
        if !matches!(package.outline.symbols.get(name)?, Meaning::Import(_)) {
            return None;
        }
        let shadowed = package.globals.position(name).is_some()
            || package.is_framed(name)
                && package.frames.lookup(name).is_some()
                && self.is_call_or_loop_variable(name);
        (!shadowed && self.sees_import(self.pkg, ident)).then(|| self.symbol(self.pkg, name)).flatten()
    }

    fn is_call_or_loop_variable(&self, name: &str) -> bool {
        self.packages[self.pkg].frames.bound_as_variable(self.cx.text.text, name)
    }

    fn load_member(&mut self, symbol: &Symbol, name: &Str) -> Eval<Value> {
        match symbol {
            Symbol::Package(package) => self.read_foreign(*package, name),
            Symbol::System(module) => match kcl_std::module_member(module, name) {
                Some(kcl_std::Member::Function(id)) => Ok(Value::Func(Rc::new(Function::Builtin(id)))),
                Some(kcl_std::Member::Constant(value)) => Ok(value),
                // The checker took the name for an attribute.
                None => Err({
                    let module = module.as_str().into();
                    self.fault(Mistake::UnknownMember { module, name: name.clone() })
                }),
            },
            Symbol::Plugin(module) => {
                Ok(Value::Func(Rc::new(Function::Plugin(module.clone(), name.clone()))))
            }
            _ => Ok(Value::Undefined),
        }
    }

    fn read_foreign(&mut self, package: usize, name: &str) -> Eval<Value> {
        let saved = std::mem::replace(&mut self.pkg, package);
        let value = self.read_global(package, name, false);
        self.pkg = saved;
        value
    }
}

// Whether a slot is the variable of another body than the one that is running.
fn is_elsewhere(record: &Record, i: usize) -> bool {
    record.instance.as_ref().is_some_and(|building| {
        let lost = building.lost.borrow();
        !lost.is_empty() && lost.iter().any(|(slot, part)| *slot == i && *part != building.active.get())
    })
}

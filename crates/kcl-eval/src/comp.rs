//! Comprehensions and quantifiers.

use std::rc::Rc;

use kcl_syntax::ast::{CompClause, Dotted, Entry as AstEntry, Expr, ExprId, Ident, Key, Quant, QuantOp};
use kcl_value::{Dict, List, OriginId, Value, equal};

use crate::fault::Eval;
use crate::machine::Machine;
use crate::mistake::Mistake;
use crate::scope::{Frame, FrameKind};

/// One turn of a loop: first and second variable, origin of the element.
type Turn = (Value, Value, OriginId);

/// A walk over the elements or keys of a value; with two variables over index and element, or key and value.
///
/// It holds the container instead of a copy of its elements: values do not change.
struct Turns {
    of: Value,
    at: usize,
    /// Where the next character of a string starts.
    byte: usize,
    two: bool,
    /// Origin of what has none of its own.
    origin: OriginId,
}

impl Iterator for Turns {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        let at = self.at;
        self.at += 1;
        let (item, origin) = match &self.of {
            Value::List(list) => (list.items.get(at)?.clone(), list.origin(at)),
            Value::Str(text) => {
                let c = text.get(self.byte..)?.chars().next()?;
                self.byte += c.len_utf8();
                (Value::Str(c.into()), self.origin)
            }
            other => {
                let (key, entry) = other.as_dict()?.at(at)?;
                return Some((Value::Str(key.clone()), entry.value.clone(), entry.origin));
            }
        };
        Some(match self.two {
            true => (Value::Int(at as i64), item, origin),
            false => (item, Value::Undefined, origin),
        })
    }
}

impl<'p> Machine<'p> {
    /// `[elt for ..]`
    pub(crate) fn list_comp(&mut self, elt: ExprId, clauses: &[CompClause]) -> Eval<Value> {
        let mut list = List::default();
        self.clauses(clauses, &mut |machine| {
            let item = machine.expr(elt)?;
            machine.charge(1)?;
            list.push(item, machine.origin);
            Ok(())
        })?;
        Ok(list.into())
    }

    /// `{k: v for ..}`
    pub(crate) fn dict_comp(&mut self, entry: &'p AstEntry, clauses: &[CompClause]) -> Eval<Value> {
        let mut dict = Dict::default();
        let (parts, entry) = self.dotted_key(entry);
        self.clauses(clauses, &mut |machine| {
            let value = machine.expr(entry.value)?;
            let origin = machine.origin;
            machine.start_at(entry.key_span);
            let key = match parts.len() {
                0 | 1 => machine.comp_key(&entry.key)?,
                _ => machine.dotted_comp_key(&parts)?,
            };
            machine.origin = origin;
            machine.charge(1)?;
            machine.add_entry(&mut dict, key, entry, value)
        })?;
        Ok(dict.into())
    }

    // `{x.name: v for ..}`: here the key is an expression. The tree holds it as nested braces, as it does for plain entries;
    // braces that were made from a dotted key start at their own key.
    fn dotted_key(&self, entry: &'p AstEntry) -> (Dotted, &'p AstEntry) {
        let tree = self.tree(self.pkg);
        let mut parts = Vec::new();
        let mut at = entry;
        while let Key::Name(name) = &at.key {
            parts.push(Ident { name: name.clone(), span: at.key_span });
            match tree.expr(at.value) {
                Expr::Config(entries)
                    if entries.len() == 1
                        && matches!(entries[0].key, Key::Name(_))
                        && entries[0].key_span.start == tree.expr_span(at.value).start =>
                {
                    at = &entries[0];
                }
                _ => break,
            }
        }
        (parts.into(), at)
    }

    fn clauses(&mut self, clauses: &[CompClause], body: &mut dyn FnMut(&mut Self) -> Eval<()>) -> Eval<()> {
        let Some((clause, rest)) = clauses.split_first() else { return body(self) };
        // The iterable is computed in the scope of the loop already.
        self.push_loop();
        let iterable = self.expr(clause.iter)?;
        let turns = self.turns(iterable, clause.targets.len())?;
        for turn in turns {
            self.bind_turn(&clause.targets, turn);
            if let Some(cond) = clause.cond
                && !self.decide(cond)?
            {
                continue;
            }
            self.clauses(rest, body)?;
        }
        self.pop_frame();
        self.marks.retain(|m| !clause.targets.iter().any(|t| t.name == *m));
        Ok(())
    }

    fn push_loop(&mut self) {
        self.packages[self.pkg].frames.push(Rc::new(Frame::new(FrameKind::Loop)));
    }

    fn pop_frame(&mut self) {
        self.packages[self.pkg].frames.pop();
    }

    fn bind_turn(&mut self, targets: &[Ident], (first, second, origin): Turn) {
        self.origin = origin;
        let Some(frame) = self.packages[self.pkg].frames.top_mut() else { return };
        for (at, (target, value)) in targets.iter().zip([first, second]).enumerate() {
            frame.bind_again(at, &target.name, value, origin);
        }
        for target in targets.iter().take(2) {
            self.mark(&target.name);
        }
    }

    /// Begins to walk over a value.
    fn turns(&mut self, of: Value, variables: usize) -> Eval<Turns> {
        let count = match &of {
            Value::List(list) => list.items.len(),
            Value::Str(text) => text.chars().count(),
            Value::Dict(_) | Value::Schema(_) => of.as_dict().map_or(0, Dict::len),
            other => {
                return Err(self.fault(Mistake::NotIterable { ty: other.type_name() }));
            }
        };
        self.charge(count as u64)?;
        Ok(Turns { of, at: 0, byte: 0, two: variables > 1, origin: self.origin })
    }

    /// `all`, `any`, `map`, `filter`
    pub(crate) fn quantifier(&mut self, quant: &Quant) -> Eval<Value> {
        let target = self.expr(quant.iter)?;
        let turns = self.turns(target.clone(), quant.targets.len())?;
        self.push_loop();
        let mut mapped = List::default();
        let mut kept = target.clone();
        let mut verdict = quant.op == QuantOp::All;
        for turn in turns {
            let (first, second) = (turn.0.clone(), turn.1.clone());
            self.bind_turn(&quant.targets, turn);
            if let Some(cond) = quant.cond
                && !self.decide(cond)?
            {
                continue;
            }
            let value = self.expr(quant.body)?;
            match quant.op {
                QuantOp::All if !value.truthy() => {
                    verdict = false;
                    break;
                }
                QuantOp::Any if value.truthy() => {
                    verdict = true;
                    break;
                }
                QuantOp::Map => mapped.push(value, self.origin),
                QuantOp::Filter if !value.truthy() => {
                    let item = if quant.targets.len() > 1 && matches!(target, Value::List(_)) {
                        second
                    } else {
                        first
                    };
                    kept = self.without(kept, &item)?;
                }
                _ => {}
            }
        }
        self.pop_frame();
        self.marks.clear();
        Ok(match quant.op {
            QuantOp::All | QuantOp::Any => Value::Bool(verdict),
            QuantOp::Map => mapped.into(),
            QuantOp::Filter => kept,
        })
    }

    // Removal is what the reference does: the last equal element of a list; of a dict by swapping the last key in.
    fn without(&mut self, container: Value, item: &Value) -> Eval<Value> {
        match container {
            Value::List(mut list) => {
                if let Some(i) = list.items.iter().rposition(|v| equal(v, item)) {
                    let list = Rc::make_mut(&mut list);
                    list.items.remove(i);
                    if i < list.origins.len() {
                        list.origins.remove(i);
                    }
                }
                Ok(Value::List(list))
            }
            Value::Dict(mut dict) => {
                if let Value::Str(key) = item {
                    Rc::make_mut(&mut dict).swap_remove(key);
                }
                Ok(Value::Dict(dict))
            }
            _ => Err(self.fault(Mistake::CannotFilter)),
        }
    }
}

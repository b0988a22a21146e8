//! Things that can be called.

use std::any::Any;
use std::rc::Rc;

use crate::{Str, Value};

/// A schema's identity at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaRef {
    /// Its name.
    pub name: Str,
    /// Its package; `__main__` for the main package.
    pub package: Str,
    /// Its row in the evaluator's schema table.
    pub id: u32,
    /// Who it is in every program: its package, and its row there.
    pub home: (u64, u32),
}

impl SchemaRef {
    /// Returns `pkg.Name`, or `Name` for the main package.
    pub fn full_name(&self) -> Str {
        match self.package.as_str() {
            "" | "__main__" => self.name.clone(),
            package => ecow::eco_format!("{package}.{}", self.name),
        }
    }
}

/// A callable value. Lambdas are opaque here; only the evaluator looks inside.
#[derive(Clone)]
pub enum Function {
    /// A lambda with its captured scopes.
    Lambda(Rc<dyn Any>),
    /// A built-in function or a function of a system module, by its number in the library's table.
    Builtin(u16),
    /// A string method bound to its receiver.
    Method(u16, Value),
    /// A schema as a value.
    SchemaType(Rc<SchemaRef>),
    /// `S.instances`.
    Instances(Rc<SchemaRef>),
    /// A rule as a value: its row in the evaluator's table.
    RuleType(u32),
    /// `kcl_plugin.module.name`.
    Plugin(Str, Str),
}

impl Function {
    /// Returns the name that `typeof` uses.
    pub fn type_name(&self) -> &'static str {
        match self {
            Function::SchemaType(_) | Function::RuleType(_) => "type",
            _ => "function",
        }
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.type_name())
    }
}

//! What edition 0.13 does differently at run time. The default edition follows 0.12.4; a package pins
//! the other one with `[language] edition = "0.13"` in kcl.mod.
//!
//! | subject | 0.12 | 0.13 | where |
//! |---|---|---|---|
//! | line of an error | an attribute statement moves the current line | only its default does | `stmt.rs` |
//! | a missing attribute of `S {..}` | is placed at S | at the entry that wrote the first key | here |
//! | last setter is an `if` that is not taken | reads Undefined | the setter before it is asked | `lazy.rs` |
//! | names in the braces of `S {..}` in a body | the attribute of the body | the key of the braces | `names.rs` |
//! | a global that was read early | runs once more in its turn, its instances count twice | does not | here |
//! | types of what a body stores | as the body's own schema declares them | as the outermost one does | here |
//! | a default that configuration is merged into | is converted before | only the result is | `build.rs` |

use kcl_syntax::ast::{Expr, Key, Stmt, StmtId};
use kcl_value::{Position, Precision};

use crate::fault::Eval;
use crate::machine::Machine;
use crate::record::Building;
use crate::rtype::RType;

/// Where the braces of the outermost schema expression begin among the frames, and what to put back.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Siblings(Option<u32>);

impl Siblings {
    /// The first frame whose keys are names, if names are read in such braces.
    pub(crate) fn base(self) -> Option<usize> {
        self.0.map(|base| base as usize)
    }
}

impl Machine<'_> {
    /// Whether the program runs under edition 0.13.
    pub(crate) fn is_013(&self) -> bool {
        self.options.edition_013
    }

    /// Notes that the braces of a schema expression begin.
    pub(crate) fn enter_siblings(&mut self) -> Siblings {
        let before = self.cx.siblings;
        if self.is_013() && before.0.is_none() {
            self.cx.siblings = Siblings(Some(self.packages[self.pkg].frames.len() as u32));
        }
        before
    }

    /// Whether a statement of a package has nothing left to do: its only name was read early.
    pub(crate) fn ran_early(&self, stmt: StmtId) -> bool {
        let read = |name: &str| {
            let record = &self.packages[self.pkg].globals;
            let Some(i) = record.position(name) else { return false };
            record.shape.setters[i].len() == 1 && record.lazy.borrow()[i].resolved
        };
        match self.tree(self.pkg).stmt(stmt) {
            Stmt::Assign { targets, .. } => targets.iter().all(|t| t.path.is_empty() && read(&t.name.name)),
            Stmt::Unification { target, .. } => read(&target.name),
            _ => false,
        }
    }

    /// The type that the outermost schema of an instance declares for a name.
    pub(crate) fn outermost_type<'b>(
        &mut self,
        building: &'b Building,
        name: &str,
    ) -> Eval<Option<&'b RType>> {
        Ok(self.links(&building.schema)?.types.get(name).map(|ty| &**ty))
    }

    /// The place of an instance that misses an attribute: the last entry that writes the first key of its braces.
    pub(crate) fn first_key_place(&self, position: Position) -> Option<Position> {
        if !self.is_013() || position.precision != Precision::Exact {
            return None;
        }
        let tree = self.tree(position.package as usize);
        let entries = tree.exprs.iter().find_map(|node| match &node.kind {
            Expr::Schema(schema) if tree.expr_span(schema.name).start == position.offset => {
                match tree.expr(schema.config) {
                    Expr::Config(entries) => Some(entries),
                    _ => None,
                }
            }
            _ => None,
        })?;
        let name = |key: &Key| match key {
            Key::Name(name) | Key::Str(name) | Key::Indexed(name, _) => Some(name.clone()),
            _ => None,
        };
        let first = entries.iter().find_map(|entry| name(&entry.key))?;
        let entry = entries.iter().rfind(|entry| name(&entry.key).as_ref() == Some(&first))?;
        Some(Position { offset: entry.key_span.start, ..position })
    }
}

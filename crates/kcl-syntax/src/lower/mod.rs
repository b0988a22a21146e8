//! Lowering: from the trees as parsed to the trees that are checked and run. Nothing else changes a tree.
//!
//! [`checked_tree`] applies what is textual in the reference: overrides, then the merge of repeated unification statements.
//! [`run_tree`] applies what the reference does behind the checker's back: names that are unified and modified, here and in
//! imported packages, and variables that are written as types. What those are, the loader and the checker know; they say it as
//! [`Rewrite`]s. See docs/design/0010-source-paths.md.

mod modified;
mod overrides;
mod unify;

use std::sync::Arc;

use base_diag::{Diagnostic, Place};

use crate::ast::{Str, Tree, Type, TypeId, TypeNode};

pub use modified::{modifies_member, unified_names};
pub use overrides::{Override, OverrideKind, parse_override};
pub(crate) use unify::superseded;

/// What is written otherwise in the tree that is run.
#[derive(Clone, Debug)]
pub enum Rewrite {
    /// Every `package.name` is a path.
    Member {
        /// The name of the import.
        package: Str,
        /// The member.
        name: Str,
        /// What stands there instead.
        path: [Str; 2],
    },
    /// Every identifier of a (dotted) name is a path, and every key of braces of that name is a text up to its last dot.
    Name {
        /// The name.
        name: Str,
        /// What stands there instead.
        path: Vec<Str>,
        /// The text of the key.
        text: String,
    },
    /// A written type is another one.
    Type {
        /// Which.
        id: TypeId,
        /// The parts of the other, children first, the type itself last; ids count from the start of this list.
        parts: Vec<Type>,
    },
}

/// Makes the tree of a main package that is checked: overrides in order, then repeated unifications as one.
/// A wrong override is told, and leaves the rest to be checked.
pub fn checked_tree(mut tree: Tree, specs: &[String]) -> (Tree, Option<Diagnostic>) {
    let wrong = overrides::apply_overrides(&mut tree, specs).err();
    let wrong = wrong.map(|mistake| Diagnostic::of(&mistake, Place::None));
    unify::merge_unifications(&mut tree);
    (tree, wrong)
}

/// Makes the tree that is run of the one that was checked; the same one, if nothing is written otherwise.
pub fn run_tree(checked: &Arc<Tree>, members: &[Rewrite], borrowed: &[Rewrite]) -> Arc<Tree> {
    let mut tree = match modified::rewritten_tree(checked) {
        Some(tree) => Arc::new(tree),
        None => checked.clone(),
    };
    for rewrite in members.iter().chain(borrowed) {
        // The first rewrite copies the tree, the others have it to themselves.
        apply(Arc::make_mut(&mut tree), rewrite);
    }
    tree
}

fn apply(tree: &mut Tree, rewrite: &Rewrite) {
    match rewrite {
        Rewrite::Member { package, name, path } => modified::replace_member(tree, package, name, path),
        Rewrite::Name { name, path, text } => modified::rename_identifier(tree, name, path, text),
        Rewrite::Type { id, parts } => replace_type(tree, *id, parts),
    }
}

fn replace_type(tree: &mut Tree, id: TypeId, parts: &[Type]) {
    let base = tree.types.len() as u32;
    let moved = |id: TypeId| TypeId(id.0 + base);
    for part in parts {
        let kind = match part.clone() {
            Type::List(item) => Type::List(item.map(moved)),
            Type::Dict(key, value) => Type::Dict(key.map(moved), value.map(moved)),
            Type::Union(members) => Type::Union(members.into_iter().map(moved).collect()),
            Type::Function(params, ret) => {
                Type::Function(params.into_iter().map(moved).collect(), ret.map(moved))
            }
            other => other,
        };
        tree.types.push(TypeNode { kind, span: Default::default() });
    }
    if let (Some(last), Some(old)) = (tree.types.last().cloned(), tree.types.get(id.0 as usize))
        && !parts.is_empty()
    {
        let span = old.span;
        tree.types[id.0 as usize] = TypeNode { span, ..last };
    }
}

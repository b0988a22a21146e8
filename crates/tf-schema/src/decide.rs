//! What a plan means: which paths force a replacement, and what is to be done.

use tf_value::{Path, Step, Value};

use crate::compare::lookup;
use crate::{Attribute, Block, Problem};

/// Of the paths that a provider names as forcing a replacement, those that really change.
///
/// Providers also name paths that stay the same. A path that exists on neither side is a mistake of the provider. The
/// order has no meaning; here it is that of the paths, without repetition.
pub fn replace_paths(
    block: &Block,
    prior: &Value,
    planned: &Value,
    named: &[Path],
) -> Result<Vec<Path>, Problem> {
    let mut kept = Vec::new();
    if prior.is_null() {
        return Ok(kept);
    }
    for path in named {
        let differs = match (lookup(prior, path), lookup(planned, path)) {
            (None, None) => {
                return Err(Problem::at(
                    path,
                    "forces a replacement, says the provider, but there is no such attribute",
                ));
            }
            (Some(before), Some(after)) => !before.same(after),
            // What is on one side only is not the same, even if it is null there: an item that comes or goes.
            (Some(_), None) | (None, Some(_)) => true,
        };
        if differs || is_write_only(block, path) {
            kept.push(path.clone());
        }
    }
    kept.sort();
    kept.dedup();
    Ok(kept)
}

fn is_write_only(block: &Block, path: &Path) -> bool {
    attribute_at(block, path).is_some_and(|attribute| attribute.write_only)
}

/// The attribute at a path; steps into collections are stepped over.
pub(crate) fn attribute_at<'s>(block: &'s Block, path: &Path) -> Option<&'s Attribute> {
    let mut names = path.steps().iter().filter_map(|step| match step {
        Step::Attribute(name) => Some(&**name),
        Step::Key(_) | Step::Index(_) => None,
    });
    let mut block = block;
    let mut attribute = loop {
        let name = names.next()?;
        match block.blocks.get(name) {
            Some(nested) => block = &nested.block,
            None => break block.attributes.get(name)?,
        }
    };
    for name in names {
        attribute = attribute.nested()?.attributes.get(name)?;
    }
    Some(attribute)
}

/// What is to be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    NoOp,
    Create,
    Update,
    Replace(Because),
}

/// Why an object is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The provider can not change these attributes in place.
    CannotUpdate,
    /// Somebody wants it: the user, or a trigger.
    Requested,
    /// A create has failed and left it.
    Tainted,
}

/// What is known beside the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Somebody wants a replacement.
    pub forced: bool,
    /// The object is left of a failed create: it was planned with a null prior object.
    pub tainted: bool,
    /// The values are equal, but which of them are sensitive is not.
    pub sensitive_changed: bool,
}

/// Decides. `prior` is what was given to the provider, `replace` what [`replace_paths`] kept.
#[must_use]
pub fn action(block: &Block, prior: &Value, planned: &Value, replace: &[Path], facts: Facts) -> Action {
    if prior.is_null() {
        return if facts.tainted { Action::Replace(Because::Tainted) } else { Action::Create };
    }
    if replace.iter().any(|path| is_write_only(block, path)) {
        return Action::Replace(Because::CannotUpdate);
    }
    if planned.same(prior) && !facts.forced {
        return if facts.sensitive_changed { Action::Update } else { Action::NoOp };
    }
    if facts.forced {
        return Action::Replace(Because::Requested);
    }
    if replace.is_empty() { Action::Update } else { Action::Replace(Because::CannotUpdate) }
}

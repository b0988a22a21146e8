//! Whose an object is: every object says so itself, in an annotation, because a state can be lost and a name can be shared.

use serde::{Deserialize, Serialize};

use crate::Scope;

/// The stack that an object belongs to: `project/stack/workspace`.
pub const OWNER_ANNOTATION: &str = "kusion.io/owner";
/// Set to `true` on an object that another tool or stack made and this one imported.
pub const IMPORTED_ANNOTATION: &str = "kusion.io/imported";

impl Scope {
    /// The name of this stack as an owner.
    #[must_use]
    pub fn owner(&self) -> String {
        format!("{}/{}/{}", self.project, self.stack, self.workspace)
    }
}

/// Whose a live object is, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ownership {
    pub owner: String,
    /// The owner did not make it.
    pub imported: bool,
}

/// What happens to imported objects that leave a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImportedPolicy {
    /// Ours no more, and left in place.
    #[default]
    Release,
    Delete,
}

/// What a stack may do with objects that others made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerRules {
    /// Stacks whose objects may be taken over: `project/stack`, `project/stack/workspace`, or `*`.
    pub take_over: Vec<String>,
    pub imported: ImportedPolicy,
}

impl OwnerRules {
    /// Returns whether the objects of a stack may be taken over.
    #[must_use]
    pub fn may_take(&self, owner: &str) -> bool {
        let names = |rule: &String| {
            rule == "*" || rule == owner || owner.rsplit_once('/').is_some_and(|(stack, _)| rule == stack)
        };
        self.take_over.iter().any(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_a_stack_in_any_workspace_or_in_one() {
        let rules = |text: &str| OwnerRules { take_over: vec![text.to_owned()], ..OwnerRules::default() };
        assert!(rules("shop/dev").may_take("shop/dev/default"));
        assert!(rules("shop/dev/default").may_take("shop/dev/default"));
        assert!(rules("*").may_take("shop/dev/default"));
        assert!(!rules("shop/dev/other").may_take("shop/dev/default"));
        assert!(!rules("shop").may_take("shop/dev/default"));
        assert!(!OwnerRules::default().may_take("shop/dev/default"));
    }
}

//! The table of rules: one file each.

mod deprecated;
mod duplicate_key;
mod import_position;
mod import_repeated;
mod import_unused;
mod kubernetes_port;
mod kubernetes_quantity;
mod kubernetes_seconds;
mod missing_docs;
mod names;
mod needless_cast;
mod needless_comprehension;
mod needless_copy;
mod override_for_merge;
mod secret_in_source;
mod shadowing;
mod undefined_comparison;
mod unreachable_branch;
mod unused_ignore;
mod unused_mixin;
mod unused_parameter;
mod unused_variable;

use crate::rule::Rule;
pub(crate) use unused_ignore::RULE as UNUSED_IGNORE;

/// All rules, by code.
pub static RULES: &[&Rule] = &[
    &import_repeated::RULE,
    &import_unused::RULE,
    &import_position::RULE,
    &deprecated::RULE,
    &unused_variable::RULE,
    &unused_parameter::RULE,
    &unused_mixin::RULE,
    &unused_ignore::RULE,
    &shadowing::RULE,
    &unreachable_branch::RULE,
    &undefined_comparison::RULE,
    &duplicate_key::RULE,
    &override_for_merge::RULE,
    &needless_cast::RULE,
    &needless_copy::RULE,
    &needless_comprehension::RULE,
    &missing_docs::RULE,
    &names::RULE,
    &secret_in_source::RULE,
    &kubernetes_quantity::RULE,
    &kubernetes_port::RULE,
    &kubernetes_seconds::RULE,
];

/// Finds a rule by its code or id.
pub fn find(name: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == name || rule.code.eq_ignore_ascii_case(name))
}

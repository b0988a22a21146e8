//! The planner's question: what would applying this manifest do to the live object? Answered without asking the server.
//!
//! In: the live object with managedFields, our manager's name, the manifest, and the manifest applied last time if it is known.
//! Out: nothing, the changed fields with who owns them, or that an immutable field forces a replacement. The cheap walk of
//! [`crate::unchanged`] answers for objects that did not change; only the others run the real apply algorithm.

use ecow::EcoString;
use serde_json::Value;

use crate::decode::{decode, merge_string_data};
use crate::elem::{Elem, Scalar, path_short};
use crate::fieldset::FieldSet;
use crate::immutable::{immutable_changes, needs_replace};
use crate::managed::{Managed, Operation};
use crate::normalise::stored;
use crate::reach::Reach;
use crate::ssa::{self, Applied, Applier, ApplyError, Conflict, Target, same_object, without_managed};
use crate::status::{Cause, Refusal};
use crate::strategy::prepare_update;
use crate::typed::{Comparison, compare, same_value};
use crate::unchanged::is_unchanged;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub target: Target<'a>,
    pub live: &'a Value,
    pub manager: &'a str,
    pub desired: &'a Value,
    /// The manifest of the last apply; makes "who changed it" exact.
    pub prior: Option<&'a Value>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Neither the object nor our entry would change.
    NoChange,
    Change(Change),
    /// An immutable field differs: delete and create.
    Replace(Replace),
    /// The server would refuse the manifest as it stands.
    Refused(Refusal),
}

/// An update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Changed fields; empty when only ownership or the order of list items changes.
    pub fields: Vec<FieldChange>,
    /// Fields of other managers with other values: an apply without force is refused.
    pub conflicts: Vec<Conflict>,
}

/// A replacement.
#[derive(Clone, Debug, PartialEq)]
pub struct Replace {
    pub fields: Vec<FieldChange>,
    /// The server's refusals, one per immutable field.
    pub reasons: Vec<Cause>,
}

/// One changed field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    pub path: Vec<Elem>,
    pub live: Option<Value>,
    /// The value after the apply; `None` = removed.
    pub desired: Option<Value>,
    /// Managers of the live value.
    pub owners: Vec<Owner>,
    pub side: Side,
}

/// A manager of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub manager: EcoString,
    pub operation: Operation,
}

/// Who made the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The manifest changed.
    Ours,
    /// Somebody changed the live object.
    Theirs,
    Both,
}

impl FieldChange {
    /// The path for people: `spec.template.spec.containers[main].image`.
    pub fn path_text(&self) -> String {
        path_short(&self.path)
    }
}

/// Decides what applying the manifest would do.
pub fn decide(question: Question<'_>) -> Decision {
    let Question { target, live, manager, desired, .. } = question;
    if is_unchanged(target, live, manager, desired) {
        return Decision::NoChange;
    }
    let managed = Managed::of(live);
    let (applied, conflicts) = match simulate(target, live, &managed, manager, desired) {
        Ok(outcome) => outcome,
        Err(refusal) => return Decision::Refused(refusal),
    };
    let new = match applied.object {
        None => None,
        Some(object) => match settled(target, live, object) {
            Ok(object) => Some(object),
            Err(refusal) => return Decision::Refused(refusal),
        },
    };
    let ownership = entry_changes(&applied.managed, &managed, manager, target);
    let Some(new) = new else {
        return match ownership {
            true => Decision::Change(Change { fields: Vec::new(), conflicts }),
            false => Decision::NoChange,
        };
    };
    let mut differences = compare(target.schema, &target.resource.ty, live, &new);
    ignore_system(&mut differences);
    if differences.is_same() && !ownership && same_object(live, &with_kind(live, new.clone())) {
        return Decision::NoChange;
    }
    let fields = changes(&question, &differences, &new, &managed);
    let reasons: Vec<Cause> =
        immutable_changes(target.resource, live, &new).into_iter().filter(needs_replace).collect();
    match reasons.is_empty() {
        false => Decision::Replace(Replace { fields, reasons }),
        true => Decision::Change(Change { fields, conflicts }),
    }
}

fn simulate(
    target: Target<'_>,
    live: &Value,
    managed: &Managed,
    manager: &str,
    desired: &Value,
) -> Result<(Applied, Vec<Conflict>), Refusal> {
    // The time never shows: it is only there to be different from none.
    let by = Applier { manager, force: false, now: "" };
    match ssa::apply(target, live, managed.clone(), desired, by) {
        Ok(applied) => Ok((applied, Vec::new())),
        Err(ApplyError::Conflicts(conflicts)) => {
            let forced = ssa::apply(target, live, managed.clone(), desired, Applier { force: true, ..by });
            forced.map(|applied| (applied, conflicts)).map_err(|e| e.to_refusal())
        }
        Err(error) => Err(error.to_refusal()),
    }
}

/// The merged object in the form in which the server would store it.
fn settled(target: Target<'_>, live: &Value, mut object: Value) -> Result<Value, Refusal> {
    if target.resource.kind == "Secret" && !target.resource.custom {
        merge_string_data(&mut object);
    }
    let mut new = decode(target, object)?;
    if target.resource.kind == "Pod" && !target.resource.custom {
        keep_default_tolerations(live, &mut new);
    }
    prepare_update(target, live, &mut new, false);
    stored(target.schema, target.resource, &mut new);
    Ok(new)
}

/// Whether our own entry would change. Others lose fields only where fields change, and bookkeeping of untracked objects is
/// not a change of ours.
fn entry_changes(new: &Managed, old: &Managed, manager: &str, target: Target<'_>) -> bool {
    let own = |managed: &Managed| {
        let ours = |e: &&crate::managed::Entry| {
            e.manager.name == manager
                && e.manager.operation == Operation::Apply
                && e.manager.subresource == target.subresource
        };
        managed.entries.iter().find(ours).map(|e| (e.manager.api_version.clone(), e.fields.clone()))
    };
    own(new) != own(old)
}

/// Admission adds these two tolerations to every pod again, so an applied list without them changes nothing.
fn keep_default_tolerations(live: &Value, new: &mut Value) {
    let added = |t: &Value| {
        let key = t.get("key").and_then(Value::as_str).unwrap_or_default();
        matches!(key, "node.kubernetes.io/not-ready" | "node.kubernetes.io/unreachable")
    };
    let kept: Vec<Value> = live
        .at("/spec/tolerations")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|t| added(t))
        .cloned()
        .collect();
    if let Some(list) = new.pointer_mut("/spec/tolerations").and_then(Value::as_array_mut) {
        for toleration in kept {
            if !list.iter().any(|t| t.get("key") == toleration.get("key")) {
                list.push(toleration);
            }
        }
    }
}

/// Items of a list come without apiVersion and kind: what the live object lacks is not compared.
fn with_kind(live: &Value, mut new: Value) -> Value {
    if let Some(map) = new.as_object_mut() {
        map.retain(|key, _| !matches!(key.as_str(), "apiVersion" | "kind") || live.get(key).is_some());
    }
    new
}

/// Fields that follow from others are not shown as changes.
fn ignore_system(differences: &mut Comparison) {
    let system = crate::fieldset::set_of(&[
        &["apiVersion"],
        &["kind"],
        &["metadata", "generation"],
        &["metadata", "resourceVersion"],
        &["metadata", "annotations", crate::decode::TEMPLATE_GENERATION],
    ]);
    *differences = differences.without(&system);
}

fn changes(
    question: &Question<'_>,
    differences: &Comparison,
    new: &Value,
    managed: &Managed,
) -> Vec<FieldChange> {
    let live = question.live;
    let mut paths = tops(&differences.added);
    paths.extend(tops(&differences.removed));
    paths.extend(differences.modified.paths());
    paths.sort();
    paths.dedup();
    let change = |path: Vec<Elem>| {
        let was = lookup(live, &path).cloned();
        let is = lookup(new, &path).cloned();
        let owners = owners(managed, &path);
        let side = side(question, &path, was.as_ref(), is.as_ref(), &owners);
        FieldChange { path, live: was, desired: is, owners, side }
    };
    paths.into_iter().map(change).collect()
}

/// The highest members: a subtree that comes or goes is one change.
fn tops(set: &FieldSet) -> Vec<Vec<Elem>> {
    fn walk(set: &FieldSet, prefix: &mut Vec<Elem>, out: &mut Vec<Vec<Elem>>) {
        for (elem, node) in set.nodes() {
            prefix.push(elem.clone());
            match node.member {
                true => out.push(prefix.clone()),
                false => walk(&node.below, prefix, out),
            }
            prefix.pop();
        }
    }
    let mut out = Vec::new();
    walk(set, &mut Vec::new(), &mut out);
    out
}

/// The value at a path.
pub fn lookup<'v>(value: &'v Value, path: &[Elem]) -> Option<&'v Value> {
    path.iter().try_fold(value, |at, elem| match elem {
        Elem::Field(name) => at.get(name.as_str()),
        Elem::Index(i) => at.get(i),
        Elem::Value(wanted) => at.as_array()?.iter().find(|item| wanted.is_json(item)),
        Elem::Key(keys) => at.as_array()?.iter().find(|item| {
            keys.iter().all(|(name, wanted)| match item.get(name.as_str()) {
                Some(value) => wanted.is_json(value),
                // A manifest may leave out a key that has a default.
                None => matches!(wanted, Scalar::Str(s) if s == "TCP" || s.is_empty()),
            })
        }),
    })
}

fn owners(managed: &Managed, path: &[Elem]) -> Vec<Owner> {
    let owns = |set: &FieldSet| {
        (1..=path.len()).any(|n| set.has(&path[..n]) && (n == path.len() || is_leaf(set, &path[..n])))
    };
    let entries = managed.entries.iter().filter(|e| owns(&e.fields) || below(&e.fields, path));
    entries.map(|e| Owner { manager: e.manager.name.clone(), operation: e.manager.operation }).collect()
}

fn node_at<'f>(set: &'f FieldSet, path: &[Elem]) -> Option<&'f crate::fieldset::Node> {
    let (first, rest) = path.split_first()?;
    let node = set.get(first)?;
    if rest.is_empty() { Some(node) } else { node_at(&node.below, rest) }
}

fn is_leaf(set: &FieldSet, path: &[Elem]) -> bool {
    node_at(set, path).is_some_and(|n| n.below.is_empty())
}

fn below(set: &FieldSet, path: &[Elem]) -> bool {
    node_at(set, path).is_some()
}

fn side(
    question: &Question<'_>,
    path: &[Elem],
    was: Option<&Value>,
    is: Option<&Value>,
    owners: &[Owner],
) -> Side {
    let same = |a: Option<&Value>, b: Option<&Value>| match (a, b) {
        (Some(a), Some(b)) => same_value(a, b),
        (None, None) => true,
        _ => false,
    };
    if let Some(prior) = question.prior {
        let before = lookup(prior, path);
        let wanted = lookup(question.desired, path);
        let ours = !same(before, wanted);
        // A field that only defaulting fills is compared with what the apply would yield.
        let defaulted = before.is_none() && wanted.is_none() && !same(was, is) && owners.is_empty();
        let theirs = !same(before, was) && !defaulted;
        return match (ours, theirs) {
            (true, true) if was.is_some() || before.is_some() => Side::Both,
            (true, _) => Side::Ours,
            (false, _) => Side::Theirs,
        };
    }
    let ours = owners.iter().any(|o| o.manager == question.manager && o.operation == Operation::Apply);
    let theirs = owners.iter().any(|o| o.manager != question.manager || o.operation != Operation::Apply);
    match (ours, theirs) {
        (true, true) => Side::Both,
        (false, true) => Side::Theirs,
        _ => Side::Ours,
    }
}

/// The live object without ownership, as people want to see it.
pub fn visible(live: &Value) -> Value {
    without_managed(live)
}

#[cfg(test)]
mod tests;

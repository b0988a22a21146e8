//! Server-side apply: merge by schema, ownership, conflicts; and ownership tracking of plain updates.
//!
//! In: the live object, its entries, and either an applied configuration or the updated object. Out: the new object (before
//! defaulting) and the new entries, or the conflicts. Invariant: pure; the caller gives the time; the live object is not touched.
//! Not done here: defaulting, admission, validation, storing ([`crate::write`] chains those).

use std::sync::OnceLock;

use ecow::EcoString;
use serde_json::{Map, Value};

use crate::elem::{Elem, path_text};
use crate::fieldset::{FieldSet, set_of};
use crate::managed::{Entry, Managed, Manager, Operation};
use crate::normalise::empty_object;
use crate::reach::Reach;
use crate::reset::{Reset, reset_fields};
use crate::schema::{Resource, Schema, Ty};
use crate::status::{Cause, Refusal};
use crate::typed::{
    Atom, Comparison, Duplicates, atom, check, collect, compare, merge_into, remove_items, same_value,
    with_named_fields,
};
use crate::version::in_version;
use crate::write::Writer;

/// What is written: a resource of a schema, through the main path (`subresource` empty) or a sub-resource.
#[derive(Clone, Copy, Debug)]
pub struct Target<'s> {
    pub schema: &'s Schema,
    pub resource: &'s Resource,
    pub subresource: &'s str,
}

impl<'s> Target<'s> {
    /// The main path of a resource.
    pub fn main(schema: &'s Schema, resource: &'s Resource) -> Target<'s> {
        Target { schema, resource, subresource: "" }
    }

    fn manager(&self, name: &str, operation: Operation) -> Manager {
        Manager {
            name: name.into(),
            operation,
            api_version: self.resource.api_version(),
            subresource: self.subresource.into(),
        }
    }
}

/// Who applies and how.
#[derive(Clone, Copy, Debug)]
pub struct Applier<'a> {
    pub manager: &'a str,
    pub force: bool,
    /// RFC 3339 with whole seconds.
    pub now: &'a str,
}

/// A conflict with one manager on one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub manager: Manager,
    pub path: Vec<Elem>,
}

/// Why an apply is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// The configuration does not fit the schema, with the server's text.
    Typed(String),
    Conflicts(Vec<Conflict>),
}

/// What an apply yields.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The merged object, before defaulting and without managedFields; `None` when it equals the live one.
    pub object: Option<Value>,
    pub managed: Managed,
}

/// Applies a configuration to a live object (an empty object when there is none yet).
pub fn apply(
    target: Target<'_>,
    live: &Value,
    managed: Managed,
    config: &Value,
    by: Applier<'_>,
) -> Result<Applied, ApplyError> {
    let ty = &target.resource.ty;
    check(target.schema, ty, config, Duplicates::Refused).map_err(|e| {
        ApplyError::Typed(format!("failed to create typed patch object ({}): {e}", describe(target, config)))
    })?;
    let managed = first_apply(target, live, managed, by.now);
    if by.manager != "kubectl" {
        return merge(target, live, managed, config, by);
    }
    match merge(target, live, managed.clone(), config, by) {
        Err(ApplyError::Conflicts(conflicts)) => {
            let allowed = last_applied_fields(target, live);
            let left: Vec<Conflict> = conflicts.into_iter().filter(|c| !allowed.has(&c.path)).collect();
            match left.is_empty() {
                true => merge(target, live, managed, config, Applier { force: true, ..by }),
                false => Err(ApplyError::Conflicts(left)),
            }
        }
        other => other,
    }
}

fn describe(target: Target<'_>, config: &Value) -> String {
    let text = |key: &str| config.at(key).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let Resource { group, version, kind, .. } = target.resource;
    format!("{namespace}/{name}; {group}/{version}, Kind={kind}")
}

/// An object that nobody tracked yet is booked as written by `before-first-apply`.
fn first_apply(target: Target<'_>, live: &Value, managed: Managed, now: &str) -> Managed {
    let exists = live.at("/metadata/uid").is_some();
    if !managed.entries.is_empty() || !exists {
        return managed;
    }
    let manager = target.manager("before-first-apply", Operation::Update);
    track(target, &empty_object(target.schema, target.resource), live, managed, &manager, now)
}

fn merge(
    target: Target<'_>,
    live: &Value,
    mut managed: Managed,
    config: &Value,
    by: Applier<'_>,
) -> Result<Applied, ApplyError> {
    let (schema, ty) = (target.schema, &target.resource.ty);
    widen_entries(target, &mut managed);
    let reset = reset_fields(target);
    let mut merged = without_managed(live);
    merge_into(schema, ty, &mut merged, config);
    let mut set = collect(schema, ty, config);
    if !reset.is_none() {
        set = set.difference_deep(reset.set());
    }
    let manager = target.manager(by.manager, Operation::Apply);
    if let Some(mut last) = place(&mut managed, &manager, set) {
        if !reset.is_none() {
            last.fields = last.fields.difference_deep(reset.set());
        }
        merged = prune(target, merged, &last, &managed, &manager);
    }
    let own = compare(schema, ty, live, &merged);
    let changed = settle(target, (live, &merged), own, &mut managed, (&manager, by.force), &reset)?;
    strip(&mut managed, &manager);
    // A mere reordering is no change of any field, but it is written.
    let object = (!changed.is_same() || !same_object(live, &merged)).then_some(merged);
    if object.is_some()
        && let Some(entry) = managed.get_mut(&manager)
    {
        entry.time = Some(by.now.into());
    }
    managed.drop_empty();
    Ok(Applied { object, managed })
}

/// Puts the applier's new set in place and gives back its last entry; its time stays until the object turns out to have
/// changed.
fn place(managed: &mut Managed, manager: &Manager, fields: FieldSet) -> Option<Entry> {
    let Some(entry) = managed.get_mut(manager) else {
        managed.entries.push(Entry { manager: manager.clone(), time: None, fields });
        return None;
    };
    let fresh = Entry { manager: manager.clone(), time: entry.time.clone(), fields };
    Some(std::mem::replace(entry, fresh))
}

/// Removes what the manager no longer applies and nobody else owns.
fn prune(target: Target<'_>, merged: Value, last: &Entry, managed: &Managed, manager: &Manager) -> Value {
    let Some(new) = managed.get(manager) else { return merged };
    let same_version = last.manager.api_version == manager.api_version;
    if last.fields.is_empty() || (same_version && last.fields.is_subset(&new.fields)) {
        return merged;
    }
    let Some(view) = in_version(target, &merged, &last.manager.api_version) else { return merged };
    let at = Target { resource: view.resource, ..target };
    let (schema, ty) = (target.schema, view.ty);
    let was = with_named_fields(schema, ty, &last.fields);
    let whole = view.object.into_owned();

    let mut pruned = whole.clone();
    remove_items(schema, ty, &mut pruned, &was);
    let mut versions: Vec<&str> = managed.entries.iter().map(|e| e.manager.api_version.as_str()).collect();
    versions.sort_by_key(|v| (*v != last.manager.api_version, *v));
    versions.dedup();
    for version in versions {
        pruned = add_back_owned(at, &whole, pruned, managed, version);
    }
    let left = with_named_fields(schema, ty, &collect(schema, ty, &pruned));
    let whole_set = with_named_fields(schema, ty, &collect(schema, ty, &whole));
    let mut result = whole;
    remove_items(schema, ty, &mut result, &whole_set.difference(&left).intersection(&was));
    match in_version(at, &result, &manager.api_version) {
        Some(back) => back.object.into_owned(),
        None => merged,
    }
}

/// Puts back what managers of one version own; `at` is the version of `whole` and `pruned`.
fn add_back_owned(at: Target<'_>, whole: &Value, pruned: Value, managed: &Managed, version: &str) -> Value {
    let (Some(full), Some(part)) = (in_version(at, whole, version), in_version(at, &pruned, version)) else {
        return pruned;
    };
    let (schema, ty) = (at.schema, full.ty);
    let entries = managed.entries.iter().filter(|e| e.manager.api_version == version);
    let owned = entries.fold(FieldSet::new(), |set, e| set.union(&e.fields));
    let named = |set: &FieldSet| with_named_fields(schema, ty, set);
    let kept = named(&collect(schema, ty, &part.object)).union(&named(&owned));
    let gone = named(&collect(schema, ty, &full.object)).difference(&kept);
    let there = Target { resource: full.resource, ..at };
    let mut out = full.object.into_owned();
    remove_items(schema, ty, &mut out, &gone);
    in_version(there, &out, &at.resource.api_version()).map_or(pruned, |back| back.object.into_owned())
}

/// Finds conflicts of a change (`own`, in the version of the target) with the other managers; forced or removed paths leave their sets.
fn settle(
    target: Target<'_>,
    (live, new): (&Value, &Value),
    own: Comparison,
    managed: &mut Managed,
    (manager, force): (&Manager, bool),
    reset: &Reset,
) -> Result<Comparison, ApplyError> {
    if own.is_same() {
        // Nothing changed in any version: only extinct versions need to go.
        managed.entries.retain(|e| {
            e.manager.same(manager) || in_version(target, live, &e.manager.api_version).is_some()
        });
        return Ok(own);
    }
    let mut conflicts = Vec::new();
    let mut kept = Vec::with_capacity(managed.entries.len());
    let main = target.resource.api_version();
    for mut entry in std::mem::take(&mut managed.entries) {
        let other = entry.manager.api_version != main;
        if entry.manager.same(manager) {
            // The applier's own set keeps what it states, but not what was removed.
            entry.fields = entry.fields.difference(&own.removed);
            kept.push(entry);
            continue;
        }
        let converted = match other {
            false => None,
            true => match compare_in_version(target, live, new, &entry.manager.api_version) {
                Some(comparison) => Some(comparison),
                None => continue,
            },
        };
        let raw = converted.as_ref().unwrap_or(&own);
        let filtered = (!reset.is_none()).then(|| raw.without(reset.set()));
        let comparison = filtered.as_ref().unwrap_or(raw);
        let clash = entry.fields.intersection(&comparison.modified.union(&comparison.added));
        if !clash.is_empty() {
            conflicts.extend(
                clash.paths().into_iter().map(|path| Conflict { manager: entry.manager.clone(), path }),
            );
            entry.fields = entry.fields.difference(&clash);
        }
        entry.fields = entry.fields.difference(&comparison.removed);
        kept.push(entry);
    }
    if !force && !conflicts.is_empty() {
        return Err(ApplyError::Conflicts(sorted(conflicts)));
    }
    managed.entries = kept;
    Ok(own)
}

fn compare_in_version(
    target: Target<'_>,
    live: &Value,
    new: &Value,
    api_version: &str,
) -> Option<Comparison> {
    let old = in_version(target, live, api_version)?;
    let new = in_version(target, new, api_version)?;
    Some(compare(target.schema, old.ty, &old.object, &new.object))
}

fn sorted(mut conflicts: Vec<Conflict>) -> Vec<Conflict> {
    conflicts.sort_by_cached_key(|c| c.manager.sort_key());
    conflicts
}

/// Tracks a plain write (create, update, patch): the writer owns what it changed, everybody else loses it.
pub fn update(
    target: Target<'_>,
    live: &Value,
    new: &Value,
    managed: Managed,
    manager: &str,
    now: &str,
) -> Managed {
    let exists = live.at("/metadata/uid").is_some();
    if managed.entries.is_empty() && exists {
        // Tracking was switched off by clearing the list: only an apply starts it again.
        return managed;
    }
    let manager = target.manager(manager, Operation::Update);
    let mut managed = track(target, live, new, managed, &manager, now);
    managed.cap_updaters();
    managed
}

/// As [`update`] of an object that exists, when it is known what differs.
pub(crate) fn update_compared(
    target: Target<'_>,
    objects: (&Value, &Value),
    own: Comparison,
    managed: Managed,
    by: &Writer<'_>,
) -> Managed {
    if managed.entries.is_empty() {
        return managed;
    }
    let manager = target.manager(by.manager, Operation::Update);
    let mut managed = track_compared(target, objects, own, managed, (&manager, by.now));
    managed.cap_updaters();
    managed
}

fn track(
    target: Target<'_>,
    live: &Value,
    new: &Value,
    managed: Managed,
    manager: &Manager,
    now: &str,
) -> Managed {
    let own = compare(target.schema, &target.resource.ty, live, new);
    track_compared(target, (live, new), own, managed, (manager, now))
}

fn track_compared(
    target: Target<'_>,
    objects: (&Value, &Value),
    own: Comparison,
    mut managed: Managed,
    (manager, now): (&Manager, &str),
) -> Managed {
    widen_entries(target, &mut managed);
    let reset = reset_fields(target);
    let nobody = Manager { name: "\0current".into(), operation: Operation::Update, ..manager.clone() };
    let Ok(changed) = settle(target, objects, own, &mut managed, (&nobody, true), &reset) else {
        return managed;
    };
    let mut taken = changed.modified.union(&changed.added);
    if !reset.is_none() {
        taken = taken.difference_deep(reset.set());
    }
    taken = taken.difference(stripped());
    if !taken.is_empty() {
        match managed.get_mut(manager) {
            Some(entry) => {
                entry.fields = entry.fields.union(&taken);
                entry.time = Some(now.into());
            }
            None => managed.entries.push(Entry {
                manager: manager.clone(),
                time: Some(now.into()),
                fields: taken,
            }),
        }
    }
    managed.drop_empty();
    managed
}

/// The entries that a plain write starts from: those of the request if it carries readable ones, else the live ones.
pub fn entries_for_update(target: Target<'_>, live: &Managed, new: &Value) -> Managed {
    let sent = new.at("/metadata/managedFields").filter(|_| target.subresource.is_empty());
    match sent {
        Some(Value::Array(list)) if list.is_empty() => Managed::default(),
        Some(Value::Array(list)) if list.len() == 1 && list[0].as_object().is_some_and(Map::is_empty) => {
            Managed::default()
        }
        Some(list) => match Managed::parse(list) {
            Some(managed) if !managed.entries.is_empty() => managed,
            _ => live.clone(),
        },
        None => live.clone(),
    }
}

/// Fields that nobody ever owns.
fn stripped() -> &'static FieldSet {
    static STRIPPED: OnceLock<FieldSet> = OnceLock::new();
    STRIPPED.get_or_init(|| {
        set_of(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "creationTimestamp"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
            &["metadata", "clusterName"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "resourceVersion"],
        ])
    })
}

fn strip(managed: &mut Managed, manager: &Manager) {
    if let Some(entry) = managed.get_mut(manager) {
        entry.fields = entry.fields.difference(stripped());
    }
}

/// A copy without `metadata.managedFields`: ownership is never part of what is merged.
pub(crate) fn without_managed(object: &Value) -> Value {
    let Value::Object(map) = object else { return object.clone() };
    let copy = map.iter().map(|(key, value)| match (key.as_str(), value) {
        ("metadata", Value::Object(metadata)) => {
            let kept = metadata.iter().filter(|(k, _)| *k != "managedFields");
            (key.clone(), Value::Object(kept.map(|(k, v)| (k.clone(), v.clone())).collect()))
        }
        _ => (key.clone(), value.clone()),
    });
    Value::Object(copy.collect())
}

/// Whether two objects are equal, ownership left aside.
pub(crate) fn same_object(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return same_value(a, b) };
    let plain = |m: &Map<String, Value>| m.keys().filter(|k| *k != "metadata").count();
    plain(a) == plain(b)
        && a.iter().filter(|(k, _)| *k != "metadata").all(|(k, v)| b.get(k).is_some_and(|w| same_value(v, w)))
        && same_metadata(a.get("metadata"), b.get("metadata"))
}

fn same_metadata(a: Option<&Value>, b: Option<&Value>) -> bool {
    let (Some(Value::Object(a)), Some(Value::Object(b))) = (a, b) else { return a == b };
    let owned = |m: &Map<String, Value>| m.len() - usize::from(m.contains_key("managedFields"));
    owned(a) == owned(b)
        && a.iter()
            .filter(|(k, _)| *k != "managedFields")
            .all(|(k, v)| b.get(k).is_some_and(|w| same_value(v, w)))
}

/// Widens paths below nodes that are atomic in the present schema.
fn widen_entries(target: Target<'_>, managed: &mut Managed) {
    for entry in &mut managed.entries {
        if let Some(ty) = crate::version::type_in(target, &entry.manager.api_version)
            && let Some(set) = widen(target.schema, ty, &entry.fields)
        {
            entry.fields = set;
        }
    }
}

fn widen(schema: &Schema, ty: &Ty, set: &FieldSet) -> Option<FieldSet> {
    let mut changed: Vec<(Elem, Option<FieldSet>)> = Vec::new();
    for (elem, node) in set.nodes().iter().filter(|(_, node)| !node.below.is_empty()) {
        let below = match (elem, atom(schema, ty, None)) {
            (Elem::Field(name), Atom::Map(view)) => view.ty(name),
            (Elem::Key(_) | Elem::Value(_) | Elem::Index(_), Atom::List(list)) => Some(&list.item),
            _ => None,
        };
        let Some(below) = below.filter(|ty| !matches!(ty, Ty::Any)) else { continue };
        let atomic = match atom(schema, below, None) {
            Atom::Map(view) => view.atomic,
            Atom::List(list) => list.kind == crate::schema::ListKind::Atomic,
            Atom::Scalar(_) => true,
        };
        match atomic {
            true => changed.push((elem.clone(), None)),
            false => {
                if let Some(set) = widen(schema, below, &node.below) {
                    changed.push((elem.clone(), Some(set)));
                }
            }
        }
    }
    if changed.is_empty() {
        return None;
    }
    let mut set = set.clone();
    for (elem, below) in changed {
        let node = set.node_mut(elem);
        node.member |= below.is_none();
        node.below = below.unwrap_or_default();
    }
    Some(set)
}

/// Fields whose live value still is what client-side apply wrote: manager `kubectl` may take those without force.
fn last_applied_fields(target: Target<'_>, live: &Value) -> FieldSet {
    let text = live.at("/metadata/annotations").and_then(|a| a.get(LAST_APPLIED)).and_then(Value::as_str);
    let Some(last) = text.and_then(|t| serde_json::from_str::<Value>(t).ok()) else { return FieldSet::new() };
    let (schema, ty) = (target.schema, &target.resource.ty);
    if check(schema, ty, &last, Duplicates::Allowed).is_err() {
        return FieldSet::new();
    }
    let diff = compare(schema, ty, &last, live);
    collect(schema, ty, &last).difference(&diff.modified).difference(&diff.added).difference(&diff.removed)
}

/// The annotation of client-side apply.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl ApplyError {
    /// The answer of the server.
    pub fn to_refusal(&self) -> Refusal {
        match self {
            ApplyError::Typed(text) => Refusal::typed(text.clone()),
            ApplyError::Conflicts(conflicts) => {
                let cause = |c: &Conflict| Cause {
                    reason: "FieldManagerConflict",
                    message: format!("conflict with {}", c.manager.describe()),
                    field: path_text(&c.path),
                };
                let mut refusal = Refusal::new(409, "Conflict", conflict_text(conflicts));
                refusal.causes = conflicts.iter().map(cause).collect();
                refusal
            }
        }
    }
}

fn conflict_text(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        let who = one.manager.describe();
        return format!("Apply failed with 1 conflict: conflict with {who}: {}", path_text(&one.path));
    }
    let mut lines: Vec<String> = Vec::new();
    let mut last: Option<EcoString> = None;
    for conflict in conflicts {
        let key = EcoString::from(conflict.manager.sort_key());
        if last.as_ref() != Some(&key) {
            lines.push(format!("conflicts with {}:", conflict.manager.describe()));
            last = Some(key);
        }
        lines.push(format!("- {}", path_text(&conflict.path)));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

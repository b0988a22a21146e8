//! The structural three-way comparison: which wanted fields differ from the live ones, and who moved.
//!
//! Only fields that are wanted or were applied before are looked at; what the platform added is its own business.
//! Lists of mappings with unique `name`s compare by name, other lists as a whole. Runtimes that know more (defaults,
//! quantities, ownership) bring their own comparison and use [`origin`](three_way)'s rule through the same types.

use std::collections::BTreeSet;

use kusion_model::{Attr, AttrMap, FieldChange, FieldPath, Mover, Segment};

/// Compares wanted attributes with live ones, in the light of what was applied last.
#[must_use]
pub fn three_way(prior: Option<&Attr>, desired: &Attr, live: &Attr) -> Vec<FieldChange> {
    let mut walk = Walk { has_prior: prior.is_some(), changes: Vec::new() };
    walk.compare(&FieldPath::root(), prior, Some(desired), Some(live));
    walk.changes
}

struct Walk {
    has_prior: bool,
    changes: Vec<FieldChange>,
}

impl Walk {
    fn compare(&mut self, path: &FieldPath, prior: Option<&Attr>, want: Option<&Attr>, live: Option<&Attr>) {
        if want == live {
            return;
        }
        match (want, live) {
            (Some(Attr::Map(want)), Some(Attr::Map(live))) => {
                self.compare_maps(path, prior.and_then(Attr::as_map), want, live);
            }
            (Some(Attr::List(want)), Some(Attr::List(live)))
                if by_name(want).is_some() && by_name(live).is_some() =>
            {
                self.compare_named(path, prior, want, live);
            }
            // A field that was never ours and is not wanted is the platform's.
            (None, _) if prior.is_none() => {}
            // Wanted as null means: not there.
            (Some(Attr::Null), None) => {}
            _ => self.push(path, prior, want, live),
        }
    }

    fn compare_maps(&mut self, path: &FieldPath, prior: Option<&AttrMap>, want: &AttrMap, live: &AttrMap) {
        let dropped = prior.into_iter().flat_map(AttrMap::keys).filter(|key| !want.contains_key(*key));
        for key in want.keys().chain(dropped) {
            let prior = prior.and_then(|map| map.get(key));
            self.compare(&path.key(key), prior, want.get(key), live.get(key));
        }
    }

    fn compare_named(&mut self, path: &FieldPath, prior: Option<&Attr>, want: &[Attr], live: &[Attr]) {
        let prior = prior.and_then(Attr::as_list).unwrap_or_default();
        let find = |items: &'_ [Attr], name: &str| items.iter().position(|item| name_of(item) == Some(name));
        let names = want.iter().chain(prior).filter_map(name_of);
        let mut seen = BTreeSet::new();
        for name in names.filter(|name| seen.insert(*name)) {
            let at = |items| find(items, name);
            self.compare(
                &path.child(Segment::Item(name.to_owned())),
                at(prior).map(|i| &prior[i]),
                at(want).map(|i| &want[i]),
                at(live).map(|i| &live[i]),
            );
        }
    }

    fn push(&mut self, path: &FieldPath, prior: Option<&Attr>, want: Option<&Attr>, live: Option<&Attr>) {
        let origin = match (prior != want, prior != live) {
            _ if !self.has_prior => Mover::Ours,
            (true, true) => Mover::Both,
            (true, false) => Mover::Ours,
            (false, _) => Mover::Theirs,
        };
        self.changes.push(FieldChange::new(path.clone(), live.cloned(), want.cloned(), origin));
    }
}

fn name_of(item: &Attr) -> Option<&str> {
    item.get("name").and_then(Attr::as_str)
}

/// Returns the names of a list in which every entry has one of its own.
fn by_name(items: &[Attr]) -> Option<BTreeSet<&str>> {
    let names: BTreeSet<&str> = items.iter().filter_map(name_of).collect();
    (names.len() == items.len()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn changes(prior: Value, desired: Value, live: Value) -> Vec<(String, Mover)> {
        let (prior, desired, live) = (Attr::from(prior), Attr::from(desired), Attr::from(live));
        let prior = (!prior.is_null()).then_some(&prior);
        three_way(prior, &desired, &live).into_iter().map(|c| (c.path.to_string(), c.origin)).collect()
    }

    #[test]
    fn origin_tells_who_moved() {
        let cases = [
            (json!(1), json!(2), json!(1), Mover::Ours),
            (json!(1), json!(1), json!(2), Mover::Theirs),
            (json!(1), json!(2), json!(3), Mover::Both),
        ];
        for (prior, desired, live, origin) in cases {
            let found = changes(json!({"a": prior}), json!({"a": desired}), json!({"a": live}));
            assert_eq!(found, [("a".to_owned(), origin)]);
        }
    }

    #[test]
    fn what_the_platform_adds_is_no_change() {
        let live =
            json!({"a": 1, "status": {"x": 2}, "c": [{"name": "m", "image": "i", "policy": "Always"}]});
        let desired = json!({"a": 1, "c": [{"name": "m", "image": "i"}]});
        assert!(changes(desired.clone(), desired, live).is_empty());
    }

    #[test]
    fn field_dropped_from_the_configuration_goes() {
        assert_eq!(
            changes(json!({"a": 1, "b": 2}), json!({"a": 1}), json!({"a": 1, "b": 2})),
            [("b".to_owned(), Mover::Ours)]
        );
        assert!(changes(json!({"a": 1, "b": 2}), json!({"a": 1}), json!({"a": 1})).is_empty());
    }

    #[test]
    fn named_lists_compare_by_name_whatever_the_order() {
        let prior = json!({"c": [{"name": "x", "v": 1}, {"name": "y", "v": 1}]});
        let desired = json!({"c": [{"name": "y", "v": 2}, {"name": "x", "v": 1}]});
        assert_eq!(changes(prior.clone(), desired, prior), [("c[y].v".to_owned(), Mover::Ours)]);
    }

    #[test]
    fn plain_lists_compare_as_a_whole() {
        let found = changes(json!({"a": [1, 2]}), json!({"a": [2, 1]}), json!({"a": [1, 2]}));
        assert_eq!(found, [("a".to_owned(), Mover::Ours)]);
    }

    #[test]
    fn first_release_has_no_third_side() {
        assert_eq!(changes(Value::Null, json!({"a": 1}), json!({"a": 2})), [("a".to_owned(), Mover::Ours)]);
    }
}

//! Which fields of an object change, and who moved them.

use kusion_model::{Attr, FieldChange, FieldPath, Mover, Segment};

/// Compares an object as it is with what is planned. `recorded` is the object as the last release left it, if it differs.
pub(crate) fn changes(before: &Attr, after: &Attr, recorded: Option<&Attr>) -> Vec<FieldChange> {
    let mut found = Vec::new();
    walk(&mut FieldPath::root(), before, after, recorded, &mut found);
    found
}

fn walk(
    path: &mut FieldPath,
    before: &Attr,
    after: &Attr,
    recorded: Option<&Attr>,
    found: &mut Vec<FieldChange>,
) {
    if before == after && before.is_known() {
        return;
    }
    match (before, after) {
        (Attr::Map(old), Attr::Map(new)) => {
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            for key in new.keys().chain(gone) {
                let inside = recorded.map(|recorded| &recorded[key.as_str()]);
                path.0.push(Segment::Key(key.to_string()));
                walk(path, &before[key.as_str()], &after[key.as_str()], inside, found);
                path.0.pop();
            }
        }
        (Attr::List(old), Attr::List(new)) if old.len() == new.len() => {
            for at in 0..new.len() {
                path.0.push(Segment::Index(at));
                walk(path, &before[at], &after[at], recorded.map(|recorded| &recorded[at]), found);
                path.0.pop();
            }
        }
        _ => {
            let drifted = recorded.is_some_and(|recorded| recorded != before);
            let mover = match recorded {
                Some(recorded) if drifted && recorded == after => Mover::Theirs,
                Some(_) if drifted => Mover::Both,
                _ => Mover::Ours,
            };
            let there = |attr: &Attr| (!attr.is_null()).then(|| attr.clone());
            found.push(FieldChange::new(path.clone(), there(before), there(after), mover));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_named_with_who_moved_them() {
        let before = Attr::from(json!({"a": 1, "b": {"x": "drifted"}, "l": [1, 2], "gone": "g"}));
        let mut after = Attr::from(json!({"a": 2, "b": {"x": "kept"}, "l": [1, 3], "gone": null}));
        after.as_map_mut().unwrap().insert("id".into(), Attr::Unknown);
        let recorded = Attr::from(json!({"a": 1, "b": {"x": "kept"}, "l": [1, 2], "gone": "g"}));
        let found = changes(&before, &after, Some(&recorded));
        let shown: Vec<(String, Mover)> =
            found.iter().map(|one| (one.path.to_string(), one.origin)).collect();
        let ours = |path: &str| (path.to_owned(), Mover::Ours);
        let drift = ("b.x".to_owned(), Mover::Theirs);
        assert_eq!(shown, [ours("a"), drift, ours("l[1]"), ours("gone"), ours("id")]);
        assert_eq!(found[4].after, Some(Attr::Unknown));
        assert_eq!(found[3].after, None);
    }
}

//! YAML's merge key: `<<: *base` lays a mapping, or each of a list of them, under the one it stands in.

use std::collections::HashSet;

use base_yaml::{Data, MapEntry, Node};

const MERGE: &str = "<<";

/// Replaces the merge keys in a document by what they mean. What is neither a mapping nor a list of them is left as it is.
pub(crate) fn resolve(node: &mut Node) {
    match &mut node.value {
        Data::List(items) => items.iter_mut().for_each(resolve),
        Data::Map(entries) => {
            entries.iter_mut().for_each(|entry| resolve(&mut entry.value));
            if entries.iter().any(is_merge) {
                merge(entries);
            }
        }
        _ => {}
    }
}

fn is_merge(entry: &MapEntry) -> bool {
    let is_map = |node: &Node| matches!(node.value, Data::Map(_));
    let mappings = match &entry.value.value {
        Data::Map(_) => true,
        Data::List(items) => items.iter().all(is_map),
        _ => false,
    };
    entry.key == MERGE && mappings
}

fn merge(entries: &mut Vec<MapEntry>) {
    let (merged, own): (Vec<_>, Vec<_>) = std::mem::take(entries).into_iter().partition(is_merge);
    let mut known: HashSet<String> = own.iter().map(|entry| entry.key.clone()).collect();
    *entries = own;
    for entry in merged {
        let maps = match entry.value.value {
            Data::List(items) => items,
            _ => vec![entry.value],
        };
        for map in maps {
            let Data::Map(below) = map.value else { continue };
            entries.extend(below.into_iter().filter(|entry| known.insert(entry.key.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> String {
        let mut node = base_yaml::parse_documents(text, &base_yaml::Limits::default()).unwrap().remove(0);
        resolve(&mut node);
        let Data::Map(entries) = node.value else { panic!("a mapping") };
        entries.iter().map(|e| format!("{}={:?} ", e.key, e.value.value)).collect()
    }

    #[test]
    fn own_keys_win_then_the_first_of_the_list() {
        assert_eq!(keys("{a: 1, <<: {a: 2, b: 3}}"), "a=Int(1) b=Int(3) ");
        assert_eq!(keys("{<<: [{a: 1}, {a: 2, b: 3}], c: 4}"), "c=Int(4) a=Int(1) b=Int(3) ");
        assert_eq!(keys("{<<: {<<: {a: 1}}}"), "a=Int(1) ");
        assert_eq!(keys("{<<: 1}"), "<<=Int(1) ");
    }
}

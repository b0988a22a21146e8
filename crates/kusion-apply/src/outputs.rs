//! What a release gives to other stacks: the values of its outputs, each of the type that is declared.

use std::collections::BTreeMap;

use kusion_model::{Attr, Observed, ResourceKey, StackOutput};

/// The outputs of a release.
pub(crate) struct Given {
    pub(crate) values: BTreeMap<String, Attr>,
    /// Those that are not of their type: they are not given.
    pub(crate) wrong: Vec<String>,
}

impl Given {
    pub(crate) fn of<'s>(
        outputs: &[StackOutput],
        seen: impl IntoIterator<Item = (&'s ResourceKey, &'s Observed)> + Clone,
    ) -> Self {
        let mut given = Given { values: BTreeMap::new(), wrong: Vec::new() };
        for output in outputs {
            let observed = seen.clone().into_iter().find(|(key, _)| key.id == output.id);
            let value = observed.and_then(|(_, observed)| output.path.get(observed.attributes.tree()));
            let Some(value) = value else { continue };
            if output.kind.takes(value) {
                given.values.insert(output.to_string(), value.clone());
            } else {
                let (wanted, found) = (output.kind.word(), value.what());
                given.wrong.push(format!("output {output} must be of type {wanted} and is {found}"));
            }
        }
        given
    }
}

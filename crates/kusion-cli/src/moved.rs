//! A stack on another cluster than before: refused, or moved on the user's word, with what stays behind.

use kusion::{OtherCluster, Recognised};
use kusion_store::State;

use crate::failure::{Failure, exit};
use crate::place::Place;

/// So many resources are named one by one.
const NAMED: usize = 10;

/// The state is of another cluster, and nobody said that the stack moves.
pub(crate) fn refused(other: &OtherCluster, place: &Place) -> Failure {
    let OtherCluster { before, found } = other;
    let scope = &place.target.scope;
    Failure::new(exit::CONFLICT, format!("{scope} is on another cluster"))
        .cause(format!("its state is of {before}\nand this is {found}"))
        .place(place.target.store.place().display().to_string())
        .next(format!(
            "go back to that cluster: --context {} or --kubeconfig FILE\nor leave there what it has, and begin here: kusion apply {scope} --move-cluster",
            before.context
        ))
}

/// What a user should know about the clusters; nothing when all is well.
pub(crate) fn notes(recognised: &Recognised, state: &State) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, before) in &recognised.moved {
        let keys: Vec<String> = state
            .prior()
            .keys()
            .iter()
            .filter(|key| *key.cluster == **name)
            .map(ToString::to_string)
            .collect();
        let mut list = keys.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        if keys.len() > NAMED {
            list.push_str(&format!(" and {} more", keys.len() - NAMED));
        }
        notes.push(format!(
            "moved: what the stack made on {before} stays there and is forgotten here: {list}"
        ));
    }
    for name in &recognised.unsure {
        let Some(found) = recognised.found.get(name) else { continue };
        notes.push(format!("nobody can say whether this is the cluster of the last release: {found}"));
    }
    if let Some(found) =
        recognised.found.get("").filter(|found| found.uid.is_none() && found.authority.is_some())
    {
        notes.push(format!(
            "the namespace kube-system may not be read on {}: the cluster is known by its certificate authority alone",
            found.context
        ));
    }
    notes
}

//! `kusion import` of one object of a cluster.

use kusion::{Exit, KubeSite, Sites, Target, remote_failed};
use kusion_model::{ReleaseNo, ResourceKey, ResourceRecord, ResourceType};
use kusion_runtime::{ObserveAsk, Runtime as _};
use kusion_runtime_k8s::as_written;

use crate::commands::import::Taken;
use crate::views::failure::Failure;

/// Reads an object, and what of it somebody has written.
pub(crate) async fn take(sites: &Sites, key: &ResourceKey, target: &Target) -> Result<Taken, Failure> {
    let Some(KubeSite { runtime, .. }) = sites.of(&key.cluster) else {
        return Err(Failure::new(Exit::Bug, "nobody asks the cluster"));
    };
    let kind = ResourceType::kubernetes();
    let ask = ObserveAsk {
        key: key.clone(),
        kind: kind.clone(),
        prior: None,
        extensions: Default::default(),
        wanted: None,
    };
    let mut seen = runtime.observe(&[ask]).await.map_err(|error| remote_failed(&error, ""))?;
    let Some(observed) = seen.remove(key) else {
        return Err(Failure::usage(format!("there is no {key} in the cluster"))
            .next("an id is apiVersion:Kind:[namespace:]name, as in apps/v1:Deployment:shop:web"));
    };
    if let Some(owner) = observed.owner.as_ref().filter(|mark| mark.owner != target.scope.owner()) {
        return Err(Failure::new(Exit::Conflict, format!("{key} belongs to {}", owner.owner))
            .next("let that stack give it up first, or take it over: kusion apply --take-over"));
    }
    let (attributes, left_out) = as_written(observed.attributes.tree());
    let notes = left_out.into_iter().map(|text| format!("{key}: {text}")).collect();
    let record = ResourceRecord {
        key: key.clone(),
        kind,
        attributes,
        depends_on: Vec::new(),
        extensions: Default::default(),
        references: Vec::new(),
        uid: observed.uid.clone(),
        release: ReleaseNo(0),
        imported: true,
        kept: observed.kept.clone(),
        deposed: Vec::new(),
    };
    Ok(Taken { records: vec![record], written: Default::default(), names: Default::default(), notes })
}

//! What a plan starts from: the stored object, one that moved here, or one that is imported.

use tf_host::{Imported, MoveAsk, Provider, ReadAsk, Resource};
use tf_schema::fill_blocks;
use tf_schema::state::{Instance, State};
use tf_value::Value;
use tf_value::json::Json;

use super::ours::{Ours, instance, refuse};

/// An object as it is now; null if there is none.
#[derive(Default)]
pub(super) struct Prior {
    pub(super) state: Value,
    pub(super) private: Vec<u8>,
}

/// The other end of a move that has this address at one end.
pub(super) fn moved<'s>(step: &'s Json, end: &str, address: &str) -> Option<&'s str> {
    let other = if end == "from" { "to" } else { "from" };
    let moves = step.get("moved").and_then(Json::as_array).unwrap_or_default();
    let one = moves.iter().find(|one| one.get(end).and_then(Json::as_str) == Some(address))?;
    one.get(other).and_then(Json::as_str)
}

/// The type of the address that an object comes from, if it has moved here.
pub(super) fn moved_type<'s>(step: &'s Json, address: &str) -> Option<&'s str> {
    moved(step, "to", address)?.split('.').next()
}

/// What is stored of an object, perhaps under the address that it had before.
pub(super) fn stored<'s>(step: &Json, before: &'s State, address: &str) -> Option<&'s Instance> {
    let earlier = || instance(before, moved(step, "to", address)?);
    instance(before, address).or_else(earlier)
}

impl Ours {
    pub(super) async fn prior(
        &self,
        provider: &Provider,
        of: &Resource,
        step: &Json,
        before: &State,
        address: &str,
    ) -> Result<Prior, String> {
        let Some(stored) = stored(step, before, address) else {
            return imported(provider, of, step, address).await;
        };
        let json = stored.attributes.clone().unwrap_or(Json::Null).compact();
        let version = i64::try_from(stored.schema_version).map_err(|_| "a strange schema version")?;
        let (state, private) = match moved_type(step, address).filter(|from| *from != of.name) {
            None => {
                let (state, said) =
                    provider.upgrade(of, version, json.as_bytes()).await.map_err(|e| e.to_string())?;
                refuse(&said)?;
                (state, stored.private.clone())
            }
            Some(from) => {
                let ask = MoveAsk {
                    provider_address: "registry.opentofu.org/acme/lab",
                    type_name: from,
                    schema_version: version,
                    state_json: json.as_bytes(),
                    private: &stored.private,
                    identity: None,
                };
                let moved = provider.move_state(of, ask).await.map_err(|e| e.to_string())?;
                refuse(&moved.said)?;
                (moved.state, moved.private)
            }
        };
        refreshed(provider, of, state.unwrap_or_default(), &private).await
    }
}

/// An object that the configuration names by its id.
async fn imported(provider: &Provider, of: &Resource, step: &Json, address: &str) -> Result<Prior, String> {
    let imports = step.get("import").and_then(Json::as_array).unwrap_or_default();
    let to = |one: &&Json| one.get("to").and_then(Json::as_str) == Some(address);
    let Some(id) = imports.iter().find(to).and_then(|one| one.get("id")).and_then(Json::as_str) else {
        return Ok(Prior::default());
    };
    let Imported { mut objects, said, .. } = provider.import(of, id).await.map_err(|e| e.to_string())?;
    refuse(&said)?;
    let (1, Some(one)) = (objects.len(), objects.pop()) else {
        return Err("not one object was found".into());
    };
    let prior = refreshed(provider, of, one.state.unwrap_or_default(), &one.private).await?;
    if prior.state.is_null() { Err("what is imported does not exist".into()) } else { Ok(prior) }
}

async fn refreshed(
    provider: &Provider,
    of: &Resource,
    state: Value,
    private: &[u8],
) -> Result<Prior, String> {
    // A provider may leave blocks out; a plan has all of them.
    let state = fill_blocks(&of.schema.block, &state);
    let ask = ReadAsk { state: &state, private, identity: None, meta: None };
    let read = provider.read(of, ask).await.map_err(|error| error.to_string())?;
    refuse(&read.said)?;
    let state = fill_blocks(&of.schema.block, &read.state.unwrap_or_default());
    Ok(Prior { state, private: read.private })
}

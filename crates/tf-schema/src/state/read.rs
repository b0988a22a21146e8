//! Text to state.

use data_encoding::BASE64;
use tf_value::json::Json;
use tf_value::{Path, Step};

use super::{Instance, Key, Mode, Output, Resource, State, StateError};

fn wrong(place: &str, message: impl Into<String>) -> StateError {
    StateError::Field { place: place.to_owned(), message: message.into() }
}

pub(super) fn state(bytes: &[u8]) -> Result<State, StateError> {
    let json = Json::parse(bytes).map_err(|error| StateError::NotJson(error.message))?;
    let Json::Object(_) = json else { return Err(StateError::NotJson("an object is required".to_owned())) };
    match json.get("version") {
        Some(Json::Number(digits)) if digits == "4" => {}
        Some(other) => return Err(StateError::Version(other.compact())),
        None => return Err(StateError::Version("none".to_owned())),
    }
    let mut outputs = Vec::new();
    if let Some(all) = present(&json, "outputs") {
        let all = all.as_object().ok_or_else(|| wrong("outputs", "an object is required"))?;
        for (name, json) in all {
            outputs.push((name.clone(), output(json)));
        }
    }
    let mut resources = Vec::new();
    if let Some(all) = present(&json, "resources") {
        let all = all.as_array().ok_or_else(|| wrong("resources", "a list is required"))?;
        for (at, json) in all.iter().enumerate() {
            resources.push(resource(json, &format!("resources[{at}]"))?);
        }
    }
    Ok(State {
        terraform_version: text(&json, "terraform_version", "")?.unwrap_or_default(),
        serial: number(&json, "serial", "")?.unwrap_or(0),
        lineage: text(&json, "lineage", "")?.unwrap_or_default(),
        outputs,
        resources,
        check_results: present(&json, "check_results").cloned(),
    })
}

/// A member that is there and not null.
fn present<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    json.get(name).filter(|json| **json != Json::Null)
}

fn text(json: &Json, name: &str, place: &str) -> Result<Option<String>, StateError> {
    let Some(value) = present(json, name) else { return Ok(None) };
    match value.as_str() {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(wrong(&inside(place, name), "a text is required")),
    }
}

fn number(json: &Json, name: &str, place: &str) -> Result<Option<u64>, StateError> {
    let Some(value) = present(json, name) else { return Ok(None) };
    match value.as_u64() {
        Some(number) => Ok(Some(number)),
        None => Err(wrong(&inside(place, name), "a whole number is required")),
    }
}

fn flag(json: &Json, name: &str, place: &str) -> Result<bool, StateError> {
    match present(json, name) {
        None => Ok(false),
        Some(value) => {
            value.as_bool().ok_or_else(|| wrong(&inside(place, name), "true or false is required"))
        }
    }
}

fn inside(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn output(json: &Json) -> Output {
    Output {
        value: json.get("value").cloned().unwrap_or(Json::Null),
        ty: json.get("type").cloned().unwrap_or(Json::Null),
        sensitive: json.get("sensitive").and_then(Json::as_bool).unwrap_or(false),
    }
}

fn resource(json: &Json, place: &str) -> Result<Resource, StateError> {
    let required = |name: &str| -> Result<String, StateError> {
        text(json, name, place)?.ok_or_else(|| wrong(&inside(place, name), "is missing"))
    };
    let mode = match required("mode")?.as_str() {
        "managed" => Mode::Managed,
        "data" => Mode::Data,
        other => return Err(wrong(&inside(place, "mode"), format!("there is no mode {other:?}"))),
    };
    let mut instances = Vec::new();
    if let Some(all) = present(json, "instances") {
        let all = all.as_array().ok_or_else(|| wrong(&inside(place, "instances"), "a list is required"))?;
        for (at, json) in all.iter().enumerate() {
            instances.push(instance(json, &format!("{place}.instances[{at}]"))?);
        }
    }
    Ok(Resource {
        module: text(json, "module", place)?.unwrap_or_default(),
        mode,
        ty: required("type")?,
        name: required("name")?,
        // Instances may have providers of their own.
        provider: text(json, "provider", place)?.unwrap_or_default(),
        instances,
    })
}

fn instance(json: &Json, place: &str) -> Result<Instance, StateError> {
    let index_key = match present(json, "index_key") {
        None => None,
        Some(Json::String(text)) => Some(Key::Text(text.clone())),
        Some(Json::Number(digits)) => match digits.parse() {
            Ok(int) => Some(Key::Int(int)),
            Err(_) => return Err(wrong(&inside(place, "index_key"), "a whole number or a text is required")),
        },
        Some(_) => return Err(wrong(&inside(place, "index_key"), "a whole number or a text is required")),
    };
    let tainted = match text(json, "status", place)?.as_deref() {
        None | Some("") => false,
        Some("tainted") => true,
        Some(other) => return Err(wrong(&inside(place, "status"), format!("there is no status {other:?}"))),
    };
    let private = text(json, "private", place)?.unwrap_or_default();
    let private =
        BASE64.decode(private.as_bytes()).map_err(|_| wrong(&inside(place, "private"), "is not base64"))?;
    let mut dependencies = Vec::new();
    if let Some(all) = present(json, "dependencies") {
        let all =
            all.as_array().ok_or_else(|| wrong(&inside(place, "dependencies"), "a list is required"))?;
        dependencies = all.iter().filter_map(Json::as_str).map(str::to_owned).collect();
    }
    Ok(Instance {
        index_key,
        tainted,
        deposed: text(json, "deposed", place)?.filter(|key| !key.is_empty()),
        provider: text(json, "provider", place)?.filter(|provider| !provider.is_empty()),
        schema_version: number(json, "schema_version", place)?.unwrap_or(0),
        attributes: present(json, "attributes").cloned(),
        attributes_flat: present(json, "attributes_flat").cloned(),
        sensitive: sensitive(json, &inside(place, "sensitive_attributes"))?,
        private,
        identity: present(json, "identity").cloned(),
        identity_schema_version: number(json, "identity_schema_version", place)?,
        dependencies,
        create_before_destroy: flag(json, "create_before_destroy", place)?,
        skip_destroy: flag(json, "skip_destroy", place)?,
    })
}

fn sensitive(json: &Json, place: &str) -> Result<Vec<Path>, StateError> {
    let Some(all) = present(json, "sensitive_attributes") else { return Ok(Vec::new()) };
    let all = all.as_array().ok_or_else(|| wrong(place, "a list is required"))?;
    all.iter().map(|path| steps(path).ok_or_else(|| wrong(place, "a path is not understood"))).collect()
}

/// `[{"type":"get_attr","value":"a"},{"type":"index","value":{"value":0,"type":"number"}}]`.
fn steps(json: &Json) -> Option<Path> {
    let step = |json: &Json| {
        let value = json.get("value")?;
        match json.get("type")?.as_str()? {
            "get_attr" => Some(Step::Attribute(value.as_str()?.into())),
            "index" => match value.get("value")? {
                Json::String(key) => Some(Step::Key(key.as_str().into())),
                Json::Number(digits) => digits.parse().ok().map(Step::Index),
                _ => None,
            },
            _ => None,
        }
    };
    json.as_array()?.iter().map(step).collect()
}

//! State to text.

use data_encoding::BASE64;
use tf_value::json::Json;
use tf_value::{Path, Step};

use super::{Instance, Key, Mode, Output, Resource, State};

pub(super) fn state(state: &State) -> String {
    let mut resources: Vec<&Resource> = state.resources.iter().collect();
    resources.sort_by(|a, b| (&a.module, a.mode, &a.ty, &a.name).cmp(&(&b.module, b.mode, &b.ty, &b.name)));
    let mut outputs: Vec<&(String, Output)> = state.outputs.iter().collect();
    outputs.sort_by(|a, b| a.0.cmp(&b.0));
    let outputs = outputs.into_iter().map(|(name, it)| (name.clone(), output(it))).collect();
    let json = Json::Object(vec![
        member("version", Json::Number("4".to_owned())),
        member("terraform_version", Json::string(&state.terraform_version)),
        member("serial", Json::Number(state.serial.to_string())),
        member("lineage", Json::string(&state.lineage)),
        member("outputs", Json::Object(outputs)),
        member("resources", Json::Array(resources.into_iter().map(resource).collect())),
        member("check_results", state.check_results.clone().unwrap_or(Json::Null)),
    ]);
    json.pretty() + "\n"
}

fn member(name: &str, value: Json) -> (String, Json) {
    (name.to_owned(), value)
}

fn output(output: &Output) -> Json {
    let mut members = vec![member("value", output.value.clone()), member("type", output.ty.clone())];
    if output.sensitive {
        members.push(member("sensitive", Json::Bool(true)));
    }
    Json::Object(members)
}

fn resource(resource: &Resource) -> Json {
    let mut members = Vec::new();
    if !resource.module.is_empty() {
        members.push(member("module", Json::string(&resource.module)));
    }
    let mode = match resource.mode {
        Mode::Managed => "managed",
        Mode::Data => "data",
    };
    members.push(member("mode", Json::string(mode)));
    members.push(member("type", Json::string(&resource.ty)));
    members.push(member("name", Json::string(&resource.name)));
    if !resource.provider.is_empty() {
        members.push(member("provider", Json::string(&resource.provider)));
    }
    let mut instances: Vec<&Instance> = resource.instances.iter().collect();
    // No key before numbers before texts; the current object before deposed ones.
    instances.sort_by(|a, b| (&a.index_key, &a.deposed).cmp(&(&b.index_key, &b.deposed)));
    members.push(member("instances", Json::Array(instances.into_iter().map(instance).collect())));
    Json::Object(members)
}

fn instance(instance: &Instance) -> Json {
    let key = instance.index_key.as_ref().map(|key| match key {
        Key::Int(int) => Json::Number(int.to_string()),
        Key::Text(text) => Json::string(text),
    });
    let texts = |items: &[String]| Json::Array(items.iter().map(Json::string).collect());
    let mut dependencies = instance.dependencies.clone();
    dependencies.sort();
    dependencies.dedup();
    let mut sensitive = instance.sensitive.clone();
    sensitive.sort();
    sensitive.dedup();
    let all: [(&str, Option<Json>); 14] = [
        ("index_key", key),
        ("status", instance.tainted.then(|| Json::string("tainted"))),
        ("deposed", instance.deposed.as_ref().map(Json::string)),
        ("provider", instance.provider.as_ref().map(Json::string)),
        ("schema_version", Some(Json::Number(instance.schema_version.to_string()))),
        ("attributes", instance.attributes.clone()),
        ("attributes_flat", instance.attributes_flat.clone()),
        ("sensitive_attributes", Some(Json::Array(sensitive.iter().map(path).collect()))),
        ("private", (!instance.private.is_empty()).then(|| Json::string(BASE64.encode(&instance.private)))),
        ("dependencies", (!dependencies.is_empty()).then(|| texts(&dependencies))),
        ("create_before_destroy", instance.create_before_destroy.then_some(Json::Bool(true))),
        ("skip_destroy", instance.skip_destroy.then_some(Json::Bool(true))),
        ("identity", instance.identity.clone()),
        ("identity_schema_version", instance.identity_schema_version.map(|n| Json::Number(n.to_string()))),
    ];
    Json::Object(all.into_iter().filter_map(|(name, json)| Some(member(name, json?))).collect())
}

fn path(path: &Path) -> Json {
    let step = |step: &Step| {
        let (kind, value) = match step {
            Step::Attribute(name) => ("get_attr", Json::string(&**name)),
            Step::Key(key) => ("index", typed(Json::string(&**key), "string")),
            Step::Index(index) => ("index", typed(Json::Number(index.to_string()), "number")),
        };
        Json::Object(vec![member("type", Json::string(kind)), member("value", value)])
    };
    Json::Array(path.steps().iter().map(step).collect())
}

fn typed(value: Json, ty: &str) -> Json {
    Json::Object(vec![member("value", value), member("type", Json::string(ty))])
}

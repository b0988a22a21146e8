//! The lab provider, and objects for it.

use std::path::PathBuf;

use tf_host::{Applied, ApplyAsk, HostError, Launch, PlanAsk, Planned, Provider, Resource};
use tf_schema::{Loose, check_applied, check_plan, configure, proposed_new};
use tf_value::Value;
use tf_value::json::Json;

/// Both names of the lab: protocol 6 and protocol 5.
pub(crate) const LABS: [&str; 2] = ["lab", "lab5"];

/// An executable of the test environment, or a word that it is missing.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let found = testenv::program(&format!("terraform-provider-{name}"));
    if found.is_none() {
        testenv::skip(&format!(
            "terraform-provider-{name} is not built: cargo xtask testenv build terraform-provider-{name}"
        ));
    }
    found
}

/// A lab that has been told something by its environment.
pub(crate) fn launch(name: &str, env: &[(&str, &str)]) -> Option<Launch> {
    let mut launch = Launch::new(&format!("acme/{name}"), &program(name)?);
    launch.env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Some(launch)
}

pub(crate) async fn start(name: &str, env: &[(&str, &str)]) -> Option<Provider> {
    let provider = Provider::start(&launch(name, env)?, None).await.unwrap();
    let empty = configure(&provider.schemas().provider().0.block, &Loose::Map(Vec::new())).unwrap();
    assert_eq!(provider.configure(&empty).await.unwrap(), []);
    Some(provider)
}

/// A configuration of a type, from JSON; `"${unknown}"` is an unknown text.
pub(crate) fn config(of: &Resource, json: &str) -> Value {
    configure(&of.schema.block, &loose(json)).unwrap()
}

pub(crate) fn loose(json: &str) -> Loose {
    read(&Json::parse(json.as_bytes()).unwrap())
}

fn read(json: &Json) -> Loose {
    match json {
        Json::String(text) if text == "${unknown}" => Loose::typed(tf_value::Type::String, Value::unknown()),
        Json::Array(items) => Loose::List(items.iter().map(read).collect()),
        Json::Object(members) => {
            Loose::Map(members.iter().map(|(name, json)| (name.as_str().into(), read(json))).collect())
        }
        other => Loose::try_from(other).unwrap(),
    }
}

/// A plan as a host has to make it, with its checks.
pub(crate) async fn plan(
    provider: &Provider,
    of: &Resource,
    prior: &Value,
    config: &Value,
) -> Result<Planned, HostError> {
    let proposed = proposed_new(&of.schema.block, prior, config);
    let ask = PlanAsk { prior, proposed: &proposed, config, private: &[], identity: None, meta: None };
    let planned = provider.plan(of, ask).await?;
    let state = planned.state.as_ref().unwrap();
    assert_eq!(check_plan(&of.schema.block, prior, config, state), []);
    Ok(planned)
}

/// Makes or changes an object; the answer must complete the plan.
pub(crate) async fn apply(
    provider: &Provider,
    of: &Resource,
    prior: &Value,
    config: &Value,
) -> Result<Applied, HostError> {
    let plan = plan(provider, of, prior, config).await?;
    let planned = plan.state.as_ref().unwrap();
    let ask = ApplyAsk { prior, planned, config, private: &plan.private, identity: None, meta: None };
    let applied = provider.apply(of, ask).await?;
    let state = applied.state.as_ref().unwrap();
    assert_eq!(check_applied(&of.schema.block, planned, state), []);
    Ok(applied)
}

//! The real providers.

use std::time::{Duration, Instant};

use tf_host::{ApplyAsk, DataRead, Failure, Launch, PlanAsk, Protocol, Provider, ReadAsk, SchemaCache};
use tf_value::Value;

use crate::faults::alive;
use crate::kit::program;

async fn start(name: &str) -> Option<Provider> {
    let launch = Launch::new(&format!("hashicorp/{name}"), &program(name)?);
    Some(Provider::start(&launch, None).await.unwrap())
}

/// An object with every attribute of a type, null where nothing is said.
fn object(of: &tf_host::Resource, said: &[(&str, Value)]) -> Value {
    let names = of.schema.block.attributes.keys();
    let value =
        |name: &str| said.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone()).unwrap_or_default();
    Value::map(names.map(|name| (name.clone(), value(name))))
}

#[tokio::test]
async fn an_object_lives_its_whole_life() {
    let Some(provider) = start("random").await else { return };
    assert_eq!(provider.protocol(), Protocol::V5);
    assert!(provider.capabilities().plan_destroy && provider.capabilities().schema_optional);
    assert!(provider.configure(&Value::map::<&str>([])).await.unwrap().is_empty());
    let pet = provider.resource("random_password").unwrap();
    let config = object(&pet, &[("length", 12.into())]);
    assert!(provider.validate(&pet, &config).await.unwrap().is_empty());
    let (prior, private, identity, meta) = (&Value::Null, &[][..], None, None);
    let ask = PlanAsk { prior, proposed: &config, config: &config, private, identity, meta };
    let planned = provider.plan(&pet, ask).await.unwrap();
    let state = planned.state.unwrap();
    assert!(state.get("result").unwrap().is_unknown() && planned.said.is_empty() && !planned.legacy);
    let ask = ApplyAsk { prior, planned: &state, config: &config, private: &planned.private, identity, meta };
    let made = provider.apply(&pet, ask).await.unwrap();
    let state = made.state.unwrap();
    assert_eq!(state.get("result").unwrap().as_str().unwrap().len(), 12);
    let json = tf_value::json::encode(&state, &pet.ty).unwrap();
    let version = i64::try_from(pet.schema.version).unwrap();
    let (upgraded, said) = provider.upgrade(&pet, version, json.as_bytes()).await.unwrap();
    assert!(said.is_empty());
    assert_eq!(upgraded.as_ref(), Some(&state));
    let read = provider.read(&pet, ReadAsk { state: &state, private: &made.private, identity, meta }).await;
    assert_eq!(read.unwrap().state, Some(state));
    let found = provider.import(&pet, "secret12").await.unwrap();
    assert!(found.said.is_empty() && found.objects.len() == 1);
    provider.end().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_configuration_is_said_with_its_place() {
    let Some(provider) = start("random").await else { return };
    let pet = provider.resource("random_password").unwrap();
    let said = provider.validate(&pet, &object(&pet, &[("length", (-1).into())])).await.unwrap();
    assert!(said[0].is_error());
    assert_eq!(said[0].path.as_ref().unwrap().to_string(), "length");
    assert!(
        provider.resource("random_dog").unwrap_err().to_string().contains("`random_dog`: there is no such")
    );
}

#[tokio::test]
async fn functions_and_data_sources_answer() {
    let Some(provider) = start("time").await else { return };
    let call = provider.call_function("rfc3339_parse", &["2023-07-25T23:43:16Z".into()]).await.unwrap();
    assert_eq!(call.unwrap().get("unix"), Some(&Value::from(1_690_328_596)));
    assert!(provider.call_function("rfc3339_parse", &["x".into()]).await.unwrap().is_err());
    let unknown = provider.call_function("rfc3339_parse", &[Value::unknown()]).await.unwrap();
    assert!(unknown.unwrap().is_unknown());
    let Some(local) = start("local").await else { return };
    local.configure(&Value::map::<&str>([])).await.unwrap();
    let file = local.data_source("local_file").unwrap();
    let name = |name: &str| if name == "filename" { "/proc/version".into() } else { Value::Null };
    let config = Value::map(file.schema.block.attributes.keys().map(|key| (key.clone(), name(key))));
    let DataRead { state, said, .. } = local.read_data(&file, &config, None).await.unwrap();
    assert!(said.is_empty());
    assert!(state.unwrap().get("content").unwrap().as_str().unwrap().contains("Linux"));
}

#[tokio::test]
async fn many_questions_go_over_one_connection() {
    let Some(provider) = start("random").await else { return };
    let pet = provider.resource("random_pet").unwrap();
    let config = object(&pet, &[]);
    let asks = (0..200).map(|_| provider.validate(&pet, &config));
    let answers = futures::future::join_all(asks).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap().is_empty()));
}

#[tokio::test]
async fn a_provider_that_is_killed_is_told_as_a_crash() {
    let Some(provider) = start("random").await else { return };
    let pet = provider.resource("random_pet").unwrap();
    provider.kill();
    let error = provider.validate(&pet, &object(&pet, &[])).await.unwrap_err();
    assert!(
        matches!(&error.kind, Failure::Crashed { status: Some(how), .. } if how.contains("signal: 9")),
        "{error}"
    );
    assert!(error.is_dead());
}

#[tokio::test]
async fn an_end_is_an_end() {
    let Some(provider) = start("random").await else { return };
    let pid = provider.pid().unwrap().to_string();
    assert!(alive(&pid));
    let began = Instant::now();
    provider.end().await;
    assert!(!alive(&pid) && began.elapsed() < Duration::from_secs(5), "by itself, not by force");
    let Some(dropped) = start("random").await else { return };
    let pid = dropped.pid().unwrap().to_string();
    drop(dropped);
    for _ in 0..1000 {
        if !alive(&pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it lives on");
}

#[tokio::test]
async fn schemas_are_cached_by_contents() {
    let Some(program) = program("tls") else { return };
    let dir = tempfile::tempdir().unwrap();
    let cache = SchemaCache::new(dir.path().to_owned());
    let launch = Launch::new("hashicorp/tls", &program);
    for round in 0..2 {
        let provider = Provider::start(&launch, Some(&cache)).await.unwrap();
        assert!(provider.resource("tls_private_key").unwrap().schema.block.attributes.len() > 5, "{round}");
        provider.configure(&Value::map([("proxy", Value::list([]))])).await.unwrap();
    }
}

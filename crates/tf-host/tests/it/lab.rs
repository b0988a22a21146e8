//! What providers can do beside the minimum, on both protocols, with a provider that has all of it.

use tf_host::{Deferral, Failure, MoveAsk, PlanAsk, Protocol, Provider, ReadAsk};
use tf_schema::{configure, proposed_new};
use tf_value::{Type, Value, json};

use crate::kit::{LABS, apply, config, launch, loose, plan, start};

/// One of everything that both protocols have.
const EVERYTHING: &str = r#"{"name": "n", "opt": "o", "number": 1.50, "flag": true, "list": ["b", "a"],
    "set": ["b", "a", "b"], "numbers": [10, 9], "map": {"k": "v"}, "object": {"a": "x", "n": 3},
    "objects": [{"a": "z", "n": 1}, {"a": "b", "n": 10}], "any": {"deep": [1, "two", null]}, "secret": "s",
    "one": {"name": "1"}, "many": [{"name": "m0", "leaf": [{"name": "l"}]}, {"name": "m1", "value": "v"}],
    "bag": [{"name": "b1"}, {"name": "b2", "either": "e"}], "named": {"x": {"name": "nx"}}, "group": {"value": "g"}}"#;

#[tokio::test]
async fn every_nesting_goes_there_and_back() {
    for (name, protocol) in [("lab", Protocol::V6), ("lab5", Protocol::V5)] {
        let Some(lab) = start(name, &[]).await else { return };
        assert_eq!(lab.protocol(), protocol);
        let thing = lab.resource(&format!("{name}_thing")).unwrap();
        let wanted = config(&thing, EVERYTHING);
        assert_eq!(lab.validate(&thing, &wanted).await.unwrap(), []);
        let made = apply(&lab, &thing, &Value::Null, &wanted).await.unwrap();
        let state = made.state.unwrap();
        let text = |path: &[&str]| {
            let found = path.iter().try_fold(&state, |at, name| match name.parse::<usize>() {
                Ok(index) => at.elements()?.get(index),
                Err(_) => at.get(name),
            });
            found.and_then(Value::as_str).map(str::to_owned)
        };
        assert_eq!(text(&["id"]).as_deref(), Some("id-n"));
        for place in [&["one", "id"][..], &["many", "1", "id"], &["bag", "0", "id"], &["group", "id"]] {
            assert!(text(place).unwrap().starts_with("made:n/"), "{name} {place:?}");
        }
        assert!(text(&["many", "0", "leaf", "0", "id"]).unwrap().ends_with("many.leaf.id"));
        assert_eq!(state.get("named").unwrap().get("x").unwrap().get("name"), Some(&"nx".into()));
        assert_eq!(state.get("any").unwrap().plain().get("deep").unwrap().elements().unwrap().len(), 3);
        let stored = json::encode(&state, &thing.ty).unwrap();
        let (again, said) = lab.upgrade(&thing, 1, stored.as_bytes()).await.unwrap();
        assert_eq!((again.as_ref(), said.len()), (Some(&state), 0), "{name}: through the form of states");
        let same = plan(&lab, &thing, &state, &wanted).await.unwrap();
        assert_eq!(same.state.as_ref(), Some(&state), "{name}: nothing changes");
        assert_eq!(made.private, br#"{"made":true}"#);
    }
}

#[tokio::test]
async fn nested_attributes_are_there_in_protocol_6() {
    let Some(lab) = start("lab", &[]).await else { return };
    let thing = lab.resource("lab_thing").unwrap();
    let wanted = config(
        &thing,
        r#"{"name": "n", "in_one": {"name": "1"}, "in_list": [{"name": "a"}, {"name": "b", "value": "v"}],
            "in_set": [{"name": "s"}], "in_map": {"k": {"name": "m", "either": "e"}}}"#,
    );
    let made = apply(&lab, &thing, &Value::Null, &wanted).await.unwrap().state.unwrap();
    for name in ["in_one", "in_list", "in_set", "in_map"] {
        let text = json::encode(&made, &thing.ty).unwrap();
        assert!(text.contains(&format!("made:n/{name}.id")), "{name}: {text}");
    }
    let less = config(&thing, r#"{"name": "n", "in_list": [{"name": "a"}]}"#);
    let planned = plan(&lab, &thing, &made, &less).await.unwrap().state.unwrap();
    assert!(planned.get("in_one").unwrap().is_null());
    assert!(planned.get("revision").unwrap().is_unknown(), "a change has a new revision");
    let refused = configure(&thing.schema.block, &loose(r#"{"name": "n", "in_list": {"name": "a"}}"#));
    assert!(refused.is_err(), "a nested attribute is no block: one object is no list");
}

#[tokio::test]
async fn what_is_only_written_reaches_the_provider_and_stays_nowhere() {
    for name in LABS {
        let Some(lab) = start(name, &[]).await else { return };
        let thing = lab.resource(&format!("{name}_thing")).unwrap();
        let wanted = config(&thing, r#"{"name": "n", "write": "canary", "write_version": 1}"#);
        assert_eq!(lab.validate(&thing, &wanted).await.unwrap(), [], "the provider knows that we know them");
        let made = apply(&lab, &thing, &Value::Null, &wanted).await.unwrap().state.unwrap();
        assert!(made.get("write").unwrap().is_null());
        let digest = made.get("write_digest").unwrap().as_str().unwrap().to_owned();
        let other = config(&thing, r#"{"name": "n", "write": "other", "write_version": 1}"#);
        let same = plan(&lab, &thing, &made, &other).await.unwrap().state.unwrap();
        assert_eq!(same, made, "another value alone is no change");
        let newer = config(&thing, r#"{"name": "n", "write": "other", "write_version": 2}"#);
        let changed = apply(&lab, &thing, &made, &newer).await.unwrap().state.unwrap();
        assert_ne!(changed.get("write_digest").unwrap().as_str(), Some(&*digest));
        assert!(!json::encode(&changed, &thing.ty).unwrap().contains("other"));
    }
}

#[tokio::test]
async fn objects_have_identities() {
    for name in LABS {
        let Some(lab) = start(name, &[]).await else { return };
        let citizen = lab.resource(&format!("{name}_citizen")).unwrap();
        let identity = citizen.identity.as_ref().unwrap();
        assert_eq!(
            (identity.version, identity.ty.clone()),
            (1, { Type::object([("country", Type::String), ("name", Type::String)]) })
        );
        let wanted = config(&citizen, r#"{"name": "ada", "country": "uk"}"#);
        let made = apply(&lab, &citizen, &Value::Null, &wanted).await.unwrap();
        let who = made.identity.unwrap();
        assert_eq!(who, Value::map([("country", "uk".into()), ("name", "ada".into())]));
        let state = made.state.unwrap();
        let ask = ReadAsk { state: &state, private: &made.private, identity: Some(&who), meta: None };
        assert_eq!(lab.read(&citizen, ask).await.unwrap().identity.as_ref(), Some(&who));
        let found = lab.import_identity(&citizen, &who).await.unwrap();
        assert_eq!((found.objects.len(), found.said.len()), (1, 0));
        assert_eq!(found.objects[0].identity.as_ref(), Some(&who));
        let found = lab.import(&citizen, "uk/ada").await.unwrap();
        assert_eq!(found.objects[0].state.as_ref().unwrap().get("country"), Some(&"uk".into()));
        let old = br#"{"land": "uk", "name": "ada"}"#;
        assert_eq!(lab.upgrade_identity(&citizen, 0, old).await.unwrap().0, Some(who));
    }
}

#[tokio::test]
async fn objects_move_to_other_types_and_old_states_are_upgraded() {
    for name in LABS {
        let Some(lab) = start(name, &[]).await else { return };
        assert!(lab.capabilities().move_state || name == "lab5", "the bridge to 5 drops the word");
        let heir = lab.resource(&format!("{name}_heir")).unwrap();
        let from = format!("{name}_thing");
        let ask = MoveAsk {
            provider_address: "registry.opentofu.org/acme/lab",
            type_name: &from,
            schema_version: 1,
            state_json: br#"{"id": "id-n", "name": "n", "opt": "o"}"#,
            private: b"p",
            identity: None,
        };
        let moved = lab.move_state(&heir, ask).await.unwrap();
        assert_eq!(moved.state.unwrap().get("opt"), Some(&"o".into()));
        assert_eq!(moved.private, b"p");
        let stranger = MoveAsk { type_name: "other_type", ..ask };
        let refused = lab.move_state(&heir, stranger).await.unwrap();
        assert!(refused.said[0].is_error() && refused.state.is_none());
        let old = lab.resource(&format!("{name}_old")).unwrap();
        let (state, _) = lab.upgrade(&old, 1, br#"{"id": "id-t", "name": "t"}"#).await.unwrap();
        assert_eq!(state.unwrap().get("title"), Some(&"t".into()));
    }
}

#[tokio::test]
async fn answers_are_put_off_only_with_leave() {
    for name in LABS {
        for allowed in [true, false] {
            let Some(mut launch) = launch(name, &[]) else { return };
            launch.deferral = allowed;
            let lab = Provider::start(&launch, None).await.unwrap();
            let later = lab.resource(&format!("{name}_later")).unwrap();
            let wanted = config(&later, r#"{"wait": "${unknown}"}"#);
            let proposed = proposed_new(&later.schema.block, &Value::Null, &wanted);
            let ask = PlanAsk {
                prior: &Value::Null,
                proposed: &proposed,
                config: &wanted,
                private: &[],
                identity: None,
                meta: None,
            };
            let planned = lab.plan(&later, ask).await.unwrap();
            assert_eq!(planned.deferred, allowed.then_some(Deferral::ResourceConfig), "{name}");
            let echo = lab.data_source(&format!("{name}_echo")).unwrap();
            let wanted = configure(&echo.schema.block, &loose(r#"{"text": "defer"}"#)).unwrap();
            let state = lab.read_data(&echo, &wanted, None).await.unwrap().state;
            assert_eq!(state.is_none(), allowed, "{name}: what is put off has no state");
        }
    }
}

#[tokio::test]
async fn values_that_pass_are_opened_renewed_and_closed_with_the_newest_private_part() {
    for name in LABS {
        let dir = tempfile::tempdir().unwrap();
        let trace = dir.path().join("trace");
        let Some(lab) = start(name, &[("LAB_TRACE", trace.to_str().unwrap())]).await else { return };
        let token = lab.ephemeral(&format!("{name}_token")).unwrap();
        let wanted = configure(&token.schema.block, &loose(r#"{"name": "n", "renew_seconds": 60}"#)).unwrap();
        assert_eq!(lab.validate_ephemeral(&token, &wanted).await.unwrap(), []);
        let opened = lab.open(&token, &wanted).await.unwrap();
        assert_eq!(opened.result.unwrap().get("token"), Some(&"token-of-n".into()));
        assert!(opened.renew_at.is_some());
        let renewed = lab.renew(&token, &opened.private).await.unwrap();
        let renewed = lab.renew(&token, &renewed.private).await.unwrap();
        assert_eq!(lab.close(&token, &renewed.private).await.unwrap(), []);
        let trace = std::fs::read_to_string(trace).unwrap();
        assert!(trace.contains("closed after 2"), "{trace}");
    }
}

#[tokio::test]
async fn functions_take_what_they_say() {
    for name in LABS {
        let Some(lab) = start(name, &[]).await else { return };
        let call = async |name: &str, arguments: &[Value]| lab.call_function(name, arguments).await.unwrap();
        let text = |text: &str| Value::from(text);
        assert_eq!(call("join", &[text("-"), text("a"), text("b")]).await, Ok(text("a-b")));
        assert_eq!(call("join", &[text("-")]).await, Ok(text("")), "no variadic argument at all");
        assert!(call("join", &[]).await.unwrap_err().0.contains("takes 1 argument"));
        assert!(call("join", &[text("-"), Value::Null]).await.unwrap_err().0.contains("must not be null"));
        assert!(call("join", &[text("-"), Value::unknown()]).await.unwrap().is_unknown(), "not asked at all");
        assert_eq!(call("kind", &[Value::Null]).await, Ok(text("null")));
        assert_eq!(call("kind", &[Value::unknown()]).await, Ok(text("unknown")));
        let wrong = call("fail", &[text("a"), text("b")]).await.unwrap_err();
        assert_eq!(wrong, ("the second one is wrong".to_owned(), Some(1)));
    }
}

#[tokio::test]
async fn tls_is_spoken_with_who_insists_and_with_nobody_else_behind_the_socket() {
    for name in LABS {
        let Some(lab) = start(name, &[("LAB_TLS", "insist")]).await else { return };
        let old = lab.resource(&format!("{name}_old")).unwrap();
        apply(&lab, &old, &Value::Null, &config(&old, r#"{"title": "t"}"#)).await.unwrap();
        lab.end().await;
        let Some(mut wrong) = launch(name, &[("LAB_TLS", "wrong")]) else { return };
        wrong.tls = true;
        let error = Provider::start(&wrong, None).await.err().unwrap();
        assert!(matches!(&error.kind, Failure::Tls { why } if why.contains("not the one")), "{error}");
        assert!(error.is_dead() && !error.is_uncertain());
    }
    let Some(mut real) =
        crate::kit::program("random").map(|it| tf_host::Launch::new("hashicorp/random", &it))
    else {
        return;
    };
    real.tls = true;
    let provider = Provider::start(&real, None).await.unwrap();
    assert!(provider.resource("random_pet").is_ok());
    provider.end().await;
}

//! H3: dry run, validation, warnings.

use serde_json::json;

use crate::Statement;
use crate::ask::{Ask, Check, causes, deployment, has_cause};
use crate::ensure;

pub const ALL: &[Statement] = &[
    (51, h051),
    (52, h052),
    (53, h053),
    (54, h054),
    (55, h055),
    (56, h056),
    (57, h057),
    (58, h058),
    (59, h059),
    (60, h060),
    (61, h061),
];

fn h051(ask: &Ask<'_>) -> Check {
    let target = format!("{}?dryRun=All", ask.cm(""));
    let made = ask.post(&target, &json!({"metadata": {"name": "x"}})).is(201)?;
    let meta = &made["metadata"];
    ensure!(meta["uid"].is_string() && meta["creationTimestamp"].is_string(), "{meta}");
    ensure!(meta.get("resourceVersion").is_none(), "{meta}");
    ask.get(&ask.cm("x")).refused(404, "NotFound").map(drop)
}

fn h052(ask: &Ask<'_>) -> Check {
    let body = json!({"metadata": {"name": "x"}});
    let status = ask.post(&format!("{}?dryRun=true", ask.cm("")), &body).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueNotSupported", "dryRun")?;
    let status = ask.post(&format!("{}?fieldValidation=Foo", ask.cm("")), &body).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueNotSupported", "fieldValidation")
}

fn h053(ask: &Ask<'_>) -> Check {
    let body = json!({"metadata": {"name": "x", "foo": 1}, "dataa": {}});
    let target = format!("{}?fieldValidation=Strict", ask.cm(""));
    let status = ask.post(&target, &body).refused(400, "BadRequest")?;
    let text = status["message"].as_str().unwrap_or_default();
    ensure!(text.contains("strict decoding error"), "{text}");
    ensure!(
        text.contains("unknown field \"metadata.foo\"") && text.contains("unknown field \"dataa\""),
        "{text}"
    );
    Ok(())
}

fn h054(ask: &Ask<'_>) -> Check {
    let mut body = deployment("d");
    body["spec"]["x"] = json!(1);
    let reply = ask.post(&format!("{}?fieldValidation=Warn", ask.dep("")), &body);
    reply.is(201)?;
    ensure!(
        reply.header("warning") == "299 - \"unknown field \\\"spec.x\\\"\"",
        "{:?}",
        reply.headers("warning")
    );
    Ok(())
}

fn h055(ask: &Ask<'_>) -> Check {
    let body = json!({"metadata": {"name": "x"}, "dataa": {}});
    let reply = ask.post(&format!("{}?fieldValidation=Ignore", ask.cm("")), &body);
    let made = reply.is(201)?;
    ensure!(reply.headers("warning").is_empty() && made.get("dataa").is_none(), "{made}");
    Ok(())
}

fn h056(ask: &Ask<'_>) -> Check {
    let reply = ask.post(&ask.cm(""), &json!({"metadata": {"name": "x"}, "dataa": {}}));
    reply.is(201)?;
    ensure!(reply.headers("warning").len() == 1, "create: {:?}", reply.headers("warning"));
    let reply = ask.put(&ask.cm("x"), &json!({"metadata": {"name": "x"}, "datab": {}}));
    reply.is(200)?;
    ensure!(reply.headers("warning").len() == 1, "update: {:?}", reply.headers("warning"));
    let reply = ask.merge(&ask.cm("x"), &json!({"datac": {}}));
    reply.is(200)?;
    ensure!(reply.headers("warning").len() == 1, "patch: {:?}", reply.headers("warning"));
    Ok(())
}

fn h057(ask: &Ask<'_>) -> Check {
    let body = br#"{"metadata":{"name":"x"},"data":{"a":"1","a":"2"}}"#;
    let strict = format!("{}?fieldValidation=Strict", ask.cm(""));
    let status = ask.send("POST", &strict, "application/json", body).refused(400, "BadRequest")?;
    ensure!(status["message"].as_str().is_some_and(|t| t.contains("duplicate field \"data.a\"")), "{status}");
    let reply = ask.send("POST", &ask.cm(""), "application/json", body);
    reply.is(201)?;
    ensure!(
        reply.header("warning").contains("duplicate field \\\"data.a\\\""),
        "{}",
        reply.header("warning")
    );
    Ok(())
}

fn h058(ask: &Ask<'_>) -> Check {
    let mut body = deployment("d");
    body["spec"]["replicas"] = json!("x");
    ask.post(&ask.dep(""), &body).refused(400, "BadRequest").map(drop)
}

fn h059(ask: &Ask<'_>) -> Check {
    let mut body = deployment("d");
    body["metadata"]["labels"] = json!({"a": "not a label"});
    body["spec"]["template"]["metadata"]["labels"] = json!({"other": "x"});
    body["spec"]["template"]["spec"]["containers"][0]["name"] = json!("");
    let status = ask.post(&ask.dep(""), &body).refused(422, "Invalid")?;
    ensure!(causes(&status).len() >= 3, "{status}");
    let list = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    ensure!(
        list.iter().all(|c| c["reason"].is_string() && c["message"].is_string() && c["field"].is_string()),
        "{status}"
    );
    ensure!(status["details"]["kind"] == "Deployment" && status["details"]["name"] == "d", "{status}");
    Ok(())
}

fn h060(ask: &Ask<'_>) -> Check {
    ask.post(&ask.dep(""), &deployment("d")).is(201)?;
    let mut other = deployment("d");
    other["spec"]["selector"] = json!({"matchLabels": {"app": "other"}});
    other["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    let status = ask.put(&ask.dep("d"), &other).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueInvalid", "spec.selector")?;
    let text = status["details"]["causes"][0]["message"].as_str().unwrap_or_default().to_owned();
    ensure!(text.ends_with("field is immutable"), "{text}");
    Ok(())
}

fn h061(ask: &Ask<'_>) -> Check {
    let reply = ask.get(&ask.core("endpoints", ""));
    reply.is(200)?;
    let wanted = "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"";
    ensure!(reply.header("warning") == wanted, "{}", reply.header("warning"));
    Ok(())
}

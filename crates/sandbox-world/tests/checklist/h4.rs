//! H4: list and watch.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Statement;
use crate::ask::{Ask, Check, has_cause, version};
use crate::ensure;

pub const ALL: &[Statement] = &[
    (62, h062),
    (63, h063),
    (64, h064),
    (65, h065),
    (66, h066),
    (67, h067),
    (68, h068),
    (69, h069),
    (70, h070),
    (71, h071),
    (72, h072),
    (73, h073),
    (74, h074),
    (75, h075),
    (76, h076),
    (77, h077),
    (78, h078),
    (79, h079),
    (80, h080),
];

const SOON: Duration = Duration::from_secs(30);
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIALS: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// Secrets, because nobody else makes any in a new namespace.
fn secrets(ask: &Ask<'_>) -> String {
    ask.core("secrets", "")
}

fn make(ask: &Ask<'_>, name: &str, labels: Value) -> Result<Value, String> {
    ask.post(&secrets(ask), &json!({"metadata": {"name": name, "labels": labels}})).is(201)
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().cloned().unwrap_or_default();
    items.iter().filter_map(|item| item["metadata"]["name"].as_str()).map(str::to_owned).collect()
}

/// The newest revision.
fn now(ask: &Ask<'_>) -> Result<u64, String> {
    Ok(version(&ask.get(&secrets(ask)).is(200)?))
}

fn told(event: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
}

fn h062(ask: &Ask<'_>) -> Check {
    for name in ["a", "b", "c", "d", "e"] {
        make(ask, name, json!({}))?;
    }
    let first = ask.get(&format!("{}?limit=3", secrets(ask))).is(200)?;
    ensure!(
        names(&first) == ["a", "b", "c"] && first["metadata"]["remainingItemCount"] == 2,
        "{}",
        first["metadata"]
    );
    make(ask, "ab", json!({}))?;
    let token = first["metadata"]["continue"].as_str().ok_or("no token")?;
    let second = ask.get(&format!("{}?limit=3&continue={token}", secrets(ask))).is(200)?;
    ensure!(names(&second) == ["d", "e"] && version(&second) == version(&first), "{second}");
    ensure!(second["metadata"].get("continue").is_none(), "{second}");
    Ok(())
}

fn h063(ask: &Ask<'_>) -> Check {
    for name in ["a", "b", "c"] {
        make(ask, name, json!({}))?;
    }
    let first = ask.get(&format!("{}?limit=1", secrets(ask))).is(200)?;
    let token = first["metadata"]["continue"].as_str().ok_or("no token")?;
    ask.get(&format!("{}?continue={token}&resourceVersion=5", secrets(ask))).refused(400, "BadRequest")?;
    ask.get(&format!("{}?continue=nonsense", secrets(ask))).refused(400, "BadRequest")?;
    if ask.wire.is_real() {
        // The real server compacts only after five minutes.
        return Ok(());
    }
    // {"v":"meta.k8s.io/v1","rv":-1…} of a revision before the first: rv 1 is forgotten from the beginning.
    for at in 0..3 {
        make(ask, &format!("d{at}"), json!({}))?;
    }
    let old = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJuL2FcdTAwMDAifQ";
    ask.wire.forget();
    let status = ask.get(&format!("{}?continue={old}", secrets(ask))).refused(410, "Expired")?;
    let fresh = status["metadata"]["continue"].as_str().ok_or("no fresh token")?;
    ask.get(&format!("{}?continue={fresh}", secrets(ask))).is(200).map(drop)
}

fn h064(ask: &Ask<'_>) -> Check {
    for name in ["a", "b", "c"] {
        make(ask, name, json!({}))?;
    }
    let any = ask.get(&format!("{}?resourceVersion=0&limit=2", secrets(ask))).is(200)?;
    ensure!(names(&any).len() == 3 && any["metadata"].get("continue").is_none(), "{any}");
    ask.get(&format!("{}?resourceVersionMatch=Exact", secrets(ask))).refused(422, "Invalid")?;
    ask.get(&format!("{}?resourceVersionMatch=Exact&resourceVersion=0", secrets(ask)))
        .refused(422, "Invalid")
        .map(drop)
}

fn h065(ask: &Ask<'_>) -> Check {
    make(ask, "one", json!({"a": "b", "c": "x", "e": "f"}))?;
    make(ask, "two", json!({"a": "b", "c": "d", "e": "f"}))?;
    make(ask, "three", json!({"a": "b", "e": "g", "h": ""}))?;
    let select = |query: &str| -> Result<Vec<String>, String> {
        Ok(names(&ask.get(&format!("{}?{query}", secrets(ask))).is(200)?))
    };
    let found = select("labelSelector=a%3Db,c!%3Dd,e+in+(f,g),!h")?;
    ensure!(found == ["one"], "{found:?}");
    ensure!(select("fieldSelector=metadata.name%3Dtwo")? == ["two"], "by name");
    let here = select(&format!("fieldSelector=metadata.namespace%3D{}", ask.ns))?;
    ensure!(here.len() == 3, "{here:?}");
    ensure!(select("fieldSelector=type%3DOpaque")?.len() == 3, "by type");
    ask.get(&format!("{}?fieldSelector=data.x%3D1", secrets(ask))).refused(400, "BadRequest")?;
    ask.get(&format!("{}?labelSelector=a%3D%3D%3Db", secrets(ask))).refused(400, "BadRequest").map(drop)
}

fn h066(ask: &Ask<'_>) -> Check {
    let start = now(ask)?;
    let mut watch = ask.watch(&format!("{}?watch=1&resourceVersion={start}", secrets(ask)));
    make(ask, "a", json!({}))?;
    ask.merge(&ask.core("secrets", "a"), &json!({"metadata": {"labels": {"x": "1"}}})).is(200)?;
    make(ask, "b", json!({}))?;
    ask.delete(&ask.core("secrets", "a")).is(200)?;
    let wanted = [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")];
    let mut last = start;
    for (kind, name) in wanted {
        let event = watch.next(SOON).ok_or_else(|| format!("no {kind} {name}"))?;
        ensure!(told(&event) == (kind.to_owned(), name.to_owned()), "{event}");
        ensure!(event["object"]["kind"] == "Secret", "{event}");
        ensure!(version(&event["object"]) > last, "{event} after {last}");
        last = version(&event["object"]);
    }
    ensure!(watch.next(Duration::from_millis(300)).is_none(), "one more event");
    Ok(())
}

fn h067(ask: &Ask<'_>) -> Check {
    ask.post(&secrets(ask), &json!({"metadata": {"name": "a", "finalizers": ["a.b/c"]}})).is(201)?;
    let start = now(ask)?;
    let mut watch = ask.watch(&format!("{}?watch=1&resourceVersion={start}", secrets(ask)));
    ask.delete(&ask.core("secrets", "a")).is(200)?;
    let event = watch.next(SOON).ok_or("no event")?;
    ensure!(
        event["type"] == "MODIFIED" && event["object"]["metadata"]["deletionTimestamp"].is_string(),
        "{event}"
    );
    ask.merge(&ask.core("secrets", "a"), &json!({"metadata": {"finalizers": null}})).is(200)?;
    let event = watch.next(SOON).ok_or("no second event")?;
    ensure!(event["type"] == "DELETED", "{event}");
    ensure!(watch.next(Duration::from_millis(300)).is_none(), "one more event");
    Ok(())
}

fn h068(ask: &Ask<'_>) -> Check {
    let made = make(ask, "a", json!({"x": "1"}))?;
    let mut watch = ask.watch(&format!("{}?watch=1&resourceVersion={}", secrets(ask), version(&made)));
    ask.delete(&ask.core("secrets", "a")).is(200)?;
    let event = watch.next(SOON).ok_or("no event")?;
    ensure!(event["type"] == "DELETED" && version(&event["object"]) > version(&made), "{event}");
    ensure!(event["object"]["metadata"]["labels"]["x"] == "1", "{event}");
    Ok(())
}

fn h069(ask: &Ask<'_>) -> Check {
    make(ask, "a", json!({"x": "1"}))?;
    let start = now(ask)?;
    let mut watch =
        ask.watch(&format!("{}?watch=1&resourceVersion={start}&labelSelector=x%3D1", secrets(ask)));
    let set = |value: &str| {
        ask.merge(&ask.core("secrets", "a"), &json!({"metadata": {"labels": {"x": value}}})).is(200)
    };
    let left = set("2")?;
    let event = watch.next(SOON).ok_or("no event")?;
    ensure!(event["type"] == "DELETED" && event["object"]["metadata"]["labels"]["x"] == "1", "{event}");
    ensure!(version(&event["object"]) == version(&left), "{event}");
    set("1")?;
    let event = watch.next(SOON).ok_or("no second event")?;
    ensure!(event["type"] == "ADDED", "{event}");
    Ok(())
}

fn h070(ask: &Ask<'_>) -> Check {
    make(ask, "b", json!({}))?;
    make(ask, "a", json!({}))?;
    let mut watch = ask.watch(&format!("{}?watch=1", secrets(ask)));
    for name in ["a", "b"] {
        let event = watch.next(SOON).ok_or("no event")?;
        ensure!(told(&event) == ("ADDED".to_owned(), name.to_owned()), "{event}");
    }
    make(ask, "c", json!({}))?;
    let event = watch.next(SOON).ok_or("no live event")?;
    ensure!(told(&event) == ("ADDED".to_owned(), "c".to_owned()), "{event}");
    Ok(())
}

fn h071(ask: &Ask<'_>) -> Check {
    make(ask, "a", json!({}))?;
    ask.wire.forget();
    let mut watch = ask.watch(&format!("{}?watch=1&resourceVersion=1", secrets(ask)));
    let event = watch.next(SOON).ok_or("no event")?;
    ensure!(event["type"] == "ERROR" && event["object"]["code"] == 410, "{event}");
    ensure!(event["object"]["reason"] == "Expired" && event["object"]["kind"] == "Status", "{event}");
    ensure!(watch.ends(SOON), "it goes on");
    Ok(())
}

fn h072(ask: &Ask<'_>) -> Check {
    let start = version(&make(ask, "a", json!({}))?);
    let target =
        format!("{}?watch=1&resourceVersion={start}&allowWatchBookmarks=true&timeoutSeconds=9", secrets(ask));
    let mut watch = ask.watch(&target);
    // The real server tells of progress only when it has seen some.
    make(ask, "b", json!({}))?;
    ensure!(watch.next(SOON).is_some_and(|event| event["type"] == "ADDED"), "no event");
    let event = watch.next(Duration::from_secs(11)).ok_or("no bookmark before the end")?;
    ensure!(event["type"] == "BOOKMARK" && event["object"]["kind"] == "Secret", "{event}");
    ensure!(version(&event["object"]) >= start, "{event}");
    ensure!(event["object"]["metadata"].get("name").is_none(), "{event}");
    if !ask.wire.is_real() {
        let start = now(ask)?;
        let target = format!(
            "{}?watch=1&resourceVersion={start}&allowWatchBookmarks=true&timeoutSeconds=300",
            secrets(ask)
        );
        let mut watch = ask.watch(&target);
        ask.wire.pass(Duration::from_secs(61));
        let event = watch.next(SOON).ok_or("no bookmark after a minute")?;
        ensure!(event["type"] == "BOOKMARK", "{event}");
    }
    Ok(())
}

fn h073(ask: &Ask<'_>) -> Check {
    make(ask, "a", json!({}))?;
    let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=60";
    let mut watch = ask.watch(&format!("{}?{query}", secrets(ask)));
    let event = watch.next(SOON).ok_or("no event")?;
    ensure!(told(&event) == ("ADDED".to_owned(), "a".to_owned()), "{event}");
    let event = watch.next(SOON).ok_or("no bookmark")?;
    let mark = &event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"];
    ensure!(event["type"] == "BOOKMARK" && *mark == "true", "{event}");
    ensure!(version(&event["object"]) > 0, "{event}");
    make(ask, "b", json!({}))?;
    let event = watch.next(SOON).ok_or("no live event")?;
    ensure!(told(&event) == ("ADDED".to_owned(), "b".to_owned()), "{event}");
    Ok(())
}

fn h074(ask: &Ask<'_>) -> Check {
    for query in [
        "watch=true&sendInitialEvents=true",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        "watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1",
    ] {
        let reply = ask.get(&format!("{}?{query}", secrets(ask)));
        reply.refused(422, "Invalid").map_err(|why| format!("{query}: {why}"))?;
    }
    Ok(())
}

fn h075(ask: &Ask<'_>) -> Check {
    let start = now(ask)?;
    let mut watch = ask.watch(&format!("{}?watch=1&resourceVersion={start}&timeoutSeconds=8", secrets(ask)));
    ensure!(!watch.ends(Duration::from_secs(1)), "it ended too early");
    ensure!(watch.next(Duration::from_secs(12)).is_none(), "an event at the end");
    ensure!(watch.ends(Duration::from_secs(10)), "it goes on");
    Ok(())
}

fn h076(ask: &Ask<'_>) -> Check {
    let made = make(ask, "a", json!({"x": "1"}))?;
    let mut watch = ask.watch(&format!("{}?watch=1&resourceVersion={}", secrets(ask), version(&made)));
    let same = ask.put(&ask.core("secrets", "a"), &made).is(200)?;
    ensure!(version(&same) == version(&made), "{same}");
    ask.merge(&ask.core("secrets", "a"), &json!({"metadata": {"labels": {"x": "1"}}})).is(200)?;
    ensure!(watch.next(Duration::from_millis(700)).is_none(), "an event for nothing");
    Ok(())
}

fn h077(ask: &Ask<'_>) -> Check {
    make(ask, "a", json!({}))?;
    let future = now(ask)? + 1_000_000;
    for target in [secrets(ask), ask.core("secrets", "a")] {
        let status = ask.get(&format!("{target}?resourceVersion={future}")).refused(504, "Timeout")?;
        has_cause(&status, "ResourceVersionTooLarge", "")?;
        ensure!(status["details"]["retryAfterSeconds"] == 1, "{status}");
    }
    let mut watch = ask.watch(&format!("{}?watch=1&resourceVersion={future}", secrets(ask)));
    ensure!(!watch.ends(Duration::from_millis(500)), "the watch does not wait");
    Ok(())
}

fn h078(ask: &Ask<'_>) -> Check {
    ask.make_cm("a", &json!({"k": "v"}))?;
    let one = ask.get_as(&ask.cm("a"), TABLE).is(200)?;
    ensure!(
        one["kind"] == "Table" && one["rows"][0]["cells"][0] == "a" && one["rows"][0]["cells"][1] == 1,
        "{one}"
    );
    ensure!(
        one["columnDefinitions"][0]["name"] == "Name" && one["columnDefinitions"][0]["format"] == "name",
        "{one}"
    );
    ensure!(one["rows"][0]["object"]["kind"] == "PartialObjectMetadata", "{one}");
    let list = ask.get_as(&ask.cm(""), TABLE).is(200)?;
    ensure!(list["kind"] == "Table" && version(&list) > 0, "{list}");
    let bare = ask.get_as(&format!("{}?includeObject=None", ask.cm("a")), TABLE).is(200)?;
    ensure!(bare["rows"][0].get("object").is_none_or(Value::is_null), "{bare}");
    let whole = ask.get_as(&format!("{}?includeObject=Object", ask.cm("a")), TABLE).is(200)?;
    ensure!(whole["rows"][0]["object"]["data"]["k"] == "v", "{whole}");
    let mut watch = ask
        .wire
        .open(&format!("{}?watch=1&fieldSelector=metadata.name%3Da", ask.cm("")), &[("Accept", TABLE)]);
    let first = watch.next(SOON).ok_or("no event")?;
    ensure!(first["object"]["columnDefinitions"].is_array(), "{first}");
    ask.merge(&ask.cm("a"), &json!({"data": {"l": "w"}})).is(200)?;
    let second = watch.next(SOON).ok_or("no second event")?;
    ensure!(
        second["object"]["columnDefinitions"].is_null() && second["object"]["rows"][0]["cells"][1] == 2,
        "{second}"
    );
    let strange = "application/json;as=Table;v=v9;g=meta.k8s.io";
    let alone = ask.get_as(&ask.cm(""), strange);
    ensure!(alone.code == 406, "{}", alone.code);
    let list = ask.get_as(&ask.cm(""), &format!("{strange},application/json")).is(200)?;
    ensure!(list["kind"] == "ConfigMapList", "{}", list["kind"]);
    Ok(())
}

fn h079(ask: &Ask<'_>) -> Check {
    ask.make_cm("a", &json!({"k": "v"}))?;
    let one = ask.get_as(&ask.cm("a"), PARTIAL).is(200)?;
    ensure!(
        one["kind"] == "PartialObjectMetadata" && one["metadata"]["name"] == "a" && one.get("data").is_none(),
        "{one}"
    );
    let list = ask.get_as(&ask.cm(""), PARTIALS).is(200)?;
    ensure!(list["kind"] == "PartialObjectMetadataList", "{list}");
    ensure!(list["items"][0]["kind"] == "PartialObjectMetadata", "{list}");
    let mut watch = ask
        .wire
        .open(&format!("{}?watch=1&fieldSelector=metadata.name%3Da", ask.cm("")), &[("Accept", PARTIAL)]);
    let event = watch.next(SOON).ok_or("no event")?;
    ensure!(event["object"]["kind"] == "PartialObjectMetadata", "{event}");
    let headers = [("Accept", PARTIAL), ("Content-Type", "application/merge-patch+json")];
    let patched = ask.wire.call("PATCH", &ask.cm("a"), &headers, br#"{"data":{"k":"w"}}"#).is(200)?;
    ensure!(patched["kind"] == "PartialObjectMetadata" && patched.get("data").is_none(), "{patched}");
    Ok(())
}

fn h080(ask: &Ask<'_>) -> Check {
    let mut last = 0;
    for (at, path) in
        [ask.cm(""), ask.core("secrets", ""), ask.core("services", ""), ask.cm("")].iter().enumerate()
    {
        let mut body = json!({"metadata": {"name": format!("n{at}")}});
        if path.ends_with("services") {
            body["spec"] = json!({"ports": [{"port": 80}]});
        }
        let made = ask.post(path, &body).is(201)?;
        ensure!(version(&made) > last, "{made}");
        last = version(&made);
    }
    Ok(())
}

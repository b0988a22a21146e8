//! JSON-RPC 2.0: one object or a batch in, the same out.

use bytes::Bytes;
use kcl_api::{Encoding, Reason};
use serde_json::{Value, json};

use crate::work::Worker;

/// The reference's code for what a method itself refuses: the letters KCL.
const APPLICATION: i64 = 0x4B_43_4C;
/// So many questions fit into a batch.
const MAX_BATCH: usize = 1_000;

/// Answers a text; nothing if it holds only notifications.
pub(crate) async fn answer(worker: &Worker, text: &[u8]) -> Option<String> {
    let value: Value = match serde_json::from_slice(text) {
        Ok(value) => value,
        Err(why) => return Some(error(&Value::Null, -32700, &format!("not JSON: {why}")).to_string()),
    };
    let Value::Array(batch) = value else { return one(worker, value).await.map(|answer| answer.to_string()) };
    if batch.is_empty() || batch.len() > MAX_BATCH {
        return Some(
            error(&Value::Null, -32600, &format!("a batch has 1 to {MAX_BATCH} questions")).to_string(),
        );
    }
    let mut answers = Vec::new();
    for question in batch {
        answers.extend(one(worker, question).await);
    }
    (!answers.is_empty()).then(|| Value::Array(answers).to_string())
}

async fn one(worker: &Worker, question: Value) -> Option<Value> {
    let id = question.get("id").cloned();
    let known = id.clone().unwrap_or(Value::Null);
    let method = question.get("method").and_then(Value::as_str).map(str::to_owned);
    let (Some(method), Some("2.0")) = (method, question.get("jsonrpc").and_then(Value::as_str)) else {
        return Some(error(
            &known,
            -32600,
            "a question is {\"jsonrpc\": \"2.0\", \"id\": .., \"method\": .., \"params\": {..}}",
        ));
    };
    // The reference's clients send the message as the first of a list, too.
    let params = match question.get("params") {
        Some(Value::Array(list)) => list.first().cloned().unwrap_or_else(|| json!({})),
        Some(params) => params.clone(),
        None => json!({}),
    };
    let answer = worker.call(method, Encoding::Json, Bytes::from(params.to_string())).await;
    // A notification is done, and nobody hears about it.
    let id = id?;
    Some(match answer {
        Ok(bytes) => {
            let result: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        }
        Err(failure) => {
            let code = match failure.reason {
                Reason::UnknownMethod => -32601,
                Reason::Undecodable => -32602,
                Reason::Wrong | Reason::Stopped => APPLICATION,
                Reason::Bug => -32603,
            };
            error(&id, code, &failure.message)
        }
    })
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

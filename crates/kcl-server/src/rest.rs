//! The reference's REST form: `POST /api:protorpc/KclService.ExecProgram`, the answer is `{"error": "", "result": {..}}`.

use bytes::Bytes;
use http::StatusCode;
use kcl_api::{Encoding, Reason};
use serde_json::{Value, json};

use crate::work::Worker;

/// What a path of this form begins with.
pub(crate) const PREFIX: &str = "/api:protorpc/";

/// Answers a question. What the method itself refuses is an answer like any other; the rest has a status, too.
pub(crate) async fn answer(worker: &Worker, method: &str, body: Bytes) -> (StatusCode, String) {
    match worker.call(method.to_owned(), Encoding::Json, body).await {
        Ok(bytes) => {
            let mut out = String::from("{\"error\":\"\",\"result\":");
            out.push_str(&String::from_utf8_lossy(&bytes));
            out.push('}');
            (StatusCode::OK, out)
        }
        Err(failure) => {
            let status = match failure.reason {
                Reason::Wrong => StatusCode::OK,
                Reason::UnknownMethod => StatusCode::NOT_FOUND,
                Reason::Undecodable => StatusCode::BAD_REQUEST,
                Reason::Stopped => StatusCode::GATEWAY_TIMEOUT,
                Reason::Bug => StatusCode::INTERNAL_SERVER_ERROR,
            };
            (status, json!({ "error": failure.message, "result": Value::Null }).to_string())
        }
    }
}

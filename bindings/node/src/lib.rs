//! The addon behind the Node package `@kusionstack/kcl`: the one door of the API, on this thread or on a worker, and nothing else.
//!
//! There is no state, so any thread may call; a panic is an answer of the API, not an end of the process.

use kcl_api::{Budget, Encoding};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Error, Result, Task};
use napi_derive::napi;

/// A call of a method by its name with the JSON text of its message.
pub struct Call {
    method: String,
    message: String,
}

impl Task for Call {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        let bytes = kcl_api::call(&self.method, Encoding::Json, self.message.as_bytes(), &Budget::default())
            .map_err(|failure| Error::from_reason(failure.message))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn resolve(&mut self, _: Env, answer: String) -> Result<String> {
        Ok(answer)
    }
}

/// Calls a method; returns the JSON text of the answer.
#[napi]
pub fn call(method: String, message: String) -> Result<String> {
    Call { method, message }.compute()
}

/// The same on a worker thread.
#[napi]
pub fn call_async(method: String, message: String) -> AsyncTask<Call> {
    AsyncTask::new(Call { method, message })
}

/// Returns the version of the library.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

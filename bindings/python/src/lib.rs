//! The extension module behind the Python package `kcl`: the one door of the API, and nothing else.
//!
//! While a call runs, other Python threads go on. There is no state, so any thread may call; a panic is an exception.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    kcl,
    Error,
    PyException,
    "What a method refuses: code that does not compile, a file that is not there, a check that does not hold."
);

/// The native part of the package `kcl`.
#[pymodule(gil_used = false)]
mod _kcl {
    use super::{PyResult, Python, pyfunction};
    use kcl_api::{Budget, Encoding};

    #[pymodule_export]
    use super::Error;

    /// Calls a method of the API by its name with the JSON text of its message; returns the text of the answer.
    #[pyfunction]
    fn call(py: Python<'_>, method: &str, message: &str) -> PyResult<String> {
        let answer = py.detach(|| {
            let bytes = kcl_api::call(method, Encoding::Json, message.as_bytes(), &Budget::default())?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        });
        answer.map_err(|failure: kcl_api::Failure| Error::new_err(failure.message))
    }

    /// Returns the version of the library.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

//! Somebody who wants to know how downloads get on.

use std::sync::Arc;

/// Called with what is fetched and how many bytes have come; from several threads.
type Call = dyn Fn(&str, u64) + Send + Sync;

/// Nobody, or a function.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<Call>>);

impl Watch {
    /// Makes a watch of a function.
    pub fn new(call: impl Fn(&str, u64) + Send + Sync + 'static) -> Watch {
        Watch(Some(Arc::new(call)))
    }

    pub(crate) fn tell(&self, what: &str, bytes: u64) {
        if let Some(call) = &self.0 {
            call(what, bytes);
        }
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Watch(somebody)" } else { "Watch(nobody)" })
    }
}

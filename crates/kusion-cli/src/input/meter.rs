//! What the records of a run cost: a medium with a watch and a counter on it.
//!
//! In: every call of the store. Out: the same answer, and in the JSON report how long the medium took and how many bytes it got.
//! State must follow the change and not be felt; a figure in every report keeps that honest. Each call is told to `--debug`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use kusion_model::{Head, Scope};
use kusion_store::{
    Answer, Backend, Fence, Lease, LeaseSlot, Look, Records, Replacement, StoreError, Written,
};
use serde_json::{Value, json};

/// The sums so far.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    micros: AtomicU64,
    bytes: AtomicU64,
    writes: AtomicU64,
}

impl Meter {
    /// The sums as they stand in a report.
    pub(crate) fn report(&self) -> Value {
        let [micros, bytes, writes] =
            [&self.micros, &self.bytes, &self.writes].map(|sum| sum.load(Ordering::Relaxed));
        json!({"milliseconds": micros as f64 / 1000.0, "bytesWritten": bytes, "writes": writes})
    }
}

/// A medium, measured.
pub(crate) struct Metered<B> {
    pub(crate) below: B,
    pub(crate) meter: Arc<Meter>,
}

/// A medium whose sums nobody asks for; its calls are told all the same.
pub(crate) fn told(below: Arc<dyn Backend>) -> Arc<dyn Backend> {
    Arc::new(Metered { below, meter: Arc::default() })
}

impl<B: Backend> Metered<B> {
    fn timed<'a, T: 'a>(
        &'a self,
        what: &'static str,
        of: Option<&'a Scope>,
        answer: Answer<'a, T>,
    ) -> Answer<'a, T> {
        let start = Instant::now();
        Box::pin(async move {
            let answer = answer.await;
            let spent = start.elapsed();
            let micros = u64::try_from(spent.as_micros()).unwrap_or(u64::MAX);
            self.meter.micros.fetch_add(micros, Ordering::Relaxed);
            if log::log_enabled!(log::Level::Debug) {
                let place = of.map(|scope| format!(" {}", self.below.place(scope).display()));
                let failed = if answer.is_err() { " failed" } else { "" };
                log::debug!("state: {what}{}{failed} in {} ms", place.unwrap_or_default(), spent.as_millis());
            }
            answer
        })
    }

    fn written(&self, n_bytes: usize) {
        self.meter.bytes.fetch_add(n_bytes as u64, Ordering::Relaxed);
        self.meter.writes.fetch_add(1, Ordering::Relaxed);
    }
}

impl<B: Backend> Backend for Metered<B> {
    fn place(&self, scope: &Scope) -> PathBuf {
        self.below.place(scope)
    }

    fn list(&self) -> Answer<'_, Vec<Scope>> {
        self.timed("list", None, self.below.list())
    }

    fn read<'a>(&'a self, scope: &'a Scope, from: u64) -> Answer<'a, Written> {
        self.timed("read", Some(scope), Box::pin(async move { self.below.read(scope, from).await }))
    }

    fn glance<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Written> {
        self.timed("read", Some(scope), self.below.glance(scope))
    }

    fn create<'a>(&'a self, scope: &'a Scope, first: &'a str) -> Answer<'a, ()> {
        self.written(first.len());
        self.timed("create", Some(scope), self.below.create(scope, first))
    }

    fn append_if<'a>(
        &'a self,
        scope: &'a Scope,
        fence: &'a Fence,
        at: u64,
        records: &'a [String],
        head: &'a Head,
    ) -> Answer<'a, u64> {
        self.written(records.iter().map(String::len).sum());
        self.timed("append", Some(scope), self.below.append_if(scope, fence, at, records, head))
    }

    fn replace_if<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, by: Replacement<'a>) -> Answer<'a, u64> {
        self.written(by.records.iter().map(String::len).sum());
        self.timed("replace", Some(scope), self.below.replace_if(scope, fence, by))
    }

    fn gather<'a>(&'a self, scope: &'a Scope, at: u64) -> Answer<'a, ()> {
        self.timed("gather", Some(scope), self.below.gather(scope, at))
    }

    fn first_head<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, head: &'a Head) -> Answer<'a, bool> {
        self.timed("first head", Some(scope), self.below.first_head(scope, fence, head))
    }

    fn copies<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Vec<Records>> {
        self.timed("copies", Some(scope), self.below.copies(scope))
    }

    fn distrust(&self, scope: &Scope) -> bool {
        self.below.distrust(scope)
    }

    fn own_lease(&self, scope: &Scope, fence: &Fence) -> Option<LeaseSlot> {
        self.below.own_lease(scope, fence)
    }

    fn lease<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Option<LeaseSlot>> {
        self.timed("lease", Some(scope), self.below.lease(scope))
    }

    fn swap_lease<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
    ) -> Answer<'a, bool> {
        self.written(serde_json::to_vec(lease).map_or(0, |bytes| bytes.len()));
        self.timed("swap lease", Some(scope), self.below.swap_lease(scope, read, lease))
    }

    fn swap_and_look<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
        from: u64,
    ) -> Answer<'a, Option<Result<Look, StoreError>>> {
        self.written(serde_json::to_vec(lease).map_or(0, |bytes| bytes.len()));
        self.timed("swap lease and read", Some(scope), self.below.swap_and_look(scope, read, lease, from))
    }

    fn hold<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, at: u64) -> Answer<'a, Option<u64>> {
        self.timed("hold", Some(scope), self.below.hold(scope, fence, at))
    }

    fn kept<'a>(&'a self, scope: &'a Scope, name: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        self.timed("get key", Some(scope), self.below.kept(scope, name))
    }

    fn keep<'a>(&'a self, scope: &'a Scope, name: &'a str, bytes: &'a [u8]) -> Answer<'a, ()> {
        self.written(bytes.len());
        self.timed("put key", Some(scope), self.below.keep(scope, name, bytes))
    }
}

#[cfg(test)]
mod tests {
    use kusion_store::{SimMedium, wait};

    use super::*;

    #[test]
    fn bytes_and_writes_are_counted_reads_are_not() {
        let scope = Scope { project: "p".into(), stack: "s".into(), workspace: "default".into() };
        let medium = Metered { below: SimMedium::default(), meter: Arc::default() };
        wait(medium.create(&scope, "abc")).unwrap();
        wait(medium.keep(&scope, "key", b"de")).unwrap();
        assert_eq!(wait(medium.read(&scope, 0)).unwrap().log.unwrap().bytes, b"abc");
        let report = medium.meter.report();
        assert_eq!((&report["bytesWritten"], &report["writes"]), (&json!(5), &json!(2)));
        assert!(report["milliseconds"].as_f64().unwrap() > 0.0);
    }
}

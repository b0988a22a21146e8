//! A medium of objects in memory, for tests: everything that [`crate::Objects`] promises, and nothing more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::objects::{Object, ObjectAnswer, Objects, When};

/// Objects in memory; clones share them.
#[derive(Clone, Debug, Default)]
pub struct SimObjects {
    all: Arc<Mutex<All>>,
}

#[derive(Debug, Default)]
struct All {
    objects: BTreeMap<String, (Vec<u8>, u64)>,
    n_puts: u64,
    n_requests: u64,
}

impl SimObjects {
    /// Puts an object behind everybody's back.
    pub fn tamper(&self, name: &str, bytes: &[u8]) {
        let mut all = self.lock();
        all.n_puts += 1;
        let version = all.n_puts;
        all.objects.insert(name.to_owned(), (bytes.to_vec(), version));
    }

    /// Returns how many requests were answered.
    #[must_use]
    pub fn n_requests(&self) -> u64 {
        self.lock().n_requests
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T: Send + 'static>(&self, work: impl FnOnce(&mut All) -> T) -> ObjectAnswer<'_, T> {
        let mut all = self.lock();
        all.n_requests += 1;
        let answer = work(&mut all);
        drop(all);
        Box::pin(async move { Ok(answer) })
    }
}

impl Objects for SimObjects {
    fn place(&self, name: &str) -> String {
        format!("simulated:{name}")
    }

    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>> {
        self.ask(|all| {
            let (bytes, version) = all.objects.get(name)?;
            Some(Object { bytes: bytes.clone(), version: version.to_string() })
        })
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        self.ask(|all| {
            let now = all.objects.get(name).map(|(_, version)| version.to_string());
            let fits = match when {
                When::Absent => now.is_none(),
                When::Version(version) => now.as_deref() == Some(version),
            };
            if !fits {
                return None;
            }
            all.n_puts += 1;
            let version = all.n_puts;
            all.objects.insert(name.to_owned(), (bytes.to_vec(), version));
            Some(version.to_string())
        })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        self.ask(|all| {
            let from = all.objects.range(prefix.to_owned()..);
            from.map(|(name, _)| name.clone()).take_while(|name| name.starts_with(prefix)).collect()
        })
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        self.ask(|all| {
            names.iter().for_each(|name| drop(all.objects.remove(name)));
        })
    }
}

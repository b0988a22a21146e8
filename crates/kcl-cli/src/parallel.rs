//! Work on all cores.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::flags::Given;

/// Makes so many results on so many threads, each with a deep stack; they stand in order.
pub(crate) fn on_all<T: Send + Sync>(
    threads: usize,
    count: usize,
    make: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let slots: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        kcl::deep(|| {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(slot) = slots.get(at) else { return };
                let _ = slot.set(make(at));
            }
        });
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(work);
        }
        work();
    });
    slots.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// How many things are done at a time.
pub(crate) fn jobs(given: &Given) -> Result<usize, String> {
    match given.last("jobs") {
        None => Ok(std::thread::available_parallelism().map_or(1, std::num::NonZero::get)),
        Some(text) => match text.parse() {
            Ok(jobs @ 1..=256) => Ok(jobs),
            _ => Err(format!("--jobs {text}: write a number from 1 to 256")),
        },
    }
}

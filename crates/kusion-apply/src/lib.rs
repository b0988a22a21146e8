//! Walks a plan: concurrency, retries, health waits, events, records.

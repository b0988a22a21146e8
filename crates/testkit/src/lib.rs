//! Test harnesses: Markdown specs, txtar scenarios.

//! The engine as a library: generate, plan, apply, record, roll back.

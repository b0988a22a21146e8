//! Tests written in KCL.

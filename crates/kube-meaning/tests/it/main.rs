//! Tests over recorded answers of a real API server.

mod replay;

//! The Kubernetes runtime: lists, dry runs, server-side apply, watches.

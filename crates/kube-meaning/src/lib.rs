//! What a Kubernetes object means: schema tables, list keys, quantities, defaults, server-side apply, patches.

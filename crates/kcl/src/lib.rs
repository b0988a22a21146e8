//! KCL as a library: load, check, evaluate, manifest, as plain functions over plain data.

//! KCL name resolution and static types.

//! From a stack's KCL to a Spec.

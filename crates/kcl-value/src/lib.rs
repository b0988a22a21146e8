//! KCL run-time values: merge, comparison, text form, conversion to plain data, origins.

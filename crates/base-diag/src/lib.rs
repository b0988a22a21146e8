//! Files, ranges, line index and the one diagnostic type with its renderers.

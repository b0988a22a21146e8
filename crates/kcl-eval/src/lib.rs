//! The KCL evaluator: lazy schemas, merges, checks, budgets.

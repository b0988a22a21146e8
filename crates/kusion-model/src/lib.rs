//! Engine data: ids, project, stack, Spec, references, plan, state, release.

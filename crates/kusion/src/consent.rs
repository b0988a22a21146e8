//! Consent to a plan: given before, by a person who is asked, or to a plan that was saved.

use std::sync::Arc;

use futures::future::BoxFuture;
use kusion_model::Plan;
use kusion_runtime::DryRun;

use crate::{Aim, SavedPlan};

/// How consent to a plan is given.
#[derive(Clone)]
pub enum Consent {
    /// To whatever the plan turns out to be.
    Given,
    /// By somebody who is asked.
    Asked(Arc<dyn Ask>),
    /// To this very plan, some time ago.
    Saved(Arc<SavedPlan>),
}

impl Consent {
    /// Who looks at a plan must see what the server would say; otherwise the writes themselves will tell.
    pub(crate) fn dry_run(&self) -> DryRun {
        match self {
            Consent::Given => DryRun::Updates,
            Consent::Asked(_) | Consent::Saved(_) => DryRun::All,
        }
    }
}

/// What is asked.
pub struct Question<'a> {
    pub aim: Aim,
    pub plan: &'a Plan,
    /// What people call the cluster.
    pub cluster: &'a str,
}

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    /// Somebody was asked, and said nothing.
    Silence,
    /// There is nobody to ask.
    Nobody,
}

/// Somebody who can be asked. The lock is free meanwhile.
pub trait Ask: Send + Sync {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer>;
}

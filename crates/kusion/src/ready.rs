//! A plan and the world it was made in: what the road goes on with, and what it asks about it.

use std::collections::BTreeMap;

use kusion_health::Verdict;
use kusion_model::{
    Action, Observed, OutputUse, Phase, Plan, Platforms, ResourceKey, Spec, StackOutput, Step,
};
use kusion_store::State;

use crate::{Aim, Planned, Recognised, Sites, Stand};

/// Something that cannot come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    pub key: ResourceKey,
    /// What happens to it.
    pub how: &'static str,
    /// What is gone then.
    pub what: &'static str,
}

/// A plan and the world it was made in. The plan is only lent: nobody edits a sealed plan.
pub struct Ready {
    pub(crate) planned: Planned,
    pub aim: Aim,
    pub spec: Spec,
    pub state: State,
    pub sites: Sites,
    /// Which clusters these are.
    pub recognised: Recognised,
    /// Who is told how far the log is written.
    pub(crate) stand: Stand,
    /// What a person should know before consenting.
    pub warnings: Vec<String>,
    pub(crate) platforms: Platforms,
    /// Values of other stacks that the Spec uses, by `project/stack`.
    pub(crate) uses: BTreeMap<String, Vec<OutputUse>>,
    /// What the stack gives out from now on.
    pub(crate) outputs: Vec<StackOutput>,
}

impl Ready {
    /// What will be done.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.planned.plan()
    }

    /// The live objects as they were seen for the plan.
    #[must_use]
    pub fn live(&self) -> &BTreeMap<ResourceKey, Observed> {
        self.planned.live()
    }

    /// Whether the plan was made from this state.
    #[must_use]
    pub fn is_of(&self, state: &State) -> bool {
        self.state.serial == state.serial
            && (self.state.lineage == state.lineage || self.state.lineage.is_empty())
    }

    /// What the plan leaves as it is although it is not well, as it was seen for the plan.
    #[must_use]
    pub fn unwell<'a>(&'a self) -> Vec<(&'a ResourceKey, Verdict)> {
        let kept = self.plan().steps.iter().filter(|step| !step.is_change());
        let seen = |step: &'a Step| Some((&step.kind, &step.key, self.live().get(&step.key)?));
        self.sites.unwell(kept.filter_map(seen))
    }

    /// What cannot come back when the plan is carried out: data of objects that are deleted, or that were deleted and are
    /// made anew.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        let loss = |step: &Step| {
            let attributes = self.state.records.get(&step.key).map(|record| &record.attributes);
            let attributes = attributes.or(step.desired.as_ref())?;
            let what = self.platforms.get(&step.kind)?.holds(&step.key.id, attributes)?;
            let how = match step.action {
                Action::Delete => "is deleted",
                Action::Replace => "is replaced by a new one",
                Action::Create => "is made anew",
                _ => return None,
            };
            Some(Loss { key: step.key.clone(), how, what })
        };
        self.plan().steps.iter().filter_map(loss).collect()
    }

    /// Whether the outputs that are recorded are those that the stack names now.
    fn gives_the_same(&self) -> bool {
        let there = |output: &StackOutput| {
            let live = self.live().iter().find(|(key, _)| key.id == output.id);
            live.is_some_and(|(_, live)| output.path.get(live.attributes.tree()).is_some())
        };
        let named = |text: &String| self.outputs.iter().any(|output| output.to_string() == *text);
        let known = |output: &&StackOutput| self.state.outputs.contains_key(&output.to_string());
        let wrong = |output: &StackOutput| {
            self.state.outputs.get(&output.to_string()).is_some_and(|value| !output.kind.takes(value))
        };
        self.aim != Aim::Apply
            || !self.outputs.iter().any(wrong)
                && self.state.outputs.keys().all(named)
                && self.outputs.iter().filter(|output| !known(output)).all(|output| !there(output))
    }

    /// Whether an apply would change nothing, not even a record.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        let plan = self.plan();
        let stale = plan.steps.iter().any(|step| step.rerecord.is_some());
        plan.is_empty()
            && !stale
            && self.state.open.is_none()
            && self.recognised.moved.is_empty()
            && self.gives_the_same()
    }

    /// Whether the last release failed or never ended: another one has to say that all is well by now.
    #[must_use]
    pub fn last_failed(&self) -> bool {
        self.state.latest().is_some_and(|release| release.phase != Phase::Succeeded)
    }
}

//! Where a road ends early: which stage, with what facts; and the same in the words of a user.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kusion_apply::ApplyError;
use kusion_model::{FieldPath, Plan, ResourceKey, Scope};
use kusion_plan::{Moved, conflicts, strangers};
use kusion_store::StoreError;

use crate::consent::Answer;
use crate::road::Aim;
use crate::words::plan_failed;
use crate::{Called, Dependent, Exit, Failure, OtherCluster, PlanFailure, Target};

/// The stage that ended a road.
#[derive(Debug)]
pub enum RoadError {
    /// No release before the latest one succeeded.
    NothingBefore,
    Plan(PlanFailure),
    /// A saved plan is of another stack.
    OtherStack {
        saved: Box<Scope>,
        here: Box<Scope>,
    },
    /// A saved plan was made for another cluster.
    PlannedElsewhere(Box<OtherCluster>),
    /// The world has moved since a plan was saved.
    Moved(Vec<Moved>),
    /// Objects belong to other stacks.
    Strangers(Vec<(ResourceKey, String)>),
    /// Other managers own fields.
    Conflicts(Vec<Owned>),
    /// The state is of another stack of this name, and the plan would delete what that one made.
    Namesake {
        other: PathBuf,
        lost: usize,
    },
    /// Other stacks use what would go away.
    Dependents {
        aim: Aim,
        found: Vec<Dependent>,
    },
    NoConsent {
        aim: Aim,
        answer: Answer,
    },
    /// Stopped before anything was changed.
    Interrupted,
    Store(StoreError),
    Apply(ApplyError),
}

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    pub key: ResourceKey,
    pub path: FieldPath,
    pub manager: Option<String>,
}

impl Owned {
    /// The kind as a conflict rule names it: where fields have managers, it is the second part of an id.
    fn kind(&self) -> String {
        self.key.id.parts().get(1).map_or_else(|| "*".to_owned(), ToString::to_string)
    }

    /// The rule that takes the field over, as a flag has it.
    #[must_use]
    pub fn rule(&self) -> String {
        format!("{}:{}=take-over", self.kind(), self.path)
    }
}

/// A plan that other stacks or managers stand in the way of must not be applied.
///
/// # Errors
/// Who stands in the way.
pub fn refuse(plan: &Plan) -> Result<(), RoadError> {
    let found = strangers(plan);
    if !found.is_empty() {
        let list = found.into_iter().map(|(step, owner)| (step.key.clone(), owner.to_owned()));
        return Err(RoadError::Strangers(list.collect()));
    }
    let found = conflicts(plan);
    if found.is_empty() {
        return Ok(());
    }
    let owned = found.into_iter().map(|(step, change)| Owned {
        key: step.key.clone(),
        path: change.path.clone(),
        manager: change.manager.clone(),
    });
    Err(RoadError::Conflicts(owned.collect()))
}

impl RoadError {
    /// The command that applies all the same, where the user may decide so.
    #[must_use]
    pub fn take_over(&self, called: &Called) -> Option<String> {
        let stack = called.there();
        match self {
            RoadError::Strangers(_) => Some(format!("kusion apply {stack} --take-over")),
            RoadError::Conflicts(list) => {
                let rules: BTreeSet<String> = list.iter().map(Owned::rule).collect();
                let flags: Vec<String> = rules.iter().map(|rule| format!(" --conflict {rule}")).collect();
                Some(format!("kusion apply {stack}{}", flags.concat()))
            }
            _ => None,
        }
    }

    /// The same in the words of a user.
    #[must_use]
    pub fn told(self, target: &Target, server: &str) -> Failure {
        let (scope, stack) = (&target.scope, target.called.there());
        match self {
            RoadError::NothingBefore => Failure::usage("there is no release to go back to")
                .cause("no release before the latest one succeeded")
                .next(format!("`kusion release list {}` shows them", target.called.word)),
            RoadError::Plan(failure) => plan_failed(failure, target, server),
            RoadError::OtherStack { saved, here } => {
                Failure::usage(format!("the saved plan is for {saved}, this is {here}"))
                    .next(format!("kusion apply {saved} --plan FILE"))
            }
            RoadError::PlannedElsewhere(other) => {
                Failure::new(Exit::Conflict, "the saved plan is for another cluster")
                    .cause(format!("it was made for {}\nand this is {}", other.before, other.found))
                    .next(format!(
                        "go back to that cluster: --context {} or --kubeconfig FILE\nor plan for this one: kusion preview {stack} --plan FILE",
                        other.before.context
                    ))
            }
            RoadError::Moved(moved) => {
                let texts: Vec<String> =
                    moved.iter().map(|moved| format!("{} {}", moved.key, moved.what)).collect();
                Failure::new(Exit::Conflict, "the world has moved since the plan was made")
                    .cause(texts.join("\n"))
                    .next(format!("look again and save a new plan: kusion preview {stack} --plan FILE"))
            }
            RoadError::Strangers(list) => strangers_told(&list),
            RoadError::Conflicts(list) => conflicts_told(&list),
            RoadError::Namesake { other, lost } => {
                Failure::new(Exit::Conflict, format!("two stacks are called {scope}"))
                    .cause(format!(
                        "the state is of the one in {}, and this plan would delete {lost} of its resources",
                        other.display()
                    ))
                    .place(target.files())
                    .next(
                        "rename one of them in project.yaml, or keep its state apart: --home DIR; if it is the same project: --same-project",
                    )
            }
            RoadError::Dependents { aim, found } => dependents_told(aim, &found, scope, &stack),
            RoadError::NoConsent { aim, answer } => not_consented(aim, answer, &stack),
            RoadError::Interrupted => Failure::new(Exit::Interrupted, "interrupted; nothing was changed"),
            RoadError::Store(error) => Failure::from(error),
            RoadError::Apply(error) => Failure::from(error),
        }
    }
}

fn strangers_told(list: &[(ResourceKey, String)]) -> Failure {
    let texts: Vec<String> = list.iter().map(|(key, owner)| format!("{key} belongs to {owner}")).collect();
    let owner = list.first().map_or("", |(_, owner)| owner);
    Failure::new(Exit::Conflict, "objects of this plan belong to other stacks")
        .cause(texts.join("\n"))
        .next(format!(
            "take them out of this stack, or take them over: --take-over, or for good in stack.yaml:\ntakeOver: [{owner}]"
        ))
}

fn dependents_told(aim: Aim, found: &[Dependent], scope: &Scope, stack: &str) -> Failure {
    let texts: Vec<String> = found
        .iter()
        .map(|user| match &user.unreadable {
            Some(why) => format!("{}: nobody can tell what it uses ({why})", user.stack),
            None => format!("{} uses {}", user.stack, user.outputs.join(", ")),
        })
        .collect();
    let first = found.first().map_or("", |user| user.stack.as_str());
    let way = match found.first().is_some_and(|user| user.unreadable.is_some()) {
        true => format!("see what it uses, with its own --backend or --key: kusion state show {first}"),
        false => {
            format!("let them go without it first (kusion apply {first}, or kusion destroy {first})")
        }
    };
    Failure::new(Exit::Conflict, format!("other stacks use outputs of {scope} that would go away"))
        .cause(texts.join("\n"))
        .next(format!("{way}; to do it all the same: kusion {} {stack} --break-dependents", aim.verb()))
}

fn conflicts_told(list: &[Owned]) -> Failure {
    let texts: Vec<String> = list
        .iter()
        .map(|owned| {
            let manager = owned.manager.as_deref().unwrap_or("another manager");
            format!("{} {} is owned by {manager}", owned.key, owned.path)
        })
        .collect();
    let failure =
        Failure::new(Exit::Conflict, "other managers own fields of this plan").cause(texts.join("\n"));
    let Some(first) = list.first() else { return failure };
    let rule = format!("- {{kind: {}, path: {}, policy: take-over}}", first.kind(), first.path);
    failure.next(format!(
        "take them over: --conflict {} (or leave), or for good in stack.yaml:\nconflicts:\n{rule}",
        first.rule()
    ))
}

fn not_consented(aim: Aim, answer: Answer, stack: &str) -> Failure {
    let verb = aim.verb();
    match answer {
        Answer::Nobody => {
            let what = format!("`kusion {verb}` needs consent and there is no terminal to ask on");
            let next = match aim {
                Aim::Apply => {
                    format!("kusion apply {stack} -y, or save it: kusion preview {stack} --plan FILE")
                }
                Aim::Destroy => format!("kusion destroy {stack} -y"),
                Aim::Rollback(no) => format!("kusion rollback {stack} --to {no} -y"),
            };
            Failure::usage(what)
                .cause("nothing was changed")
                .next(format!("look at the plan above, then: {next}"))
        }
        Answer::No => Failure::usage("nothing was changed: the answer was no"),
        Answer::Silence | Answer::Yes => Failure::usage("nothing was changed: no answer"),
    }
}

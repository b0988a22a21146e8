//! What stacks give one another: which outputs a plan uses, and who uses those that a plan would take away.
//!
//! A stack records what it uses in each of its releases; so whoever gives something out finds its users by reading the states of
//! the other stacks, and only when something goes away. A state that cannot be read may belong to a user: that is told, too.
//!
//! A release that takes outputs away says so when it begins, as one that uses outputs does. Each of them looks at the other's
//! state behind its own mark and before its first change, so of two that begin at the same moment at least one sees the other.

use std::collections::BTreeMap;

use kusion_model::{Attr, OutputUse, Reference, Scope, Spec, StackOutput, StackRef, references_in};
use kusion_store::{State, StoreError};

use crate::{Aim, Ready, Target};

/// A stack that would lose what it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    pub stack: String,
    /// What it uses and would lose; nothing if nobody can tell.
    pub outputs: Vec<String>,
    /// Why nobody can tell.
    pub unreadable: Option<String>,
}

/// The outputs of other stacks, and since when they are what they are.
pub(crate) struct Others(BTreeMap<StackRef, State>);

/// The references of a Spec to other stacks.
fn references(spec: &Spec) -> Vec<Reference> {
    let uses = spec.resources.iter().flat_map(|resource| references_in(&resource.attributes));
    let all = uses.flat_map(|use_| use_.template.references().cloned().collect::<Vec<_>>());
    all.filter(|reference| reference.stack.is_some()).collect()
}

impl Others {
    /// Reads the states of the stacks that a Spec refers to.
    pub(crate) async fn read(target: &Target, spec: &Spec) -> Result<Self, StoreError> {
        let mut found = BTreeMap::new();
        for stack in references(spec).into_iter().filter_map(|reference| reference.stack) {
            if found.contains_key(&stack) {
                continue;
            }
            let scope = Scope {
                project: stack.project.clone(),
                stack: stack.stack.clone(),
                workspace: target.scope.workspace.clone(),
            };
            let state = target.stores.stack(&scope).read().await?;
            found.insert(stack, state);
        }
        Ok(Others(found))
    }

    /// The value that a reference points to.
    pub(crate) fn get(&self, stack: &StackRef, reference: &Reference) -> Option<Attr> {
        StackOutput::look_up(&self.0.get(stack)?.outputs, reference).cloned()
    }

    /// What a Spec uses of them, to be recorded.
    pub(crate) fn uses(&self, spec: &Spec) -> BTreeMap<String, Vec<OutputUse>> {
        let mut all: BTreeMap<String, Vec<OutputUse>> = BTreeMap::new();
        for reference in references(spec) {
            let Some((stack, state)) = reference.stack.as_ref().and_then(|it| self.0.get_key_value(it))
            else {
                continue;
            };
            let given = state
                .outputs
                .keys()
                .find(|text| StackOutput::parse(text).is_ok_and(|output| output.allows(&reference)));
            let version = given.and_then(|text| state.output_version(text)).unwrap_or_default();
            let output = StackOutput::of_reference(&reference).to_string();
            let known = all.entry(format!("{}/{}", stack.project, stack.stack)).or_default();
            if known.iter().all(|old| old.output != output) {
                known.push(OutputUse { output, version });
            }
        }
        all
    }
}

/// The outputs of a stack that a plan takes away.
pub(crate) fn lost(ready: &Ready, target: &Target) -> Vec<StackOutput> {
    let given = ready.state.outputs.keys().filter_map(|text| StackOutput::parse(text).ok());
    let stays = |output: &StackOutput| {
        ready.aim != Aim::Destroy
            && target.outputs.iter().any(|now| now.covers(output))
            && ready.spec.resources.iter().any(|resource| resource.id == output.id)
    };
    given.filter(|output| !stays(output)).collect()
}

/// The stacks that use what a plan takes away.
///
/// # Errors
/// A store that cannot list its stacks.
pub(crate) async fn dependents(ready: &Ready, target: &Target) -> Result<Vec<Dependent>, StoreError> {
    let lost = lost(ready, target);
    if lost.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = users(target).await?;
    for user in &mut found {
        user.outputs.retain(|text| {
            StackOutput::parse(text)
                .is_ok_and(|used| lost.iter().any(|gone| gone.covers(&used) || used.covers(gone)))
        });
    }
    found.retain(|user| !user.outputs.is_empty() || user.unreadable.is_some());
    Ok(found)
}

/// Why a plan whose release has begun must not go on: somebody takes away what it uses, or uses what it takes away. Whoever may
/// break others does not ask for the second.
pub(crate) async fn clashes(ready: &Ready, target: &Target, may_break: bool) -> Vec<String> {
    let mut found = Vec::new();
    for (stack, uses) in &ready.uses {
        let Some((project, name)) = stack.split_once('/') else { continue };
        let scope = Scope {
            project: project.to_owned(),
            stack: name.to_owned(),
            workspace: target.scope.workspace.clone(),
        };
        match target.stores.stack(&scope).read().await {
            Ok(state) => {
                found.extend(uses.iter().filter_map(|it| going(ready.aim, stack, &it.output, &state)))
            }
            Err(error) => found.push(format!("nobody can tell what {stack} gives out ({error})")),
        }
    }
    if may_break {
        return found;
    }
    match dependents(ready, target).await {
        Ok(users) => found.extend(users.into_iter().map(|user| match user.unreadable {
            Some(why) => format!("{}: nobody can tell what it uses ({why})", user.stack),
            None => format!("{} uses {}", user.stack, user.outputs.join(", ")),
        })),
        Err(error) => found.push(format!("nobody can tell who uses what goes away ({error})")),
    }
    found
}

/// How a stack takes something away that somebody begins to use.
fn going(aim: Aim, stack: &str, output: &str, state: &State) -> Option<String> {
    let used = StackOutput::parse(output).ok()?;
    let touches = |text: &String| {
        StackOutput::parse(text).is_ok_and(|other| other.covers(&used) || used.covers(&other))
    };
    if state.gives_up().iter().any(touches) {
        return Some(format!("{stack} is taking {output} away"));
    }
    // What is put back was filled in when it was made.
    let gone = aim == Aim::Apply && !state.outputs.keys().any(touches);
    gone.then(|| format!("{stack} has just taken {output} away"))
}

/// Every stack of the workspace that uses something of this one, and those of which nobody can tell.
///
/// # Errors
/// A store that cannot list its stacks.
pub async fn users(target: &Target) -> Result<Vec<Dependent>, StoreError> {
    let ours = format!("{}/{}", target.scope.project, target.scope.stack);
    let mut found = Vec::new();
    for scope in target.stores.list().await? {
        if scope == target.scope || scope.workspace != target.scope.workspace {
            continue;
        }
        let stack = format!("{}/{}", scope.project, scope.stack);
        match target.stores.stack(&scope).read().await {
            Ok(state) => {
                let uses = state.uses().remove(&ours).unwrap_or_default();
                let outputs: Vec<String> = uses.into_iter().map(|it| it.output).collect();
                if !outputs.is_empty() {
                    found.push(Dependent { stack, outputs, unreadable: None });
                }
            }
            Err(error) => {
                let unreadable = Some(error.to_string());
                found.push(Dependent { stack, outputs: Vec::new(), unreadable });
            }
        }
    }
    Ok(found)
}

//! From a Spec to a Plan: ask the world once, decide, seal.

use std::collections::BTreeMap;
use std::path::Path;

use kusion_model::{
    Action, ConflictRule, DigestKey, Observed, OwnerRules, Plan, PlanError, Platforms, Prior, Proposal,
    Proposed, Reason, ResourceKey, ResourceType, Scope, Spec, Step,
};
use kusion_plan::{
    FillInput, Filling, Identities, OtherStacks, PlanInput, Prepared, Problem, United, plan, prepare, unite,
    waves,
};
use kusion_runtime::{
    ErrorKind, IdentifyAsk, NoRuntime, ObserveAsk, Party, ProposeAsk, RuntimeError, Runtimes,
};
use kusion_store::StoreError;

use crate::culprit::argument;
use crate::{ENGINE, OtherCluster};
use crate::{SecretProblem, culprit, with_line};

/// Everything a plan is made from.
pub struct PlanAsk<'a> {
    pub scope: Scope,
    pub spec: &'a Spec,
    /// What platforms know without being asked.
    pub platforms: &'a Platforms,
    pub prior: &'a Prior,
    pub rules: &'a [ConflictRule],
    /// What may be done with objects that others made.
    pub owners: &'a OwnerRules,
    pub runtimes: &'a Runtimes,
    pub key: &'a DigestKey,
    /// Outputs of other stacks.
    pub others: &'a OtherStacks<'a>,
    /// The stack is destroyed: that is why nothing is wanted.
    pub destroy: bool,
}

/// A plan with what its execution needs beside it. It is sealed: everything is only lent.
pub struct Planned {
    plan: Plan,
    live: BTreeMap<ResourceKey, Observed>,
    prior: Prior,
    platforms: Platforms,
}

impl Planned {
    /// What will be done.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The live objects as they were seen for the plan.
    #[must_use]
    pub fn live(&self) -> &BTreeMap<ResourceKey, Observed> {
        &self.live
    }

    /// What is known of the platforms.
    #[must_use]
    pub fn platforms(&self) -> &Platforms {
        &self.platforms
    }

    /// The records as they were before.
    #[must_use]
    pub fn prior(&self) -> &Prior {
        &self.prior
    }
}

/// Why there is no plan.
#[derive(Debug)]
pub enum PlanFailure {
    /// The Spec contradicts itself.
    Spec(Vec<Problem>),
    NoRuntime(NoRuntime),
    /// Secrets of stores are not to be had.
    Secrets(Vec<SecretProblem>),
    /// The state cannot be read.
    Store(StoreError),
    /// The state is of another cluster.
    OtherCluster(Box<OtherCluster>),
    /// The plan contradicts itself.
    Plan(PlanError),
    /// The platform cannot be asked.
    Remote(RuntimeError),
    /// The platform refuses some resources.
    Refused(Vec<Denied>),
}

/// A resource that the platform refuses.
#[derive(Debug)]
pub struct Denied {
    pub key: ResourceKey,
    pub error: RuntimeError,
    /// The line of the field that the platform is about, where it is known.
    pub place: Option<String>,
}

impl Denied {
    fn new(key: &ResourceKey, error: RuntimeError) -> Self {
        Denied { key: key.clone(), error, place: None }
    }
}

impl PlanFailure {
    /// What a platform says about a Spec before it is planned.
    pub(crate) fn refused(error: RuntimeError) -> Self {
        match error.about.clone() {
            Some(key) if error.by == Party::Nobody => PlanFailure::Refused(vec![Denied::new(&key, error)]),
            _ => PlanFailure::Remote(error),
        }
    }

    /// The same, with the lines of the Spec that it is about.
    pub(crate) fn placed(mut self, spec: &Spec, project_dir: &Path) -> Self {
        if let PlanFailure::Refused(list) = &mut self {
            for denied in list {
                let resource = spec.resources.iter().find(|resource| resource.key() == denied.key);
                let source = resource.and_then(|resource| {
                    let found = culprit(resource, &denied.error.message);
                    // A provider names its arguments alone; what it says nothing of is about the whole. So is a kind that
                    // a cluster does not know.
                    let whole = || argument(resource, &denied.error.message);
                    let silent =
                        denied.error.by == Party::Cluster && denied.error.kind != ErrorKind::UnknownKind;
                    found.or_else(|| if silent { None } else { whole() })
                });
                denied.place = source.map(|source| with_line(resource, source, project_dir));
            }
        }
        self
    }
}

impl std::fmt::Display for PlanFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PlanFailure::Spec(problems) => {
                let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join("\n"))
            }
            PlanFailure::Secrets(problems) => {
                let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join("\n"))
            }
            PlanFailure::NoRuntime(error) => write!(f, "{error}"),
            PlanFailure::Plan(error) => write!(f, "{error}"),
            PlanFailure::Store(error) => write!(f, "{error}"),
            PlanFailure::OtherCluster(error) => write!(f, "{error}"),
            PlanFailure::Remote(error) => write!(f, "{error}"),
            PlanFailure::Refused(list) => {
                let texts: Vec<String> =
                    list.iter().map(|denied| format!("{}: {}", denied.key, denied.error)).collect();
                f.write_str(&texts.join("\n"))
            }
        }
    }
}

impl std::error::Error for PlanFailure {}

/// Makes a plan: graph and lint, one batched look at the world, proposals in waves of the graph, decisions.
///
/// # Errors
/// Everything wrong with the Spec, or what the platform says.
pub async fn make_plan(ask: &PlanAsk<'_>) -> Result<Planned, PlanFailure> {
    let prepared = prepare(ask.spec, ask.platforms).map_err(PlanFailure::Spec)?;
    let identities = identify(ask, &prepared).await?;
    let mut live = observe(ask, &prepared).await?;
    let United { prior, aliases } =
        unite(&prepared, ask.prior, &identities, &mut live).map_err(PlanFailure::Spec)?;
    let input = FillInput { platforms: ask.platforms, prior: &prior, others: ask.others, key: ask.key };
    let mut filling = Filling::new(&prepared, &mut live, input);
    let mut proposals = BTreeMap::new();
    for wave in waves(&prepared) {
        filling.fill(&wave, &mut live).map_err(PlanFailure::Spec)?;
        let proposed = propose(ask, &prepared, &proposals, &filling, &wave, &prior, &live).await?;
        for (&at, proposal) in wave.iter().zip(proposed) {
            // What it depends on may have been put off in this very wave.
            let proposal = waiting(&prepared, &proposals, at).unwrap_or(proposal);
            filling.learn(at, &proposal);
            proposals.insert(prepared.keys[at].clone(), proposal);
        }
    }
    let desired = filling.finish();
    refuse_destroying_others(&prior, &live, &proposals)?;
    let plan = plan(&PlanInput {
        scope: ask.scope.clone(),
        engine: ENGINE,
        spec_digest: ask.spec.digest(),
        prepared: &prepared,
        desired: &desired,
        prior: &prior,
        aliases: &aliases,
        live: &live,
        proposals: &proposals,
        rules: ask.rules,
        owners: ask.owners,
        platforms: ask.platforms,
        destroy: ask.destroy,
    })
    .map_err(PlanFailure::Plan)?;
    refuse_deleting_protected(&plan, ask.platforms)?;
    // What was only looked at is known now; who refers to it and to something that is not known yet needs it later.
    for (key, proposal) in proposals {
        let looked = prepared.index.get(&key).is_some_and(|&at| prepared.looks[at]);
        if let Some(planned) = proposal.planned.filter(|_| looked && proposal.what == Proposed::Same) {
            live.insert(key, Observed { attributes: planned.into(), ..Observed::default() });
        }
    }
    Ok(Planned { plan, live, prior, platforms: ask.platforms.clone() })
}

/// What must not be deleted is told before anything is done to anything.
fn refuse_deleting_protected(plan: &Plan, platforms: &Platforms) -> Result<(), PlanFailure> {
    let goes = |step: &&Step| step.action == Action::Delete && step.reason != Reason::AlreadyGone;
    let refused = plan.steps.iter().filter(goes).filter_map(|step| {
        let error =
            RuntimeError::new(ErrorKind::Invalid, platforms.forbids_delete(&step.kind, &step.extensions)?);
        let in_cluster = platforms.lives_in_cluster(&step.kind);
        Some(Denied::new(&step.key, if in_cluster { error } else { error.of_provider() }))
    });
    let refused: Vec<Denied> = refused.collect();
    if refused.is_empty() { Ok(()) } else { Err(PlanFailure::Refused(refused)) }
}

/// What somebody made anew under the name of ours is not ours to replace.
fn refuse_destroying_others(
    prior: &Prior,
    live: &BTreeMap<ResourceKey, Observed>,
    proposals: &BTreeMap<ResourceKey, Proposal>,
) -> Result<(), PlanFailure> {
    let replaced = proposals.iter().filter(|(_, p)| matches!(p.what, Proposed::Replace { .. }));
    let others =
        replaced.filter(|(key, _)| prior.get(key).is_some() && prior.of(key, live.get(key)).is_none());
    let text = "somebody made it anew, so it is not ours to replace, and this change is possible only by replacing; delete it, or give ours another name";
    let refused: Vec<_> =
        others.map(|(key, _)| Denied::new(key, RuntimeError::new(ErrorKind::Owned, text))).collect();
    if refused.is_empty() { Ok(()) } else { Err(PlanFailure::Refused(refused)) }
}

type PlaceKey = (ResourceType, String);

/// Asks every runtime what the keys mean that are wanted or recorded.
async fn identify(ask: &PlanAsk<'_>, prepared: &Prepared<'_>) -> Result<Identities, PlanFailure> {
    let mut by_place: BTreeMap<PlaceKey, Vec<IdentifyAsk<'_>>> = BTreeMap::new();
    let wanted = prepared.resources.iter().zip(&prepared.keys);
    let wanted = wanted.map(|(resource, key)| {
        let prior = ask.prior.get(key);
        let (attributes, extensions) = (&resource.attributes, &resource.extensions);
        (&resource.kind, IdentifyAsk { key, attributes, extensions, prior, wanted: true })
    });
    let unwanted = ask.prior.keys().into_iter().filter(|key| !prepared.index.contains_key(key));
    let unwanted = unwanted.filter_map(|key| {
        let record = ask.prior.get(key)?;
        let (attributes, extensions) = (&record.attributes, &record.extensions);
        let prior = Some(record);
        Some((&record.kind, IdentifyAsk { key, attributes, extensions, prior, wanted: false }))
    });
    for (kind, ask) in wanted.chain(unwanted) {
        by_place.entry((kind.clone(), ask.key.cluster.to_string())).or_default().push(ask);
    }
    let mut identities = Identities::new();
    for ((kind, _), asks) in &by_place {
        let Some(first) = asks.first() else { continue };
        let runtime = ask.runtimes.get(kind, first.key).map_err(PlanFailure::NoRuntime)?;
        let answers = runtime.identify(asks).await.map_err(PlanFailure::Remote)?;
        // Objects of two platforms are never one.
        let answers = answers.into_iter().map(|answer| format!("{kind} {answer}"));
        identities.extend(asks.iter().map(|ask| ask.key.clone()).zip(answers));
    }
    Ok(identities)
}

/// Asks every runtime once about everything that is wanted or recorded.
async fn observe<'a>(
    ask: &'a PlanAsk<'_>,
    prepared: &Prepared<'a>,
) -> Result<BTreeMap<ResourceKey, Observed>, PlanFailure> {
    let mut by_place: BTreeMap<PlaceKey, Vec<ObserveAsk<'_>>> = BTreeMap::new();
    let mut add = |ask: ObserveAsk<'a>| {
        by_place.entry((ask.kind.clone(), ask.key.cluster.to_string())).or_default().push(ask);
    };
    for (resource, key) in prepared.resources.iter().zip(&prepared.keys) {
        let (kind, extensions) = (resource.kind.clone(), resource.extensions.clone());
        let wanted = Some(&resource.attributes);
        add(ObserveAsk { key: key.clone(), kind, prior: ask.prior.get(key), extensions, wanted });
    }
    for key in ask.prior.keys() {
        if let Some(record) = ask.prior.get(key).filter(|_| !prepared.index.contains_key(key)) {
            let (kind, extensions) = (record.kind.clone(), record.extensions.clone());
            add(ObserveAsk { key: key.clone(), kind, prior: Some(record), extensions, wanted: None });
        }
    }
    let mut live = BTreeMap::new();
    for ((kind, _), asks) in &by_place {
        let Some(first) = asks.first() else { continue };
        let runtime = ask.runtimes.get(kind, &first.key).map_err(PlanFailure::NoRuntime)?;
        live.extend(runtime.observe(asks).await.map_err(PlanFailure::Remote)?);
    }
    Ok(live)
}

/// The proposal about what depends on something that is put off.
fn waiting(prepared: &Prepared<'_>, known: &BTreeMap<ResourceKey, Proposal>, at: usize) -> Option<Proposal> {
    let off = |key: &&ResourceKey| {
        known.get(key).is_some_and(|proposal| matches!(proposal.what, Proposed::PutOff(_)))
    };
    let on = prepared.graph.predecessors(at).map(|before| &prepared.keys[before]).find(off)?;
    Some(Proposal::of(Proposed::PutOff(format!("waits for {on}, which is put off"))))
}

/// Asks every runtime once for its proposals about a wave, in dependency order; the answers are in the order of the wave.
async fn propose(
    ask: &PlanAsk<'_>,
    prepared: &Prepared<'_>,
    before: &BTreeMap<ResourceKey, Proposal>,
    filling: &Filling<'_, '_>,
    wave: &[usize],
    prior: &Prior,
    live: &BTreeMap<ResourceKey, Observed>,
) -> Result<Vec<Proposal>, PlanFailure> {
    let mut by_place: BTreeMap<PlaceKey, Vec<(usize, ProposeAsk<'_>)>> = BTreeMap::new();
    let changes =
        |at: usize| before.get(&prepared.keys[at]).is_some_and(|proposal| proposal.what != Proposed::Same);
    let mut proposals = BTreeMap::new();
    for (place, (&at, desired)) in wave.iter().filter_map(|at| Some((at, filling.desired(*at)?))).enumerate()
    {
        if let Some(later) = waiting(prepared, before, at) {
            proposals.insert(place, later);
            continue;
        }
        let observed = live.get(&desired.key);
        let prior = prior.of(&desired.key, observed);
        let live = observed.filter(|live| live.terminating.is_none());
        let pending = prepared.graph.predecessors(at).any(&changes);
        let question = ProposeAsk { desired, prior, live, rules: ask.rules, pending };
        let of = (desired.kind.clone(), desired.key.cluster.to_string());
        by_place.entry(of).or_default().push((place, question));
    }
    let mut refused = Vec::new();
    for ((kind, _), asked) in by_place {
        let (places, asks): (Vec<usize>, Vec<ProposeAsk<'_>>) = asked.into_iter().unzip();
        let Some(first) = asks.first() else { continue };
        let runtime = ask.runtimes.get(&kind, &first.desired.key).map_err(PlanFailure::NoRuntime)?;
        for ((place, question), answer) in places.iter().zip(&asks).zip(runtime.propose(&asks).await) {
            match answer {
                Ok(proposal) => {
                    proposals.insert(*place, proposal);
                }
                Err(error) => refused.push(Denied::new(&question.desired.key, error)),
            }
        }
    }
    if refused.is_empty() {
        Ok(proposals.into_values().collect())
    } else {
        Err(PlanFailure::Refused(refused))
    }
}

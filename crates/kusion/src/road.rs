//! The road: what is wanted, a plan, consent, the lock, the plan again, the walk, the record.
//!
//! In: a stack, clusters, an errand. Out: an ending, or the stage at which the road ended. Whoever calls it is told what happens
//! and is asked for consent; the order of the stages, and what is refused, is decided here. Invariants: nothing is changed before
//! consent; what is carried out is a plan of the state as it is under the lock; while a person thinks, the lock is free.
//! Start reading with [`Road::go`]. Why it is so: `docs/design/0011-road.md`.

use std::collections::BTreeSet;

use futures::future::{Either, select};
use kusion_apply::{Report, StepEnd};
use kusion_model::{Approval, Approved, Plan, Release, ReleaseNo, ResourceKey, Spec, Timestamp, Timings};
use kusion_plan::moved_since;
use kusion_runtime::{DryRun, ErrorKind};
use kusion_store::{ReleaseDraft, Session, State};

use crate::consent::{Answer, Consent, Question};
use crate::outputs::dependents;
use crate::refusal::{RoadError, refuse};
use crate::{
    ApplyAsk, Engine, Exit, Happening, Kin, Ready, Sites, Target, clusters_of, previous_good, rollback_target,
};

/// What is to become of a stack.
pub enum Purpose {
    /// What its configuration says.
    Apply(Spec),
    /// Nothing is left of it.
    Destroy,
    /// What a release made of it; without a number the last good one before the latest.
    Rollback(Option<ReleaseNo>),
}

/// The purpose, without what is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aim {
    #[default]
    Apply,
    Destroy,
    Rollback(ReleaseNo),
}

impl Aim {
    /// The command that has it.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Aim::Apply => "apply",
            Aim::Destroy => "destroy",
            Aim::Rollback(_) => "rollback",
        }
    }
}

/// What is wanted, beside what is recorded.
pub struct Wanted {
    pub aim: Aim,
    pub spec: Spec,
    pub state: State,
}

/// Finds out what is wanted of a stack; reads its state.
///
/// # Errors
/// A state that cannot be read, or no release to go back to.
pub async fn want(target: &Target, purpose: Purpose) -> Result<Wanted, RoadError> {
    let state = target.store.read().await.map_err(RoadError::Store)?;
    let (aim, spec) = match purpose {
        Purpose::Apply(spec) => (Aim::Apply, spec),
        Purpose::Destroy => (Aim::Destroy, Spec::default()),
        Purpose::Rollback(to) => {
            let to = to.or_else(|| previous_good(&state)).ok_or(RoadError::NothingBefore)?;
            (Aim::Rollback(to), rollback_target(&target.store, to).await.map_err(RoadError::Store)?)
        }
    };
    Ok(Wanted { aim, spec, state })
}

impl Wanted {
    /// The clusters that a plan of it works on.
    #[must_use]
    pub fn clusters(&self) -> BTreeSet<String> {
        clusters_of(&self.spec, &self.state)
    }

    /// The release that a rollback goes to.
    #[must_use]
    pub fn release(&self) -> Option<&Release> {
        match self.aim {
            Aim::Rollback(to) => self.state.releases.get(&to),
            Aim::Apply | Aim::Destroy => None,
        }
    }
}

/// What somebody wants done, how, and who is told.
pub struct Errand {
    pub consent: Consent,
    /// Consent is the failure policy's, not a person's.
    pub policy: bool,
    /// The folder is known to be the project that made the state.
    pub same_project: bool,
    /// Who acts, how long to wait, how to stop, and who is told.
    pub ask: ApplyAsk,
}

/// How a road ended that was walked to its end.
pub enum Ending {
    /// There was nothing to do.
    Rest(Rest, Box<Ready>),
    /// A release was made.
    Released(Box<Report>),
}

impl Ending {
    /// The exit code.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Ending::Rest(..) => Exit::Done,
            Ending::Released(report) => exit_of(report),
        }
    }
}

/// The exit code of a release.
fn exit_of(report: &Report) -> Exit {
    let any = |test: fn(&StepEnd) -> bool| report.steps.values().any(test);
    match () {
        () if report.cancelled => Exit::Interrupted,
        () if report.is_success() => Exit::Done,
        // Who comes second to an object is told the same, whether the plan saw the first one or the write did.
        () if any(|end| matches!(end, StepEnd::Failed { kind: Some(ErrorKind::Owned), .. })) => {
            Exit::Conflict
        }
        () if any(|end| matches!(end, StepEnd::Unhealthy { .. })) => Exit::Unhealthy,
        () if !report.wrong_outputs.is_empty() && !any(|end| matches!(end, StepEnd::Failed { .. })) => {
            Exit::Unhealthy
        }
        () if any(StepEnd::is_applied) => Exit::Partial,
        () => Exit::Remote,
    }
}

/// Nothing is to be done, not even a release to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Not well, and not waited for because the user said so.
    pub unwell: Vec<ResourceKey>,
}

impl Rest {
    /// Says whether the road ends here: nothing changes, and everything is well (or health is not waited for).
    fn of(ready: &Ready, wait: bool) -> Option<Rest> {
        if !ready.changes_nothing() {
            return None;
        }
        let destroyed = ready.aim == Aim::Destroy;
        let unwell: Vec<ResourceKey> = match destroyed {
            true => Vec::new(),
            false => ready.unwell().into_iter().map(|(key, _)| key.clone()).collect(),
        };
        let doubtful = !unwell.is_empty() || ready.last_failed();
        (destroyed || !wait || !doubtful).then_some(Rest { unwell })
    }
}

/// How long the stages take.
struct Pace {
    last: Timestamp,
    timings: Timings,
}

impl Pace {
    fn new(now: Timestamp) -> Self {
        Pace { last: now, timings: Timings::default() }
    }

    /// The milliseconds since the stage before.
    fn step(&mut self, now: Timestamp) -> u64 {
        now.millis_since(std::mem::replace(&mut self.last, now))
    }
}

/// A stack and the world it is in.
#[derive(Clone, Copy)]
pub struct Road<'a> {
    pub engine: &'a Engine,
    pub target: &'a Target,
}

impl Road<'_> {
    /// Plans what is wanted, and tells what a person should know about it.
    ///
    /// # Errors
    /// What is wrong with what is wanted, the state or the world.
    pub async fn plan(&self, wanted: Wanted, dry_run: DryRun, ask: &ApplyAsk) -> Result<Ready, RoadError> {
        let tell = |happening: Happening<'_>| (ask.observer)(happening);
        let Wanted { aim, spec, state } = wanted;
        self.kin(&state, ask).note(&state).iter().for_each(|text| tell(Happening::Note(text)));
        tell(Happening::Asking);
        let ready = self.engine.plan_from(self.target, state, spec, aim, dry_run).await;
        let ready = ready.map_err(RoadError::Plan)?;
        ready.recognised.notes().iter().for_each(|text| tell(Happening::Note(text)));
        ready.warnings.iter().for_each(|text| tell(Happening::Warning(text)));
        if let Some(text) = put_off(ready.plan()) {
            tell(Happening::Warning(&text));
        }
        Ok(ready)
    }

    /// Goes the whole road.
    ///
    /// # Errors
    /// The stage that ended it.
    pub async fn go(&self, wanted: Wanted, errand: &Errand) -> Result<Ending, RoadError> {
        let mut pace = Pace::new(self.engine.now());
        let ready = self.plan(wanted, errand.consent.dry_run(), &errand.ask).await?;
        pace.timings.plan = pace.step(self.engine.now());
        let mut sites = ready.sites.clone();
        let ending = self.walk(ready, errand, pace, &mut sites).await;
        let troubles = sites.give_back().await;
        troubles.iter().for_each(|text| (errand.ask.observer)(Happening::Warning(text)));
        ending
    }

    /// Goes on with a plan. Where it is made again, `sites` become those of the new one.
    async fn walk(
        &self,
        ready: Ready,
        errand: &Errand,
        mut pace: Pace,
        sites: &mut Sites,
    ) -> Result<Ending, RoadError> {
        if let Consent::Saved(saved) = &errand.consent {
            saved.is_for(&ready.recognised.found).map_err(RoadError::PlannedElsewhere)?;
            still_true(&saved.plan, ready.plan())?;
        }
        self.tell(errand, Happening::Planned { ready: &ready, again: false })?;
        self.refuse(&ready, errand).await?;
        if let Some(rest) = Rest::of(&ready, errand.ask.options.wait) {
            return Ok(Ending::Rest(rest, Box::new(ready)));
        }
        match ready.plan().is_empty() {
            true => self.tell(errand, Happening::Unchanged(&ready))?,
            false => self.consent(&ready, errand).await?,
        }
        pace.timings.consent = pace.step(self.engine.now());
        let (session, ready) = self.hold(ready, errand, sites).await?;
        pace.timings.lock = pace.step(self.engine.now());
        if let Some(rest) = Rest::of(&ready, errand.ask.options.wait) {
            self.give_back(session).await?;
            return Ok(Ending::Rest(rest, Box::new(ready)));
        }
        // Somebody may have begun to use what goes away while the lock was waited for.
        if let Err(refused) = self.refuse_dependents(&ready, errand).await {
            self.give_back(session).await?;
            return Err(refused);
        }
        let report = self.carry_out(session, &ready, errand, pace.timings).await?;
        if report.rollback_wanted && ready.aim == Aim::Apply {
            self.go_back(errand).await?;
        }
        Ok(Ending::Released(Box::new(report)))
    }

    /// Tells something; whoever is told may have stopped the errand.
    fn tell(&self, errand: &Errand, happening: Happening<'_>) -> Result<(), RoadError> {
        (errand.ask.observer)(happening);
        if errand.ask.cancel.is_cancelled() { Err(RoadError::Interrupted) } else { Ok(()) }
    }

    fn kin(&self, state: &State, ask: &ApplyAsk) -> Kin {
        match &self.target.folder {
            Some(folder) => Kin::of(state, folder, &ask.draft.by.host),
            None => Kin::Same,
        }
    }

    /// What must not be applied, whoever consents; and what must not happen without anybody who looks.
    async fn refuse(&self, ready: &Ready, errand: &Errand) -> Result<(), RoadError> {
        refuse(ready.plan())?;
        self.refuse_dependents(ready, errand).await?;
        let unseen = matches!(errand.consent, Consent::Given) && !errand.same_project;
        let tally = ready.plan().tally();
        match self.kin(&ready.state, &errand.ask) {
            Kin::Namesake(other) if unseen && tally.delete + tally.replace > 0 => {
                Err(RoadError::Namesake { other, lost: tally.delete + tally.replace })
            }
            _ => Ok(()),
        }
    }

    /// What other stacks use must not go away.
    async fn refuse_dependents(&self, ready: &Ready, errand: &Errand) -> Result<(), RoadError> {
        if errand.ask.break_dependents {
            return Ok(());
        }
        let found = dependents(ready, self.target).await.map_err(RoadError::Store)?;
        if found.is_empty() { Ok(()) } else { Err(RoadError::Dependents { aim: ready.aim, found }) }
    }

    async fn consent(&self, ready: &Ready, errand: &Errand) -> Result<(), RoadError> {
        let Consent::Asked(asker) = &errand.consent else { return Ok(()) };
        let question = Question { aim: ready.aim, plan: ready.plan(), cluster: self.engine.context() };
        match asker.ask(question).await {
            Answer::Yes => Ok(()),
            answer => Err(RoadError::NoConsent { aim: ready.aim, answer }),
        }
    }

    /// Takes the lock. The plan that comes back is of the state as it is under the lock; it may have become empty.
    async fn hold(
        &self,
        mut ready: Ready,
        errand: &Errand,
        sites: &mut Sites,
    ) -> Result<(Session, Ready), RoadError> {
        loop {
            self.tell(errand, Happening::Locking)?;
            let session = self.lock(&ready, errand).await?;
            // A saved plan is carried out exactly or not at all: the state that moved refuses it.
            if matches!(errand.consent, Consent::Saved(_)) {
                return Ok((session, ready));
            }
            let again = self.engine.plan_again(&session, self.target, &ready, errand.consent.dry_run()).await;
            let again = match again {
                Ok(None) => return Ok((session, ready)),
                Ok(Some(again)) => again,
                Err(failure) => {
                    self.give_back(session).await?;
                    return Err(RoadError::Plan(failure));
                }
            };
            let same = moved_since(ready.plan(), again.plan()).is_empty();
            for text in ready.sites.give_back().await {
                (errand.ask.observer)(Happening::Warning(&text));
            }
            *sites = again.sites.clone();
            ready = again;
            if same || ready.plan().is_empty() {
                return Ok((session, ready));
            }
            let seen = match self.tell(errand, Happening::Planned { ready: &ready, again: true }) {
                Ok(()) => self.refuse(&ready, errand).await,
                stopped => stopped,
            };
            if let Err(refused) = seen {
                self.give_back(session).await?;
                return Err(refused);
            }
            if matches!(errand.consent, Consent::Given) {
                return Ok((session, ready));
            }
            self.give_back(session).await?;
            self.consent(&ready, errand).await?;
        }
    }

    async fn lock(&self, ready: &Ready, errand: &Errand) -> Result<Session, RoadError> {
        let won = Box::pin(self.engine.lock(self.target, &ready.state, &errand.ask));
        match select(won, Box::pin(errand.ask.cancel.cancelled())).await {
            Either::Left((session, _)) => session.map_err(RoadError::Store),
            Either::Right(_) => Err(RoadError::Interrupted),
        }
    }

    async fn give_back(&self, session: Session) -> Result<(), RoadError> {
        session.close(self.engine.now()).await.map_err(RoadError::Store)
    }

    /// Carries a plan out under its lock and records the release.
    async fn carry_out(
        &self,
        session: Session,
        ready: &Ready,
        errand: &Errand,
        timings: Timings,
    ) -> Result<Report, RoadError> {
        let rollback_to = match ready.aim {
            Aim::Rollback(to) => Some(to),
            Aim::Apply | Aim::Destroy => None,
        };
        let before = rollback_to.and_then(|to| ready.state.releases.get(&to));
        let draft = ReleaseDraft {
            models: before.map_or_else(|| errand.ask.draft.models.clone(), |release| release.models.clone()),
            cluster: Some(self.engine.context().to_owned()).filter(|context| !context.is_empty()),
            destroy: ready.aim == Aim::Destroy,
            rollback_to,
            timings,
            approvals: self.approvals(ready, errand),
            ..errand.ask.draft.clone()
        };
        let ask = ApplyAsk { draft, ..errand.ask.clone() };
        let report =
            self.engine.apply_in(session, self.target, ready, &ask).await.map_err(RoadError::Apply)?;
        (ask.observer)(Happening::Ended { report: &report, ready });
        Ok(report)
    }

    /// Who consented to a plan, and how; a plan that changes nothing needs nobody.
    fn approvals(&self, ready: &Ready, errand: &Errand) -> Vec<Approval> {
        if ready.plan().is_empty() {
            return Vec::new();
        }
        let (by, plan_hash) = (errand.ask.draft.by.clone(), ready.plan().hash.clone());
        let given = |how| Approval { how, by, at: self.engine.now(), plan_hash };
        vec![match &errand.consent {
            Consent::Asked(_) => given(Approved::Asked),
            Consent::Given if errand.policy => given(Approved::Policy),
            Consent::Given => given(Approved::Beforehand),
            Consent::Saved(saved) => Approval {
                how: Approved::SavedPlan,
                by: saved.by.clone().unwrap_or_default(),
                at: saved.at,
                plan_hash: saved.plan.hash.clone(),
            },
        }]
    }

    /// The failure policy asks for the state before; nobody is asked again.
    async fn go_back(&self, errand: &Errand) -> Result<(), RoadError> {
        let wanted = match want(self.target, Purpose::Rollback(None)).await {
            Err(RoadError::NothingBefore) => {
                (errand.ask.observer)(Happening::GoingBack(None));
                return Ok(());
            }
            wanted => wanted?,
        };
        (errand.ask.observer)(Happening::GoingBack(wanted.release()));
        let errand = Errand {
            consent: Consent::Given,
            policy: true,
            same_project: true,
            // What the failed release gave out nobody can use yet; what was there before comes back.
            ask: ApplyAsk { break_dependents: true, ..errand.ask.clone() },
        };
        let ready = self.plan(wanted, DryRun::Updates, &errand.ask).await?;
        let mut sites = ready.sites.clone();
        let back = self.put_back(ready, &errand, &mut sites).await;
        for text in sites.give_back().await {
            (errand.ask.observer)(Happening::Warning(&text));
        }
        back
    }

    async fn put_back(&self, ready: Ready, errand: &Errand, sites: &mut Sites) -> Result<(), RoadError> {
        refuse(ready.plan())?;
        let (session, ready) = self.hold(ready, errand, sites).await?;
        self.carry_out(session, &ready, errand, Timings::default()).await.map(|_| ())
    }
}

/// What a person should know about what is not done yet.
fn put_off(plan: &Plan) -> Option<String> {
    let n = plan.steps.iter().filter(|step| step.put_off().is_some()).count();
    let what = if n == 1 { "1 resource is".to_owned() } else { format!("{n} resources are") };
    let next = "apply again when what is missing is there";
    (n > 0).then(|| format!("{what} put off, because its provider cannot say yet what it will be: {next}"))
}

/// Whether the world is still as it was when a plan was saved.
fn still_true(saved: &Plan, now: &Plan) -> Result<(), RoadError> {
    if saved.scope != now.scope {
        let (saved, here) = (Box::new(saved.scope.clone()), Box::new(now.scope.clone()));
        return Err(RoadError::OtherStack { saved, here });
    }
    let moved = moved_since(saved, now);
    if moved.is_empty() { Ok(()) } else { Err(RoadError::Moved(moved)) }
}

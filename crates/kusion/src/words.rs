//! The failures of the engine in the words of a user: what, cause, where, next, and the exit code.

use kusion_apply::ApplyError;
use kusion_generate::FileProblem;
use kusion_plan::Problem;
use kusion_runtime::{ErrorKind, Party, RuntimeError};
use kusion_secrets::Refusal;
use kusion_store::{Damage, StoreError};

use crate::{Advice, Exit, Failure, OtherCluster, PlanFailure, SecretProblem, Target};

impl From<FileProblem> for Failure {
    fn from(problem: FileProblem) -> Failure {
        let FileProblem { what, cause, place, next } = problem;
        Failure { exit: Exit::Usage, what, cause, place, next, ..Failure::default() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let text = error.to_string();
        match error {
            StoreError::Locked { holder } => Failure::new(Exit::Conflict, "the stack is locked")
                .cause(format!("held by {holder}"))
                .advise(Advice::new(
                    "wait with `--lock-timeout 5m`; a lock of a dead process is taken over by itself; if its machine is gone for good: ",
                    "state unlock",
                )),
            StoreError::Fenced { .. } | StoreError::Stale { .. } => {
                Failure::new(Exit::Conflict, text).advise(Advice::new("look at the plan again: ", "preview"))
            }
            StoreError::Io { path, source, .. } => {
                let next = match source.kind() {
                    std::io::ErrorKind::StorageFull => "make room, then run the same command again",
                    _ => "let the folder be writable, or choose another: --home DIR or KUSION_HOME",
                };
                Failure::usage("the state cannot be kept")
                    .cause(text)
                    .place(path.display().to_string())
                    .next(next)
            }
            StoreError::Damaged { place, damage } => damaged(&damage, text).place(place.display().to_string()),
            StoreError::KeyNeeded { place, .. } => Failure::usage(text)
                .cause("it may be whole: a repair without its key would give up everything that it seals")
                .place(place.display().to_string())
                .advise(
                    Advice::new("give the right key (--key, KUSION_PASSPHRASE); if it is lost for good: ", "state repair")
                        .flags("--lost-key"),
                ),
            StoreError::LeaseGarbled { place } => Failure::new(Exit::Conflict, text)
                .cause("nobody can tell who holds the lock")
                .place(place.display().to_string())
                .advise(Advice::new("if nobody works on this stack: ", "state unlock")),
            StoreError::Unreachable { place, .. } => Failure::new(Exit::Remote, text)
                .place(place.display().to_string())
                .next("see that it can be reached, then run the same command again"),
            StoreError::Refused { place, .. } => Failure::new(Exit::Remote, text)
                .place(place.display().to_string())
                .next("look at its rights and settings: `kusion config explain`"),
            StoreError::Unanswered { place, .. } => Failure::new(Exit::Remote, text)
                .place(place.display().to_string())
                .next("run the same command again: it goes on from what is there"),
            StoreError::NoRelease { .. } => Failure::usage(text).advise(Advice::new("", "release list").after(" shows them")),
            StoreError::OtherLock { .. } => {
                Failure::usage(text).next("--key file, file:PATH, passphrase or command:PROGRAM")
            }
            StoreError::Unsealed { .. } => {
                Failure::usage(text).next("make it anew: kusion preview --plan FILE")
            }
            StoreError::Moved { place, to } => Failure::new(Exit::Conflict, "the state is kept elsewhere now")
                .cause(format!("it has moved to {to}; what is here is a closed copy"))
                .place(place.display().to_string())
                .next(format!("--backend '{to}', or `backend:` in stack.yaml, or `kusion config set backend`")),
            StoreError::OnItsWay { place, from } => Failure::new(Exit::Conflict, "the state has not arrived here yet")
                .cause(format!("it is on its way from {from}; somebody was interrupted, or is at it right now"))
                .place(place.display().to_string())
                .next(format!("go on with it: kusion state migrate --backend '{from}' --to ADDRESS-OF-THIS-PLACE")),
            StoreError::Occupied { place } => Failure::new(Exit::Conflict, text)
                .cause("nothing is written over a state that counts; nothing was changed")
                .place(place.display().to_string())
                .next("choose another place, or look at that one: kusion state show --backend ADDRESS"),
            StoreError::NoState { .. } => Failure::usage(text).advise(Advice::new("the first ", "apply").after(" makes it")),
            StoreError::Newer { .. } => Failure::usage(text).advise(
                Advice::new("if nobody here uses a newer engine, the first line was changed: ", "state repair")
                    .after(" tells"),
            ),
            StoreError::NotOpen { .. } | StoreError::Lock { .. } | StoreError::NoRandom { .. } => {
                Failure::usage(text)
            }
        }
    }
}

/// A state that is not as it was left.
fn damaged(damage: &Damage, text: String) -> Failure {
    const UNTOUCHED: &str = "nothing was planned and nothing was changed";
    let save = Advice::new("put the newest copy back, or see what can be saved: ", "state repair");
    match damage {
        Damage::Key | Damage::NoKey { .. } | Damage::WrongKey { .. } => Failure::usage(text)
            .cause(format!("without its key the state cannot be read; {UNTOUCHED}"))
            .advise(
                Advice::new("put the key back, or name it with --key; if it is lost for good: ", "state repair")
                    .flags("--lost-key"),
            ),
        Damage::Lost { at, .. } => Failure::usage(text)
            .cause(match at {
                Some(at) => format!("{at} remembers them; {UNTOUCHED}"),
                None => UNTOUCHED.to_owned(),
            })
            .advise(save.after(
                "\nif that is another project of this name on the cluster: give this one another name in project.yaml",
            )),
        _ => Failure::usage(text).cause(UNTOUCHED).advise(save),
    }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Failure {
        let text = error.to_string();
        match error {
            ApplyError::Conflict(_) | ApplyError::Owned(_) => Failure::new(Exit::Conflict, text),
            ApplyError::Shared(_) => Failure::new(Exit::Conflict, text)
                .cause("nothing was changed; the release is recorded as failed")
                .next("wait until the other stack's release has ended, then run the command again"),
            ApplyError::Store { source, report } => {
                let damaged = matches!(source, StoreError::Damaged { .. });
                let unwritable = matches!(source, StoreError::Io { .. });
                let mut failure = Failure::from(source);
                if report.is_some() && !damaged {
                    failure.exit = Exit::Partial;
                }
                if report.is_some() && unwritable {
                    let next = "make room for the state, then apply again: it is read from the cluster";
                    failure = failure.next(next);
                }
                failure
            }
        }
    }
}

/// A failed request, in the words of the platform that was asked.
#[must_use]
pub fn remote_failed(error: &RuntimeError, server: &str) -> Failure {
    match (error.kind, error.by) {
        (ErrorKind::UnknownSecret, _) => Failure::usage("a secret of that release is not known any more")
            .cause(error.message.clone())
            .next("check out the sources of that release and apply them"),
        (_, Party::Provider | Party::Nobody) => crate::terraform::failed(error),
        (_, Party::Cluster) => crate::kubernetes::failed(error, server),
    }
}

/// Everything wrong with a Spec, and the next step for the first.
#[must_use]
pub fn spec_failed(problems: &[Problem], place: &str) -> Failure {
    let mut texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.dedup();
    let failure = Failure::usage("the configuration cannot be planned").cause(texts.join("\n")).place(place);
    match problems.first() {
        Some(Problem::DuplicateId { .. }) => failure.next("give one of them another name"),
        Some(Problem::SameObject { .. }) => {
            failure.next("keep one of them; both would write the same object")
        }
        Some(Problem::TwoObjects { .. }) => {
            failure.next("write the namespace of each into metadata.namespace")
        }
        Some(Problem::Cycle { .. }) => failure.next("remove one of these edges"),
        Some(Problem::UnknownDependency { .. }) => failure.next("add the resource, or remove the reference"),
        Some(Problem::AmbiguousDependency { .. }) => failure.next("name the cluster: extensions.cluster"),
        Some(Problem::Reference { .. }) => {
            failure.next("write `$kusion_path.<id>.<path>` or `$kusion_path[\"<id>\"].<path>`")
        }
        Some(Problem::Identity(_)) => {
            failure.next("let the id be apiVersion:Kind:[namespace:]name of the manifest")
        }
        Some(Problem::Extensions { .. }) => failure.next("correct what the message names"),
        Some(Problem::NotAnOutput { stack, .. }) => failure.next(format!(
            "list it under `outputs:` in the stack.yaml of {stack}, then `kusion apply {stack}`"
        )),
        Some(Problem::NoSuchField { .. }) => failure.next("name a field that it has"),
        None => failure,
    }
}

/// Why there is no plan.
#[must_use]
pub fn plan_failed(failure: PlanFailure, target: &Target, server: &str) -> Failure {
    match failure {
        PlanFailure::Spec(problems) => spec_failed(&problems, &target.files()),
        PlanFailure::Secrets(problems) => no_secrets(&problems),
        PlanFailure::Store(error) => Failure::from(error),
        PlanFailure::NoRuntime(error) => Failure::usage(error.to_string()),
        PlanFailure::OtherCluster(other) => other_cluster(&other, target),
        PlanFailure::Plan(error) => Failure::usage("the plan contradicts itself").cause(error.to_string()),
        PlanFailure::Remote(error) => {
            let failure = remote_failed(&error, server);
            let away = matches!(error.kind, ErrorKind::Unreachable | ErrorKind::Timeout | ErrorKind::Broken);
            let known = format!(
                "without the cluster: `kusion diff {}`, against the last release",
                target.called.evaluated()
            );
            match (away, failure.next.clone()) {
                (true, Some(next)) => failure.next(format!("{next}\n{known}")),
                _ => failure,
            }
        }
        PlanFailure::Refused(list) => {
            let texts: Vec<String> =
                list.iter().map(|denied| format!("{}: {}", denied.key, denied.error.message)).collect();
            let first = list.first().map(|denied| remote_failed(&denied.error, server));
            let mut failure = first.unwrap_or_else(|| Failure::new(Exit::Remote, "the cluster refuses it"));
            failure.cause = Some(texts.join("\n"));
            // What has to be changed stands first; who refuses it comes after.
            let mut places: Vec<String> = list.into_iter().filter_map(|denied| denied.place).collect();
            places.dedup();
            places.extend(failure.place.take());
            failure.place = Some(places.join("\n")).filter(|places| !places.is_empty());
            failure
        }
    }
}

/// Secrets that are not to be had: all of them, and what to do about the first.
fn no_secrets(problems: &[SecretProblem]) -> Failure {
    let exit = match problems.iter().any(|problem| problem.error.kind == Refusal::Unavailable) {
        true => Exit::Remote,
        false => Exit::Usage,
    };
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let next = problems.iter().find_map(|problem| problem.error.next.clone());
    let what = match problems.len() {
        1 => "a secret is not to be had; nothing was changed".to_owned(),
        n => format!("{n} secrets are not to be had; nothing was changed"),
    };
    let failure = Failure::new(exit, what).cause(texts.join("\n"));
    failure.next(next.unwrap_or_else(|| "look at them alone: `kusion secret check`".to_owned()))
}

/// The state is of another cluster, and nobody said that the stack moves.
fn other_cluster(other: &OtherCluster, target: &Target) -> Failure {
    let OtherCluster { before, found } = other;
    let scope = &target.scope;
    Failure::new(Exit::Conflict, format!("{scope} is on another cluster"))
        .cause(format!("its state is of {before}\nand this is {found}"))
        .place(target.store.place().display().to_string())
        .next(format!(
            "go back to that cluster: --context {} or --kubeconfig FILE\nor leave there what it has, and begin here: kusion apply {} --move-cluster",
            before.context,
            target.called.there()
        ))
}

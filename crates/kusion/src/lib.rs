//! The engine as a library: generate, plan, apply, record, roll back.
//!
//! In: a stack's files, a store, platforms, a clock, all injected. Out: plans, reports, history. Every function is one arrow
//! of the road in `docs/design/0002-engine.md`; nothing here prints or reads the environment.
//!
//! ```text
//! generate ─► Spec ─► Engine::plan ─► Ready ─► Engine::apply ─► Report
//!                        ▲                          │
//!                      State ◄────── Session ◄──────┘
//! ```
//!
//! In process, on any `kube` client (this is what quickstart and the command line do):
//!
//! ```no_run
//! # async fn road(client: kusion::Client, home: std::path::PathBuf) -> Result<(), Box<dyn std::error::Error>> {
//! use kusion::{ApplyAsk, Cluster, DryRun, Engine, Happening, Inputs, Profile, ReleaseDraft, Store, Target};
//!
//! let engine = Engine::new().with(Cluster::new(client, "sandbox", Profile::sandbox()));
//! let stores = Store::local(home);
//! let folder = kusion::locate(&kusion::Disk, std::path::Path::new("/work/shop"), Some("dev"))?;
//! let target = Target::open(&stores, &folder, "default").await?;
//! let inputs = Inputs { workspace: "default".into(), origins: true, ..Inputs::default() };
//! let generator = kusion::Generator::new(&kusion::Disk);
//! let spec = generator.generate(&folder, &inputs, &kusion::platforms(), &target.key)?.spec;
//! let ready = engine.plan(&target, spec, DryRun::Updates).await?;
//! let mut ask = ApplyAsk::new(ReleaseDraft::default());
//! ask.observer = std::sync::Arc::new(|happening| {
//!     if let Happening::Verdict { key, verdict } = happening {
//!         let _line = format!("{key} {}", verdict.full_message());
//!     }
//! });
//! let report = engine.apply(&target, &ready, &ask).await?;
//! assert!(report.is_success());
//! // Back to the release before: recorded state is a Spec again.
//! let to = kusion::previous_good(&target.store.read().await?).ok_or("no release to go back to")?;
//! let spec = kusion::rollback_target(&target.store, to).await?;
//! let back = engine.plan(&target, spec, DryRun::Updates).await?;
//! ask.draft.rollback_to = Some(to);
//! engine.apply(&target, &back, &ask).await?;
//! # Ok(()) }
//! ```
//!
//! Start reading with [`Engine`]; [`make_plan`] and [`execute`] are the same road on any runtime and health.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod by_hand;
mod called;
mod clock;
mod clusters;
mod consent;
mod culprit;
mod engine;
mod execute;
mod exit;
mod failure;
mod git;
mod history;
mod identity;
mod kubernetes;
mod namesake;
mod outputs;
mod planning;
mod providers;
mod ready;
mod refusal;
mod road;
mod saved;
mod secrets;
mod site;
mod takeover;
mod target;
mod terraform;
mod tree;
mod witness;
mod words;

pub use by_hand::{Hand, forgotten, recorded, recorded_keys, renamed};
pub use called::Called;
pub use clock::WallClock;
pub use clusters::{clusters_of, platforms};
pub use consent::{Answer, Ask, Consent, Question};
pub use culprit::{culprit, with_line};
pub use engine::{ApplyAsk, Engine, Happening, Observer};
pub use execute::{Execution, execute};
pub use exit::Exit;
pub use failure::{Advice, Failure};
pub use git::{author_of, commit_of, git, source_of};
pub use history::{drifted, previous_good, rollback_target, unfinished};
pub use identity::{OtherCluster, Recognised};
pub use kubernetes::{Cluster, KubeSite};
pub use namesake::Kin;
pub use outputs::{Dependent, users};
pub use planning::{Denied, PlanAsk, PlanFailure, Planned, make_plan};
pub use providers::{LockFile, NeededProvider, needed_providers, read_provider};
pub use ready::{Loss, Ready};
pub use refusal::{Owned, RoadError, refuse};
pub use road::{Aim, Ending, Errand, Purpose, Rest, Road, Wanted, want};
pub use saved::SavedPlan;
pub use secrets::{
    SecretProblem, SecretUse, configured_stores, hide_variables, open_stores, resolve_secrets, secret_uses,
};
pub use site::{
    Access, Candidate, HealthAsk, Healths, Look, Looks, OnVerdict, Site, SiteAsk, SiteHealth, Sites,
};
pub use takeover::take_over;
pub use target::Target;
pub use terraform::{Providers, TfSite};
pub use tree::{Node, find};
pub use witness::Stand;
pub use words::{plan_failed, remote_failed, spec_failed};

pub use kcl::{Disk, embedded_konfig};
pub use kusion_apply::{ApplyError, CancelToken, FailurePolicy, Options, Report, StepEnd};
pub use kusion_generate::{
    FileProblem, GenerateError, Generated, Generator, Inputs, StackFolder, locate, read_spec, stacks_below,
};
pub use kusion_health::Profile;
pub use kusion_model as model;
pub use kusion_runtime::DryRun;
pub use kusion_runtime_k8s::{Client, Connected, connect};
pub use kusion_store::{ReleaseDraft, Store};

/// The version that plans and releases carry.
pub const ENGINE: &str = env!("CARGO_PKG_VERSION");

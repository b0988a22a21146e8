//! Terraform providers as a site of the engine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use kusion_apply::{Doubt, Health, HealthOutcome, HealthTarget, HealthVerdict};
use kusion_health::Verdict;
use kusion_model::{DigestKey, Platform, Platforms, ResourceKey, ResourceRecord, ResourceType, Spec};
use kusion_runtime::{ErrorKind, ObserveAsk, Party, Runtime, RuntimeError};
use kusion_runtime_tf::{Limits, Locate, SchemaCache, TfPlatform, TfRuntime, is_tainted, settle};

use crate::site::{Access, HealthAsk, Look, Site, SiteAsk, SiteHealth, at_once};
use crate::{Exit, Failure};

const WELL: &str = "its provider says so";
const INSTALL: &str = "kusion provider install";

/// Where Terraform providers come from.
#[derive(Clone)]
pub struct Providers {
    pub locate: Arc<dyn Locate>,
    /// The folder in which their schemas are remembered.
    pub schemas: Option<PathBuf>,
    pub limits: Limits,
    /// The folder that they run in.
    pub folder: Option<PathBuf>,
}

impl Access for Providers {
    fn open(&self, ask: &SiteAsk<'_>) -> Arc<dyn Site> {
        let cache = self.schemas.clone().map(SchemaCache::new);
        let (locate, folder) = (Arc::clone(&self.locate), self.folder.clone());
        let runtime = TfRuntime::in_folder(locate, cache, ask.key.clone(), folder);
        let runtime = Arc::new(runtime.with_limits(self.limits));
        Arc::new(TfSite { runtime, key: ask.key.clone() })
    }
}

/// The providers of a stack, for one operation.
pub struct TfSite {
    pub runtime: Arc<TfRuntime>,
    key: DigestKey,
}

impl Site for TfSite {
    fn platform(&self) -> Arc<dyn Platform> {
        Arc::new(TfPlatform::default())
    }

    fn runtime(&self) -> Arc<dyn Runtime> {
        Arc::clone(&self.runtime) as Arc<dyn Runtime>
    }

    /// Loads the schemas that a Spec needs, and seals what they call sensitive.
    fn learn<'a>(&'a self, spec: &'a mut Spec) -> BoxFuture<'a, Result<Arc<dyn Platform>, RuntimeError>> {
        Box::pin(async move {
            if !spec.resources.iter().any(|resource| resource.kind == ResourceType::terraform()) {
                return Ok(self.platform());
            }
            let known: Arc<dyn Platform> = Arc::new(self.runtime.platform(spec).await?);
            settle(spec, &Platforms::new(vec![Arc::clone(&known)]), &self.key);
            Ok(known)
        })
    }

    fn health(&self, _ask: &HealthAsk<'_>) -> Arc<dyn SiteHealth> {
        Arc::new(Provided)
    }

    /// What providers say about the resources that they have made: there, or gone.
    fn look<'a>(
        &'a self,
        records: &'a [&'a ResourceRecord],
    ) -> BoxFuture<'a, Result<Box<dyn Look>, RuntimeError>> {
        Box::pin(async move {
            let ask = |record: &&'a ResourceRecord| ObserveAsk {
                key: record.key.clone(),
                kind: record.kind.clone(),
                prior: Some(record),
                extensions: record.extensions.clone(),
                wanted: None,
            };
            let asks: Vec<ObserveAsk<'_>> = records.iter().map(ask).collect();
            let seen = self.runtime.observe(&asks).await;
            self.runtime.close().await;
            let seen = seen?.into_iter().map(|(key, observed)| (key, is_tainted(&observed)));
            Ok(Box::new(TfLook(seen.collect())) as Box<dyn Look>)
        })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.runtime.stop())
    }

    fn give_back(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(self.runtime.give_back())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.runtime.close())
    }
}

/// A provider returns when an object is as it was asked for; it was read just now, or for the plan.
struct Provided;

impl Health for Provided {
    fn wait<'a>(&'a self, _target: HealthTarget) -> BoxFuture<'a, HealthOutcome> {
        Box::pin(ready(at_once(HealthVerdict::Healthy, WELL)))
    }

    fn doubts<'a>(&'a self, _targets: Vec<HealthTarget>) -> BoxFuture<'a, Vec<Doubt>> {
        Box::pin(ready(Vec::new()))
    }
}

impl SiteHealth for Provided {}

/// What providers have found, and whether it is only half made.
struct TfLook(BTreeMap<ResourceKey, bool>);

impl Look for TfLook {
    fn verdict(&self, record: &ResourceRecord) -> Verdict {
        // A data source makes nothing that could be gone.
        match self.0.get(&record.key) {
            Some(true) => Verdict::failed("Tainted", "its create failed half-way, so it is not whole")
                .then("apply again replaces it"),
            Some(false) => Verdict::healthy("Provided", WELL),
            None if TfPlatform::default().only_looks(&record.extensions) => {
                Verdict::healthy("Provided", WELL)
            }
            None => Verdict::failed("Gone", "it does not exist any more").then("apply again makes it anew"),
        }
    }
}

/// What a provider refuses, or fails at.
pub(crate) fn failed(error: &RuntimeError) -> Failure {
    let (what, next) = match error.kind {
        // What can be installed says so itself.
        ErrorKind::NotFound if error.message.contains(INSTALL) => ("a provider is not to be had", INSTALL),
        ErrorKind::NotFound => ("a provider is not to be had", "do what the message says"),
        ErrorKind::Invalid if error.by == Party::Nobody => {
            ("the configuration is refused", "correct what the message names")
        }
        ErrorKind::Invalid | ErrorKind::Immutable => {
            ("a provider refuses it", "correct what the message names")
        }
        _ => ("a provider failed", "look at what it says; run the same command again when it is mended"),
    };
    Failure::new(Exit::Remote, what).cause(error.message.clone()).next(next)
}

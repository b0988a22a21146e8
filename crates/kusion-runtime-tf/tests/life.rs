//! The life of objects of real providers, asked as the engine asks.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use kusion_model::{
    Action, Attr, Desired, DigestKey, Observed, Proposal, Proposed, ReleaseNo, ResourceId, ResourceKey,
    ResourceRecord, ResourceType,
};
use kusion_runtime::{DeleteAsk, Deleted, ObserveAsk, ProposeAsk, Runtime as _, RuntimeError, WriteAsk};
use kusion_runtime_tf::{Locate, Source, TfRuntime};
use serde_json::{Map, Value, json};

const KEY: DigestKey = DigestKey::new([3; 32]);

/// The providers of the test environment.
struct Built;

impl Locate for Built {
    fn locate(&self, source: &Source) -> Result<PathBuf, String> {
        let name = source.address.rsplit('/').next().unwrap_or_default();
        testenv::program(&format!("terraform-provider-{name}")).ok_or_else(|| format!("{name} is not built"))
    }
}

struct Lab {
    runtime: TfRuntime,
    key: ResourceKey,
    extensions: Map<String, Value>,
    record: Option<ResourceRecord>,
}

impl Lab {
    fn new(id: &str) -> Option<Lab> {
        testenv::needed("terraform-provider-random")?;
        let key = ResourceKey::new(ResourceId::parse(id).unwrap());
        let runtime = TfRuntime::new(Arc::new(Built), None, KEY);
        Some(Lab { runtime, key, extensions: Map::new(), record: None })
    }

    async fn look(&self) -> Option<Observed> {
        let (key, kind) = (self.key.clone(), ResourceType::terraform());
        let (prior, extensions) = (self.record.as_ref(), self.extensions.clone());
        let ask = ObserveAsk { key, kind, prior, extensions, wanted: None };
        self.runtime.observe(&[ask]).await.unwrap().remove(&self.key)
    }

    async fn propose(&self, attributes: &Value) -> Result<Proposal, RuntimeError> {
        let live = self.look().await;
        let desired = Desired {
            key: self.key.clone(),
            kind: ResourceType::terraform(),
            attributes: attributes.into(),
            unknown: Vec::new(),
            extensions: &self.extensions,
        };
        let (prior, live) = (self.record.as_ref(), live.as_ref());
        let ask = ProposeAsk { desired: &desired, prior, live, rules: &[], pending: false };
        self.runtime.propose(&[ask]).await.remove(0)
    }

    async fn apply(&mut self, action: Action, attributes: &Value) -> Observed {
        let attributes = Attr::from(attributes);
        let ask = WriteAsk {
            key: &self.key,
            action,
            uid: None,
            attributes: &attributes,
            prior: self.record.as_ref(),
            planned: None,
            blob: None,
            imported: false,
            rules: &[],
            extensions: &self.extensions,
        };
        let done = self.runtime.apply(ask).await.unwrap();
        assert_eq!(done.trouble, None);
        self.record = Some(ResourceRecord {
            key: self.key.clone(),
            kind: ResourceType::terraform(),
            attributes,
            depends_on: Vec::new(),
            extensions: self.extensions.clone(),
            references: Vec::new(),
            uid: None,
            release: ReleaseNo(1),
            imported: false,
            kept: done.observed.kept.clone(),
            deposed: Vec::new(),
        });
        done.observed
    }

    async fn delete(&mut self) {
        let record = self.record.take().unwrap();
        let (prior, extensions) = (Some(&record), &self.extensions);
        let ask = DeleteAsk { key: &self.key, uid: None, version: None, prior, extensions };
        assert_eq!(self.runtime.delete(ask).await.unwrap(), Deleted::Gone);
        self.runtime.close().await;
    }
}

#[tokio::test]
async fn a_password_is_made_kept_sealed_replaced_and_deleted() {
    let Some(mut lab) = Lab::new("hashicorp:random:random_password:pw") else { return };
    let wanted = json!({"length": 12});
    let proposal = lab.propose(&wanted).await.unwrap();
    assert_eq!(proposal.what, Proposed::Create);
    assert_eq!(proposal.planned.unwrap()["result"], Attr::Unknown);
    let made = lab.apply(Action::Create, &wanted).await;
    let tree = made.attributes.tree();
    let Attr::Secret(secret) = &tree["result"] else { panic!("a secret") };
    let clear = secret.text().unwrap();
    assert_eq!((clear.len(), &tree["id"]), (12, &Attr::text("none")));
    let kept = serde_json::to_string(&made.kept).unwrap();
    assert!(!kept.contains(clear) && !format!("{made:?}").contains(clear));
    let same = lab.propose(&wanted).await.unwrap();
    assert_eq!(same.what, Proposed::Same);
    assert_eq!(lab.look().await.unwrap().kept, made.kept, "nothing moved, so nothing is recorded anew");
    let longer = lab.propose(&json!({"length": 16})).await.unwrap();
    let Proposed::Replace { because, create_first: false, .. } = longer.what else {
        panic!("{:?}", longer.what)
    };
    assert_eq!(because[0].to_string(), "length");
    assert!(longer.changes.iter().all(|change| !format!("{change:?}").contains(clear)));
    lab.delete().await;
}

#[tokio::test]
async fn what_is_changed_outside_is_seen() {
    let Some(mut lab) = Lab::new("hashicorp:local:local_file:f") else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("told");
    let wanted = json!({"filename": file, "content": "one"});
    lab.propose(&wanted).await.unwrap();
    lab.apply(Action::Create, &wanted).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
    std::fs::write(&file, "two").unwrap();
    assert!(lab.look().await.is_none(), "the provider says that ours is gone");
    assert_eq!(lab.propose(&wanted).await.unwrap().what, Proposed::Create);
    lab.apply(Action::Create, &wanted).await;
    lab.delete().await;
    assert!(!file.exists());
}

#[tokio::test]
async fn the_resource_that_is_built_in_gives_out_what_it_gets() {
    let Some(mut lab) = Lab::new("builtin:terraform:terraform_data:d") else { return };
    let wanted = json!({"input": {"a": [1, true, "x"]}});
    assert_eq!(lab.propose(&wanted).await.unwrap().planned.unwrap()["output"], Attr::Unknown);
    let made = lab.apply(Action::Create, &wanted).await;
    assert_eq!(made.attributes.tree()["output"], wanted["input"]);
    let id = made.attributes.tree()["id"].clone();
    let other = json!({"input": 0.1});
    let update = lab.propose(&other).await.unwrap();
    assert_eq!(update.what, Proposed::Update);
    let made = lab.apply(Action::Update, &other).await;
    assert_eq!(made.attributes.tree()["output"], json!(0.1));
    assert_eq!(made.attributes.tree()["id"], id);
    lab.delete().await;
}

#[tokio::test]
async fn lifecycle_import_data_and_refusals() {
    let Some(mut lab) = Lab::new("hashicorp:random:random_pet:p") else { return };
    lab.propose(&json!({"prefix": "a"})).await.unwrap();
    lab.apply(Action::Create, &json!({"prefix": "a"})).await;
    lab.extensions = json!({"lifecycle": {"ignoreChanges": ["prefix"]}}).as_object().unwrap().clone();
    assert_eq!(lab.propose(&json!({"prefix": "b"})).await.unwrap().what, Proposed::Same);
    lab.extensions = json!({"lifecycle": {"preventDestroy": true}}).as_object().unwrap().clone();
    assert!(lab.propose(&json!({"prefix": "b"})).await.unwrap_err().message.contains("preventDestroy"));
    lab.extensions = json!({"lifecycle": {"createBeforeDestroy": true}}).as_object().unwrap().clone();
    let replace = lab.propose(&json!({"prefix": "b"})).await.unwrap().what;
    assert!(matches!(replace, Proposed::Replace { create_first: true, .. }), "{replace:?}");
    assert!(lab.propose(&json!({"prefx": "b"})).await.unwrap_err().message.contains("prefx"));
    lab.delete().await;

    let mut lab = Lab::new("hashicorp:random:random_password:found").unwrap();
    lab.extensions = json!({"kusionstack.io/import-id": "secret12"}).as_object().unwrap().clone();
    assert_eq!(lab.propose(&json!({"length": 8})).await.unwrap().what, Proposed::Same);
    assert!(lab.look().await.unwrap().attributes.tree()["result"].is_secret());

    let mut lab = Lab::new("hashicorp:local:local_file:look").unwrap();
    lab.extensions = json!({"mode": "data"}).as_object().unwrap().clone();
    let read = lab.propose(&json!({"filename": "/proc/version"})).await.unwrap();
    assert_eq!(read.what, Proposed::Same);
    assert!(read.planned.unwrap()["content"].as_str().unwrap().contains("Linux"));
}

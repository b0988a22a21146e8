//! Which stack: where its state is, what its digests are made with, what its files say about it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kusion_generate::StackFolder;
use kusion_model::{ConflictRule, DigestKey, OwnerRules, Scope, StackOutput, StoreConfig, WorkspaceFile};
use kusion_store::{StackStore, Store, StoreError};

use crate::called::Called;
use crate::namesake::real;
use crate::secrets::configured_stores;

/// A stack as the engine works on it: its state, its key, its rules.
#[derive(Clone)]
pub struct Target {
    pub scope: Scope,
    pub store: StackStore,
    /// Where other stacks keep what they give out.
    pub stores: Store,
    pub key: DigestKey,
    pub rules: Vec<ConflictRule>,
    pub owners: OwnerRules,
    pub outputs: Vec<StackOutput>,
    /// Where `ref://` values come from, by name; the default store has the empty name.
    pub secret_stores: BTreeMap<String, StoreConfig>,
    /// What paths in the settings of stores are relative to.
    pub project_dir: PathBuf,
    /// Where its files are, if it has any.
    pub folder: Option<PathBuf>,
    pub called: Called,
}

impl Target {
    /// Opens the state of a stack; makes its key at first use. Where nothing can be written, a stack without a key gets one for
    /// this run: it can be looked at all the same.
    ///
    /// # Errors
    /// A state folder that cannot be read or made.
    pub async fn open(stores: &Store, folder: &StackFolder, workspace: &str) -> Result<Self, StoreError> {
        let key = stores.stack(&folder.scope(workspace)).digest_key().await;
        Self::with_key(stores, folder, workspace, key.map(Some))
    }

    /// The same for who only looks: nothing is written. A stack without a key gets one for this run.
    ///
    /// # Errors
    /// A state that cannot be read.
    pub async fn look(stores: &Store, folder: &StackFolder, workspace: &str) -> Result<Self, StoreError> {
        let key = stores.stack(&folder.scope(workspace)).known_digest_key().await;
        Self::with_key(stores, folder, workspace, key)
    }

    fn with_key(
        stores: &Store,
        folder: &StackFolder,
        workspace: &str,
        key: Result<Option<DigestKey>, StoreError>,
    ) -> Result<Self, StoreError> {
        let scope = folder.scope(workspace);
        let (store, word) = (stores.stack(&scope), scope.to_string());
        let key = match key {
            Ok(Some(key)) => key,
            Ok(None) => StackStore::passing_key()?,
            // Whoever reads the state next is told about its key; who repairs it must get as far as that.
            Err(error) if error.is_read_only() || error.is_about_the_key() => StackStore::passing_key()?,
            Err(error) => return Err(error),
        };
        Ok(Target {
            scope,
            store,
            stores: stores.clone(),
            key,
            rules: folder.stack.conflicts.clone(),
            owners: OwnerRules { take_over: folder.stack.take_over.clone(), imported: folder.stack.imported },
            outputs: folder.stack.read_outputs().unwrap_or_default(),
            secret_stores: configured_stores(folder),
            project_dir: folder.project_dir.clone(),
            folder: Some(real(&folder.stack_dir)),
            called: Called { word, ..Called::default() },
        })
    }

    /// Takes secrets also from the stores of its workspace; those of stack and project come first.
    #[must_use]
    pub fn with_workspace(mut self, file: WorkspaceFile) -> Self {
        let default = file.secret_store.map(|store| (String::new(), store));
        for (name, store) in file.secret_stores.into_iter().chain(default) {
            self.secret_stores.entry(name).or_insert(store);
        }
        self
    }

    /// Where its files are, for people.
    #[must_use]
    pub fn files(&self) -> String {
        self.folder.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default()
    }
}

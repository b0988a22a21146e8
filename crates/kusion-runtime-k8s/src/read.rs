//! Reading with proof: objects, lists, and which kinds the server has.
//!
//! Every read of this crate goes through here: it is judged by `border`, asked again while the answer proves nothing, and ends as
//! a fact or an error. A 404 that is about no object is a fact only if the kind is served nowhere and nothing defines it.

use kube_meaning::schema::split_api_version;
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::Value;

use crate::api::{Api, query};
use crate::border::{self, Page, Served};
use crate::elsewhere::Unserved;
use crate::kinds::{Asked, Kind};

/// Large, because a list is one request for the server however long it is; pages only bound what a giant namespace costs.
const PAGE: usize = 5000;
/// A server that never comes to its last page is not believed.
const MOST_PAGES: usize = 10_000;

/// All objects of a collection, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    pub(crate) items: Vec<Value>,
    /// Where a watch goes on.
    pub(crate) version: String,
}

impl Api {
    /// Reads one object; `None` if it is proved that there is none.
    pub(crate) async fn object(&self, asked: &Asked<'_>) -> Result<Option<Value>, RuntimeError> {
        let path = asked.path();
        let read = self.patiently(|| async {
            match border::object(asked, self.get(&path).await?) {
                Err(error) if error.kind == ErrorKind::UnknownKind => {
                    let unserved = self.prove_unserved(asked.kind, error).await?;
                    // That is known: asking again would not change it.
                    Ok(unserved.nowhere(asked.kind).map(|()| None))
                }
                other => other.map(Ok),
            }
        });
        read.await?
    }

    /// Reads a whole collection; one of a kind that is proved to be served nowhere is empty.
    pub(crate) async fn list(&self, kind: &Kind, namespace: &str) -> Result<Whole, RuntimeError> {
        let mut whole = Whole::default();
        let mut next: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let Some(page) = self.page(kind, namespace, next.as_deref()).await? else {
                // The pages got too old while we read: begin again, without pages.
                let path = kind.collection(namespace);
                let page = self
                    .patiently(|| async { border::page(kind, namespace, self.get(&path).await?) })
                    .await?;
                return match page.next {
                    None => Ok(Whole { items: page.items, version: page.version }),
                    Some(_) => Err(endless(kind, namespace)),
                };
            };
            whole.items.extend(page.items);
            whole.version = page.version;
            match page.next {
                None => return Ok(whole),
                // A page that leads to itself would never end, and hides what comes after it.
                again if again == next => break,
                further => next = further,
            }
        }
        Err(endless(kind, namespace))
    }

    /// One page; `None` if its place in the list is not known any more.
    async fn page(
        &self,
        kind: &Kind,
        namespace: &str,
        next: Option<&str>,
    ) -> Result<Option<Page>, RuntimeError> {
        let token = next.map_or(String::new(), |next| format!("&continue={}", query(next)));
        let path = format!("{}?limit={PAGE}{token}", kind.collection(namespace));
        let read = self.patiently(|| async {
            let answer = self.get(&path).await?;
            if answer.code == 410 && next.is_some() {
                return Ok(Ok(None));
            }
            match border::page(kind, namespace, answer) {
                Err(error) if error.kind == ErrorKind::UnknownKind && next.is_none() => {
                    let empty = Page { items: Vec::new(), next: None, version: String::new() };
                    let unserved = self.prove_unserved(kind, error).await?;
                    Ok(unserved.nowhere(kind).map(|()| Some(empty)))
                }
                other => other.map(|page| Ok(Some(page))),
            }
        });
        read.await?
    }

    /// Asks discovery for a kind in one version; `None` if the server does not serve it so.
    pub(crate) async fn served(&self, api_version: &str, kind: &str) -> Result<Option<Served>, RuntimeError> {
        self.patiently(|| self.served_now(api_version, kind)).await
    }

    async fn served_now(&self, api_version: &str, kind: &str) -> Result<Option<Served>, RuntimeError> {
        let (group, _) = split_api_version(api_version);
        let root = if group.is_empty() { "/api" } else { "/apis" };
        let answer = self.get(&format!("{root}/{api_version}")).await?;
        let (asked, looks) = (answer.asked.clone(), answer.looks());
        if let Some(all) = border::served(api_version, answer)? {
            let is_it = |served: &Served| served.kind == kind && !served.plural.contains('/');
            return Ok(all.into_iter().find(is_it));
        }
        // Whoever answers 404 has to prove that the server has no such group and version: a gateway says 404 too.
        let versions = border::versions(group.is_empty(), self.get(root).await?)?;
        if versions.iter().any(|version| version == api_version) {
            let text =
                format!("{asked} was answered 404 with {looks}, though the server lists {api_version}");
            return Err(RuntimeError::new(ErrorKind::Unreadable, text));
        }
        Ok(None)
    }

    /// A path was answered 404 without a word about an object: says where the kind is, if it is not there; no answer otherwise.
    pub(crate) async fn prove_unserved(
        &self,
        kind: &Kind,
        error: RuntimeError,
    ) -> Result<Unserved, RuntimeError> {
        match self.served_now(&kind.api_version, &kind.kind).await? {
            None => self.elsewhere(&kind.api_version, &kind.kind).await,
            Some(_) => Err(RuntimeError::new(ErrorKind::Unreadable, error.message)),
        }
    }
}

fn endless(kind: &Kind, namespace: &str) -> RuntimeError {
    let text = format!("the list {} has pages that lead nowhere", kind.collection(namespace));
    RuntimeError::new(ErrorKind::Unreadable, text)
}

//! Writing one object: server-side apply, conflicts by rule.

use std::borrow::Cow;

use http::Method;
use kusion_model::{Action, ConflictPolicy, NotPlain, Unknowns};
use kusion_runtime::{Applied, ErrorKind, RuntimeError, WriteAsk};
use serde_json::Value;

use crate::border::{Answer, Written, written};
use crate::claim::Claim;
use crate::conflict::{from_causes, policy};
use crate::kinds::Asked;
use crate::path::remove;
use crate::redact::Sealer;
use crate::runtime::{FIELD_MANAGER, KubeRuntime};

pub(crate) const APPLY: &str = "application/apply-patch+yaml";
/// A field left alone can uncover another conflict, and an object can go and come, but not for ever.
const ROUNDS: usize = 6;

/// An object as a write left it.
pub(crate) struct Made {
    pub(crate) object: Value,
    pub(crate) warnings: Vec<String>,
}

impl KubeRuntime {
    pub(crate) async fn apply_one(&self, ask: WriteAsk<'_>) -> Result<Applied, RuntimeError> {
        let (id, kind) = self.kind_of(ask.key).await?;
        let sealer = Sealer::new(&self.key, ask.attributes, None);
        let mut object = Cow::Owned(ask.attributes.expose(Unknowns::Refuse).map_err(not_plain)?);
        kind.settle(&mut object);
        let mut object = object.into_owned();
        self.mark(&mut object, ask.imported);
        // What is changed is changed where it is; what is made goes where the context says.
        let prior = ask.prior.filter(|_| ask.action == Action::Update);
        let namespace = self.home_of(&id, prior);
        let asked = kind.one(namespace, &id.name);
        let cleaned = |mut error: RuntimeError| {
            error.message = sealer.clean(&error.message);
            error
        };
        let mut made = self.apply_by_rules(&asked, object, &ask).await.map_err(cleaned)?;
        if ask.imported {
            made = self.take_from_former_tools(&asked, made).await.map_err(cleaned)?;
        }
        let warnings = made.warnings.iter().map(|text| sealer.clean(text)).collect();
        let observed = self.placed(self.observed(made.object), &id, &kind, namespace);
        Ok(Applied { observed, warnings, trouble: None })
    }

    async fn apply_by_rules(
        &self,
        asked: &Asked<'_>,
        mut object: Value,
        ask: &WriteAsk<'_>,
    ) -> Result<Made, RuntimeError> {
        let mut force = false;
        let mut claim = Claim::of(ask, self.owner.is_some());
        for _ in 0..ROUNDS {
            claim.stamp(&mut object);
            let mut answer = self.patch(asked, &object, force, Written::Stored).await?;
            let error = match written(asked, &mut answer, Written::Stored) {
                Ok(object) => return Ok(made(object, answer)),
                Err(error) => error,
            };
            if claim.may_be_why(&error) {
                claim = self.claim_again(asked, &claim, error).await?;
                continue;
            }
            let status = answer.status().filter(|_| error.kind == ErrorKind::Owned);
            let Some(clashes) = status.and_then(|status| from_causes(&object, status)) else {
                return Err(error);
            };
            for clash in &clashes {
                match policy(clash, &asked.kind.kind, ask.rules, ask.imported) {
                    ConflictPolicy::Refuse => return Err(error),
                    ConflictPolicy::TakeOver => force = true,
                    ConflictPolicy::Leave => {
                        remove(&mut object, &clash.place);
                    }
                }
            }
        }
        Err(RuntimeError::new(ErrorKind::Owned, "other managers keep taking the fields of this object"))
    }

    /// One apply that only asks; what passes is waited out.
    pub(crate) async fn dry_apply(
        &self,
        asked: &Asked<'_>,
        object: &Value,
        force: bool,
    ) -> Result<Made, RuntimeError> {
        let once = || async {
            let mut answer = self.patch(asked, object, force, Written::DryRun).await?;
            let object = written(asked, &mut answer, Written::DryRun)?;
            Ok(made(object, answer))
        };
        self.api.patiently(once).await
    }

    async fn patch(
        &self,
        asked: &Asked<'_>,
        object: &Value,
        force: bool,
        how: Written,
    ) -> Result<Answer, RuntimeError> {
        let force = if force { "&force=true" } else { "" };
        let dry = if how == Written::DryRun { "&dryRun=All" } else { "" };
        let body = Some((APPLY, serde_json::to_vec(object).unwrap_or_default()));
        let path = format!("{}?fieldManager={FIELD_MANAGER}{force}{dry}", asked.path());
        self.api.call(Method::PATCH, &path, body).await
    }
}

fn made(object: Value, answer: Answer) -> Made {
    Made { object, warnings: answer.warnings }
}

/// A recorded Spec has digests only; sending one would destroy the real value.
pub(crate) fn not_plain(why: NotPlain) -> RuntimeError {
    match why {
        NotPlain::Secret(path) => {
            let text = format!(
                "the value of secret field `{path}` is not known: that release was recorded without it; apply the sources of that release"
            );
            RuntimeError::new(ErrorKind::UnknownSecret, text)
        }
        NotPlain::Unknown(path) => {
            RuntimeError::new(ErrorKind::Unexpected, format!("the value of field `{path}` is not known yet"))
        }
    }
}

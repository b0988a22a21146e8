//! Writing one object: server-side apply, conflicts by rule.

use http::Method;
use kusion_model::{ConflictPolicy, FieldPath};
use kusion_runtime::{Applied, ApplyAsk, ErrorKind, RuntimeError};
use serde_json::Value;

use crate::api::Answer;
use crate::conflict::{from_causes, policy};
use crate::failure::from_answer;
use crate::kinds::Kind;
use crate::path::remove;
use crate::redact::Redactor;
use crate::runtime::{FIELD_MANAGER, KubeRuntime};

pub(crate) const APPLY: &str = "application/apply-patch+yaml";
/// A field left alone can uncover another conflict, but not for ever.
const ROUNDS: usize = 4;

impl KubeRuntime {
    pub(crate) async fn apply_one(&self, ask: ApplyAsk<'_>) -> Result<Applied, RuntimeError> {
        let (id, kind) = self.kind_of(ask.key).await?;
        let redactor = Redactor::new(&self.key, ask.attributes, [ask.secrets]);
        let mut object = ask.attributes.clone();
        ask.secrets.unseal(&mut object).map_err(|path| missing_secret(&path))?;
        let path = kind.object(self.namespace_of(&id), &id.name);
        let cleaned = |mut error: RuntimeError| {
            error.message = redactor.clean(&error.message);
            error
        };
        let mut answer = self.apply_by_rules(&kind, &path, object, &ask).await.map_err(cleaned)?;
        if ask.imported && (200..300).contains(&answer.code) {
            answer = self.take_from_former_tools(&path, answer).await.map_err(cleaned)?;
        }
        let warnings = answer.warnings.iter().map(|text| redactor.clean(text)).collect();
        let observed = self.observed(answer.ok().map_err(cleaned)?);
        Ok(Applied { observed, warnings })
    }

    async fn apply_by_rules(
        &self,
        kind: &Kind,
        path: &str,
        mut object: Value,
        ask: &ApplyAsk<'_>,
    ) -> Result<Answer, RuntimeError> {
        let mut force = false;
        for _ in 0..ROUNDS {
            let answer = self.patch(path, &object, force, false).await?;
            let owned = answer.code == 409 && from_answer(&answer).kind == ErrorKind::Owned;
            if !owned {
                return Ok(answer);
            }
            let Some(clashes) = from_causes(&object, &answer.body) else { return Ok(answer) };
            for clash in &clashes {
                match policy(clash, &kind.kind, ask.rules, ask.imported) {
                    ConflictPolicy::Refuse => return Ok(answer),
                    ConflictPolicy::TakeOver => force = true,
                    ConflictPolicy::Leave => {
                        remove(&mut object, &clash.place);
                    }
                }
            }
        }
        Err(RuntimeError::new(ErrorKind::Owned, "other managers keep taking the fields of this object"))
    }

    /// One apply, dry or real.
    pub(crate) async fn patch(
        &self,
        path: &str,
        object: &Value,
        force: bool,
        dry: bool,
    ) -> Result<Answer, RuntimeError> {
        let force = if force { "&force=true" } else { "" };
        let query = if dry { "&dryRun=All" } else { "" };
        let body = Some((APPLY, serde_json::to_vec(object).unwrap_or_default()));
        let path = format!("{path}?fieldManager={FIELD_MANAGER}{force}{query}");
        match dry {
            true => self.api.ask(Method::PATCH, &path, body).await,
            false => self.api.call(Method::PATCH, &path, body).await,
        }
    }
}

/// A recorded Spec has digests only; sending one would destroy the real value.
pub(crate) fn missing_secret(path: &FieldPath) -> RuntimeError {
    let text = format!(
        "the value of secret field `{path}` is not known: a release records digests only; apply the sources of that release"
    );
    RuntimeError::new(ErrorKind::UnknownSecret, text)
}

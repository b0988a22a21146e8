//! Secrets in variables of the environment: `ref://db/password` is `DB_PASSWORD`, with the store's prefix before it.

use base_secret::SecretValue;
use futures::future::BoxFuture;
use kusion_model::SecretRef;

use crate::{Refusal, SecretError, SecretStore, no_version};

pub(crate) struct EnvStore {
    prefix: String,
}

impl EnvStore {
    pub(crate) fn new(prefix: &str) -> Self {
        EnvStore { prefix: prefix.to_owned() }
    }

    fn variable(&self, reference: &SecretRef) -> String {
        variable_of(&self.prefix, reference)
    }
}

/// The variable of a reference: upper case, and `_` for everything that a variable cannot have in its name.
#[must_use]
pub fn variable_of(prefix: &str, reference: &SecretRef) -> String {
    let words = format!("{}_{}", reference.name, reference.property);
    let usable = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{prefix}{}", words.chars().map(usable).collect::<String>())
}

impl SecretStore for EnvStore {
    fn get<'a>(&'a self, reference: &'a SecretRef) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(async move {
            no_version(reference, "the environment")?;
            let name = self.variable(reference);
            if let Some(value) = crate::variable(&name) {
                return Ok(value);
            }
            match std::env::var(&name) {
                Err(std::env::VarError::NotUnicode(_)) => {
                    Err(SecretError::new(Refusal::Unusable, format!("the variable {name} is not UTF-8")))
                }
                _ => Err(SecretError::new(Refusal::NotFound, format!("the variable {name} is not set"))
                    .next(format!("export {name}=…"))),
            }
        })
    }

    fn describe(&self) -> String {
        match self.prefix.as_str() {
            "" => "environment".to_owned(),
            prefix => format!("environment ({prefix}…)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_variables() {
        let reference = SecretRef::parse("ref://team/shop-db/tls.key").unwrap().unwrap();
        assert_eq!(EnvStore::new("APP_").variable(&reference), "APP_TEAM_SHOP_DB_TLS_KEY");
    }

    #[tokio::test]
    async fn what_is_not_set_is_told_by_name() {
        let reference = SecretRef::parse("ref://kusion-test/surely-unset").unwrap().unwrap();
        let error = EnvStore::new("").get(&reference).await.unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (Refusal::NotFound, "the variable KUSION_TEST_SURELY_UNSET is not set")
        );
        let versioned = SecretRef::parse("ref://a/b?version=2").unwrap().unwrap();
        assert_eq!(EnvStore::new("").get(&versioned).await.unwrap_err().kind, Refusal::Unusable);
    }
}

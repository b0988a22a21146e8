//! Who acts: the account of this machine, and beyond it an identity token, or else the author that git is set up with.

use kusion_model::{Identity, Subject};
use kusion_secrets::oidc::{Expected, identify};

use crate::input::chosen::{ChosenStack, now, subject};
use crate::input::cluster::tokio;
use crate::views::failure::{Exit, Failure};

/// A token of an OpenID provider, as CI systems give it; or the file that has it.
const TOKEN: &str = "KUSION_ID_TOKEN";
const TOKEN_FILE: &str = "KUSION_ID_TOKEN_FILE";

/// Who makes a release. A token that does not hold is refused: nobody goes on under another name than the one he gave.
pub(crate) fn acting(chosen: &ChosenStack) -> Result<Subject, Failure> {
    let identity = match token()? {
        Some(token) => Some(proved(&token)?),
        None => kusion::author_of(&chosen.folder.stack_dir).map(|author| Identity::Git { author }),
    };
    Ok(Subject { identity, ..subject() })
}

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn token() -> Result<Option<base_secret::SecretValue>, Failure> {
    base_secret::keep_from_children(TOKEN);
    if let Some(text) = set(TOKEN) {
        return Ok(Some(text.into()));
    }
    let Some(file) = set(TOKEN_FILE) else { return Ok(None) };
    let text = std::fs::read_to_string(&file).map_err(|e| {
        Failure::usage("the identity token cannot be read").cause(e.to_string()).place(file.clone())
    })?;
    Ok(Some(text.trim().to_owned().into()))
}

fn proved(token: &base_secret::SecretValue) -> Result<Identity, Failure> {
    let expected = Expected { issuer: set("KUSION_ID_ISSUER"), audience: set("KUSION_ID_AUDIENCE") };
    let text = token.expose_text().unwrap_or_default();
    let answer = tokio()?.block_on(identify(text, now().millis / 1_000, &expected));
    answer.map_err(|error| {
        let exit = match error.kind {
            kusion_secrets::Refusal::Unavailable => Exit::Remote,
            _ => Exit::Usage,
        };
        let failure = Failure::new(exit, error.message).cause("nothing was changed");
        failure.next(error.next.unwrap_or_default())
    })
}

//! Objects in Secrets of a namespace. The server's resourceVersion is the version; what is longer than a Secret may be lies in
//! further Secrets that are there before the first one names them.
//!
//! ```text
//! Secret kusion-state-<digest of the name>
//!   annotation kusion.io/object   the name
//!   annotation kusion.io/parts    how many further Secrets, and what they are called
//!   label in.kusion.io/<digest>   each folder around the name: a list asks for one of them
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kusion_model::sha256_hex;
use kusion_runtime::{ErrorKind, RuntimeError};
use kusion_runtime_k8s::{Kept, KubeChest};
use kusion_store::{Choose, Object, ObjectAnswer, ObjectError, Objects, When};

use crate::Rim;

/// What one Secret holds at most; the server allows 1 MiB with everything around it.
const PART: usize = 768 * 1024;
/// What an object may hold at most: a list of parts that somebody made up is not followed further.
const MOST_PARTS: usize = 4096;
/// How many Secrets are asked for at once.
const AT_ONCE: usize = 8;
/// How often an object that is replaced while it is read is looked at again.
const LOOKS: u32 = 4;

const NAME: &str = "kusion.io/object";
const PARTS: &str = "kusion.io/parts";

/// The Secrets of a namespace.
pub struct Cluster {
    chest: KubeChest,
    rim: Arc<Rim>,
    /// For people: `kubernetes://namespace`.
    shown: String,
    /// Empty, or with a slash behind it.
    prefix: String,
}

impl Cluster {
    #[must_use]
    pub fn new(chest: KubeChest, rim: Arc<Rim>, shown: &str, prefix: &str) -> Self {
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Cluster { chest, rim, shown: shown.to_owned(), prefix }
    }

    fn full(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

fn secret_name(name: &str) -> String {
    format!("kusion-state-{}", &sha256_hex(name.as_bytes())[..40])
}

fn part_name(secret: &str, blob: &str, number: usize) -> String {
    format!("{secret}-{blob}-{number}")
}

/// The label of a folder: what lies in it bears it.
fn label(folder: &str) -> String {
    format!("in.kusion.io/{}", &sha256_hex(folder.as_bytes())[..32])
}

fn labels(name: &str) -> BTreeMap<String, String> {
    let ends = name.char_indices().filter(|(_, c)| *c == '/').map(|(at, _)| at);
    let folders = std::iter::once(0).chain(ends).map(|end| (label(&name[..end]), String::new()));
    let own = ("app.kubernetes.io/managed-by".to_owned(), "kusion".to_owned());
    folders.chain([own]).collect()
}

/// How many further Secrets an object has, and what they are called.
fn parts_of(kept: &Kept) -> Result<(usize, String), ObjectError> {
    let Some(text) = kept.annotations.get(PARTS) else { return Ok((0, String::new())) };
    let read = || {
        let (number, blob) = text.split_once(' ')?;
        let number: usize = number.parse().ok().filter(|number| *number <= MOST_PARTS)?;
        blob.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            .then(|| (number, blob.to_owned()))
    };
    read().ok_or_else(|| ObjectError::Refused(format!("Secret {} does not name its parts", kept.name)))
}

/// Whether a failed request has certainly not happened, and never will.
fn failed(error: RuntimeError) -> ObjectError {
    match error.kind {
        ErrorKind::Unreachable
        | ErrorKind::Timeout
        | ErrorKind::Broken
        | ErrorKind::Unreadable
        | ErrorKind::TooManyRequests
        | ErrorKind::Server => ObjectError::Unanswered(error.message),
        ErrorKind::ParentMissing => {
            ObjectError::Refused(format!("{}; make the namespace first", error.message))
        }
        _ => ObjectError::Refused(error.message),
    }
}

/// The whole of an object; `None` if one of its parts is gone: it was replaced or taken away meanwhile.
async fn whole(chest: &KubeChest, kept: Kept) -> Result<Option<Vec<u8>>, ObjectError> {
    let (number, blob) = parts_of(&kept)?;
    let names = (0..number).map(|at| part_name(&kept.name, &blob, at));
    let get = |name: String| async move { chest.get(&name).await.map_err(failed) };
    let parts: Vec<_> = stream::iter(names).map(get).buffered(AT_ONCE).try_collect().await?;
    let mut bytes = kept.bytes;
    for part in parts {
        let Some(part) = part else { return Ok(None) };
        bytes.extend_from_slice(&part.bytes);
    }
    Ok(Some(bytes))
}

/// The whole of several objects; `None` if one of them was replaced meanwhile.
async fn wholes(
    chest: &KubeChest,
    wanted: Vec<(String, Kept)>,
) -> Result<Option<Vec<(String, Vec<u8>)>>, ObjectError> {
    let read = |(name, kept): (String, Kept)| async move {
        Ok::<_, ObjectError>(whole(chest, kept).await?.map(|bytes| (name, bytes)))
    };
    let all: Vec<Option<_>> = stream::iter(wanted).map(read).buffered(AT_ONCE).try_collect().await?;
    Ok(all.into_iter().collect())
}

async fn get(chest: &KubeChest, name: &str) -> Result<Option<Object>, ObjectError> {
    for _ in 0..LOOKS {
        let Some(kept) = chest.get(&secret_name(name)).await.map_err(failed)? else { return Ok(None) };
        if kept.annotations.get(NAME).is_none_or(|own| own != name) {
            return Err(ObjectError::Refused(format!("Secret {} is not the object {name}", kept.name)));
        }
        let version = kept.version.clone();
        if let Some(bytes) = whole(chest, kept).await? {
            return Ok(Some(Object { bytes, version }));
        }
    }
    Err(ObjectError::Unanswered(format!("{name} is replaced while it is read")))
}

async fn put(
    chest: &KubeChest,
    name: &str,
    bytes: &[u8],
    version: Option<&str>,
) -> Result<Option<String>, ObjectError> {
    let (secret, blob) = (secret_name(name), uuid::Uuid::new_v4().to_string());
    let mut pieces = bytes.chunks(PART);
    let first = pieces.next().unwrap_or_default().to_vec();
    let n_parts = pieces.len();
    let part = |(at, piece): (usize, &[u8])| Kept {
        name: part_name(&secret, &blob, at),
        bytes: piece.to_vec(),
        ..Kept::default()
    };
    // Nobody else has these names; if one is there, an answer was lost on the way.
    let put = |part: Kept| async move { chest.put(&part, None).await.map(drop).map_err(failed) };
    let puts = stream::iter(pieces.enumerate().map(part)).map(put).buffer_unordered(AT_ONCE);
    puts.try_collect::<()>().await?;
    let mut annotations = BTreeMap::from([(NAME.to_owned(), name.to_owned())]);
    if n_parts > 0 {
        annotations.insert(PARTS.to_owned(), format!("{n_parts} {blob}"));
    }
    let thing = Kept {
        name: secret.clone(),
        labels: labels(name),
        annotations,
        bytes: first,
        version: String::new(),
    };
    let done = chest.put(&thing, version).await.map_err(failed)?;
    if done.is_none() {
        remove_parts(chest, &secret, &blob, n_parts).await;
    }
    Ok(done)
}

/// Parts that nobody names harm nobody, so a failure here is none.
async fn remove_parts(chest: &KubeChest, secret: &str, blob: &str, n_parts: usize) {
    for at in 0..n_parts {
        let _ = chest.remove(&part_name(secret, blob, at)).await;
    }
}

async fn remove(chest: &KubeChest, name: &str) -> Result<(), ObjectError> {
    let secret = secret_name(name);
    let Some(kept) = chest.get(&secret).await.map_err(failed)? else { return Ok(()) };
    let (n_parts, blob) = parts_of(&kept)?;
    chest.remove(&secret).await.map_err(failed)?;
    remove_parts(chest, &secret, &blob, n_parts).await;
    Ok(())
}

/// The objects whose names begin with a text, in order of their names.
async fn list(chest: &KubeChest, prefix: &str) -> Result<Vec<(String, Kept)>, ObjectError> {
    let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
    let found = chest.list(&label(folder)).await.map_err(failed)?;
    let named = |kept: Kept| {
        let name = kept.annotations.get(NAME)?.clone();
        // A Secret under another name than its object's was not put here by us.
        (name.starts_with(prefix) && kept.name == secret_name(&name)).then_some((name, kept))
    };
    let mut named: Vec<_> = found.into_iter().filter_map(named).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(named)
}

impl Objects for Cluster {
    fn place(&self, name: &str) -> String {
        format!("{}/{}", self.shown, self.full(name))
    }

    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>> {
        let (chest, name) = (self.chest.clone(), self.full(name));
        self.rim.run(async move { get(&chest, &name).await })
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        let (chest, name, bytes) = (self.chest.clone(), self.full(name), bytes.to_vec());
        let version = match when {
            When::Absent => None,
            When::Version(version) => Some(version.to_owned()),
        };
        self.rim.run(async move { put(&chest, &name, &bytes, version.as_deref()).await })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        let (chest, prefix, own) = (self.chest.clone(), self.full(prefix), self.prefix.len());
        self.rim.run(async move {
            let found = list(&chest, &prefix).await?;
            Ok(found.into_iter().map(|(name, _)| name[own..].to_owned()).collect())
        })
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        let (chest, names) =
            (self.chest.clone(), names.iter().map(|name| self.full(name)).collect::<Vec<_>>());
        self.rim.run(async move {
            let one = |name: String| {
                let chest = chest.clone();
                async move { remove(&chest, &name).await }
            };
            stream::iter(names).map(one).buffer_unordered(AT_ONCE).try_collect().await
        })
    }

    fn get_chosen<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
        choose: &'a Choose<'a>,
    ) -> ObjectAnswer<'a, Vec<(String, Vec<u8>)>> {
        let own = self.prefix.len();
        Box::pin(async move {
            for _ in 0..LOOKS {
                let (chest, prefix) = (self.chest.clone(), self.full(prefix));
                let found = self.rim.run(async move { list(&chest, &prefix).await }).await?;
                let found = found.into_iter().map(|(name, kept)| (name[own..].to_owned(), kept));
                let found: Vec<(String, Kept)> = found.filter(|(name, _)| name.as_str() > after).collect();
                let names: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
                let chosen = choose(&names);
                let wanted: Vec<_> = found.into_iter().filter(|(name, _)| chosen.contains(name)).collect();
                let chest = self.chest.clone();
                if let Some(all) = self.rim.run(async move { wholes(&chest, wanted).await }).await? {
                    return Ok(all);
                }
            }
            Err(ObjectError::Unanswered(format!("what is under {prefix} is replaced while it is read")))
        })
    }

    /// A list brings their bytes; only what is longer than a Secret is asked for by itself.
    fn asks_for_each(&self) -> bool {
        false
    }

    fn again<'a>(&'a self, tries: u32, why: &'a str) -> futures::future::BoxFuture<'a, bool> {
        self.rim.again(tries, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_around_a_name_is_a_label() {
        let labels = labels("state/shop/dev");
        for folder in ["", "state", "state/shop"] {
            assert!(labels.contains_key(&label(folder)), "{folder}");
        }
        assert!(!labels.contains_key(&label("state/shop/dev")));
        assert!(label("x").split('/').all(|half| half.len() <= 63));
    }

    #[test]
    fn made_up_parts_are_not_followed() {
        let with = |text: &str| Kept {
            annotations: BTreeMap::from([(PARTS.to_owned(), text.to_owned())]),
            ..Kept::default()
        };
        assert_eq!(parts_of(&with("3 ab-1")), Ok((3, "ab-1".to_owned())));
        assert_eq!(parts_of(&Kept::default()), Ok((0, String::new())));
        for wrong in ["", "3", "x y", "99999999 a", "1 ../../x"] {
            assert!(parts_of(&with(wrong)).is_err(), "{wrong}");
        }
    }
}

//! Objects in S3 and what speaks it, Google Cloud Storage and Azure Blob: conditional writes (`If-None-Match`, `If-Match`, or the
//! generation) make put-if-absent and put-if-unchanged one step on the server.

use std::sync::Arc;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kusion_store::{Object, ObjectAnswer, ObjectError, Objects, When};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, UpdateVersion};

use crate::Rim;
use crate::web::{last_status, watched};

/// How many objects are asked for at once.
const AT_ONCE: usize = 16;
/// Parts the two halves of a version; no e-tag has one.
const BAR: char = '|';

/// The objects under a prefix of a bucket.
pub struct Cloud {
    store: Arc<dyn ObjectStore>,
    rim: Arc<Rim>,
    /// The bucket, for people: `s3://bucket`.
    bucket: String,
    /// Without slashes around it.
    prefix: String,
}

impl Cloud {
    /// Keeps objects under a prefix; the store must not ask again by itself, or a lost answer would look like another's write.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, rim: Arc<Rim>, bucket: &str, prefix: &str) -> Self {
        let prefix = prefix.trim_matches('/').to_owned();
        Cloud { store, rim, bucket: bucket.to_owned(), prefix }
    }

    fn full(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    fn path(&self, name: &str) -> Result<Path, ObjectError> {
        Path::parse(self.full(name)).map_err(|error| ObjectError::Refused(error.to_string()))
    }

    /// The name of an object that a list has brought.
    fn name(prefix: &str, path: &Path) -> Option<String> {
        let path: &str = path.as_ref();
        if prefix.is_empty() {
            return Some(path.to_owned());
        }
        path.strip_prefix(prefix)?.strip_prefix('/').map(str::to_owned)
    }
}

/// What a store says about a version, as one text.
fn version(e_tag: Option<String>, version: Option<String>) -> String {
    format!("{}{BAR}{}", e_tag.unwrap_or_default(), version.unwrap_or_default())
}

fn parts(text: &str) -> UpdateVersion {
    // What has no bar is no version of ours: whichever half a store compares, it is another.
    let (e_tag, version) = text.split_once(BAR).unwrap_or((text, text));
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    UpdateVersion { e_tag: some(e_tag), version: some(version) }
}

async fn get(store: &dyn ObjectStore, path: &Path) -> Result<Option<Object>, ObjectError> {
    let found = match store.get(path).await {
        Ok(found) => found,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let meta = found.meta.clone();
    let bytes = found.bytes().await.map_err(|error| failed(&error))?;
    Ok(Some(Object { bytes: bytes.to_vec(), version: version(meta.e_tag, meta.version) }))
}

/// The objects of a folder behind a name, in order.
async fn list(
    store: &dyn ObjectStore,
    root: &str,
    prefix: &str,
    after: &str,
) -> Result<Vec<(String, Path)>, ObjectError> {
    let join = |name: &str| if root.is_empty() { name.to_owned() } else { format!("{root}/{name}") };
    // Stores list folders; what only begins alike is sorted out here.
    let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folder = Path::from(join(folder));
    let found: Vec<_> = if after.is_empty() {
        store.list(Some(&folder)).try_collect().await
    } else {
        store.list_with_offset(Some(&folder), &Path::from(join(after))).try_collect().await
    }
    .map_err(|error| failed(&error))?;
    let named =
        found.into_iter().filter_map(|meta| Some((Cloud::name(root, &meta.location)?, meta.location)));
    let mut named: Vec<_> =
        named.filter(|(name, _)| name.starts_with(prefix) && name.as_str() > after).collect();
    named.sort();
    Ok(named)
}

/// Whether it is proved that an object is not there: a gateway's own 404, or a bucket that is missing, proves nothing.
fn is_absent(error: &Error) -> bool {
    let Error::NotFound { .. } = error else { return false };
    let text = error.to_string();
    // The last one is Azure's answer in a batch of deletes, which has no code.
    ["NoSuchKey", "BlobNotFound", "The specified blob does not exist"].iter().any(|sign| text.contains(sign))
}

/// Whether a failed request has certainly not happened, and never will. Asked inside of the operation.
fn failed(error: &Error) -> ObjectError {
    let text = innermost(error);
    match error {
        Error::Generic { .. } | Error::JoinError { .. } | Error::NotModified { .. } => {
            // What a server answers with 4xx it has understood, and has not done; 408, 409 and 429 ask to come back.
            match last_status() {
                Some(408 | 409 | 429) => ObjectError::Unanswered(text),
                Some(400..=499) => ObjectError::Refused(text),
                _ => ObjectError::Unanswered(text),
            }
        }
        Error::Unauthenticated { .. } | Error::PermissionDenied { .. } => {
            ObjectError::Refused(format!("the credentials are missing, wrong, or may not do this ({text})"))
        }
        Error::NotFound { .. } => {
            let whole = error.to_string();
            let no_bucket = ["NoSuchBucket", "ContainerNotFound"].iter().any(|sign| whole.contains(sign));
            match no_bucket {
                true => ObjectError::Refused("there is no such bucket; make it first".to_owned()),
                false => ObjectError::Unanswered(format!("a 404 that is about no object ({text})")),
            }
        }
        _ => ObjectError::Refused(text),
    }
}

/// The cause that a person can act on, on one line and not too long.
fn innermost(error: &Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    let text = last.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.char_indices().nth(300).map_or(text.len(), |(at, _)| at);
    text[..end].to_owned()
}

impl Objects for Cloud {
    fn place(&self, name: &str) -> String {
        format!("{}/{}", self.bucket, self.full(name))
    }

    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>> {
        let (store, path) = (Arc::clone(&self.store), self.path(name));
        self.rim.run(watched(async move { get(&*store, &path?).await }))
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        let (store, path, payload) =
            (Arc::clone(&self.store), self.path(name), PutPayload::from(bytes.to_vec()));
        let mode = match when {
            When::Absent => PutMode::Create,
            When::Version(version) => PutMode::Update(parts(version)),
        };
        self.rim.run(watched(async move {
            let options = PutOptions { mode, ..PutOptions::default() };
            match store.put_opts(&path?, payload, options).await {
                Ok(put) => Ok(Some(version(put.e_tag, put.version))),
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(None),
                // Nothing is there whose version could be right.
                Err(error) if is_absent(&error) => Ok(None),
                Err(error) => Err(failed(&error)),
            }
        }))
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        let (store, root, prefix) = (Arc::clone(&self.store), self.prefix.clone(), prefix.to_owned());
        self.rim.run(watched(async move {
            let found = list(&*store, &root, &prefix, "").await?;
            Ok(found.into_iter().map(|(name, _)| name).collect())
        }))
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        let store = Arc::clone(&self.store);
        let paths: Result<Vec<Path>, ObjectError> = names.iter().map(|name| self.path(name)).collect();
        self.rim.run(async move {
            let remove = |path: Path| {
                let store = Arc::clone(&store);
                watched(async move {
                    match store.delete(&path).await {
                        Ok(()) => Ok(()),
                        Err(error) if is_absent(&error) => Ok(()),
                        Err(error) => Err(failed(&error)),
                    }
                })
            };
            stream::iter(paths?).map(remove).buffer_unordered(AT_ONCE).try_collect().await
        })
    }

    fn again<'a>(&'a self, tries: u32, why: &'a str) -> futures::future::BoxFuture<'a, bool> {
        self.rim.again(tries, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    /// A server that answers every request so; its text says something else.
    fn answering(status: u16) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let body = "status code: 429, status code: 400";
                let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
                let _ = write!(stream, "{head}Connection: close\r\n\r\n{body}");
            }
        });
        address
    }

    #[test]
    fn the_status_decides_whether_a_request_can_still_happen() {
        let ask = |status: u16| {
            let store = object_store::aws::AmazonS3Builder::new()
                .with_bucket_name("b")
                .with_region("r")
                .with_access_key_id("k")
                .with_secret_access_key("s")
                .with_endpoint(answering(status))
                .with_allow_http(true)
                .with_retry(object_store::RetryConfig { max_retries: 0, ..Default::default() })
                .with_http_connector(crate::web::Web);
            let rim = Rim::start(crate::Patience::default()).unwrap();
            let cloud = Cloud::new(Arc::new(store.build().unwrap()), rim, "s3://b", "");
            let (got, removed) = (kusion_store::wait(cloud.get("a")), ["a".to_owned()]);
            assert!(kusion_store::wait(cloud.remove(&removed)).is_err(), "{status}");
            got.unwrap_err()
        };
        for status in [400, 413, 422] {
            assert!(matches!(ask(status), ObjectError::Refused(_)), "{status}");
        }
        for status in [408, 429, 500, 503] {
            assert!(matches!(ask(status), ObjectError::Unanswered(_)), "{status}");
        }
    }

    #[test]
    fn version_survives_as_text() {
        for (tag, number) in
            [(Some("\"ab\""), None), (None, Some("17")), (Some("x"), Some("y")), (None, None)]
        {
            let both = (tag.map(str::to_owned), number.map(str::to_owned));
            let back = parts(&version(both.0.clone(), both.1.clone()));
            assert_eq!((back.e_tag, back.version), both);
        }
    }
}

//! Media that keep named objects and make a name only once: object stores, a table, a cluster.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

/// An answer of a medium of objects.
pub type ObjectAnswer<'a, T> = BoxFuture<'a, Result<T, ObjectError>>;

/// Says which of some names are wanted.
pub type Choose<'c> = dyn Fn(&[String]) -> Vec<String> + Sync + 'c;

/// What a medium of objects must promise: a put that is answered is durable and seen by every later get and list.
pub trait Objects: Send + Sync {
    /// Where an object is, for people.
    fn place(&self, name: &str) -> String;

    /// The bytes of an object and its version.
    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>>;

    /// Puts an object if the condition holds; `None` if it does not. Compares and puts in one instant.
    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>>;

    /// The names that begin with a text, in order.
    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>>;

    /// Takes objects away; one that is not there does not matter.
    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()>;

    /// Of the objects whose names begin with a text and come after another, those that are chosen, in order of their names: as
    /// they are at one moment, none of them taken away meanwhile.
    fn get_chosen<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
        choose: &'a Choose<'a>,
    ) -> ObjectAnswer<'a, Vec<(String, Vec<u8>)>> {
        Box::pin(async move {
            for _ in 0..TRIES {
                let names: Vec<String> =
                    self.list(prefix).await?.into_iter().filter(|name| name.as_str() > after).collect();
                let names = choose(&names);
                let n_names = names.len();
                let get = |name: String| async move {
                    let object = self.get(&name).await?;
                    Ok::<_, ObjectError>(object.map(|object| (name, object.bytes)))
                };
                let found: Vec<_> = stream::iter(names).map(get).buffered(AT_ONCE).try_collect().await?;
                let found: Vec<_> = found.into_iter().flatten().collect();
                if found.len() == n_names {
                    return Ok(found);
                }
            }
            Err(ObjectError::Unanswered(format!("what is under {prefix} is taken away while it is read")))
        })
    }

    /// Whether a put with a version is refused where the object has another one by now. Where it is not, what rests on that is
    /// asked for in order.
    fn compares(&self) -> bool {
        true
    }

    /// Whether each object that is read costs a request of its own.
    fn asks_for_each(&self) -> bool {
        true
    }

    /// Whether to ask again after so many answers that did not come, and when: returns when it is time.
    fn again<'a>(&'a self, tries: u32, _why: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move { tries < TRIES })
    }
}

impl<O: Objects + ?Sized> Objects for Arc<O> {
    fn place(&self, name: &str) -> String {
        (**self).place(name)
    }

    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>> {
        (**self).get(name)
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        (**self).put(name, bytes, when)
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        (**self).list(prefix)
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        (**self).remove(names)
    }

    fn get_chosen<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
        choose: &'a Choose<'a>,
    ) -> ObjectAnswer<'a, Vec<(String, Vec<u8>)>> {
        (**self).get_chosen(prefix, after, choose)
    }

    fn compares(&self) -> bool {
        (**self).compares()
    }

    fn asks_for_each(&self) -> bool {
        (**self).asks_for_each()
    }

    fn again<'a>(&'a self, tries: u32, why: &'a str) -> BoxFuture<'a, bool> {
        (**self).again(tries, why)
    }
}

/// How many objects are asked for at once.
const AT_ONCE: usize = 16;
/// How often a request that was not answered is made.
pub(crate) const TRIES: u32 = 4;

/// An object as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub bytes: Vec<u8>,
    /// Changes whenever the object does.
    pub version: String,
}

/// When an object may be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When<'a> {
    Absent,
    /// It still has this version.
    Version(&'a str),
}

/// A request that did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// Nobody answered: a put may have happened.
    #[error("no answer: {0}")]
    Unanswered(String),
    /// It has not happened, and will not when it is asked again.
    #[error("{0}")]
    Refused(String),
}

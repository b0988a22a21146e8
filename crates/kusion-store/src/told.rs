//! Every request to a medium of objects, told to who listens at the facade `log`: what was asked, where, how long it took.

use std::time::Instant;

use futures::future::BoxFuture;

use crate::objects::{Choose, Object, ObjectAnswer, Objects, When};

/// A medium whose requests are told.
pub struct Told<O>(pub O);

impl<O: Objects> Told<O> {
    fn tell<'a, T: 'a>(
        &'a self,
        what: &'static str,
        name: &'a str,
        answer: ObjectAnswer<'a, T>,
    ) -> ObjectAnswer<'a, T> {
        Box::pin(async move {
            let began = Instant::now();
            let answer = answer.await;
            let failed = if answer.is_err() { " failed" } else { "" };
            let (place, ms) = (self.0.place(name), began.elapsed().as_millis());
            ::log::debug!("medium: {what} {place}{failed} in {ms} ms");
            answer
        })
    }
}

impl<O: Objects> Objects for Told<O> {
    fn place(&self, name: &str) -> String {
        self.0.place(name)
    }

    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>> {
        self.tell("get", name, self.0.get(name))
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        self.tell("put", name, self.0.put(name, bytes, when))
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        self.tell("list", prefix, self.0.list(prefix))
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        let first = names.first().map(String::as_str).unwrap_or_default();
        self.tell("remove", first, self.0.remove(names))
    }

    fn get_chosen<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
        choose: &'a Choose<'a>,
    ) -> ObjectAnswer<'a, Vec<(String, Vec<u8>)>> {
        self.tell("get all of", prefix, self.0.get_chosen(prefix, after, choose))
    }

    fn asks_for_each(&self) -> bool {
        self.0.asks_for_each()
    }

    fn again<'a>(&'a self, tries: u32, why: &'a str) -> BoxFuture<'a, bool> {
        self.0.again(tries, why)
    }
}

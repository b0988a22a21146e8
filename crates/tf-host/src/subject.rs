//! What calls are about. Messages of the protocol name types, not resources: a host says once which resource a piece of work is
//! about, and every call in it is told with that, where somebody listens.

use std::future::Future;

tokio::task_local! {
    static SUBJECT: String;
}

/// Does some work; its calls are told as being about something.
pub async fn about<T>(subject: impl FnOnce() -> String, work: impl Future<Output = T>) -> T {
    match ::log::log_enabled!(::log::Level::Debug) {
        true => SUBJECT.scope(subject(), work).await,
        false => work.await,
    }
}

/// What the work is about, with a space before it.
pub(crate) fn subject() -> String {
    SUBJECT.try_with(|subject| format!(" {subject}")).unwrap_or_default()
}

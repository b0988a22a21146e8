//! Where requests run, and how long one is patient: a thread of its own for each medium, pauses that grow, and a word about them.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kusion_store::{ObjectAnswer, ObjectError};
use tokio::runtime::{Builder, Runtime};

/// How long one request may take. A server that needs longer is asked again: what it did meanwhile is then looked for.
const LIMIT: Duration = Duration::from_secs(20);
/// The pauses between tries; the last one repeats.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
];
/// Shorter pauses are not worth a word.
const TOLD: Duration = Duration::from_secs(1);

/// What a person should know about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal<'a> {
    /// It does not answer; we wait at most so long.
    Waiting { why: &'a str, at_most: Duration },
    /// It answers again.
    Back,
}

/// Who is told.
pub type OnSignal = Arc<dyn Fn(Signal<'_>) + Send + Sync>;

/// How long a medium that does not answer is waited for.
#[derive(Clone)]
pub struct Patience {
    /// The pauses together; requests that hang come on top.
    pub at_most: Duration,
    /// How long one request may take.
    pub limit: Duration,
    pub tell: OnSignal,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { at_most: Duration::from_secs(60), limit: LIMIT, tell: Arc::new(|_| {}) }
    }
}

impl Patience {
    /// The pause after so many tries in vain; `None` if it is enough.
    fn pause(&self, tries: u32) -> Option<Duration> {
        let nth = |n: usize| PAUSES[n.min(PAUSES.len() - 1)];
        let n = usize::try_from(tries.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut waited = Duration::ZERO;
        for before in 0..n {
            waited += nth(before);
            if waited >= self.at_most {
                return None;
            }
        }
        Some(nth(n).min(self.at_most.saturating_sub(waited)))
    }
}

/// A thread on which requests run; whoever waits for them may be anywhere.
pub struct Rim {
    runtime: Option<Runtime>,
    patience: Patience,
    /// A pause was told, and its end was not.
    paused: Arc<AtomicBool>,
}

impl Rim {
    /// Starts the thread.
    ///
    /// # Errors
    /// A system that gives no thread.
    pub fn start(patience: Patience) -> std::io::Result<Arc<Rim>> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("kusion-media").enable_all().build()?;
        Ok(Arc::new(Rim { runtime: Some(runtime), patience, paused: Arc::default() }))
    }

    /// Runs a request to its end, or to the end of its time: then it may have happened.
    pub fn run<'a, T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T, ObjectError>> + Send + 'static,
    ) -> ObjectAnswer<'a, T> {
        let Some(runtime) = &self.runtime else {
            return Box::pin(async { Err(ObjectError::Refused("the connection is closed".to_owned())) });
        };
        let limit = self.patience.limit;
        let task = runtime.spawn(async move { tokio::time::timeout(limit, request).await });
        let (paused, tell) = (Arc::clone(&self.paused), Arc::clone(&self.patience.tell));
        Box::pin(async move {
            let answer = match task.await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(ObjectError::Unanswered(format!("nothing came within {limit:?}"))),
                Err(error) => Err(ObjectError::Unanswered(error.to_string())),
            };
            if answer.is_ok() && paused.swap(false, Ordering::Relaxed) {
                tell(Signal::Back);
            }
            answer
        })
    }

    /// Whether to ask again after so many answers that did not come; returns when it is time.
    pub fn again<'a>(&'a self, tries: u32, why: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let (Some(pause), Some(runtime)) = (self.patience.pause(tries), &self.runtime) else {
                return false;
            };
            if pause >= TOLD && !self.paused.swap(true, Ordering::Relaxed) {
                (self.patience.tell)(Signal::Waiting { why, at_most: self.patience.at_most });
            }
            runtime.spawn(async move { tokio::time::sleep(pause).await }).await.is_ok()
        })
    }

    /// Waits for a future of this thread: for setting a connection up.
    ///
    /// # Errors
    /// What the future fails with.
    pub fn wait<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Option<Result<T, E>> {
        let task = self.runtime.as_ref()?.spawn(work);
        kusion_store::wait(task).ok()
    }
}

impl Drop for Rim {
    /// Does not wait: this may be dropped on a thread that must not block.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let patience = Patience { at_most: Duration::from_secs(10), ..Patience::default() };
        let pauses: Vec<_> = (1..).map_while(|tries| patience.pause(tries)).collect();
        assert_eq!(pauses[..5], PAUSES[..5]);
        assert_eq!(pauses.iter().sum::<Duration>(), Duration::from_secs(10));
        let none = Patience { at_most: Duration::ZERO, ..Patience::default() };
        assert_eq!(none.pause(2), None);
    }

    #[test]
    fn long_pause_is_told_once_and_its_end_once() {
        let told = Arc::new(std::sync::Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let tell: OnSignal = Arc::new(move |signal| heard.lock().unwrap().push(format!("{signal:?}")));
        let rim = Rim::start(Patience { at_most: Duration::from_secs(3), tell, limit: LIMIT }).unwrap();
        assert!(kusion_store::wait(rim.again(1, "gone")), "a short pause");
        assert_eq!(told.lock().unwrap().len(), 0);
        assert!(kusion_store::wait(rim.again(4, "gone")));
        assert!(!kusion_store::wait(rim.again(40, "gone")), "enough is enough");
        for _ in 0..2 {
            assert_eq!(kusion_store::wait(rim.run(async { Ok(7) })), Ok(7));
        }
        let told = told.lock().unwrap().clone();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("Waiting") && told[1] == "Back", "{told:?}");
    }

    #[test]
    fn request_that_hangs_is_not_waited_for() {
        let patience = Patience { limit: Duration::from_millis(20), ..Patience::default() };
        let rim = Rim::start(patience).unwrap();
        let hangs = rim.run(async {
            std::future::pending::<()>().await;
            Ok(())
        });
        assert!(matches!(kusion_store::wait(hangs), Err(ObjectError::Unanswered(_))));
    }
}

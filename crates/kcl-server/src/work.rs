//! A call within its budget: of time, of steps, and of places at a time.

use std::sync::Arc;
use std::time::Duration;

use kcl_api::{Budget, Encoding, Failure, Reason};
use tokio::sync::Semaphore;

use crate::flags::Flags;

/// Runs calls; cheap to clone.
#[derive(Clone)]
pub(crate) struct Worker {
    limits: kcl::Limits,
    timeout: Duration,
    places: Arc<Semaphore>,
    /// What calls have compiled.
    packages: kcl::Packages,
}

/// Stops a call whose question nobody waits for any more.
struct Abandoned(kcl::Cancel);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Worker {
    pub(crate) fn new(flags: &Flags) -> Worker {
        Worker {
            limits: flags.limits,
            timeout: flags.timeout,
            places: Arc::new(Semaphore::new(flags.jobs)),
            packages: kcl::Packages::default(),
        }
    }

    /// Answers a question. If the future is dropped, because the client has gone, the call is stopped.
    pub(crate) async fn call(
        &self,
        method: String,
        encoding: Encoding,
        body: bytes::Bytes,
    ) -> Result<Vec<u8>, Failure> {
        let (limits, packages) = (self.limits, self.packages.clone());
        let budget = Budget { limits, cancel: kcl::Cancel::new(), packages };
        let abandoned = Abandoned(budget.cancel.clone());
        let work = async {
            let place =
                self.places.clone().acquire_owned().await.map_err(|_| bug("the server is closing"))?;
            let run = move || {
                // The place is free when the work has ended, not when somebody stopped waiting for it.
                let _place = place;
                kcl_api::call(&method, encoding, &body, &budget)
            };
            tokio::task::spawn_blocking(run)
                .await
                .unwrap_or_else(|_| Err(bug("the request ended without an answer")))
        };
        let answer = tokio::time::timeout(self.timeout, work).await;
        drop(abandoned);
        let answer = answer.unwrap_or_else(|_| {
            let message =
                format!("the request took longer than {} s and was stopped", self.timeout.as_secs());
            Err(Failure { reason: Reason::Stopped, message })
        });
        // What fails is told in texts of others, too: a registry may repeat what it was sent.
        answer.map_err(|failure| Failure { message: crate::say::clean(failure.message), ..failure })
    }
}

fn bug(message: &str) -> Failure {
    Failure { reason: Reason::Bug, message: message.to_owned() }
}

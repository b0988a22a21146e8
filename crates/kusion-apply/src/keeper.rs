//! The keeper of the records: commits what came of the steps in groups and shows that the lease is held, beside the walk, so that
//! a slow medium never holds up a step.

use std::time::Duration;

use futures::channel::mpsc::UnboundedReceiver;
use futures::channel::oneshot::Sender;
use futures::future::{BoxFuture, Either, pending, select};
use futures::stream::StreamExt;
use kusion_model::{ReleaseNo, ResourceKey};
use kusion_store::{Outcome, Session, StoreError};

use crate::{CancelToken, Clock};

/// How often the lease is shown to be alive.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Outcomes are committed in groups: at the latest after this many, or this long. Each group costs a medium that is waited for;
/// what a crash loses of one is read from the world again, because the plan is durable before the first write.
const GROUP_SIZE: usize = 500;
const GROUP_TIME: Duration = Duration::from_millis(1000);

/// What the walk tells.
pub(crate) enum Told {
    Came(Outcome),
    /// A step is about to make something that cannot be made twice, and waits until that is written.
    Tries(ResourceKey, Sender<()>),
    /// Only health is waited for, and that may take minutes: write down what is known.
    Idle,
}

pub(crate) struct Keeper<'k> {
    pub(crate) session: &'k mut Session,
    pub(crate) release: ReleaseNo,
    pub(crate) clock: &'k dyn Clock,
    pub(crate) inbox: UnboundedReceiver<Told>,
    /// Tells the walk that nothing more can be written.
    pub(crate) trouble: CancelToken,
}

impl Keeper<'_> {
    /// Keeps until the walk has ended. Returns what is not written yet: it goes with the end of the release.
    pub(crate) async fn run(mut self) -> Result<Vec<Outcome>, StoreError> {
        let (mut group, mut waiting) = (Vec::new(), Vec::<Sender<()>>::new());
        let mut beat = self.clock.sleep(HEARTBEAT);
        let mut due: BoxFuture<'static, ()> = Box::pin(pending());
        loop {
            let written = match select(self.inbox.next(), select(&mut beat, &mut due)).await {
                Either::Left((Some(Told::Came(outcome)), _)) => {
                    if group.is_empty() {
                        due = self.clock.sleep(GROUP_TIME);
                    }
                    group.push(outcome);
                    if group.len() < GROUP_SIZE { Ok(()) } else { self.commit(&mut group).await }
                }
                Either::Left((Some(Told::Tries(key, waiter)), _)) => {
                    group.push(Outcome::Tried(key));
                    waiting.push(waiter);
                    self.gather(&mut group, &mut waiting);
                    due = Box::pin(pending());
                    self.commit(&mut group).await
                }
                Either::Left((None, _)) => return Ok(group),
                Either::Left((Some(Told::Idle), _)) | Either::Right((Either::Right(_), _)) => {
                    due = Box::pin(pending());
                    self.commit(&mut group).await
                }
                Either::Right((Either::Left(_), _)) => {
                    beat = self.clock.sleep(HEARTBEAT);
                    self.session.heartbeat(self.clock.now()).await
                }
            };
            if let Err(error) = written {
                drop(waiting);
                return self.give_up(error).await;
            }
            // Whoever does not wait any more has gone with the run.
            for waiter in waiting.drain(..) {
                let _ = waiter.send(());
            }
        }
    }

    /// Takes along what else has been told by now: one write for all of it.
    fn gather(&mut self, group: &mut Vec<Outcome>, waiting: &mut Vec<Sender<()>>) {
        while let Ok(told) = self.inbox.try_recv() {
            match told {
                Told::Came(outcome) => group.push(outcome),
                Told::Tries(key, waiter) => {
                    group.push(Outcome::Tried(key));
                    waiting.push(waiter);
                }
                Told::Idle => {}
            }
        }
    }

    async fn commit(&mut self, group: &mut Vec<Outcome>) -> Result<(), StoreError> {
        self.session.record(self.release, std::mem::take(group)).await
    }

    /// A state that cannot be written stops the run: what is in flight ends, nothing new starts, and it is heard to its end.
    async fn give_up(mut self, error: StoreError) -> Result<Vec<Outcome>, StoreError> {
        self.trouble.cancel();
        // A step that waits is told by the end of its channel.
        while self.inbox.next().await.is_some() {}
        Err(error)
    }
}

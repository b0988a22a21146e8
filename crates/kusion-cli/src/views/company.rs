//! Who goes along on the road: shows every happening, and says how it was shown.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kusion::{Aim, ApplyAsk, CancelToken, Happening, Loss, Observer, Ready};
use serde_json::json;
use tokio::sync::Notify;

use crate::input::chosen::{ChosenStack, note};
use crate::input::cluster::Connection;
use crate::input::flags::Given;
use crate::input::planned::warn;
use crate::views::ending;
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_data, tell};
use crate::views::plan_view::{Detail, named};
use crate::views::preview::{detail_of, show};
use crate::views::progress::{EVENT, Look, Progress};
use crate::views::style::Style;
use crate::views::unchanged::say_unchanged;

/// After this long a person is told what is waited for.
const PATIENCE: Duration = Duration::from_millis(800);
/// Between two looks at what there is to draw.
const TICK: Duration = Duration::from_millis(50);

/// Shows one errand.
#[derive(Clone)]
pub(crate) struct Company(Arc<Inner>);

struct Inner {
    chosen: Arc<ChosenStack>,
    format: Format,
    detail: Detail,
    look: Look,
    context: String,
    server: String,
    cancel: CancelToken,
    /// The clusters are being asked.
    asking: AtomicBool,
    locking: Notify,
    progress: Mutex<Option<Arc<Progress>>>,
    /// The output that could not be written: nothing goes on unseen.
    broken: Mutex<Option<Failure>>,
}

impl Company {
    pub(crate) fn new(
        given: &Given,
        chosen: Arc<ChosenStack>,
        connection: &Connection,
        ask: &ApplyAsk,
    ) -> Result<Self, Failure> {
        let format = format_of(given)?;
        let look = Look { format, tree: !given.has("no-watch"), wait: ask.options.wait };
        Ok(Company(Arc::new(Inner {
            chosen,
            format,
            detail: detail_of(given)?,
            look,
            context: connection.context.clone(),
            server: connection.server.clone(),
            cancel: ask.cancel.clone(),
            asking: AtomicBool::new(false),
            locking: Notify::new(),
            progress: Mutex::default(),
            broken: Mutex::default(),
        })))
    }

    pub(crate) fn observer(&self) -> Observer {
        let inner = Arc::clone(&self.0);
        Arc::new(move |happening| inner.happened(&happening))
    }

    /// Waits until the lock is asked for.
    pub(crate) async fn locking(&self) {
        self.0.locking.notified().await;
    }

    /// The output that could not be written.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.0.broken.lock().ok().and_then(|mut broken| broken.take())
    }

    pub(crate) fn say(&self, text: &'static str) {
        if let Some(progress) = self.0.progress() {
            progress.say(text);
        }
    }

    /// The last picture stays.
    pub(crate) fn finish(&self) {
        self.0.ended();
    }

    /// Draws what there is to draw, until somebody drops it.
    pub(crate) async fn keep_drawing(&self) {
        self.0.wait_for_clusters().await;
        loop {
            match self.0.progress() {
                Some(progress) => progress.draw_next().await,
                None => tokio::time::sleep(TICK).await,
            }
        }
    }
}

/// What a rollback cannot bring back, before anybody consents to it.
fn tell_losses(ready: &Ready, format: Format) -> Result<(), Failure> {
    let losses = ready.losses();
    if losses.is_empty() || !matches!(ready.aim, Aim::Rollback(_)) {
        return Ok(());
    }
    if format == Format::Json {
        let one = |loss: &Loss| json!({"id": loss.key.to_string(), "how": loss.how, "what": loss.what});
        let losses: Vec<_> = losses.iter().map(one).collect();
        return print_data(&format!(
            "{}\n",
            json!({"schema": EVENT, "event": "cannot-come-back", "losses": losses})
        ));
    }
    let style = Style::stdout();
    let mut out = String::from("\nThis cannot come back:\n");
    for Loss { key, how, what } in &losses {
        out.push_str(&format!("  {} {} {how}: {what}\n", style.red("!"), style.cyan(&key.to_string())));
    }
    print(&out)
}

impl Inner {
    fn progress(&self) -> Option<Arc<Progress>> {
        self.progress.lock().ok().and_then(|progress| progress.clone())
    }

    /// Says what is being waited for when it takes long; nothing when it is quick, nothing where nobody looks.
    async fn wait_for_clusters(&self) {
        tokio::time::sleep(PATIENCE).await;
        if self.asking.load(Ordering::Relaxed) && std::io::stderr().is_terminal() {
            let what = match named(&self.context) {
                Some(context) => format!("waiting for the cluster {context} at {} ...\n", self.server),
                None => "waiting for the providers ...\n".to_owned(),
            };
            tell(&Style::stderr().dim(&what));
        }
    }

    fn happened(&self, happening: &Happening<'_>) {
        self.asking.store(matches!(happening, Happening::Asking), Ordering::Relaxed);
        let text = self.format == Format::Text;
        let shown = match happening {
            Happening::Note(text) => {
                note(text);
                Ok(())
            }
            Happening::Planned { ready, again } if text => self.planned(ready, *again),
            Happening::Planned { ready, again } => self.planned_as_json(ready, *again),
            Happening::Unchanged(ready) if text => print(&say_unchanged(ready, self.look.wait)),
            Happening::Ended { report, ready } => {
                self.ended();
                ending::tell(report, ready, &self.chosen, self.format)
            }
            other => {
                self.on_the_way(other);
                Ok(())
            }
        };
        if let (Err(failure), Ok(mut broken)) = (shown, self.broken.lock()) {
            self.cancel.cancel();
            broken.get_or_insert(failure);
        }
    }

    fn planned(&self, ready: &Ready, again: bool) -> Result<(), Failure> {
        if again {
            note("another release was made meanwhile, so the plan is made again");
        }
        show(ready, &self.context, self.format, self.detail, None)?;
        tell_losses(ready, self.format)
    }

    /// Says what will be done before anything is: an output that cannot be written stops the errand here.
    fn planned_as_json(&self, ready: &Ready, again: bool) -> Result<(), Failure> {
        let plan = ready.plan();
        let event = json!({
            "schema": EVENT, "event": "planned", "plan": plan.hash, "tally": plan.tally(), "again": again,
        });
        print_data(&format!("{event}\n"))?;
        tell_losses(ready, self.format)
    }

    fn on_the_way(&self, happening: &Happening<'_>) {
        match happening {
            Happening::Locking => self.locking.notify_one(),
            Happening::Waiting(holder) => tell(&format!("waiting for the lock: held by {holder}\n")),
            Happening::GoingBack(None) => {
                tell("there is no earlier good release to go back to; everything stays as it is\n");
            }
            Happening::GoingBack(Some(release)) => {
                tell(&format!("\nrolling back to release {}\n", release.no));
            }
            Happening::Began { ready, .. } => {
                let release = ready.state.next_release();
                let (scope, plan) = (&self.chosen.target.scope, ready.plan());
                let title = format!("Release {release} of {scope}, plan {}", plan.short_hash());
                let progress = Arc::new(Progress::new(self.look, plan, title));
                progress.happened(happening);
                if let Ok(mut slot) = self.progress.lock() {
                    *slot = Some(progress);
                }
            }
            Happening::Warning(text) => match self.progress() {
                Some(progress) => progress.happened(happening),
                None => warn(text),
            },
            _ => {
                if let Some(progress) = self.progress() {
                    progress.happened(happening);
                }
            }
        }
    }

    fn ended(&self) {
        let progress = self.progress.lock().ok().and_then(|mut progress| progress.take());
        if let Some(progress) = progress {
            progress.finish();
        }
    }
}

//! The world: store, registry, clock and seed together.

use std::time::Duration;

use crate::drive::Drive;
use crate::kubelet::Runtime;
use crate::pace::Pace;
use crate::registry::Registry;
use crate::seed::Seed;
use crate::store::Store;
use crate::time::Time;
use crate::view::View;

/// A control plane as a value. Cloning it is a snapshot that can be gone back to.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) seed: Seed,
    pub(crate) now: Time,
    /// What the admin must show; `None` in process.
    pub(crate) admin_token: Option<String>,
    pub(crate) pace: Pace,
    pub(crate) drive: Drive,
    pub(crate) runtime: Runtime,
}

/// Events kept for watches.
pub(crate) const WINDOW: usize = 100_000;

impl World {
    /// An empty world at a moment.
    pub fn new(seed: u64, now: Time) -> World {
        World {
            store: Store::new(WINDOW),
            registry: Registry::default(),
            seed: Seed::new(seed),
            now,
            admin_token: None,
            pace: Pace::default(),
            drive: Drive::default(),
            runtime: Runtime::default(),
        }
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn view(&self) -> View<'_> {
        View {
            store: &self.store,
            registry: &self.registry,
            now: self.now,
            pace: &self.pace,
            runtime: &self.runtime,
        }
    }

    /// How fast kubelet and back-offs are from now on.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Moves the clock only: what is due stays due. The rim calls it before a request, so that reads do not pay for
    /// controllers; its pump then calls `advance(0)`.
    pub fn tick(&mut self, by: Duration) {
        self.now = self.now + by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ObjectKey;
    use crate::write::{Removal, Write};
    use kube_meaning::write::Verb;
    use serde_json::json;

    #[test]
    fn an_object_is_made_changed_and_removed() {
        let mut world = World::new(1, Time::parse("2026-01-01T00:00:00Z").unwrap());
        let served = world.registry.by_kind("", "v1", "ConfigMap").unwrap();
        let body =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
        let ask = Write {
            served: served.clone(),
            namespace: "n",
            name: "",
            subresource: "",
            verb: Verb::Create(&body),
            manager: "m",
            force: false,
            dry_run: false,
        };
        let made = world.write(&ask).unwrap();
        assert!(made.created && made.value["metadata"]["resourceVersion"] == "2");
        let again = world.write(&ask).unwrap_err();
        assert_eq!((again.code, again.message.as_str()), (409, "configmaps \"c\" already exists"));
        world.remove(&served, &ObjectKey::new("n", "c"), &Removal::default()).unwrap();
        assert!(world.view().get("", "configmaps", "n", "c").is_none());
    }
}

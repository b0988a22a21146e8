//! The world: store, registry, clock and seed together.

use std::time::Duration;

use crate::api::ApiState;
use crate::drive::Drive;
use crate::kubelet::Containers;
use crate::pace::Pace;
use crate::registry::Registry;
use crate::seed::Seed;
use crate::store::Store;
use crate::time::Time;
use crate::view::View;
use crate::write::Write;
use kube_meaning::write::Verb;
use serde_json::{Value, json};

/// A control plane as a value. Cloning it is a snapshot that can be gone back to.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) seed: Seed,
    pub(crate) now: Time,
    pub(crate) pace: Pace,
    pub(crate) drive: Drive,
    pub(crate) runtime: Containers,
    pub(crate) api: ApiState,
}

/// Events kept for watches.
pub(crate) const WINDOW: usize = 20_000;

impl World {
    /// An empty world at a moment.
    pub fn new(seed: u64, now: Time) -> World {
        World {
            store: Store::new(WINDOW),
            registry: Registry::default(),
            seed: Seed::new(seed),
            now,
            pace: Pace::default(),
            drive: Drive::default(),
            runtime: Containers::default(),
            api: ApiState::default(),
        }
    }

    /// A namespace, if it is not there.
    pub fn make_namespace(&mut self, name: &str) {
        self.make("", &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }

    /// Creates an object of the server's own; one that is there stays.
    fn make(&mut self, namespace: &str, object: &Value) {
        let Some(served) = self.registry.of_object(object) else { return };
        let verb = Verb::Create(object);
        let manager = "kube-apiserver";
        let ask = Write {
            served,
            namespace,
            name: "",
            subresource: "",
            verb,
            manager,
            force: false,
            dry_run: false,
        };
        // The only refusal is that it exists.
        let _ = self.write(&ask);
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
            index: &self.drive.index,
        }
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
    use crate::write::Removal;

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
        assert_eq!(world.write(&ask).unwrap_err().message, "namespaces \"n\" not found");
        world.make_namespace("n");
        let made = world.write(&ask).unwrap();
        assert!(made.created && made.value["metadata"]["resourceVersion"] == "3");
        let again = world.write(&ask).unwrap_err();
        assert_eq!((again.code, again.message.as_str()), (409, "configmaps \"c\" already exists"));
        world.remove(&served, &ObjectKey::new("n", "c"), &Removal::default()).unwrap();
        assert!(world.view().get("", "configmaps", "n", "c").is_none());
    }
}

//! The world as bytes, and its changes as lines, so that the rim can keep it.
//!
//! Watches, queues and timers are not kept: they are found again from the objects ([`World::wake_all`]).

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use crate::registry::Registry;
use crate::store::{Event, EventKind, ObjectKey, ResourceKey, Store};
use crate::time::Time;
use crate::world::World;

/// The form of the snapshot.
const FORMAT: u64 = 1;

impl World {
    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.store.revision()
    }

    /// All that must be kept.
    pub fn snapshot(&self) -> Vec<u8> {
        let head = json!({
            "format": FORMAT,
            "revision": self.store.revision(),
            "now": self.now.millis(),
            "seed": self.seed.state(),
        });
        let mut out = format!("{head}\n").into_bytes();
        for resource in self.store.resources() {
            for (_, object) in self.store.list(resource, None) {
                let line = json!({"group": resource.group.as_str(), "plural": resource.plural.as_str(), "object": *object.value});
                out.extend_from_slice(line.to_string().as_bytes());
                out.push(b'\n');
            }
        }
        out
    }

    /// The world of a snapshot; the reason when it cannot be read.
    pub fn restore(bytes: &[u8]) -> Result<World, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let mut lines = text.lines();
        let head: Value = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|error| format!("its first line: {error}"))?;
        if head["format"] != FORMAT {
            return Err(format!("format {} is not {FORMAT}", head["format"]));
        }
        let now = Time::from_millis(head["now"].as_i64().ok_or("no time")?);
        let mut world = World::new(head["seed"].as_u64().ok_or("no seed")?, now);
        world.store = Store::new(crate::world::WINDOW);
        for (number, line) in lines.enumerate() {
            let wrong = |reason: &str| format!("line {}: {reason}", number + 2);
            let line: Value = serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
            let resource = resource_of(&line).ok_or_else(|| wrong("no resource"))?;
            world.store.load(&resource, line["object"].clone()).ok_or_else(|| wrong("no revision"))?;
        }
        world.store.restart_at(head["revision"].as_u64().ok_or("no revision")?);
        world.registry = Registry::default();
        world.define_stored();
        Ok(world)
    }

    /// An event as one line.
    pub fn event_line(event: &Event) -> String {
        let gone = event.kind == EventKind::Deleted;
        json!({
            "group": event.resource.group.as_str(), "plural": event.resource.plural.as_str(),
            "gone": gone, "object": *event.object.value,
        })
        .to_string()
    }

    /// Does a kept event again; those that the snapshot has are skipped. False when the line is not one.
    pub fn replay_line(&mut self, line: &str) -> bool {
        let Ok(line) = serde_json::from_str::<Value>(line) else { return false };
        let Some(resource) = resource_of(&line) else { return false };
        let object = line["object"].clone();
        let Some(revision) = revision_of(&object) else { return false };
        if revision <= self.store.revision() {
            return true;
        }
        let key = ObjectKey::of(&object);
        match line["gone"] == true {
            true => self.store.unload(&resource, &key),
            false => drop(self.store.load(&resource, object)),
        }
        self.store.restart_at(revision);
        self.define_stored();
        true
    }

    /// Serves the definitions that are stored.
    fn define_stored(&mut self) {
        let definitions = ResourceKey::new("apiextensions.k8s.io", "customresourcedefinitions");
        self.registry = Registry::default();
        for (_, object) in self.store.list(&definitions, None) {
            self.registry.define(&object.value);
        }
    }
}

fn resource_of(line: &Value) -> Option<ResourceKey> {
    Some(ResourceKey::new(line["group"].as_str()?, line["plural"].as_str()?))
}

fn revision_of(object: &Value) -> Option<u64> {
    object.at("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> World {
        let mut world = World::new(7, Time::from_millis(1_700_000_000_000));
        let maps = ResourceKey::new("", "configmaps");
        for name in ["a", "b"] {
            world
                .store
                .put(&maps, json!({"metadata": {"namespace": "n", "name": name}, "data": {"k": name}}));
        }
        world
    }

    #[test]
    fn a_kept_world_comes_back_with_its_revisions() {
        let mut before = world();
        let mut after = World::restore(&before.snapshot()).unwrap();
        assert_eq!(after.snapshot(), before.snapshot());
        assert_eq!((after.seed.next(), after.revision()), (before.seed.next(), 3));
        assert!(after.store.events_after(2).is_none());
    }

    #[test]
    fn changes_after_the_snapshot_are_done_again_and_earlier_ones_skipped() {
        let mut before = world();
        let kept = before.snapshot();
        let maps = ResourceKey::new("", "configmaps");
        before.store.put(&maps, json!({"metadata": {"namespace": "n", "name": "c"}}));
        before.store.remove(&maps, &ObjectKey::new("n", "a"), None);
        let mut after = World::restore(&kept).unwrap();
        for event in before.store.events_after(1).unwrap() {
            assert!(after.replay_line(&World::event_line(event)));
        }
        assert_eq!(after.snapshot(), before.snapshot());
        assert!(!after.replay_line("{\"group\":"));
    }
}

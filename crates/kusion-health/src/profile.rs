//! Graces and deadlines in one place.
//!
//! Problem: how long is a missing image only slow? In: a profile name. Out: numbers. Invariant: every duration a rule or the
//! waiter uses comes from here; the defaults are those of the health reference.

use crate::time::Millis;
use crate::view::View;
use serde_json::Value;

const SECOND: Millis = 1000;
const MINUTE: Millis = 60 * SECOND;

/// Durations of one cluster, in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    pub deadline: Millis,
    pub job_deadline: Millis,
    /// CRD, Namespace, RBAC, configuration.
    pub quick_deadline: Millis,
    pub claim_deadline: Millis,
    pub cloud_deadline: Millis,
    pub delete_deadline: Millis,
    pub namespace_delete_deadline: Millis,
    pub scheduling_grace: Millis,
    pub scheduling_grace_not_triggered: Millis,
    pub image_grace: Millis,
    pub missing_config_grace: Millis,
    pub start_grace: Millis,
    pub crash_restarts: i64,
    pub crash_grace: Millis,
    pub refusal_grace: Millis,
    pub missing_account_grace: Millis,
    pub ready_grace: Millis,
    pub volume_grace: Millis,
    pub metrics_grace: Millis,
    pub unpublished_grace: Millis,
    /// Healthy must hold this long.
    pub settle: Millis,
    /// No change for this long while progressing: the row is marked stuck.
    pub stuck: Millis,
    /// A lost watch makes the verdict unknown after this long.
    pub stale: Millis,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile {
            name: "default".to_owned(),
            deadline: 10 * MINUTE,
            job_deadline: 60 * MINUTE,
            quick_deadline: MINUTE,
            claim_deadline: 5 * MINUTE,
            cloud_deadline: 60 * MINUTE,
            delete_deadline: 5 * MINUTE,
            namespace_delete_deadline: 10 * MINUTE,
            scheduling_grace: 5 * MINUTE,
            scheduling_grace_not_triggered: 2 * MINUTE,
            image_grace: 30 * SECOND,
            missing_config_grace: MINUTE,
            start_grace: MINUTE,
            crash_restarts: 3,
            crash_grace: MINUTE,
            refusal_grace: 2 * MINUTE,
            missing_account_grace: 30 * SECOND,
            ready_grace: 2 * MINUTE,
            volume_grace: 2 * MINUTE,
            metrics_grace: 5 * MINUTE,
            unpublished_grace: 30 * SECOND,
            settle: 2 * SECOND,
            stuck: 90 * SECOND,
            stale: MINUTE,
        }
    }
}

impl Profile {
    /// The sandbox has no registry to wait for and no slow start: people watch it for seconds.
    pub fn sandbox() -> Profile {
        Profile {
            name: "sandbox".to_owned(),
            image_grace: 3 * SECOND,
            missing_config_grace: 5 * SECOND,
            start_grace: 5 * SECOND,
            crash_restarts: 2,
            crash_grace: 0,
            refusal_grace: 5 * SECOND,
            missing_account_grace: 15 * SECOND,
            scheduling_grace: 10 * SECOND,
            scheduling_grace_not_triggered: 5 * SECOND,
            ready_grace: 10 * SECOND,
            volume_grace: 10 * SECOND,
            settle: SECOND / 2,
            ..Profile::default()
        }
    }

    /// A profile by the name a cluster's context carries.
    pub fn named(name: &str) -> Option<Profile> {
        match name {
            "default" | "" => Some(Profile::default()),
            "sandbox" => Some(Profile::sandbox()),
            _ => None,
        }
    }

    /// Every grace and deadline with what it is about, for documents.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        // Taken apart by name: a new field does not compile until it is told here.
        let Profile {
            name: _,
            deadline,
            job_deadline,
            quick_deadline,
            claim_deadline,
            cloud_deadline,
            delete_deadline,
            namespace_delete_deadline,
            scheduling_grace,
            scheduling_grace_not_triggered,
            image_grace,
            missing_config_grace,
            start_grace,
            crash_restarts,
            crash_grace,
            refusal_grace,
            missing_account_grace,
            ready_grace,
            volume_grace,
            metrics_grace,
            unpublished_grace,
            settle,
            stuck,
            stale,
        } = self;
        let spans = [
            ("an object becomes healthy within", deadline),
            ("a Job ends within, unless it names its own deadline", job_deadline),
            ("definitions, namespaces, roles and configuration are there within", quick_deadline),
            ("a claim is bound within", claim_deadline),
            ("what stands for something in a cloud is ready within", cloud_deadline),
            ("an object is gone within", delete_deadline),
            ("a namespace is gone within", namespace_delete_deadline),
            ("a pod that no node can take may wait for a new node", scheduling_grace),
            ("the same, where the autoscaler has said that it adds none", scheduling_grace_not_triggered),
            ("an image that cannot be pulled may appear", image_grace),
            ("a ConfigMap or Secret that a pod needs may appear", missing_config_grace),
            ("a container that cannot be started may recover", start_grace),
            ("a container that crashes may recover", crash_grace),
            ("pods that are refused (quota, policy, webhook) may be allowed", refusal_grace),
            ("a ServiceAccount that a pod needs may appear", missing_account_grace),
            ("a running container may stay unready", ready_grace),
            ("a volume may stay unattached", volume_grace),
            ("metrics that an autoscaler needs may appear", metrics_grace),
            ("an Ingress or Gateway that nobody has looked at may wait", unpublished_grace),
            ("healthy must hold for", settle),
            ("a row is marked as stuck after no change for", stuck),
            ("a verdict is unknown after no news for", stale),
        ];
        let mut rows: Vec<(&str, String)> = spans.map(|(what, millis)| (what, written(*millis))).into();
        rows.push(("restarts after which a crash is a crash loop", crash_restarts.to_string()));
        rows
    }

    /// How long an apply waits for this object, counted from the end of its apply.
    pub fn deadline_for(&self, object: &Value) -> Millis {
        let view = View(object);
        let seconds = |pointer: &str| view.int(pointer).map(|s| s.clamp(0, 1_000_000) * SECOND);
        match (view.group(), view.kind()) {
            ("apps", "Deployment") => {
                let own =
                    seconds("/spec/progressDeadlineSeconds").unwrap_or(0).min(3600 * SECOND) + 30 * SECOND;
                let batches = view.int("/spec/replicas").unwrap_or(1).clamp(1, 100);
                let settle = seconds("/spec/minReadySeconds").unwrap_or(0) * batches;
                self.deadline.max(own).max(settle.min(60 * MINUTE))
            }
            ("apps", "StatefulSet") => {
                let parallel = view.str("/spec/podManagementPolicy") == "Parallel";
                let replicas = view.int("/spec/replicas").unwrap_or(1).clamp(0, 1000);
                let left = (replicas - view.num("/status/readyReplicas").clamp(0, replicas)).max(0);
                let extra = if parallel { 0 } else { 2 * MINUTE * left };
                (self.deadline + extra).min(60 * MINUTE.max(self.deadline))
            }
            ("apps", "DaemonSet") => {
                let desired = view.num("/status/desiredNumberScheduled").clamp(0, 10_000);
                let batch = view.int("/spec/updateStrategy/rollingUpdate/maxUnavailable").unwrap_or(1).max(1);
                (self.deadline + MINUTE * ((desired + batch - 1) / batch)).min(60 * MINUTE)
            }
            ("batch", "Job") => match seconds("/spec/activeDeadlineSeconds") {
                Some(own) => own + 30 * SECOND,
                None => self.job_deadline,
            },
            ("", "PersistentVolumeClaim") => self.claim_deadline,
            (
                "",
                "Namespace" | "ConfigMap" | "Secret" | "ServiceAccount" | "ResourceQuota" | "LimitRange",
            )
            | ("apiextensions.k8s.io" | "rbac.authorization.k8s.io", _) => self.quick_deadline,
            (group, _) if is_cloud(group) => self.cloud_deadline,
            _ => self.deadline,
        }
    }

    /// How long a deletion may take before it counts as stuck.
    pub fn delete_deadline_for(&self, object: &Value) -> Millis {
        let view = View(object);
        match (view.group(), view.kind()) {
            ("", "Namespace") => self.namespace_delete_deadline,
            (group, _) if is_cloud(group) => self.cloud_deadline,
            _ => self.delete_deadline,
        }
    }
}

/// `0.5 s`, `30 s`, `10 min`.
fn written(millis: Millis) -> String {
    match millis {
        millis if millis % MINUTE == 0 && millis > 0 => format!("{} min", millis / MINUTE),
        millis if millis % SECOND == 0 => format!("{} s", millis / SECOND),
        millis => format!("{:.1} s", millis as f64 / 1000.0),
    }
}

/// Groups whose objects stand for something in a cloud: databases take twenty minutes.
fn is_cloud(group: &str) -> bool {
    const SUFFIXES: [&str; 5] =
        [".crossplane.io", ".upbound.io", ".services.k8s.aws", ".cnrm.cloud.google.com", "cluster.x-k8s.io"];
    SUFFIXES.iter().any(|suffix| group.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_sandbox_is_quick_about_images_and_crashes() {
        let sandbox = Profile::named("sandbox").expect("known");
        assert_eq!((sandbox.image_grace, sandbox.settle, sandbox.crash_restarts), (3000, 500, 2));
        assert!(Profile::named("nope").is_none());
    }

    #[test]
    fn deadlines_follow_the_kind() {
        let profile = Profile::default();
        let deployment =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"progressDeadlineSeconds": 1200}});
        assert_eq!(profile.deadline_for(&deployment), 1230 * SECOND);
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"activeDeadlineSeconds": 60}});
        assert_eq!(profile.deadline_for(&job), 90 * SECOND);
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"replicas": 3}, "status": {"readyReplicas": 1}});
        assert_eq!(profile.deadline_for(&set), 14 * MINUTE);
        let bucket = json!({"apiVersion": "s3.aws.upbound.io/v1", "kind": "Bucket"});
        assert_eq!(profile.deadline_for(&bucket), 60 * MINUTE);
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace"});
        assert_eq!(profile.deadline_for(&namespace), MINUTE);
        assert_eq!(profile.delete_deadline_for(&namespace), 10 * MINUTE);
    }
}

//! What may not be read is told as that, never as a count of pods.

use kusion_health::{Grade, Profile, Snapshot, judge};
use serde_json::json;

#[test]
fn workload_whose_pods_may_not_be_read_says_so_in_place_of_a_cause() {
    let rolling = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "n", "uid": "u", "generation": 2},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}});
    let mut snapshot = Snapshot::of([rolling.clone()]);
    let seen = judge(&rolling, &snapshot, &Profile::default(), None);
    assert_eq!((seen.verdict, seen.message.as_str()), (Grade::Progressing, "1 old pod to remove"));
    let why = "pods is forbidden: User \"li\" cannot list resource \"pods\" in API group \"\" in the namespace \"n\"";
    assert!(snapshot.hide("Pod", "n", why));
    assert!(!snapshot.hide("Pod", "n", why), "nothing new");
    let hidden = judge(&rolling, &snapshot, &Profile::default(), None);
    assert!(hidden.cause.is_some_and(|cause| cause.contains(why)));
    assert!(hidden.next.is_some_and(|next| next.contains("right to list pods")));
    snapshot.reveal("Pod", "n");
    assert_eq!(judge(&rolling, &snapshot, &Profile::default(), None).cause, None);
}

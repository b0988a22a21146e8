//! Two clusters in one operation: each resource goes where its extension says, references cross over, and one destroy ends both.

use kusion::model::Spec;
use kusion::{Cluster, DryRun, Profile};
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::objects::{config_map, namespace, spec};

fn in_east(mut spec: Value) -> Value {
    for resource in spec["resources"].as_array_mut().unwrap() {
        resource["extensions"] = json!({"cluster": "east"});
    }
    spec
}

#[tokio::test(start_paused = true)]
async fn one_release_spans_two_clusters() {
    let (west, east) = (Lab::new(), Lab::new());
    let client = kube::Client::new(east.wire.clone(), "default");
    let cluster = Cluster::new(client, "east", Profile::sandbox());
    let engine = west.engine().with(cluster.named("east"));
    let mut both = spec(&[namespace(), config_map("here", "1")]);
    let there =
        in_east(spec(&[namespace(), config_map("there", "$kusion_path.v1:ConfigMap:lab:here.data.v")]));
    both["resources"].as_array_mut().unwrap().extend(there["resources"].as_array().unwrap().clone());
    let target = west.target();
    let wanted = Spec::from_value(both, &kusion::platforms(), &target.key).unwrap();
    let ready = engine.plan(&target, wanted.clone(), DryRun::All).await.unwrap();
    let report = engine.apply(&target, &ready, &west.ask("li")).await.unwrap();
    assert!(report.is_success(), "{report:#?}");
    assert_eq!((west.maps(), east.maps()), (vec!["here".to_owned()], vec!["there".to_owned()]));
    assert_eq!(east.objects()["v1:ConfigMap:lab:there"]["data"]["v"], "1");
    let again = engine.plan(&target, wanted, DryRun::All).await.unwrap();
    assert!(again.plan().is_empty());
    let nothing = engine.plan(&target, Spec::default(), DryRun::All).await.unwrap();
    assert!(engine.apply(&target, &nothing, &west.ask("li")).await.unwrap().is_success());
    assert!(west.objects().is_empty() && east.objects().is_empty());
}

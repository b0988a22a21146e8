//! Rows of kinds that are about storage.

use serde_json::{Value, json};

use super::cells::{View, joined};

/// `RWO,ROX`, as volumes say it.
fn modes(list: &[Value]) -> Value {
    let short = |mode: &Value| match mode.as_str() {
        Some("ReadWriteOnce") => "RWO",
        Some("ReadOnlyMany") => "ROX",
        Some("ReadWriteMany") => "RWX",
        Some("ReadWriteOncePod") => "RWOP",
        _ => "",
    };
    json!(list.iter().map(short).collect::<Vec<_>>().join(","))
}

/// Cells of volumes, claims and what serves them.
pub(crate) fn cells(kind: &str, view: &View<'_>) -> Vec<Value> {
    let mut out = vec![view.name()];
    let deleting = view.object["metadata"].get("deletionTimestamp").is_some();
    let status = if deleting { json!("Terminating") } else { view.or("/status/phase", "") };
    let flag = |pointer: &str| json!(view.at(pointer).as_bool().unwrap_or(false));
    match kind {
        "PersistentVolumeClaim" => out.extend(claim(view, status)),
        "PersistentVolume" => out.extend(volume(view, status)),
        "StorageClass" => {
            let default =
                view.text("/metadata/annotations/storageclass.kubernetes.io~1is-default-class") == "true";
            if default {
                out[0] = json!(format!("{} (default)", view.text("/metadata/name")));
            }
            out.extend([
                view.or("/provisioner", ""),
                view.or("/reclaimPolicy", "Delete"),
                view.or("/volumeBindingMode", "Immediate"),
                json!(view.at("/allowVolumeExpansion").as_bool().unwrap_or(false)),
                view.age(),
            ]);
        }
        "CSIDriver" => {
            let modes = view.list("/spec/volumeLifecycleModes").iter().filter_map(Value::as_str);
            let modes: Vec<String> = modes.map(str::to_owned).collect();
            out.extend([
                flag("/spec/attachRequired"),
                flag("/spec/podInfoOnMount"),
                flag("/spec/storageCapacity"),
                json!("<unset>"),
                flag("/spec/requiresRepublish"),
                joined(&modes, "<none>"),
                view.age(),
            ]);
        }
        "CSINode" => out.extend([json!(view.list("/spec/drivers").len()), view.age()]),
        "VolumeAttachment" => out.extend([
            view.or("/spec/attacher", ""),
            view.or("/spec/source/persistentVolumeName", ""),
            view.or("/spec/nodeName", ""),
            flag("/status/attached"),
            view.age(),
        ]),
        _ => out.extend([view.or("/driverName", ""), view.age()]),
    }
    out
}

fn claim(view: &View<'_>, status: Value) -> Vec<Value> {
    let bound = !view.text("/spec/volumeName").is_empty();
    let if_bound = |cell: Value| if bound { cell } else { json!("") };
    vec![
        status,
        view.or("/spec/volumeName", ""),
        if_bound(view.or("/status/capacity/storage", "")),
        if_bound(modes(view.list("/status/accessModes"))),
        view.or("/spec/storageClassName", ""),
        view.or("/spec/volumeAttributesClassName", "<unset>"),
        view.age(),
        view.or("/spec/volumeMode", "<unset>"),
    ]
}

fn volume(view: &View<'_>, status: Value) -> Vec<Value> {
    let claim = match view.at("/spec/claimRef") {
        Value::Null => String::new(),
        claim => {
            let text = |key: &str| claim[key].as_str().unwrap_or_default();
            format!("{}/{}", text("namespace"), text("name"))
        }
    };
    vec![
        view.or("/spec/capacity/storage", ""),
        modes(view.list("/spec/accessModes")),
        view.or("/spec/persistentVolumeReclaimPolicy", ""),
        status,
        json!(claim),
        view.or("/spec/storageClassName", ""),
        view.or("/spec/volumeAttributesClassName", "<unset>"),
        view.or("/status/reason", ""),
        view.age(),
        view.or("/spec/volumeMode", "<unset>"),
    ]
}

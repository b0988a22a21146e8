//! Who removes which finalizer.
//!
//! In: a finalizer's name. Out: its owner, what stuck means, and where to look. Invariant: an unknown one belongs to the
//! controller of the API group in its name.

/// The party behind a finalizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub who: String,
    pub stuck: &'static str,
    pub next: String,
}

struct Row {
    pattern: &'static str,
    who: &'static str,
    stuck: &'static str,
}

/// `*` at either end of a pattern matches anything.
const ROWS: &[Row] = &[
    Row {
        pattern: "foregroundDeletion",
        who: "the garbage collector",
        stuck: "dependents remain, or a broken APIService blocks it",
    },
    Row {
        pattern: "orphan",
        who: "the garbage collector",
        stuck: "owner references are still being removed, or a broken APIService blocks it",
    },
    Row {
        pattern: "kubernetes.io/pvc-protection",
        who: "the PVC protection controller",
        stuck: "a pod (also a completed one) still uses the claim",
    },
    Row {
        pattern: "kubernetes.io/pv-protection",
        who: "the PV protection controller",
        stuck: "still bound to a claim",
    },
    Row {
        pattern: "external-provisioner.volume.kubernetes.io/finalizer",
        who: "the CSI provisioner",
        stuck: "the disk is not deleted yet",
    },
    Row {
        pattern: "kubernetes.io/pv-controller",
        who: "the PV controller",
        stuck: "the disk is not deleted yet",
    },
    Row {
        pattern: "external-attacher/*",
        who: "the CSI attacher",
        stuck: "the volume is not detached, or its driver is gone",
    },
    Row {
        pattern: "snapshot.storage.kubernetes.io/*",
        who: "the snapshot controller",
        stuck: "the snapshot is in use as a source",
    },
    Row {
        pattern: "service.kubernetes.io/load-balancer-cleanup",
        who: "the cloud controller",
        stuck: "the cloud has not removed the load balancer",
    },
    Row {
        pattern: "batch.kubernetes.io/job-tracking",
        who: "the Job controller",
        stuck: "its Job is gone, or the controller is down",
    },
    Row {
        pattern: "customresourcecleanup.apiextensions.k8s.io",
        who: "the API server",
        stuck: "instances of the kind remain, themselves with finalizers",
    },
    Row { pattern: "kubernetes", who: "the namespace controller", stuck: "objects remain in the namespace" },
    Row {
        pattern: "finalizers.fluxcd.io",
        who: "the Flux controller of that kind",
        stuck: "its source may be missing, so that pruning fails",
    },
    Row {
        pattern: "resources-finalizer.argocd.argoproj.io*",
        who: "the Argo CD application controller",
        stuck: "its cluster is unreachable, or resources are stuck themselves",
    },
    Row {
        pattern: "finalizer.managedresource.crossplane.io",
        who: "the Crossplane provider",
        stuck: "the external resource is not deleted; see condition Synced",
    },
    Row {
        pattern: "composite.apiextensions.crossplane.io",
        who: "Crossplane",
        stuck: "composed resources remain",
    },
    Row {
        pattern: "finalizer.apiextensions.crossplane.io",
        who: "Crossplane",
        stuck: "the composite resource remains",
    },
    Row {
        pattern: "*.cluster.x-k8s.io",
        who: "Cluster API",
        stuck: "a drain is blocked by a disruption budget, or the infrastructure remains",
    },
    Row {
        pattern: "*.infrastructure.cluster.x-k8s.io",
        who: "the Cluster API infrastructure provider",
        stuck: "the infrastructure remains",
    },
    Row { pattern: "karpenter.sh/termination", who: "Karpenter", stuck: "its pods cannot be drained" },
    Row {
        pattern: "*.ceph.rook.io",
        who: "the Rook operator",
        stuck: "dependents or data remain, and there is no cleanup policy",
    },
    Row {
        pattern: "prot.podopslifecycle.kusionstack.io/*",
        who: "the traffic controller of the pod",
        stuck: "the pod is still registered in a load balancer",
    },
];

pub(crate) fn owner(name: &str) -> Owner {
    if let Some(row) = ROWS.iter().find(|row| matches(row.pattern, name)) {
        return Owner { who: row.who.to_owned(), stuck: row.stuck, next: format!("look at {}", row.who) };
    }
    let group = name.split('/').next().unwrap_or(name);
    Owner {
        who: format!("the controller of {group}"),
        stuck: "it has not done its cleanup; is it still installed and running?",
        next: format!("check that the operator of {group} runs; without it nobody cleans up"),
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(start)) => name.starts_with(start),
        _ => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_unknown_finalizers_have_an_owner() {
        assert_eq!(owner("kubernetes.io/pvc-protection").who, "the PVC protection controller");
        assert_eq!(owner("external-attacher/ebs-csi").who, "the CSI attacher");
        assert_eq!(owner("machine.cluster.x-k8s.io").who, "Cluster API");
        assert_eq!(owner("databases.example.com/cleanup").who, "the controller of databases.example.com");
    }
}

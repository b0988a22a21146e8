//! Real kubectl against the sandbox. Skipped, loudly, where there is none.

use std::process::Command;

use sandbox_server::Sandbox;

struct Kubectl<'a> {
    sandbox: &'a Sandbox,
    home: tempfile::TempDir,
    program: std::path::PathBuf,
}

impl Kubectl<'_> {
    fn run(&self, words: &str) -> (bool, String) {
        let mut command = Command::new(&self.program);
        command.args(words.split_whitespace()).env("KUBECONFIG", self.sandbox.kubeconfig());
        command.env("HOME", self.home.path()).current_dir(self.home.path());
        let output = command.output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text)
    }

    fn good(&self, words: &str, expected: &str) {
        let (success, text) = self.run(words);
        assert!(success && text.contains(expected), "kubectl {words}\n{text}");
    }

    fn bad(&self, words: &str, expected: &str) {
        let (success, text) = self.run(words);
        assert!(!success && text.contains(expected), "kubectl {words}\n{text}");
    }
}

const APP: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:v1", ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
"#;

#[test]
fn an_application_by_hand() {
    let Some(folder_of_kubectl) = testenv::binary() else {
        eprintln!("SKIPPED: no kubectl; run `cargo xtask testenv build`");
        assert!(std::env::var_os("KUSION_REQUIRE_TESTENV").is_none(), "the control plane is required");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let sandbox = crate::start(folder.path());
    let program = folder_of_kubectl.join("kubectl");
    let kubectl = Kubectl { sandbox: &sandbox, home: tempfile::tempdir().unwrap(), program };
    std::fs::write(kubectl.home.path().join("app.yaml"), APP).unwrap();
    kubectl.good("create namespace shop", "created");
    kubectl.good("apply -f app.yaml", "deployment.apps/web created");
    kubectl.good("rollout status -n shop deploy/web --timeout=30s", "successfully rolled out");
    kubectl.good("get pods -n shop", "Running");
    kubectl.good("apply -f app.yaml", "unchanged");
    kubectl.bad(
        "apply --server-side -f app.yaml --field-manager=other --dry-run=server --validate=strict -n nowhere",
        "",
    );
    kubectl.good("diff -f app.yaml", "");
    kubectl.good("set image -n shop deploy/web main=web:v2", "image updated");
    kubectl.good("rollout status -n shop deploy/web --timeout=30s", "successfully rolled out");
    kubectl.good("rollout history -n shop deploy/web", "REVISION");
    kubectl.good("rollout undo -n shop deploy/web", "rolled back");
    kubectl.good("scale -n shop deploy/web --replicas=3", "scaled");
    kubectl.good(
        "wait -n shop deploy/web --for=jsonpath={.status.availableReplicas}=3 --timeout=30s",
        "condition met",
    );
    kubectl.good("label -n shop deploy/web tier=front", "labeled");
    kubectl.good("annotate -n shop deploy/web note=x", "annotated");
    kubectl.good("patch -n shop deploy/web --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":1}]", "patched");
    kubectl.good("create configmap -n shop c --from-literal=a=1", "created");
    kubectl.good("create secret generic -n shop s --from-literal=a=1", "created");
    kubectl.good("get all -n shop", "service/web");
    kubectl.good("describe -n shop deploy/web", "ScalingReplicaSet");
    kubectl.good("explain deployment.spec.replicas", "integer");
    kubectl.good("auth can-i create pods", "yes");
    kubectl.good("api-resources", "deployments");
    kubectl.bad("get pods -n shop nothing", "not found");
    kubectl.good("delete deploy -n shop web --timeout=60s", "deleted");
    kubectl.good("delete namespace shop --timeout=60s", "deleted");
    kubectl.bad("get namespace shop", "not found");
}

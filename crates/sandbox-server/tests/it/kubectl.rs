//! Real kubectl against the sandbox. Skipped, loudly, where there is none.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

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

/// The real kubectl; none, loudly, where it was not built.
fn program() -> Option<std::path::PathBuf> {
    let folder = testenv::binary();
    if folder.is_none() {
        testenv::skip("there is no kubectl; run `cargo xtask testenv build`");
    }
    folder.map(|folder| folder.join("kubectl"))
}

#[test]
fn an_application_by_hand() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let sandbox = crate::start(folder.path());
    let kubectl = Kubectl { sandbox: &sandbox, home: tempfile::tempdir().unwrap(), program };
    std::fs::write(kubectl.home.path().join("app.yaml"), APP).unwrap();
    kubectl.good("create namespace shop", "created");
    kubectl.good("apply -f app.yaml", "deployment.apps/web created");
    kubectl.good("rollout status -n shop deploy/web --timeout=300s", "successfully rolled out");
    kubectl.good("get pods -n shop", "Running");
    kubectl.good("apply -f app.yaml", "unchanged");
    kubectl.bad(
        "apply --server-side -f app.yaml --field-manager=other --dry-run=server --validate=strict -n nowhere",
        "",
    );
    kubectl.good("diff -f app.yaml", "");
    kubectl.good("set image -n shop deploy/web main=web:v2", "image updated");
    kubectl.good("rollout status -n shop deploy/web --timeout=300s", "successfully rolled out");
    kubectl.good("rollout history -n shop deploy/web", "REVISION");
    kubectl.good("rollout undo -n shop deploy/web", "rolled back");
    kubectl.good("scale -n shop deploy/web --replicas=3", "scaled");
    kubectl.good(
        "wait -n shop deploy/web --for=jsonpath={.status.availableReplicas}=3 --timeout=300s",
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
    kubectl.good("delete deploy -n shop web --timeout=300s", "deleted");
    kubectl.good("delete namespace shop --timeout=300s", "deleted");
    kubectl.bad("get namespace shop", "not found");
}

const POD: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: main
    image: web:v1
    env: [{name: PLACE, value: here and there}]
    ports: [{containerPort: 8080}]
    volumeMounts: [{name: settings, mountPath: /etc/app}]
  volumes: [{name: settings, configMap: {name: settings}}]
"#;

#[test]
fn exec_and_port_forward_by_hand() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let sandbox = crate::start(folder.path());
    let kubectl = Kubectl { sandbox: &sandbox, home: tempfile::tempdir().unwrap(), program };
    std::fs::write(kubectl.home.path().join("pod.yaml"), POD).unwrap();
    kubectl.good("apply -f pod.yaml", "pod/web created");
    kubectl.good("wait --for=condition=Ready pod/web --timeout=300s", "condition met");
    kubectl.good("exec web -- echo hello", "hello\n");
    kubectl.good("exec web -- cat /etc/app/colour", "blue");
    kubectl.good("exec web -- printenv PLACE", "here and there\n");
    kubectl.bad("exec web -- false", "exit code 1");
    kubectl.bad("exec web -- nginx -t", "exit code 127");
    kubectl.bad("exec nothing -- echo hello", "not found");
    kubectl.bad("exec web -c other -- echo hello", "other");
    let typed = kubectl.typed("exec -i web -- cat", "from standard input");
    assert_eq!(typed, "from standard input");
    forward(&kubectl);
}

impl Kubectl<'_> {
    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words.split_whitespace()).env("KUBECONFIG", self.sandbox.kubeconfig());
        command.env("HOME", self.home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    fn typed(&self, words: &str, input: &str) -> String {
        let mut child = self.command(words).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }
}

fn forward(kubectl: &Kubectl<'_>) {
    let mut child = kubectl.command("port-forward pod/web :8080").spawn().unwrap();
    let mut line = String::new();
    // Kept open: kubectl goes on talking.
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    let address = line.split_whitespace().nth(2).unwrap();
    // Two connections, one of them with two requests.
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(
            answer.matches("pod web in namespace default, container main of image web:v1").count(),
            2,
            "{answer}"
        );
    }
    let _ = child.kill();
    let _ = child.wait();
}

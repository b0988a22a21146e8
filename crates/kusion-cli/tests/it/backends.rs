//! Every command that touches state, on every backend: PostgreSQL, an S3 server and a cluster, all real (the cluster is the
//! sandbox where the control plane is not built, and says so); the stack itself runs on a sandbox.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use testenv::services::{S3_BUCKET, S3_LOGIN};

use crate::{kusion, run, text};

/// A stack on a sandbox, whose state is at an address.
struct Shop {
    folder: tempfile::TempDir,
    _sandbox: sandbox_server::Sandbox,
    kubeconfig: String,
    backend: String,
}

const PROGRAM: &str = "resources = [{\n    apiVersion = \"v1\"\n    kind = \"ConfigMap\"\n    \
                       metadata = {name = n, namespace = \"default\"}\n    data = {mode = \"one\"}\n} for n in [\"a\", \"b\"]]\n";

impl Shop {
    fn new(backend: &str) -> Shop {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("shop/dev");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(folder.path().join("shop/project.yaml"), "name: shop\n").unwrap();
        std::fs::write(dir.join("stack.yaml"), "name: dev\n").unwrap();
        std::fs::write(dir.join("main.k"), PROGRAM).unwrap();
        let setup = sandbox_server::Setup {
            folder: folder.path().join("sandbox"),
            in_memory: true,
            ..Default::default()
        };
        let sandbox = sandbox_server::Sandbox::start(setup).unwrap();
        let kubeconfig = sandbox.kubeconfig().display().to_string();
        Shop { folder, _sandbox: sandbox, kubeconfig, backend: backend.to_owned() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = kusion(&self.folder.path().join("home"));
        command.current_dir(self.folder.path().join("shop"));
        command.args(words).env("KUSION_KUBECONFIG", &self.kubeconfig);
        command.env("AWS_ACCESS_KEY_ID", S3_LOGIN.0).env("AWS_SECRET_ACCESS_KEY", S3_LOGIN.1);
        if !self.backend.is_empty() {
            command.env("KUSION_BACKEND", &self.backend);
        }
        command
    }

    fn run(&self, words: &[&str], code: i32) -> Output {
        run(&mut self.command(words), code)
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["-o", "json"]].concat(), 0);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{words:?}: {e}: {}", text(&output.stdout)))
    }

    fn set_mode(&self, mode: &str) {
        std::fs::write(self.folder.path().join("shop/dev/main.k"), PROGRAM.replace("one", mode)).unwrap();
    }
}

/// The addresses of the real servers, each with a corner of its own.
pub(crate) fn addresses(corner: &str) -> Vec<String> {
    let mut all = Vec::new();
    let name = format!("{corner}_{}", std::process::id());
    if let Some(server) = testenv::services::postgres() {
        all.push(format!("postgres://test@127.0.0.1:{}/postgres?schema={name}&sslmode=disable", server.port));
    }
    if let Some(server) = testenv::services::s3() {
        all.push(format!("s3://{S3_BUCKET}/{name}?endpoint={}&region=us-east-1", server.endpoint));
    }
    all.push(format!("kubernetes://default/{name}?kubeconfig={}", cluster()));
    all
}

/// The kubeconfig of the cluster that keeps state: not the one that the stack runs on.
fn cluster() -> String {
    static CLUSTER: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let start = || {
        let real = testenv::required() || testenv::attached().is_some() || testenv::binary().is_some();
        if let Some(plane) = real.then(testenv::shared).flatten() {
            return plane.kubeconfig().display().to_string();
        }
        testenv::skip("state on the real API server: it is not built, a sandbox takes its place");
        let folder = tempfile::tempdir().unwrap().keep();
        let setup = sandbox_server::Setup { folder, in_memory: true, ..Default::default() };
        let sandbox = sandbox_server::Sandbox::start(setup).unwrap();
        let file = sandbox.kubeconfig().display().to_string();
        std::mem::forget(sandbox);
        file
    };
    CLUSTER.get_or_init(start).clone()
}

#[test]
fn every_command_works_on_every_backend() {
    for address in addresses("every") {
        let shop = Shop::new(&address);
        shop.run(&["apply", "dev", "-y"], 0);
        shop.set_mode("two");
        let plan = shop.folder.path().join("dev.plan").display().to_string();
        shop.run(&["preview", "dev", "--plan", &plan], 0);
        shop.run(&["apply", "dev", "--plan", &plan], 0);
        assert_eq!(
            shop.json(&["release", "list", "dev"])["releases"].as_array().unwrap().len(),
            2,
            "{address}"
        );
        shop.run(&["status", "dev"], 0);
        shop.run(&["drift", "dev"], 0);
        shop.run(&["rollback", "dev", "--to", "1", "-y"], 0);
        let summary = shop.json(&["state", "show", "dev"]);
        assert_eq!(summary["release"], 3, "{address}: {summary}");
        assert!(
            summary["backend"].as_str().unwrap().starts_with(address.split_once("://").unwrap().0),
            "{summary}"
        );
        by_hand(&shop);
        shop.run(&["state", "rotate", "dev"], 0);
        shop.run(&["state", "repair", "dev", "-y"], 0);
        assert_eq!(shop.json(&["state", "unlock", "dev"])["broken"], false);
        shop.run(&["apply", "dev", "-y"], 0);
        shop.run(&["destroy", "dev", "-y"], 0);
        assert_eq!(shop.json(&["state", "list", "dev"])["resources"], serde_json::json!([]), "{address}");
        assert!(
            !shop.folder.path().join("home/state").exists(),
            "{address}: nothing is kept on this machine"
        );
    }
}

/// pull, rm, push, mv: and what each refuses.
fn by_hand(shop: &Shop) {
    let id = "v1:ConfigMap:default:a";
    let pulled = shop.run(&["state", "pull", "dev"], 0).stdout;
    let file = shop.folder.path().join("pulled.json");
    std::fs::write(&file, &pulled).unwrap();
    let file = file.display().to_string();
    let removed = shop.run(&["state", "rm", "dev", id, "-y"], 0);
    assert!(text(&removed.stdout).contains("stays where it is"), "{}", text(&removed.stdout));
    let refused = shop.run(&["state", "push", "dev", &file, "-y"], 4);
    assert!(text(&refused.stderr).contains("it is older"), "{}", text(&refused.stderr));
    let newest = shop.json(&["state", "pull", "dev"]);
    let mut wanted: Value = serde_json::from_slice(&pulled).unwrap();
    wanted["serial"] = newest["serial"].clone();
    std::fs::write(&file, wanted.to_string()).unwrap();
    shop.run(&["state", "push", "dev", &file, "-y"], 0);
    assert_eq!(shop.json(&["state", "list", "dev"])["resources"].as_array().unwrap().len(), 2);
    let refused = shop.run(&["state", "mv", "dev", id, "v1:ConfigMap:default:c", "-y"], 4);
    assert!(text(&refused.stderr).contains("cannot be recorded as"), "{}", text(&refused.stderr));
    let unknown = shop.run(&["state", "show", "dev", "v1:ConfigMap:default:aa"], 1);
    assert!(
        text(&unknown.stderr).contains("did you mean `v1:ConfigMap:default:a`?"),
        "{}",
        text(&unknown.stderr)
    );
}

#[test]
fn resources_go_from_one_stack_to_another() {
    let shop = Shop::new("");
    let configure = |stack: &str, names: &[&str], secret: bool| {
        let object = |kind: &str, name: &str, data: &str| {
            format!(
                "{{apiVersion = \"v1\", kind = \"{kind}\", metadata = {{name = \"{name}\", namespace = \"default\"}}, {data}}}\n"
            )
        };
        let mut all: String =
            names.iter().map(|name| object("ConfigMap", name, "data.mode = \"one\"")).collect();
        if secret {
            all.push_str(&object("Secret", "s", "stringData.p = \"CANARY-mv-4711\""));
        }
        let dir = shop.folder.path().join("shop").join(stack);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("stack.yaml"), format!("name: {stack}\n")).unwrap();
        std::fs::write(dir.join("main.k"), format!("resources = [\n{all}]\n")).unwrap();
    };
    configure("dev", &["a", "b"], true);
    configure("prod", &[], false);
    shop.run(&["apply", "dev", "-y"], 0);
    let mv = ["state", "mv", "dev", "v1:ConfigMap:default:a", "v1:Secret:default:s", "--to-stack"];
    shop.run(&[&mv[..], &["dev", "-y"]].concat(), 1);
    let before = text(&shop.run(&["state", "pull", "dev"], 0).stdout);
    let moved = shop.run(&[&mv[..], &["prod", "-y"]].concat(), 0);
    assert!(text(&moved.stdout).contains("--take-over"), "{}", text(&moved.stdout));
    let ids = |stack: &str| {
        let listed = shop.json(&["state", "list", stack]);
        let rows = listed["resources"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids("dev"), ["v1:ConfigMap:default:b"]);
    assert_eq!(ids("prod"), ["v1:ConfigMap:default:a", "v1:Secret:default:s"]);
    shop.run(&[&mv[..], &["prod", "-y"]].concat(), 1);
    // Each stack has keys of its own, and neither holds the value.
    let after = text(&shop.run(&["state", "pull", "prod"], 0).stdout);
    let digest = |pulled: &str| pulled.split("(secret)#").nth(1).unwrap()[..32].to_owned();
    assert_ne!(digest(&before), digest(&after));
    assert!(!before.contains("CANARY") && !after.contains("CANARY"));
    configure("dev", &["b"], false);
    configure("prod", &["a"], true);
    let unchanged = shop.run(&["apply", "dev", "-y"], 0);
    assert!(text(&unchanged.stdout).contains("Nothing to do"), "{}", text(&unchanged.stdout));
    let refused = shop.run(&["apply", "prod", "-y"], 4);
    assert!(text(&refused.stderr).contains("shop/dev"), "{}", text(&refused.stderr));
    let taken = shop.run(&["apply", "prod", "-y", "--take-over"], 0);
    assert!(!text(&taken.stdout).contains("secret changed"), "{}", text(&taken.stdout));
    let unchanged = shop.run(&["apply", "prod", "-y"], 0);
    assert!(text(&unchanged.stdout).contains("Nothing to do"), "{}", text(&unchanged.stdout));
}

#[test]
fn state_goes_from_a_folder_over_every_backend_and_back() {
    let mut shop = Shop::new("");
    shop.run(&["apply", "dev", "-y"], 0);
    let home = format!("file://{}", shop.folder.path().join("home").display());
    let mut places = addresses("moving");
    places.push(home);
    for place in places {
        let moved = shop.json(&["state", "migrate", "dev", "--to", &place, "-y"]);
        assert_eq!(moved["before"], false, "{moved}");
        let told = shop.run(&["preview", "dev"], 4);
        assert!(text(&told.stderr).contains("the state is kept elsewhere now"), "{}", text(&told.stderr));
        place.clone_into(&mut shop.backend);
        let unchanged = shop.run(&["apply", "dev", "-y"], 0);
        assert!(text(&unchanged.stdout).contains("Nothing to do"), "{place}: {}", text(&unchanged.stdout));
    }
}

#[test]
fn explain_says_who_won_and_shows_no_credential() {
    let shop = Shop::new("");
    let explain = |shop: &Shop, words: &[&str], env: &[(&str, &str)]| {
        let mut command = shop.command(&[&["config", "explain", "dev", "-o", "json"], words].concat());
        command.envs(env.iter().copied());
        let output = run(&mut command, 0);
        assert!(!text(&output.stdout).contains("canary") && !text(&output.stderr).contains("canary"));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = value["settings"].as_array().unwrap();
        let row = |key: &str| rows.iter().find(|row| row["key"] == key).cloned().unwrap_or_default();
        (row("backend"), row("backend login"))
    };
    assert_eq!(explain(&shop, &[], &[]).0["from"], "KUSION_HOME");
    let home = shop.folder.path().join("home");
    std::fs::create_dir_all(home.join("workspaces")).unwrap();
    std::fs::write(home.join("config.yaml"), "backend: postgres://own.example/state\n").unwrap();
    let workspace = home.join("workspaces/default.yaml");
    std::fs::write(&workspace, "backend: {type: s3, configs: {bucket: shared}}\n").unwrap();
    let (backend, _) = explain(&shop, &[], &[]);
    assert_eq!((&backend["value"], &backend["from"]), (&"s3://shared".into(), &"workspace default".into()));
    std::fs::write(&workspace, "backend: postgres://li:canary@h/d\n").unwrap();
    let refused = shop.run(&["config", "explain", "dev"], 1);
    assert!(text(&refused.stderr).contains("a password stands in a file that others read"));
    std::fs::write(&workspace, "backend: postgres://shared.example/state\n").unwrap();
    let project = shop.folder.path().join("shop/project.yaml");
    std::fs::write(&project, "name: shop\nbackend: postgres://li@db.example/state\n").unwrap();
    let (backend, login) = explain(&shop, &[], &[("PGPASSWORD", "canary")]);
    assert_eq!(backend["value"], "postgres://db.example/state", "{backend}");
    assert!(backend["from"].as_str().unwrap().ends_with("project.yaml"), "{backend}");
    assert_eq!(login["from"], "the variable PGPASSWORD");
    let stack = shop.folder.path().join("shop/dev/stack.yaml");
    std::fs::write(&stack, "name: dev\nbackend: team\n").unwrap();
    let config = shop.folder.path().join("home/config.yaml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    let named =
        "backends:\n  team: {type: s3, configs: {bucket: b, accessKeyID: k, accessKeySecret: canary}}\n";
    std::fs::write(&config, named).unwrap();
    assert_eq!(explain(&shop, &[], &[]).0["value"], "s3://b");
    let variable = [("KUSION_BACKEND", "kubernetes://ops")];
    assert_eq!(explain(&shop, &[], &variable).0["from"], "KUSION_BACKEND");
    let (backend, _) = explain(&shop, &["--backend", "postgres://li:canary@h/d"], &variable);
    assert_eq!((&backend["value"], &backend["from"]), (&"postgres://h/d".into(), &"--backend".into()));
    assert_eq!(backend["over"].as_array().unwrap().len(), 5, "{backend}");
    std::fs::write(&stack, "name: dev\nbackend: postgres://li:canary@h/d\n").unwrap();
    let refused = shop.run(&["config", "explain", "dev"], 1);
    assert!(text(&refused.stderr).contains("a password stands in a file that others read"));
    assert!(!text(&refused.stderr).contains("canary"));
}

#[test]
fn who_only_looks_writes_nothing() {
    let shop = Shop::new("");
    let home = shop.folder.path().join("home");
    for words in [
        vec!["preview", "dev"],
        vec!["preview", "dev", "-o", "json"],
        vec!["status", "dev"],
        vec!["drift", "dev"],
        vec!["diff", "dev"],
        vec!["ls", "dev"],
        vec!["output", "dev"],
        vec!["release", "list", "dev"],
        vec!["state", "list", "dev"],
        vec!["state", "show", "dev"],
    ] {
        // Whatever they say about a stack that has no state.
        let said = shop.command(&words).output().unwrap();
        let written = home.join("state").exists();
        assert!(!written, "{words:?} has written a state: {}", text(&said.stderr));
    }
    // A plan that is kept is sealed by the key of its stack.
    shop.run(&["preview", "dev", "--plan", "../plan"], 0);
    assert!(home.join("state").exists());
    shop.run(&["apply", "dev", "--plan", "../plan"], 0);
}

#[test]
fn states_of_upstream_are_taken_over() {
    let shop = Shop::new("");
    let object = |name: &str| {
        format!(
            "{{id: 'v1:ConfigMap:default:{name}', type: Kubernetes, attributes: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}, data: {{mode: one}}}}}}"
        )
    };
    let secret = "{id: 'v1:Secret:default:s', type: Kubernetes, attributes: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, stringData: {p: CANARY-upstream}}}";
    let unknown = "{id: 'acme:thing:x', type: Acme, attributes: {length: 3}}";
    let releases = shop.folder.path().join("releases");
    std::fs::create_dir_all(&releases).unwrap();
    for (revision, name) in [(2, "old"), (10, "a")] {
        let file = format!(
            "project: shop\nworkspace: default\nrevision: {revision}\nstack: dev\nphase: succeeded\nspec: {{resources: []}}\nstate:\n  resources:\n  - {}\n  - {secret}\n  - {unknown}\n",
            object(name)
        );
        std::fs::write(releases.join(format!("{revision}.yaml")), file).unwrap();
    }
    let folder = releases.display().to_string();
    let done = shop.run(&["state", "import", "dev", &folder, "-y"], 0);
    assert!(text(&done.stderr).contains("acme:thing:x is not taken over"), "{}", text(&done.stderr));
    let listed = shop.json(&["state", "list", "dev"]);
    let ids: Vec<&str> =
        listed["resources"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["v1:ConfigMap:default:a", "v1:Secret:default:s"]);
    let pulled = text(&shop.run(&["state", "pull", "dev"], 0).stdout);
    assert!(!pulled.contains("CANARY"), "secrets in clear become digests: {pulled}");
    let again = shop.run(&["state", "import", "dev", &folder, "-y"], 4);
    assert!(text(&again.stderr).contains("is recorded already"));
    let other = shop.folder.path().join("state.json");
    std::fs::write(&other, "{\"project\": \"else\", \"stack\": \"dev\", \"serial\": 1, \"resources\": []}")
        .unwrap();
    let refused = shop.run(&["state", "import", "dev", &other.display().to_string(), "-y"], 4);
    assert!(text(&refused.stderr).contains("another stack"));
    over_http(&shop);
}

/// Upstream's HTTP backend: a GET for a path made of tenant, project, stack and cluster.
fn over_http(shop: &Shop) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap_or(0);
            let line = String::from_utf8_lossy(&bytes[..read]).lines().next().unwrap_or_default().to_owned();
            let body = "{\"project\":\"shop\",\"stack\":\"dev\",\"serial\":4,\"resources\":[{\"id\":\"v1:ConfigMap:default:b\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\",\"namespace\":\"default\"}}}]}";
            let found = line.contains("/t1/shop/dev/c1 ");
            let (status, body) = if found { ("200 OK", body) } else { ("404 Not Found", "") };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let url = format!("http://{address}/%s/%s/%s/%s");
    shop.run(&["state", "import", "dev", &url, "-y"], 5);
    shop.run(&["state", "import", "dev", &url, "--tenant", "t1", "--cluster", "c1", "-y"], 0);
    assert_eq!(shop.json(&["state", "list", "dev"])["resources"].as_array().unwrap().len(), 3);
}

/// A proxy that can be cut and mended.
fn proxy(target: String) -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, cut) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicBool::new(false)));
    let seen = Arc::clone(&cut);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if seen.load(Ordering::SeqCst) {
                continue;
            }
            let Ok(server) = TcpStream::connect(&target) else { continue };
            for (mut from, mut to) in
                [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
            {
                let cut = Arc::clone(&seen);
                std::thread::spawn(move || {
                    let mut bytes = vec![0; 64 * 1024];
                    while let Ok(n @ 1..) = from.read(&mut bytes) {
                        if cut.load(Ordering::SeqCst) || to.write_all(&bytes[..n]).is_err() {
                            break;
                        }
                    }
                    let _ = from.shutdown(std::net::Shutdown::Both);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    (address, cut)
}

#[test]
fn lost_connection_pauses_with_a_word_then_goes_on_or_ends_cleanly() {
    let Some(server) = testenv::services::postgres() else { return };
    let (socket, cut) = proxy(format!("127.0.0.1:{}", server.port));
    let name = format!("lost_{}", std::process::id());
    let shop = Shop::new(&format!("postgres://test@{socket}/postgres?schema={name}&sslmode=disable"));
    shop.run(&["apply", "dev", "-y"], 0);
    cut.store(true, Ordering::SeqCst);
    let gone = shop.run(&["preview", "dev", "--backend-timeout", "2s"], 5);
    let told = text(&gone.stderr);
    assert!(told.contains("cannot be reached; waiting for it, at most 2 s"), "{told}");
    let mended = Arc::clone(&cut);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(12));
        mended.store(false, Ordering::SeqCst);
    });
    shop.set_mode("two");
    let back = shop.run(&["apply", "dev", "-y", "--backend-timeout", "5m"], 0);
    assert!(text(&back.stderr).contains("can be reached again"), "{}", text(&back.stderr));
    assert_eq!(shop.json(&["release", "list", "dev"])["releases"].as_array().unwrap().len(), 2);
    assert!(Path::new(&shop.kubeconfig).exists());
}

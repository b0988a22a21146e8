//! The command from outside, at random moments: killed, raced, on a server that fails. No object is lost, no success is false, and
//! nothing is left over without a word. What is live is asked of the API server itself, not of the program.
//!
//! `KUSION_STORM=20` makes it twenty times as long: 60 kills, 80 racing applies, 20 stacks among faults, and more of those.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use serde_json::Value;

use crate::stage::Stage;
use crate::text;

/// Whether the program could be wrong about these codes: done, refused, remote, not healthy, partly.
const HONEST: [i32; 5] = [0, 4, 5, 6, 7];

/// Where a run must end well: the short limits of the sandbox are for people who watch it, not for busy machines.
const PATIENT: &str = "--profile default";

fn rounds(short: u64) -> u64 {
    short * std::env::var("KUSION_STORM").ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(1)
}

/// Drawn from a seed (splitmix64): a failure can be had again.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

const NAMESPACE: &str = "storm";

/// What version `v` of the stack has, by kind and name.
fn wanted(v: u64) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = (0..4).map(|i| format!("configmaps/c{i}")).collect();
    names.insert(format!("configmaps/only-{v}"));
    names.extend(["secrets/s".to_owned(), "services/web".to_owned(), "deployments/web".to_owned()]);
    names
}

/// The program of the stack; its version is an argument, so that racing runs need no file of their own.
const MAIN: &str = r#"_v = str(option("v"))
_ns = "storm"
_map = lambda name: str {
    {apiVersion = "v1", kind = "ConfigMap", metadata = {name = name, namespace = _ns}, data = {v = _v}}
}
resources = [
    {apiVersion = "v1", kind = "Namespace", metadata.name = _ns}
    _map("c0"), _map("c1"), _map("c2"), _map("c3"), _map("only-" + _v)
    {apiVersion = "v1", kind = "Secret", metadata = {name = "s", namespace = _ns}, stringData = {v = _v}}
    {
        apiVersion = "v1"
        kind = "Service"
        metadata = {name = "web", namespace = _ns}
        spec = {selector = {app = "web"}, ports = [{port = 80}]}
    }
    {
        apiVersion = "apps/v1"
        kind = "Deployment"
        metadata = {name = "web", namespace = _ns}
        spec = {
            replicas = 1
            selector.matchLabels = {app = "web"}
            template = {
                metadata.labels = {app = "web"}
                spec.containers = [{name = "main", image = "nginx:" + _v}]
            }
        }
    }
]
"#;

fn stage(fault: Option<&str>) -> Stage {
    let files = [("project.yaml", "name: storm\n"), ("dev/stack.yaml", "name: dev\n"), ("dev/main.k", MAIN)];
    Stage::with_fault(&files, fault)
}

/// What lives in the namespace, by kind and name, with the version that it carries.
fn live(stage: &Stage) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (path, kind) in [
        ("api/v1", "configmaps"),
        ("api/v1", "secrets"),
        ("api/v1", "services"),
        ("apis/apps/v1", "deployments"),
    ] {
        let list = stage.get(&format!("/{path}/namespaces/{NAMESPACE}/{kind}"));
        for item in list["items"].as_array().unwrap_or(&Vec::new()) {
            let name = item["metadata"]["name"].as_str().unwrap().to_owned();
            if name == "kube-root-ca.crt" || name.starts_with("kusion-state.") {
                continue;
            }
            let image = item.pointer("/spec/template/spec/containers/0/image").and_then(Value::as_str);
            let version = item.pointer("/data/v").and_then(Value::as_str).or(image).unwrap_or_default();
            let version = match kind {
                "secrets" => text(&BASE64.decode(version.as_bytes()).unwrap()),
                _ => version.trim_start_matches("nginx:").to_owned(),
            };
            found.insert(format!("{kind}/{name}"), version);
        }
    }
    found
}

/// Everything of this version and nothing else is live, and the program says so too.
fn assert_version(stage: &Stage, v: u64, context: &str) {
    let live = live(stage);
    let names: BTreeSet<String> = live.keys().cloned().collect();
    assert_eq!(names, wanted(v), "{context}: lost or left over");
    for (name, found) in live.iter().filter(|(name, _)| !name.starts_with("services/")) {
        assert_eq!(*found, v.to_string(), "{context}: {name}");
    }
    stage.call(&format!("preview dev --exit-code -D v={v}"), 0);
}

fn start(stage: &Stage, words: &str) -> Child {
    stage.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ends by itself; the code and what was said.
fn ended(child: Child) -> (i32, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn killed_at_any_moment_the_next_run_mends_it() {
    let stage = stage(None);
    // How long an apply takes on this machine; how it ends is not judged.
    let started = Instant::now();
    ended(start(&stage, "apply dev -y -D v=1"));
    let whole = started.elapsed();
    let mut draw = Draw(14);
    let mut in_the_middle = 0;
    for round in 0..rounds(3) {
        let v = round + 2;
        let apply = format!("apply dev -y -D v={v}");
        // Everything is written in the first moments; then an apply waits for health.
        let (work, room) = match draw.below(6) {
            0 => ("destroy dev -y".to_owned(), whole / 8),
            1..=3 => (apply.clone(), whole / 8),
            _ => (apply.clone(), whole),
        };
        let mut child = start(&stage, &work);
        std::thread::sleep(room * draw.below(1000) as u32 / 1000);
        in_the_middle += u64::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        let (code, told) = ended(start(&stage, &format!("{apply} {PATIENT}")));
        assert_eq!(code, 0, "round {round}, after a kill of `{work}`: {told}");
        assert_version(&stage, v, &format!("round {round}, after a kill of `{work}`"));
    }
    let history: Value = serde_json::from_str(&stage.out("release list dev -o json", 0)).unwrap();
    assert!(!history.to_string().contains("\"applying\""), "no release is open for ever: {history}");
    println!("{in_the_middle} of {} were killed in the middle", rounds(3));
    assert!(in_the_middle > 0, "every run had ended before its kill: {whole:?} is too long");
}

#[test]
fn racing_applies_leave_what_one_of_them_says() {
    let stage = stage(None);
    let mut draw = Draw(12);
    let (mut done, mut refused) = (0, 0);
    for round in 0..rounds(1) {
        let versions: Vec<u64> = (1..=4).map(|i| round * 4 + i).collect();
        let children: Vec<(u64, Child)> = versions
            .iter()
            .map(|v| {
                std::thread::sleep(Duration::from_millis(draw.below(60)));
                let wait = if draw.below(2) == 0 { "" } else { " --lock-timeout 2m" };
                (*v, start(&stage, &format!("apply dev -y -D v={v}{wait} {PATIENT}")))
            })
            .collect();
        let ends: Vec<(u64, i32, String)> = children
            .into_iter()
            .map(|(v, child)| {
                let (code, told) = ended(child);
                (v, code, told)
            })
            .collect();
        for (v, code, told) in &ends {
            assert!([0, 4].contains(code), "round {round}, version {v}: {code}: {told}");
            assert!(*code == 0 || told.contains("next"), "{told}");
        }
        done += ends.iter().filter(|end| end.1 == 0).count();
        refused += ends.iter().filter(|end| end.1 == 4).count();
        let v: u64 = live(&stage)["configmaps/c0"].parse().unwrap();
        assert!(
            ends.iter().any(|end| end.0 == v && end.1 == 0),
            "round {round}: {v} did not say that it succeeded"
        );
        assert_version(&stage, v, &format!("round {round}"));
    }
    println!("{done} succeeded, {refused} were told to wait");
}

#[test]
fn racing_stacks_never_write_on_each_others_objects() {
    let stage = stage(None);
    let shared = |side: &str| {
        format!(
            "resources = [{{apiVersion = \"v1\", kind = \"ConfigMap\", metadata = {{name = \"m${{i}}\", namespace = \"default\"}}, \
             data = {{side = \"{side}\"}}}} for i in range(6)]\n"
        )
    };
    for side in ["a", "b"] {
        stage.write(&format!("{side}/project.yaml"), &format!("name: {side}\n"));
        stage.write(&format!("{side}/dev/stack.yaml"), "name: dev\n");
        stage.write(&format!("{side}/dev/main.k"), &shared(side));
    }
    let mut met = 0;
    for round in 0..rounds(2) {
        let children = ["a", "b"].map(|side| start(&stage, &format!("apply {side}/dev -y")));
        let ends = children.map(ended);
        let list = stage.get("/api/v1/namespaces/default/configmaps");
        let mut won = [0, 0];
        for item in list["items"].as_array().unwrap().iter().filter(|item| item["data"].get("side").is_some())
        {
            let at = usize::from(item["data"]["side"] == "b");
            let owner = ["a/dev/default", "b/dev/default"][at];
            assert_eq!(item["metadata"]["annotations"]["kusion.io/owner"], owner, "round {round}: {item}");
            won[at] += 1;
        }
        assert_eq!(won[0] + won[1], 6, "round {round}: {ends:?}");
        for ((code, told), won) in ends.iter().zip(won) {
            assert_eq!(*code == 0, won == 6, "round {round}: {code} with {won} objects: {told}");
            assert!(HONEST.contains(code), "round {round}: {told}");
        }
        met += u64::from(won[0] > 0 && won[1] > 0);
        for side in ["a", "b"] {
            stage.call(&format!("destroy {side}/dev -y"), 0);
        }
        let left = stage.get("/api/v1/namespaces/default/configmaps").to_string();
        assert!(!left.contains("\"side\""), "round {round}: {left}");
    }
    println!("in {met} of {} rounds both had made something", rounds(2));
}

#[test]
fn among_faults_no_success_is_false() {
    let mut draw = Draw(13);
    let (mut at_once, mut told) = (0, 0);
    // Many faults mean long waits between tries: there are few in a short storm.
    let more = if rounds(1) > 1 { 16 } else { 4 };
    for round in 0..rounds(1) {
        let share = 5 + draw.below(more);
        let fault = format!(
            "seed={round} verb=write chance={share}% error=503; verb=write chance={share}% lost; chance={share}% drop; \
             verb=read chance={share}% error=500; chance={share}% delay=150; verb=watch chance={share}% watch-drop=1; \
             verb=write chance={share}% conflict"
        );
        let stage = stage(Some(&fault));
        for v in 1..=2 {
            let mut code = -1;
            for _ in 0..12 {
                let said;
                (code, said) = ended(start(&stage, &format!("apply dev -y -D v={v}")));
                assert!(HONEST.contains(&code), "round {round}, {share} %: {code}: {said}");
                match code {
                    0 => break,
                    _ => assert!(said.contains("next") || said.contains("failed"), "{said}"),
                }
                told += 1;
            }
            at_once += u64::from(code == 0);
            assert_eq!(code, 0, "round {round}, {share} %: it never ends well");
            let live: BTreeSet<String> = live(&stage).into_keys().collect();
            assert_eq!(live, wanted(v), "round {round}, {share} %, version {v}");
        }
        let gone = (0..12).any(|_| ended(start(&stage, "destroy dev -y")).0 == 0);
        assert!(gone, "round {round}: destroy never ends well");
        assert_eq!(live(&stage), BTreeMap::new(), "round {round}: left over after a destroy that succeeded");
    }
    println!("{at_once} applies ended well, {told} runs said that they had not");
}

impl Stage {
    /// Asks the API server for a list, beside the program; one that fails now and then is asked again.
    fn get(&self, path: &str) -> Value {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer = runtime.block_on(async {
            let client = kusion::connect(Some(self.kubeconfig()), None).await.unwrap().client;
            for _ in 0..60 {
                let request = http::Request::get(path).body(Vec::new()).unwrap();
                let answer: Value = client.request(request).await.unwrap_or_default();
                if answer["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) {
                    return Some(answer);
                }
            }
            None
        });
        answer.unwrap_or_else(|| panic!("{path} is never answered"))
    }
}

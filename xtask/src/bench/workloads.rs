//! Generators of the bench workloads; each takes a scale, 1 being the size that is judged, and 10 the growth test.
//!
//! The sizes were chosen so that the released wheel takes roughly 0.2, 0.8, 2–6, 0.65 and 3 seconds on rows 2 to 6.

use std::fmt::Write;
use testkit::{Flags, Program, SourceText};

/// One row of the table.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// Ours may take this share of the oracle's time.
    pub(super) limit: f64,
    /// How often the program runs in one sample; if more than once, in one process, and the scale multiplies this.
    pub(super) runs: u32,
    /// Makes the programs of a sample from a scale.
    pub(super) make: fn(usize) -> Program,
}

/// Rows 2 to 8; row 1 is the start of the process, the last row is in [`super::stacks`].
pub(super) const WORKLOADS: &[Workload] = &[
    Workload { name: "dict comprehension, 10,000 keys", limit: 0.10, runs: 1, make: comprehension },
    Workload { name: "1,000 Deployments by a lambda", limit: 0.10, runs: 1, make: deployments },
    Workload { name: "100,000 lines, 25,000 dicts", limit: 0.10, runs: 1, make: long_file },
    Workload { name: "import of 600 schemas, 60,000 lines", limit: 0.10, runs: 1, make: big_package },
    Workload { name: "200 overlays of 2,000 fields", limit: 0.10, runs: 1, make: overlays },
    Workload { name: "200 overlays of 500 fields by `|`", limit: 0.10, runs: 1, make: overlays_by_union },
    Workload { name: "1,000 programs, one model package", limit: 0.05, runs: 1000, make: small_program },
];

fn one_file(text: String) -> Program {
    Program::single(text)
}

fn with_package(main: String, package: String) -> Program {
    let file = |path: &str, text, entry| SourceText { path: path.into(), text, entry };
    Program {
        files: vec![file("model/model.k", package, false), file("main.k", main, true)],
        flags: Flags::default(),
    }
}

fn comprehension(scale: usize) -> Program {
    let count = 10_000 * scale;
    one_file(format!(
        "d = {{\"key-${{i}}\": {{name = \"name-${{i}}\", value = \"${{i * 2}}\", even = i % 2 == 0}} for i in range({count})}}\n"
    ))
}

const DEPLOYMENT: &str = r#"schema Port:
    name: str = "http"
    containerPort: int
    protocol: "TCP" | "UDP" = "TCP"
    check:
        0 < containerPort < 65536, "port ${containerPort} is out of range"

schema Container:
    name: str
    image: str
    ports?: [Port]
    env?: {str:str}
    cpu: str = "100m"
    memory: str = "128Mi"
    check:
        len(name) > 0, "a container needs a name"
        ":" in image, "an image needs a tag"

schema Metadata:
    name: str
    namespace: str = "default"
    labels: {str:str} = {}
    annotations?: {str:str}
    check:
        len(name) <= 63

schema DeploymentSpec:
    replicas: int = 1
    selector: {str:str}
    containers: [Container]
    check:
        replicas >= 0
        len(containers) > 0

schema Deployment:
    apiVersion: "apps/v1" = "apps/v1"
    kind: "Deployment" = "Deployment"
    metadata: Metadata
    spec: DeploymentSpec

deployment = lambda name: str, index: int -> Deployment {
    Deployment {
        metadata = {
            name = name
            labels = {app = name, tier = "backend" if index % 2 == 0 else "frontend"}
            annotations = {"example.org/owner" = "team-${index % 7}"}
        }
        spec = {
            replicas = index % 5 + 1
            selector = {app = name}
            containers = [
                Container {
                    name = "main"
                    image = "registry.local/${name}:v${index}"
                    ports = [Port {containerPort = 8000 + index % 1000}, Port {name = "admin", containerPort = 9000}]
                    env = {NAME = name, INDEX = str(index)}
                }
                Container {
                    name = "sidecar"
                    image = "registry.local/proxy:1.0"
                    memory = "64Mi"
                    ports = [Port {name = "proxy", containerPort = 15000}]
                }
            ]
        }
    }
}

"#;

fn deployments(scale: usize) -> Program {
    let count = 1000 * scale;
    one_file(format!("{DEPLOYMENT}deployments = [deployment(\"app-${{i}}\", i) for i in range({count})]\n"))
}

fn long_file(scale: usize) -> Program {
    let mut text = String::new();
    for i in 0..25_000 * scale {
        // Writing to a String cannot fail.
        let _ = write!(text, "d{i}: {{str:}} = {{\n    name = \"n{i}\"\n    ports = [{i}, 80, 443]\n}}\n");
    }
    one_file(text)
}

const TYPES: &[&str] = &["str", "int", "bool", "[str]", "{str:str}"];

pub(super) fn model(schemas: usize, fields: usize, doc_lines: usize) -> String {
    let mut text = String::new();
    for i in 0..schemas {
        let _ = write!(text, "schema Model{i}:\n    \"\"\"\n");
        for line in 0..doc_lines {
            let _ =
                writeln!(text, "    Model{i} is one of the schemas of the package, line {line} of its text.");
        }
        text.push_str("    \"\"\"\n");
        for j in 0..fields {
            let _ = writeln!(text, "    field{j}?: {}", TYPES[j % TYPES.len()]);
        }
        if i > 0 {
            let _ = writeln!(text, "    inner?: Model{}", i - 1);
        }
        text.push_str("    name: str\n    replicas: int = 1\n    check:\n        replicas > 0, \"replicas must be positive\"\n\n");
    }
    text
}

fn big_package(scale: usize) -> Program {
    let main = "import model\n\na = model.Model0 {\n    name = \"a\"\n}\nb = model.Model599 {\n    name = \"b\"\n    \
        field1 = 3\n    inner = {name = \"c\", field3 = [\"x\"]}\n}\n";
    with_package(main.into(), model(600 * scale, 46, 44))
}

fn field_type(j: usize) -> &'static str {
    ["int", "str", "[int]", "{str:int}"][j % 4]
}

fn field_value(j: usize) -> String {
    match j % 4 {
        0 => j.to_string(),
        1 => format!("\"v{j}\""),
        2 => format!("[{j}]"),
        _ => format!("{{k = {j}}}"),
    }
}

/// 200 unification statements, each of which sets every fourth field. The growth test has ten times as many.
fn overlays(scale: usize) -> Program {
    let mut text = String::from("schema Big:\n");
    for j in 0..2000 {
        let _ = writeln!(text, "    f{j}: {} = {}", field_type(j), field_value(j));
    }
    for i in 0..200 * scale {
        text.push_str("big: Big {\n");
        for j in (i % 4..2000).step_by(4) {
            let _ = writeln!(text, "    f{j} = {}", field_value(j));
        }
        text.push_str("}\n");
    }
    one_file(text)
}

/// The same by the operator: every overlay runs the schema again.
fn overlays_by_union(scale: usize) -> Program {
    let mut text = String::from("schema Big:\n");
    for j in 0..500 {
        let _ = writeln!(text, "    f{j}: {} = {}", field_type(j), field_value(j));
    }
    text.push_str("_b0 = Big {}\n");
    let count = 200 * scale;
    for i in 0..count {
        let (one, two) = (i * 4 % 500, (i * 4 + 3) % 500);
        let _ = writeln!(
            text,
            "_b{} = _b{i} | {{f{one} = {}, f{two} = {}}}",
            i + 1,
            field_value(one),
            field_value(two)
        );
    }
    let _ = writeln!(text, "big = _b{count}");
    one_file(text)
}

fn small_program(_scale: usize) -> Program {
    let main = "import model\n\na = model.Model3 {\n    name = \"a\"\n    field1 = 3\n}\nb = [model.Model4 {name = \"x${i}\"} for i in range(3)]\n";
    with_package(main.into(), model(60, 40, 1))
}

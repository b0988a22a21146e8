//! `kcl krm`: by itself, as kustomize calls it, and as Helm calls a post-renderer.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod support;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::{err, out, write};

fn krm(folder: &Path, words: &[&str], input: &str) -> Output {
    krm_in(folder, words, input, &[])
}

fn krm_in(folder: &Path, words: &[&str], input: &str, variables: &[(&str, &str)]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kcl"))
        .arg("krm")
        .args(words)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A call that is refused does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn list(config: &str) -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  apiVersion: krm.kcl.dev/v1alpha1\n  kind: KCLRun\n  \
         metadata:\n    name: labels\n  spec:\n{config}items:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n  data:\n    n: \"1\"\n"
    )
}

const LABELS: &str =
    "items = [item | {metadata.labels.env = option(\"params\").env} for item in option(\"items\")]\n";

#[test]
fn a_program_in_the_function_config_replaces_the_items() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("    params: {{env: prod}}\n    source: |\n      {LABELS}");
    let output = krm(folder.path(), &[], &list(&config));
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    assert!(text.starts_with("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"), "{text}");
    let items = text.split_once("\nitems:\n").unwrap().1;
    assert_eq!(
        items,
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    labels:\n      env: prod\n  data:\n    'n': '1'\n"
    );
    // The command line wins.
    let output = krm(folder.path(), &["-D", "env=dev"], &list(&config));
    assert!(out(&output).contains("env: dev"), "{}", out(&output));
}

#[test]
fn what_a_program_prints_is_added_and_paths_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let program = "apiVersion = \"v1\"\nkind = \"Namespace\"\nmetadata = {name = \"b\"}\nn = len(option(\"resource_list\").items)\n";
    write(folder.path(), &[("lib/add.k", program)]);
    for words in [&["--source", "lib/add.k"][..], &["--source", "lib"]] {
        let output = krm(folder.path(), words, &list("    {}\n"));
        assert!(output.status.success(), "{}", err(&output));
        assert!(
            out(&output)
                .ends_with("- apiVersion: v1\n  kind: Namespace\n  metadata:\n    name: b\n  'n': 1\n"),
            "{}",
            out(&output)
        );
    }
}

#[test]
fn documents_beside_the_one_that_sets_items_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let program = "import manifests\n_made = lambda kind: str -> {str:} {{apiVersion = \"v1\", kind = kind}}\n\
                   manifests.yaml_stream([_made(\"A\"), {items = [_made(\"B\")]}, _made(\"C\"), {items = [_made(\"D\")]}])\n";
    let input = "apiVersion: v1\nkind: Gone\n";
    let output = krm(folder.path(), &["--manifests", "--source", program], input);
    assert!(output.status.success(), "{}", err(&output));
    let kinds: String = out(&output).lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(kinds, "BDAC", "{}", out(&output));
    let wrong = program.replace("_made(\"C\")", "{a = 1}");
    let output = krm(folder.path(), &["--manifests", "--source", &wrong], input);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("item 3 of the result is no resource"), "{}", err(&output));
}

#[test]
fn results_of_a_program_are_passed_on() {
    let dir = tempfile::tempdir().unwrap();
    let input = list(
        "    source: |\n      items = option(\"items\")\n      results = [{message = \"old\", severity = \"warning\"}]\n",
    );
    let output = krm(dir.path(), &[], &input);
    assert!(
        out(&output).ends_with("results:\n- message: old\n  severity: warning\n"),
        "{}{}",
        out(&output),
        err(&output)
    );
    let told = |message: &str| format!("{{items = [], results = [{{message = \"{message}\"}}]}}");
    let program = format!("import manifests\nmanifests.yaml_stream([{}, {}])\n", told("one"), told("two"));
    let output = krm(dir.path(), &["--source", &program], "kind: ResourceList");
    assert!(
        out(&output).contains("results:\n- message: one\n- message: two\n"),
        "{}{}",
        out(&output),
        err(&output)
    );
    let output = krm(dir.path(), &["--source", "items = []\nresults = 5"], "kind: ResourceList");
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("`results` of the program is no list of results"), "{}", err(&output));
}

#[test]
fn wrong_input_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (words, input, message) in [
        (&[][..], "kind: Pod\n", "no ResourceList"),
        (&[], "a: [\n", "no YAML"),
        (&[], "kind: ResourceList\n", "there is no program"),
        (&["--source", "nope.k"], "kind: ResourceList\n", "no program at nope.k"),
        (&["--source", "items = [{a = 1}]"], "kind: ResourceList\n", "no `apiVersion`"),
        (&["--source", "items = 7"], "kind: ResourceList\n", "no list of resources"),
        (&["--source", "a: int = \"x\""], "kind: ResourceList\n", "E2G22"),
        (&["--source", "import file\na = file.write(\"x\", \"y\")"], "kind: ResourceList\n", "error"),
        (&["more"], "", "one word too many"),
    ] {
        let output = krm(folder.path(), words, input);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(err(&output).contains(message), "{words:?}: {}", err(&output));
        assert_eq!(out(&output), "");
    }
}

#[test]
fn manifests_are_filtered() {
    let folder = tempfile::tempdir().unwrap();
    let input = "# Source: a\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: B\nmetadata: {name: b}\n";
    let output = krm(folder.path(), &["--manifests", "--source", LABELS, "-D", "env=prod"], input);
    assert!(output.status.success(), "{}", err(&output));
    let item = |kind: &str, name: &str| {
        format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n  labels:\n    env: prod")
    };
    assert_eq!(out(&output), format!("{}\n---\n{}\n", item("A", "a"), item("B", "b")));
}

/// A registry with the package `labels`, which needs the package `names`.
fn registry(folder: &Path) -> Option<testenv::packages::RegistryServer> {
    let registry = testenv::packages::RegistryServer::start(&Default::default())?;
    let host = &registry.host;
    let needs =
        format!("\n[dependencies]\nnames = {{ oci = \"oci://{host}/team/names\", tag = \"0.1.0\" }}\n");
    let module =
        |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{rest}");
    write(
        folder,
        &[
            ("names/kcl.mod", &module("names", "")),
            ("names/names.k", "prefix = \"team-\"\n"),
            ("labels/kcl.mod", &module("labels", &needs)),
            (
                "labels/main.k",
                "import names\n\nitems = [item | {metadata.labels.env = names.prefix + option(\"params\").env} for item in option(\"items\")]\n",
            ),
        ],
    );
    for name in ["names", "labels"] {
        let pushed = Command::new(env!("CARGO_BIN_EXE_kcl"))
            .args(["mod", "push", &format!("oci://{host}/team/{name}")])
            .current_dir(folder.join(name))
            .env("KCL_PKG_PATH", folder.join("store"))
            .output()
            .unwrap();
        assert!(pushed.status.success(), "{}", err(&pushed));
    }
    Some(registry)
}

#[test]
fn a_program_comes_from_a_registry_with_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let Some(registry) = registry(folder.path()) else { return };
    let fresh = folder.path().join("fresh");
    let source = |tag: &str| format!("oci://{}/team/labels{tag}", registry.host);
    let call = |source: &str| {
        let config = format!("    params: {{env: prod}}\n    source: {source}\n");
        // A store of its own: nothing is there but what the registry gives.
        krm_in(folder.path(), &[], &list(&config), &[("KCL_PKG_PATH", fresh.to_str().unwrap())])
    };
    for tag in [":0.1.0", "?tag=0.1.0", ""] {
        let output = call(&source(tag));
        assert!(output.status.success(), "{tag}: {}", err(&output));
        assert!(out(&output).contains("      env: team-prod\n"), "{tag}: {}", out(&output));
    }
    let output = call(&source(":9.9.9"));
    assert_eq!((output.status.code(), out(&output)), (Some(1), ""));
    assert!(err(&output).contains("9.9.9"), "{}", err(&output));
    // A tag may have moved: the registry is asked again, and its absence is told.
    let kept = source(":0.1.0");
    drop(registry);
    let output = call(&kept);
    assert_eq!((output.status.code(), out(&output)), (Some(1), ""));
    assert!(err(&output).contains("cannot reach 127.0.0.1"), "{}", err(&output));
}

#[test]
fn kustomize_calls_it() {
    let Some(kustomize) = testenv::needed("kustomize") else { return };
    let folder = tempfile::tempdir().unwrap();
    let kcl = env!("CARGO_BIN_EXE_kcl");
    // kustomize starts an executable without words: a script gives it the sub-command.
    write(
        folder.path(),
        &[
            ("kustomization.yaml", "resources: [a.yaml]\ntransformers: [labels.yaml]\n"),
            ("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
            (
                "labels.yaml",
                "apiVersion: krm.kcl.dev/v1alpha1\nkind: KCLRun\nmetadata:\n  name: labels\n  annotations:\n    config.kubernetes.io/function: |\n      \
                 exec: {path: ./kcl-krm}\nspec:\n  params: {env: prod}\n  source: ./labels.k\n",
            ),
            ("labels.k", LABELS),
            ("kcl-krm", &format!("#!/bin/sh\nexec {kcl} krm\n")),
        ],
    );
    let script = folder.path().join("kcl-krm");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = Command::new(kustomize)
        .args(["build", "--enable-alpha-plugins", "--enable-exec", "."])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(
        out(&output),
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n    env: prod\n  name: a\n"
    );
}

#[test]
fn helm_calls_it_as_a_post_renderer() {
    let Some(helm) = testenv::needed("helm") else { return };
    let folder = tempfile::tempdir().unwrap();
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/helm/kcl/plugin.yaml");
    write(
        folder.path(),
        &[
            ("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 0.1.0\n"),
            (
                "chart/templates/a.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n",
            ),
            ("plugins/kcl/plugin.yaml", &std::fs::read_to_string(plugin).unwrap()),
            ("labels.k", LABELS),
        ],
    );
    let bin = Path::new(env!("CARGO_BIN_EXE_kcl")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = Command::new(helm)
        .args(["template", "shop", "chart", "--post-renderer", "kcl"])
        .args([
            "--post-renderer-args=--source=labels.k",
            "--post-renderer-args=-D",
            "--post-renderer-args=env=prod",
        ])
        .current_dir(folder.path())
        .env("HELM_PLUGINS", folder.path().join("plugins"))
        .env("HOME", folder.path())
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", err(&output));
    assert!(out(&output).contains("name: shop") && out(&output).contains("env: prod"), "{}", out(&output));
}

//! `kusion provider` as a user meets it: the page's own examples, and what goes wrong.

use std::path::Path;

use crate::{kusion, run, text};

const PAGE: &str = include_str!("../../../../docs/providers.md");

/// A project with the files of the page, and a mirror with a package.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let fence =
        |info: &str| PAGE.split(&format!("```{info}\n")).nth(1).unwrap().split("```\n").next().unwrap();
    write("project.yaml", "name: shop\n");
    write("dev/stack.yaml", "name: dev\n");
    write("dev/main.k", fence("python dev/main.k"));
    write("rc", fence("hcl rc"));
    let place = folder.path().join("mirror/registry.opentofu.org/acme/box");
    std::fs::create_dir_all(&place).unwrap();
    // The archive of a package with one file, `terraform-provider-box_v1.0.0`.
    for platform in ["linux_amd64", "linux_arm64", "darwin_arm64", "darwin_amd64"] {
        let name = format!("terraform-provider-box_1.0.0_{platform}.zip");
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/box.zip"), place.join(name))
            .unwrap();
    }
    folder
}

fn call(folder: &Path, words: &str, code: i32) -> String {
    let mut command = kusion(&folder.join("home"));
    command.current_dir(folder).env("TF_CLI_CONFIG_FILE", folder.join("rc")).env("HOME", folder);
    let output = run(command.args(words.split_whitespace()), code);
    format!("{}{}", text(&output.stderr), text(&output.stdout))
}

/// Spaces count once; `*` is anything.
fn agrees(line: &str, wanted: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (line, wanted) = (plain(line), plain(wanted));
    let mut rest = line.as_str();
    let parts: Vec<&str> = wanted.split('*').collect();
    for (at, part) in parts.iter().enumerate() {
        match rest.find(part) {
            Some(found) if at > 0 || found == 0 => rest = &rest[found + part.len()..],
            _ => return false,
        }
    }
    wanted.ends_with('*') || rest.is_empty()
}

#[test]
fn the_commands_of_the_page_print_what_it_says() {
    let folder = project();
    let console = PAGE.split("```console\n").nth(1).unwrap().split("```\n").next().unwrap();
    let mut commands = 0;
    for block in format!("\n{console}").split("\n$ kusion ").skip(1) {
        let (words, wanted) = block.split_once('\n').unwrap();
        let found = call(folder.path(), words, 0);
        let (found, wanted): (Vec<&str>, Vec<&str>) =
            (found.trim_end().lines().collect(), wanted.trim_end().lines().collect());
        assert_eq!(found.len(), wanted.len(), "{words}: {found:#?}");
        for (line, wanted) in found.iter().zip(&wanted) {
            assert!(agrees(line, wanted), "{words}:\n{line}\n{wanted}");
        }
        commands += 1;
    }
    assert_eq!(commands, 4);
}

#[test]
fn a_package_that_is_not_the_locked_one_is_refused() {
    let folder = project();
    call(folder.path(), "provider install dev", 0);
    let lock = folder.path().join(".terraform.lock.hcl");
    let text = std::fs::read_to_string(&lock).unwrap();
    assert!(
        text.contains("provider \"registry.opentofu.org/acme/box\" {\n  version     = \"1.0.0\"\n"),
        "{text}"
    );
    std::fs::write(&lock, text.replace("h1:", "h1:x")).unwrap();
    let told = call(folder.path(), "provider install dev", 3);
    assert!(
        told.contains("is not the package that the lock file names") && told.contains("--upgrade"),
        "{told}"
    );
    assert!(told.contains("kusion provider lock shop/dev --upgrade"), "{told}");
    call(folder.path(), "provider lock dev --upgrade", 0);
    assert!(!std::fs::read_to_string(&lock).unwrap().contains("h1:x"), "what was locked before is gone");
    call(folder.path(), "provider install dev", 0);
    // Another version is locked than the stack wants: nobody uses what nobody locked.
    std::fs::write(&lock, text.replace("\"1.0.0\"", "\"0.9.0\"")).unwrap();
    for (words, code) in [("provider install dev", 3), ("provider list dev", 0), ("preview dev", 5)] {
        let told = call(folder.path(), words, code);
        assert!(told.contains("is locked to 0.9.0"), "{words}: {told}");
    }
    std::fs::write(&lock, "provider {").unwrap();
    let told = call(folder.path(), "provider list dev -o json", 1);
    assert!(told.contains("lock file of providers cannot be read"), "{told}");
}

#[test]
fn an_archive_that_is_not_whole_is_named() {
    let folder = project();
    let mirror = folder.path().join("mirror/registry.opentofu.org/acme/box");
    for entry in std::fs::read_dir(&mirror).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap();
        std::fs::write(entry.path(), &bytes[..bytes.len() / 2]).unwrap();
    }
    let told = call(folder.path(), "provider install dev", 1);
    assert!(
        told.contains(&mirror.display().to_string()) && told.contains("Fetch that archive again"),
        "{told}"
    );
}

#[test]
fn a_provider_without_a_host_or_a_version_is_one_thing_everywhere() {
    let folder = project();
    let main = folder.path().join("dev/main.k");
    let text = std::fs::read_to_string(&main).unwrap();
    let full = "registry.opentofu.org/acme/box/1.0.0";
    assert!(text.contains(full), "{text}");
    std::fs::write(&main, text.replace(full, "acme/box/1.0.0")).unwrap();
    let told = call(folder.path(), "preview dev", 5);
    assert!(told.contains("registry.opentofu.org/acme/box 1.0.0 is not installed"), "{told}");
    call(folder.path(), "provider install dev", 0);
    assert!(
        !call(folder.path(), "preview dev", 5).contains("is not installed"),
        "it is found, and no provider"
    );
    // Without a version neither command sends to the other.
    std::fs::write(&main, text.replace(full, "acme/box")).unwrap();
    std::fs::remove_file(folder.path().join(".terraform.lock.hcl")).unwrap();
    for (words, code) in [("preview dev", 5), ("provider install dev", 1)] {
        let told = call(folder.path(), words, code);
        assert!(told.contains("provider = \"registry.opentofu.org/acme/box/VERSION\""), "{words}: {told}");
        assert!(!told.contains("kusion provider install"), "{words}: {told}");
    }
}

#[test]
fn a_mirror_is_made_and_wrong_words_are_told() {
    let folder = project();
    let made = call(folder.path(), "provider mirror out --provider acme/box@1.0.0", 0);
    assert!(made.contains("out/registry.opentofu.org/acme/box/terraform-provider-box_1.0.0_"), "{made}");
    let index = folder.path().join("out/registry.opentofu.org/acme/box/1.0.0.json");
    assert!(std::fs::read_to_string(index).unwrap().contains("\"h1:"));
    for (words, code, told) in [
        ("provider", 1, "needs a verb"),
        ("provider instal dev", 1, "there is no `kusion provider instal`"),
        ("provider mirror", 1, "where to?"),
        ("provider install --provider a/b/c/d", 1, "is no address of a provider"),
        ("provider install --provider acme/box@1.x", 1, "is no constraint on versions"),
        ("provider install --provider acme/box@2.0.0", 1, "fits `2.0.0`"),
        ("provider install --provider acme/gone", 1, "no provider registry.opentofu.org/acme/gone is there"),
        ("provider install --offline --provider hashicorp/random@1.0.0", 5, "nothing else may be asked"),
        ("provider lock --platform linux --provider acme/box", 1, "is no platform"),
    ] {
        let said = call(folder.path(), words, code);
        assert!(said.contains(told), "{words}: {said}");
    }
}

/// A project that takes providers as they were built for these tests; none if they are not.
pub(crate) fn real() -> Option<(tempfile::TempDir, std::path::PathBuf)> {
    let random = testenv::needed("terraform-provider-random")?;
    let bin = random.parent().unwrap().to_owned();
    let folder = project();
    let rows: String =
        REAL.iter().map(|name| format!("    \"hashicorp/{name}\" = \"{}\"\n", bin.display())).collect();
    let rc = format!("provider_installation {{\n  dev_overrides {{\n{rows}  }}\n  direct {{}}\n}}\n");
    std::fs::write(folder.path().join("rc"), rc).unwrap();
    Some((folder, bin))
}

const REAL: &[&str] = &["random", "time", "tls", "local", "http"];

#[test]
fn the_schema_of_a_real_provider_becomes_models_that_check_a_stack() {
    let Some((folder, _)) = real() else { return };
    let mut command = kusion(&folder.path().join("home"));
    command
        .current_dir(folder.path())
        .env("TF_CLI_CONFIG_FILE", folder.path().join("rc"))
        .env("HOME", folder.path());
    let output = run(command.args(["provider", "schema", "random", "--kcl"]), 0);
    let models = text(&output.stdout);
    let stack = |attributes: &str| {
        let resource = format!(
            "\nresources = [{{\n    id = \"hashicorp:random:random_password:pw\"\n    $type = \"Terraform\"\n    attributes = \
             RandomPassword {{{attributes}}}\n    extensions = {{provider = \"registry.opentofu.org/hashicorp/random/3.9.0\", \
             resourceType = \"random_password\"}}\n}}]\n"
        );
        std::fs::write(folder.path().join("dev/main.k"), format!("{models}{resource}")).unwrap();
    };
    stack("length = 12");
    let spec = call(folder.path(), "generate dev -o json", 0);
    assert!(spec.contains("\"length\": 12"), "{spec}");
    stack("lenght = 12");
    call(folder.path(), "generate dev", 1);
}

/// A name that is drawn by a provider, a file with it, and a ConfigMap that takes it.
const CHAIN: &str = r#"
_random = {provider = "registry.opentofu.org/hashicorp/random/3.9.0"}
_local = {provider = "registry.opentofu.org/hashicorp/local/2.9.0"}
resources = [
    {id = "hashicorp:random:random_pet:name", $type = "Terraform", attributes = {length = 2}, extensions = _random}
    {id = "hashicorp:local:local_file:note", $type = "Terraform", extensions = _local, attributes = {
        filename = "FILE"
        content = "$kusion_path.hashicorp:random:random_pet:name.id"
    }}
    {id = "v1:ConfigMap:default:pet", $type = "Kubernetes", attributes = {
        apiVersion = "v1", kind = "ConfigMap", metadata = {name = "pet", namespace = "default"}
        data = {name = "$kusion_path.hashicorp:random:random_pet:name.id"}
    }}
]
"#;

#[test]
fn providers_and_kubernetes_are_one_plan() {
    let Some((folder, _)) = real() else { return };
    let (note, sandbox) = (folder.path().join("note.txt"), folder.path().join("home/sandbox"));
    std::fs::write(folder.path().join("dev/main.k"), CHAIN.replace("FILE", &note.display().to_string()))
        .unwrap();
    call(folder.path(), "sandbox start", 0);
    let on = format!("--kubeconfig {}", sandbox.join("kubeconfig").display());
    let kusion = |words: &str, code| call(folder.path(), &format!("{words} {on}"), code);
    let plan = kusion("preview dev", 0);
    assert!(plan.contains("3 create") && !note.exists(), "{plan}");
    let applied = kusion("apply dev -y", 0);
    assert!(applied.contains("Release 1 succeeded: 3 created."), "{applied}");
    let name = std::fs::read_to_string(&note).unwrap();
    assert!(name.contains('-'), "{name}");
    let again = kusion("apply dev -y", 0);
    assert!(again.contains("Nothing to do"), "{again}");
    let status = kusion("status dev --exit-code", 0);
    assert!(status.contains("3 of 3 healthy"), "{status}");
    std::fs::write(&note, "changed by hand").unwrap();
    let status = kusion("status dev --exit-code", 6);
    assert!(status.contains("2 of 3 healthy"), "{status}");
    let mended = kusion("apply dev -y", 0);
    assert!(mended.contains("Release 2 succeeded"), "{mended}");
    assert_eq!(std::fs::read_to_string(&note).unwrap(), name, "the name stays, the file comes back");
    let gone = kusion("destroy dev -y", 0);
    assert!(gone.contains("3 deleted") && !note.exists(), "{gone}");
    call(folder.path(), "sandbox stop", 0);
}

/// Only what both tell: tofu adds how descriptions are written.
fn plain(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            ["description_kind", "deprecation_message"].iter().for_each(|key| drop(map.shift_remove(*key)));
            map.values_mut().for_each(plain);
        }
        Value::Array(list) => list.iter_mut().for_each(plain),
        _ => {}
    }
}

#[test]
fn the_schemas_are_those_that_tofu_tells() {
    let Some((folder, _)) = real() else { return };
    let Some(tofu) = testenv::peer("tofu") else { return };
    for name in REAL {
        let project = folder.path().join(name);
        std::fs::create_dir_all(&project).unwrap();
        let main = serde_json::json!({"terraform": {"required_providers": {*name: {"source": format!("hashicorp/{name}")}}}});
        std::fs::write(project.join("main.tf.json"), main.to_string()).unwrap();
        let theirs = std::process::Command::new(&tofu)
            .args(["providers", "schema", "-json"])
            .current_dir(&project)
            .env("TF_CLI_CONFIG_FILE", folder.path().join("rc"))
            .env("HOME", folder.path())
            .output()
            .unwrap();
        assert!(theirs.status.success(), "{}", text(&theirs.stderr));
        let mut command = kusion(&folder.path().join("home"));
        command
            .current_dir(folder.path())
            .env("TF_CLI_CONFIG_FILE", folder.path().join("rc"))
            .env("HOME", folder.path());
        let ours = run(command.args(["provider", "schema", name, "--json"]), 0);
        let read = |bytes: &[u8]| -> serde_json::Value { serde_json::from_slice(bytes).unwrap() };
        let (mut ours, mut theirs) = (read(&ours.stdout), read(&theirs.stdout));
        plain(&mut ours);
        plain(&mut theirs);
        let address = format!("registry.opentofu.org/hashicorp/{name}");
        for section in ["provider", "resource_schemas", "data_source_schemas"] {
            let of = |all: &serde_json::Value| all["provider_schemas"][&address][section].clone();
            let theirs = of(&theirs);
            // A section that tofu leaves out is empty.
            let theirs = if theirs.is_null() { serde_json::json!({}) } else { theirs };
            assert_eq!(of(&ours), theirs, "{name} {section}");
        }
    }
}

/// What a call prints, or says if it is refused.
fn asked(command: &mut std::process::Command, input: Option<&str>, code: i32) -> String {
    use std::io::Write as _;
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(input.unwrap_or_default().as_bytes()).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    if code == 0 { text(&output.stdout) } else { said }
}

#[test]
fn functions_of_a_real_provider_are_called() {
    let Some((folder, _)) = real() else { return };
    let call = |words: &[&str], input: Option<&str>, code: i32| {
        let mut command = kusion(&folder.path().join("home"));
        command.current_dir(folder.path()).env("TF_CLI_CONFIG_FILE", folder.path().join("rc"));
        command.env("HOME", folder.path()).args(["provider", "call"]).args(words);
        asked(&mut command, input, code)
    };
    let time = call(&["hashicorp/time", "rfc3339_parse", "2023-07-25T23:43:16Z"], None, 0);
    let time: serde_json::Value = serde_json::from_str(&time).unwrap();
    assert_eq!((time["unix"].as_i64(), time["year"].as_i64()), (Some(1_690_328_596), Some(2023)), "{time}");
    let read = call(&["time", "duration_parse", "-"], Some("[\"1h30m\"]"), 0);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&read).unwrap()["minutes"], 90);
    let wrong = call(&["time", "rfc3339_parse", "yesterday"], None, 1);
    assert!(wrong.contains("argument 1 (`timestamp`)") && wrong.contains("yesterday"), "{wrong}");
    let none = call(&["time", "no_such"], None, 1);
    assert!(none.contains("has no function `no_such`") && none.contains("rfc3339_parse"), "{none}");
    assert!(call(&["random", "any"], None, 1).contains("it has none at all"));
    assert!(call(&["time", "rfc3339_parse"], None, 1).contains("takes 1 argument"));
}

#[test]
fn arguments_of_functions_have_the_types_that_are_asked_for() {
    let Some(lab) = crate::lab::Lab::new() else { return };
    let call = |words: &[&str], input: Option<&str>, code: i32| {
        asked(lab.command("").args(["provider", "call", "acme/lab"]).args(words), input, code)
    };
    assert_eq!(call(&["join", "-", "a", "b"], None, 0), "\"a-b\"\n");
    assert_eq!(call(&["kind", "null"], None, 0), "\"null\"\n");
    assert!(call(&["kind", "{\"a\": [1]}"], None, 0).contains("Object"));
    assert!(
        call(&["kind", "plain"], None, 1).contains("argument 1 (`value`): any type is required, as JSON")
    );
    assert!(call(&["fail", "a", "b"], None, 1).contains("argument 2 (`second`): the second one is wrong"));
    assert_eq!(call(&["join", "-"], Some("[\"+\", 1, true]"), 0), "\"1+true\"\n");
    assert!(call(&["join", "-"], Some("[\"+\", null]"), 1).contains("`part` must not be null"));
    let died = lab
        .command("CallFunction:exit")
        .args(["provider", "call", "acme/lab", "join", "x"])
        .output()
        .unwrap();
    assert_eq!(died.status.code(), Some(5), "{}", text(&died.stderr));
    assert!(text(&died.stderr).contains("CallFunction"), "{}", text(&died.stderr));
}

#[test]
fn a_secret_in_the_configuration_of_a_provider_is_shown_nowhere() {
    let Some((folder, _)) = real() else { return };
    let stack = |attributes: &str| {
        let row = format!(
            "resources = [{{\n    id = \"hashicorp:tls:tls_private_key:key\"\n    $type = \"Terraform\"\n    attributes = \
             {{{attributes}}}\n    extensions = {{\n        provider = \"registry.opentofu.org/hashicorp/tls/4.3.0\"\n        \
             providerMeta = {{proxy = [{{url = \"http://127.0.0.1:9\", username = \"u\", password = \"CANARY-8811\"}}]}}\n    \
             }}\n}}]\n"
        );
        std::fs::write(folder.path().join("dev/main.k"), row).unwrap();
    };
    stack("algorithm = \"ED25519\"");
    let key = "hashicorp:tls:tls_private_key:key";
    let mut said = String::new();
    for (words, code) in [
        ("preview dev -o json --plan saved", 0),
        ("apply dev --plan saved -y --debug", 0),
        ("preview dev --exit-code", 0),
        ("drift dev -o json", 0),
        (&format!("state show dev {key} -o json"), 0),
        (&format!("why dev {key} algorithm"), 0),
    ] {
        said += &call(folder.path(), words, code);
    }
    stack("algorithm = \"ECDSA\"");
    said += &call(folder.path(), "apply dev -y", 0);
    said += &call(folder.path(), "rollback dev -y", 0);
    said += &call(folder.path(), "destroy dev -y", 0);
    assert!(!said.contains("CANARY"), "{said}");
    for place in ["home", "saved"] {
        let mut grep = std::process::Command::new("grep");
        grep.args(["-rla", "CANARY"]).arg(folder.path().join(place));
        assert_eq!(text(&run(&mut grep, 1).stdout), "");
    }
}

//! Stacks of providers as a user meets them: without a cluster, cut off, taken over from Terraform and given back.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::providers::real;
use crate::{kusion, run, text};

pub(crate) fn command(folder: &Path) -> std::process::Command {
    let mut command = kusion(&folder.join("home"));
    command.current_dir(folder).env("TF_CLI_CONFIG_FILE", folder.join("rc")).env("HOME", folder);
    command
}

pub(crate) fn call(folder: &Path, words: &str, code: i32) -> String {
    let output = run(command(folder).args(words.split_whitespace()), code);
    format!("{}{}", text(&output.stderr), text(&output.stdout))
}

fn write(folder: &Path, path: &str, content: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// A project with what is part of the host only: no provider is needed for it.
fn built_in(main: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "project.yaml", "name: shop\n");
    write(folder.path(), "dev/stack.yaml", "name: dev\n");
    write(folder.path(), "dev/main.k", main);
    folder
}

const DATA: &str = r#"
resources = [
    {id = "builtin:terraform:terraform_data:db", $type = "Terraform", attributes = {input = {size = 1}}}
    {id = "builtin:terraform:terraform_data:user", $type = "Terraform", attributes = {
        input = "$kusion_path.builtin:terraform:terraform_data:db.id"
    }}
]
"#;

#[test]
fn a_stack_of_providers_needs_no_cluster() {
    let folder = built_in(DATA);
    let call = |words: &str, code| call(folder.path(), words, code);
    let plan = call("preview dev", 0);
    assert!(plan.contains("2 create") && !plan.contains("cluster"), "{plan}");
    let applied = call("apply dev -y", 0);
    assert!(applied.contains("Release 1 succeeded: 2 created."), "{applied}");
    let again = call("apply dev -y", 0);
    assert!(again.contains("Nothing to do"), "{again}");
    let status = call("status dev --exit-code", 0);
    assert!(status.contains("2 of 2 healthy"), "{status}");
    assert!(call("drift dev", 0).contains("No drift"));
    let why = call("why dev terraform_data/db input.size", 0);
    assert!(why.contains("dev/main.k:3"), "{why}");
    let made = call("why dev terraform_data/db id", 0);
    assert!(made.contains("its provider sets it") && made.contains("release 1"), "{made}");
    assert!(call("why dev terraform_data/db size", 1).contains("has no field"));
    assert!(call("logs dev", 0).contains("no pod"));
    write(folder.path(), "dev/main.k", &DATA.replace("size = 1", "size = 2"));
    assert!(call("apply dev -y", 0).contains("Release 2 succeeded: 1 updated"));
    let back = call("rollback dev -y", 0);
    assert!(back.contains("Release 3 succeeded: 1 updated"), "{back}");
    let status: Value = serde_json::from_str(&call("status dev -o json", 0)).unwrap();
    assert_eq!(status["cluster"], Value::Null);
    let gone = call("destroy dev -y", 0);
    assert!(gone.contains("2 deleted"), "{gone}");
    assert!(call("release list dev", 0).contains("succeeded"));
}

/// A resource with the provider that makes it.
pub(crate) fn resource(id: &str, attributes: &str) -> String {
    let name = id.split(':').nth(1).unwrap();
    let version = match name {
        "random" => "3.9.0",
        "time" => "0.14.0",
        _ => "2.9.0",
    };
    format!(
        "    {{id = \"{id}\", $type = \"Terraform\", attributes = {{{attributes}}}, extensions = \
         {{provider = \"registry.opentofu.org/hashicorp/{name}/{version}\"}}}}\n"
    )
}

pub(crate) fn stack(folder: &Path, resources: &[String]) {
    write(folder, "dev/main.k", &format!("resources = [\n{}]\n", resources.concat()));
}

/// Starts an apply, waits until something is so, and ends it with SIGKILL.
fn kill_when(folder: &Path, is_so: impl Fn() -> bool) {
    let mut apply = command(folder);
    apply.args(["apply", "dev", "-y"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child: Child = apply.spawn().unwrap();
    let began = Instant::now();
    while !is_so() && child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(120), "it never came to that");
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_create_that_was_cut_off_is_told_and_only_that_one() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    let done = folder.join("done.txt");
    let file = resource(
        "hashicorp:local:local_file:done",
        &format!("filename = \"{}\", content = \"x\"", done.display()),
    );
    let sleep = resource("hashicorp:time:time_sleep:nap", "create_duration = \"60s\"");
    let after = resource(
        "hashicorp:random:random_pet:after",
        "keepers = {nap = \"$kusion_path.hashicorp:time:time_sleep:nap.id\"}",
    );
    stack(folder, &[file, sleep.clone(), after.clone()]);
    // The state is on the disk before the provider is asked: the file is there, and the nap has begun.
    let log = || std::fs::read_dir(folder.join("home")).map(Iterator::count).unwrap_or_default() > 0;
    let seen = std::sync::OnceLock::new();
    kill_when(folder, || {
        if log() && done.exists() {
            seen.get_or_init(Instant::now);
        }
        seen.get().is_some_and(|seen: &Instant| seen.elapsed() > Duration::from_millis(8000))
    });
    let plan = call(folder, "preview dev", 0);
    let told: Vec<&str> = plan.lines().filter(|line| line.contains("may exist already")).collect();
    assert_eq!(told.len(), 1, "{plan}");
    assert!(told[0].contains("kusion import STACK hashicorp:time:time_sleep:nap ID"), "{plan}");
    stack(folder, &[sleep.replace("60s", "0s"), after]);
    let applied = call(folder, "apply dev -y", 0);
    assert!(applied.contains("succeeded"), "{applied}");
    let plan = call(folder, "preview dev", 0);
    assert!(!plan.contains("may exist already"), "{plan}");
    call(folder, "destroy dev -y", 0);
}

#[test]
fn a_kill_at_any_moment_leaves_a_state_from_which_the_next_run_converges() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    let file = |n: usize| folder.join(format!("file{n}.txt"));
    let rows: Vec<String> = (0..6)
        .map(|n| {
            let content = match n {
                0 => "first".to_owned(),
                n => format!("$kusion_path.hashicorp:local:local_file:f{}.content_sha256", n - 1),
            };
            let attributes = format!("filename = \"{}\", content = \"{content}\"", file(n).display());
            resource(&format!("hashicorp:local:local_file:f{n}"), &attributes)
        })
        .collect();
    stack(folder, &rows);
    for n in 0..6 {
        kill_when(folder, || file(n).exists());
    }
    let applied = call(folder, "apply dev -y", 0);
    assert!(applied.contains("succeeded") || applied.contains("Nothing to do"), "{applied}");
    call(folder, "preview dev --exit-code", 0);
    call(folder, "destroy dev -y", 0);
    assert!((0..6).all(|n| !file(n).exists()));
}

fn tfstate() -> Value {
    let provider = |name: &str| format!("provider[\"registry.opentofu.org/hashicorp/{name}\"]");
    json!({
        "version": 4, "terraform_version": "1.12.6", "serial": 7, "lineage": "8f2c8d2e-0000-4000-8000-000000000001",
        "outputs": {"name": {"value": "x", "type": "string"}},
        "resources": [
            {"mode": "managed", "type": "random_password", "name": "pw", "provider": provider("random"), "instances": [{
                "schema_version": 3, "sensitive_attributes": [[{"type": "get_attr", "value": "result"}]],
                "attributes": {"id": "none", "length": 12, "special": false, "lower": true, "upper": true, "numeric": true,
                    "number": true, "min_lower": 0, "min_upper": 0, "min_numeric": 0, "min_special": 0, "keepers": null,
                    "override_special": null, "bcrypt_hash": "CANARY-hash", "result": "CANARY-7319abc"}}]},
            {"module": "module.net", "mode": "managed", "type": "random_pet", "name": "p", "provider": provider("random"),
             "instances": [
                {"index_key": "a", "schema_version": 0, "attributes": {"id": "big-cat", "length": 2, "separator": "-",
                    "prefix": null, "keepers": null}, "dependencies": ["random_password.pw"]},
                {"index_key": "b", "schema_version": 0, "attributes": {"id": "x-small-dog", "length": 2, "separator": "-",
                    "prefix": "x", "keepers": {"k": "v"}}}]},
            {"mode": "data", "type": "random_pet", "name": "seen", "provider": provider("random"), "instances": [
                {"schema_version": 0, "attributes": {}}]}
        ]
    })
}

#[test]
fn a_state_of_terraform_is_taken_over_without_touching_and_given_back() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    write(folder, "dev/main.k", "resources = []\n");
    write(folder, "terraform.tfstate", &tfstate().to_string());
    let unknown = call(folder, "import dev --from-tfstate terraform.tfstate -y", 1);
    assert!(unknown.contains("--provider registry.opentofu.org/hashicorp/random@VERSION"), "{unknown}");
    let words = "import dev --from-tfstate terraform.tfstate --provider hashicorp/random@3.9.0";
    let told = call(folder, words, 1);
    assert!(told.contains("Take over 3 resources into shop/dev") && told.contains("-y"), "{told}");
    let taken = call(folder, &format!("{words} -y"), 0);
    assert!(taken.contains("Took over 3 resources into shop/dev, release 1"), "{taken}");
    assert!(
        taken.contains("data.random_pet.seen is a data source") && taken.contains("outputs (name)"),
        "{taken}"
    );
    let kcl = std::fs::read_to_string(folder.join("dev/imported.k")).unwrap();
    assert!(!kcl.contains("CANARY") && kcl.contains("hashicorp:random:random_pet:net-p-b"), "{kcl}");
    assert!(kcl.contains("special = False"), "what its provider would choose otherwise is written: {kcl}");
    call(folder, "preview dev --exit-code", 0);
    let again = call(folder, &format!("{words} -y --write other.k"), 4);
    assert!(again.contains("has these already"), "{again}");

    let refused = call(folder, "export dev --tfstate out.tfstate", 3);
    assert!(
        refused.contains("random_password.pw.result") && !folder.join("out.tfstate").exists(),
        "{refused}"
    );
    assert!(!refused.contains("CANARY"));
    call(folder, "export dev --tfstate - --with-secrets", 1);
    let written = call(folder, "export dev --tfstate out.tfstate --with-secrets", 0);
    assert!(written.contains("Wrote 3 resources"), "{written}");
    use std::os::unix::fs::PermissionsExt as _;
    let out = folder.join("out.tfstate");
    assert_eq!(std::fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
    let state: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let rows = state["resources"].as_array().unwrap();
    let pw = rows.iter().find(|row| row["type"] == "random_password").unwrap();
    assert_eq!(pw["instances"][0]["attributes"]["result"], "CANARY-7319abc");
    let pet = rows.iter().find(|row| row["name"] == "net-p-a").unwrap();
    assert_eq!(pet["instances"][0]["dependencies"], json!(["random_password.pw"]));
    let kept = text(
        &run(std::process::Command::new("grep").args(["-r", "CANARY-7319"]).arg(folder.join("home")), 1)
            .stdout,
    );
    assert!(kept.is_empty(), "{kept}");
    // The same thing a second time: what was exported is what is taken over.
    let other = built_in("resources = []\n");
    std::fs::copy(folder.join("rc"), other.path().join("rc")).unwrap();
    std::fs::copy(&out, other.path().join("terraform.tfstate")).unwrap();
    call(other.path(), &format!("{words} -y"), 0);
    call(other.path(), "preview dev --exit-code", 0);
}

#[test]
fn one_object_is_imported_by_its_id() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    write(folder, "dev/main.k", "resources = []\n");
    let words = "import dev hashicorp:random:random_uuid:u aabbccdd-eeff-0011-2233-445566778899 -y";
    let taken = call(folder, &format!("{words} --provider hashicorp/random@3.9.0"), 0);
    assert!(taken.contains("Took over 1 resource"), "{taken}");
    call(folder, "preview dev --exit-code", 0);
    let wrong =
        call(folder, "import dev hashicorp:random:random_uuid:v zzz -y --provider hashicorp/random@3.9.0", 5);
    assert!(wrong.contains("a provider refuses it"), "{wrong}");
    for (words, says) in [
        ("import dev", "what is to be taken over?"),
        ("import dev hashicorp:random:random_uuid:v", "by which id"),
        ("import dev --from-tfstate nowhere.tfstate", "nowhere.tfstate"),
        ("export dev", "where to, and as what?"),
    ] {
        let told = call(folder, words, 1);
        assert!(told.contains(says), "{words}: {told}");
    }
}

/// 120 imports in one apply: upstream needs twenty minutes for that. The promise is ten seconds; a busy machine has longer.
#[test]
fn a_hundred_and_twenty_imports_take_seconds() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    let row = |n: usize| {
        let id = format!("00000000-0000-4000-8000-000000000{n:03}");
        resource(&format!("hashicorp:random:random_uuid:u{n}"), "")
            .replace("/3.9.0\"", &format!("/3.9.0\", \"kusionstack.io/import-id\" = \"{id}\""))
    };
    stack(folder, &(0..120).map(row).collect::<Vec<_>>());
    let began = Instant::now();
    let applied = call(folder, "apply dev -y", 0);
    println!("120 imports: {:?}", began.elapsed());
    assert!(applied.contains("120 imported"), "{applied}");
    assert!(began.elapsed() < Duration::from_secs(100), "{:?}", began.elapsed());
    call(folder, "preview dev --exit-code", 0);
}

/// The same resources for the other tool.
const TOFU: &str = r#"{"terraform": {"required_providers": {"random": {"source": "hashicorp/random"}, "tls": {"source": "hashicorp/tls"}}},
"resource": {
  "random_password": {"pw": {"length": 12, "special": false}},
  "random_pet": {"p": {"length": 2, "keepers": {"pw": "${random_password.pw.id}"}}},
  "terraform_data": {"d": {"input": {"a": 1, "s": "${random_password.pw.result}"}}},
  "tls_private_key": {"k": {"algorithm": "ED25519"}}}}"#;

#[test]
fn tofu_plans_no_change_on_what_is_exported_and_kusion_none_on_what_tofu_made() {
    let (Some((folder, _)), Some(tofu)) = (real(), testenv::peer("tofu")) else { return };
    let folder = folder.path();
    let random = |id: &str, attributes: &str| resource(&format!("hashicorp:random:{id}"), attributes);
    let data = "    {id = \"builtin:terraform:terraform_data:d\", $type = \"Terraform\", attributes = {input = {a = 1, s = \
                \"$kusion_path.hashicorp:random:random_password:pw.result\"}}}\n";
    stack(
        folder,
        &[
            random("random_password:pw", "length = 12, special = False"),
            random(
                "random_pet:p",
                "length = 2, keepers = {pw = \"$kusion_path.hashicorp:random:random_password:pw.id\"}",
            ),
            data.to_owned(),
            resource("hashicorp:tls:tls_private_key:k", "algorithm = \"ED25519\"")
                .replace("/2.9.0", "/4.3.0"),
        ],
    );
    call(folder, "apply dev -y", 0);
    write(folder, "tf/main.tf.json", TOFU);
    call(folder, "export dev --tfstate tf/terraform.tfstate --with-secrets", 0);
    let tofu = |words: &str| {
        let mut command = std::process::Command::new(&tofu);
        command
            .args(words.split(' '))
            .current_dir(folder.join("tf"))
            .env("TF_CLI_CONFIG_FILE", folder.join("rc"));
        run(&mut command, 0)
    };
    tofu("plan -input=false -no-color -detailed-exitcode");
    // And the other way: what tofu makes anew is taken over as it is.
    tofu("destroy -input=false -auto-approve -no-color");
    tofu("apply -input=false -auto-approve -no-color");
    write(folder, "dev/main.k", "resources = []\n");
    call(folder, "destroy dev -y", 0);
    let providers = "--provider hashicorp/random@3.9.0 --provider hashicorp/tls@4.3.0";
    call(folder, &format!("import dev --from-tfstate tf/terraform.tfstate -y {providers}"), 0);
    call(folder, "preview dev --exit-code", 0);
}

#[test]
fn two_stacks_with_one_id_keep_their_own_objects() {
    let folder = built_in(DATA);
    let folder = folder.path();
    write(folder, "prod/stack.yaml", "name: prod\n");
    write(folder, "prod/main.k", DATA);
    call(folder, "apply dev -y", 0);
    call(folder, "apply prod -y", 0);
    let mv = "state mv dev builtin:terraform:terraform_data:db --to-stack prod -y";
    let refused = call(folder, mv, 4);
    assert!(refused.contains("is recorded in shop/prod already"), "{refused}");
    assert!(call(folder, "apply dev -y", 0).contains("Nothing to do"), "nothing was forgotten");
    call(folder, "state rm prod builtin:terraform:terraform_data:db -y", 0);
    assert!(call(folder, mv, 0).contains("given to shop/prod"));
    assert!(call(folder, "state list prod", 0).contains("terraform_data:db"));
}

#[test]
fn a_secret_of_a_provider_stays_one_in_another_stack() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    write(folder, "terraform.tfstate", &tfstate().to_string());
    write(folder, "dev/main.k", "resources = []\n");
    write(folder, "prod/stack.yaml", "name: prod\n");
    call(
        folder,
        "import dev --from-tfstate terraform.tfstate --provider hashicorp/random@3.9.0 -y --write prod/main.k",
        0,
    );
    let mv = "state mv dev hashicorp:random:random_password:pw hashicorp:random:random_pet:net-p-a \
              hashicorp:random:random_pet:net-p-b --to-stack prod -y";
    assert!(call(folder, mv, 0).contains("3 resources of shop/dev given to shop/prod"));
    call(folder, "preview prod --exit-code", 0);
    let shown = call(folder, "state show prod hashicorp:random:random_password:pw", 0);
    assert!(!shown.contains("CANARY") && shown.contains("(secret)#"), "{shown}");
    assert!(!call(folder, "why prod hashicorp:random:random_password:pw result", 0).contains("CANARY"));
    let file = "export prod --tfstate out.tfstate --with-secrets";
    call(folder, file, 0);
    assert!(std::fs::read_to_string(folder.join("out.tfstate")).unwrap().contains("CANARY-7319abc"));
}

/// Files of a version below and above a nap that takes its time to go.
fn tower(folder: &Path, version: &str, lifecycle: &str) {
    let file = |name: &str, content: &str| {
        let path = folder.join(format!("{name}-{version}"));
        let attributes = format!("filename = \"{}\", content = \"{content}\"", path.display());
        resource(&format!("hashicorp:local:local_file:{name}"), &attributes)
    };
    let nap = resource(
        "hashicorp:time:time_sleep:nap",
        "destroy_duration = \"3s\", triggers = {base = \"$kusion_path.hashicorp:local:local_file:base.id\"}",
    );
    let top = file("top", "$kusion_path.hashicorp:time:time_sleep:nap.id");
    let top = top.replace("extensions = {", &format!("extensions = {{{lifecycle}"));
    stack(folder, &[file("base", version), nap, top]);
}

/// Applies, and returns when the files of the old version have gone and those of the new one have come.
fn watched(folder: &Path, from: &str, to: &str) -> impl Fn(&str) -> Duration {
    let mut apply = command(folder).args(["apply", "dev", "-y"]).stdout(Stdio::null()).spawn().unwrap();
    let (began, mut seen) = (Instant::now(), std::collections::BTreeMap::new());
    // What has come is looked at before what has gone: two that happen between two looks are seen in the order that is claimed.
    let mut look = || {
        for name in ["base", "top"] {
            if folder.join(format!("{name}-{to}")).exists() {
                seen.entry(format!("new {name}")).or_insert_with(|| began.elapsed());
            }
        }
        for name in ["top", "base"] {
            if !folder.join(format!("{name}-{from}")).exists() {
                seen.entry(format!("old {name}")).or_insert_with(|| began.elapsed());
            }
        }
    };
    while apply.try_wait().unwrap().is_none() {
        look();
        std::thread::sleep(Duration::from_millis(2));
    }
    look();
    assert!(apply.wait().unwrap().success());
    move |what| *seen.get(what).unwrap_or_else(|| panic!("{what} never came to that: {seen:?}"))
}

#[test]
fn old_objects_of_real_providers_go_from_the_top() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    // The nap takes three seconds to go; a busy machine looks late.
    let (nap, late) = (Duration::from_millis(1500), Duration::from_millis(1000));
    tower(folder, "v1", "");
    assert!(call(folder, "apply dev -y", 0).contains("3 created"));
    tower(folder, "v2", "");
    let plan = call(folder, "preview dev", 0);
    assert_eq!(plan.matches("-/+").count(), 3, "{plan}");
    let at = watched(folder, "v1", "v2");
    assert!(at("old base") >= at("old top") + nap, "the nap goes between");
    assert!(at("new base") + late >= at("old base"), "nothing is made before the old base has gone");
    assert!(at("new base") >= at("old top") + nap, "nor while the nap goes");
    assert!(at("new top") >= at("new base"));

    tower(folder, "v3", "lifecycle = {createBeforeDestroy = True}, ");
    let plan = call(folder, "preview dev", 0);
    assert_eq!(plan.matches("+/-").count(), 3, "what it depends on creates first, too: {plan}");
    let json: Value = serde_json::from_str(&call(folder, "preview dev -o json", 0)).unwrap();
    assert!(json.to_string().contains("\"createFirst\":true"), "{json}");
    let at = watched(folder, "v2", "v3");
    assert!(at("new base") <= at("new top") && at("new top") <= at("old top"));
    assert!(at("old base") >= at("old top") + nap, "the old nap goes between");
    assert!(call(folder, "apply dev -y", 0).contains("Nothing to do"));
    call(folder, "destroy dev -y", 0);
}

#[test]
fn what_must_not_go_is_refused_before_anything_goes() {
    let main = |extensions: &str| {
        DATA.replace(
            "attributes = {input = {size = 1}}",
            &format!("attributes = {{input = {{size = 1}}}}, extensions = {extensions}"),
        )
    };
    let folder = built_in(&main("{lifecycle = {preventDestroy = True}}"));
    let call = |words: &str, code| call(folder.path(), words, code);
    let write = |extensions: &str| write(folder.path(), "dev/main.k", &main(extensions));
    call("apply dev -y", 0);
    let told = call("destroy dev -y", 5);
    assert!(told.contains("terraform_data:db") && told.contains("`preventDestroy` forbids"), "{told}");
    assert!(call("status dev", 0).contains("2 of 2 healthy"), "nothing was deleted");
    for (slip, meant) in [
        ("{lifecyle = {preventDestroy = True}}", "`lifecyle` is unknown: did you mean `lifecycle`?"),
        ("{lifecycle = {preventDestory = True}}", "did you mean `preventDestroy`?"),
    ] {
        write(slip);
        let told = call("preview dev", 1);
        assert!(told.contains(meant) && told.contains("dev/main.k:3"), "{told}");
    }
    write("{lifecycle = {preventDestroy = False}}");
    call("apply dev -y", 0);
    assert!(call("destroy dev -y", 0).contains("2 deleted"));
}

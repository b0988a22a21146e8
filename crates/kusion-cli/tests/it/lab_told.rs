//! What commands tell about objects of providers: cut off, half made, unchanged, secret, and references that lead nowhere.

use crate::lab::{Lab, THING};
use crate::providers::real;
use crate::{kusion, run, text};

#[test]
fn a_create_that_was_cut_off_is_remembered_until_something_comes_of_it() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[(THING, "name = \"one\"", "")]);
    lab.call_with("ApplyResourceChange.late:exit", "apply dev -y", 5);
    let may_exist = || lab.call("preview dev", 0).contains("may exist already");
    assert!(may_exist());
    // That another try fails in good order says nothing about the first one.
    lab.stack(&[(THING, "name = \"one\", behave = \"fail-empty\"", "")]);
    lab.call("apply dev -y", 5);
    assert!(may_exist());
    lab.stack(&[(THING, "name = \"one\"", "")]);
    assert!(may_exist());
    lab.call(&format!("import dev {THING} one -y"), 0);
    assert!(!may_exist());
}

#[test]
fn a_half_made_object_is_not_healthy() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[(THING, "name = \"one\", behave = \"fail-half\"", "")]);
    lab.call("apply dev -y", 5);
    let status = lab.call("status dev --exit-code", 6);
    assert!(status.contains("its create failed half-way"), "{status}");
    lab.stack(&[(THING, "name = \"one\"", "")]);
    lab.call("apply dev -y", 0);
    lab.call("status dev --exit-code", 0);
}

#[test]
fn a_reference_to_what_no_object_has_is_refused_with_its_line() {
    let Some(lab) = Lab::new() else { return };
    let user = |field: &str| format!("name = \"two\", opt = \"$kusion_path.{THING}.{field}\"");
    lab.stack(&[(THING, "name = \"one\"", ""), ("acme:lab:lab_thing:user", &user("idd"), "")]);
    let told = lab.call("preview dev", 1);
    assert!(
        told.contains("lab_thing has no `idd`; did you mean `id`?") && told.contains("main.k:3"),
        "{told}"
    );
    lab.stack(&[(THING, "name = \"one\"", ""), ("acme:lab:lab_thing:user", &user("id"), "")]);
    lab.call("apply dev -y", 0);
}

#[test]
fn what_is_wrong_with_a_resource_is_told_with_its_line() {
    let Some(lab) = Lab::new() else { return };
    for (id, attributes, extensions, says) in [
        ("acme:lab:lab_thingg:x", "name = \"one\"", "", "did you mean `lab_thing`?"),
        (THING, "name = \"one\", nam = 1", "", "nam: there is no argument with this name"),
        (THING, "opt = \"x\"", "", "name"),
        (THING, "name = \"one\"", ", providerMeta = {regoin = \"x\"}", "regoin"),
    ] {
        lab.stack(&[(id, attributes, extensions)]);
        let told = lab.call("preview dev", 5);
        assert!(told.contains("the configuration is refused") && told.contains(says), "{says}: {told}");
        assert!(told.contains("main.k:2"), "{says}: {told}");
    }
    lab.stack(&[(THING, "name = \"one\"", ", lifecycle = {createFirst = True}")]);
    let told = lab.call("preview dev", 1);
    assert!(told.contains("createFirst") && told.contains("main.k:2"), "{told}");
}

#[test]
fn secrets_that_did_not_change_are_no_drift_and_no_difference() {
    let Some(lab) = Lab::new() else { return };
    let first = "name = \"one\", secret = \"CANARY-7711\", bag = [{name = \"x\", hidden = \"CANARY-7712\"}]";
    let user = format!("name = \"two\", set = [\"a\", \"$kusion_path.{THING}.secret\"]");
    let echo = format!("text = \"$kusion_path.{THING}.secret\"");
    lab.stack(&[
        (THING, first, ""),
        ("acme:lab:lab_thing:user", &user, ""),
        ("acme:lab:lab_echo:e", &echo, ", mode = \"data\""),
    ]);
    lab.call("apply dev -y", 0);
    lab.call("preview dev --exit-code", 0);
    let told = lab.call("drift dev", 0);
    assert!(told.contains("No drift"), "{told}");
    lab.stack(&[(THING, first, "")]);
    let told = lab.call("diff dev", 0);
    assert!(!told.contains(&format!("~ {THING}")), "{told}");
    lab.stack(&[(THING, &first.replace("7711", "7799"), "")]);
    let told = lab.call("diff dev --exit-code", 2);
    assert!(told.contains("secret") && !told.contains("CANARY"), "{told}");
}

#[test]
fn providers_run_in_the_folder_of_the_stack() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    let file = "resources = [{id = \"hashicorp:local:local_file:f\", $type = \"Terraform\", \
                attributes = {filename = \"here.txt\", content = \"x\"}, \
                extensions = {provider = \"registry.opentofu.org/hashicorp/local/2.9.0\"}}]\n";
    std::fs::write(folder.join("dev/main.k"), file).unwrap();
    std::fs::create_dir_all(folder.join("elsewhere")).unwrap();
    for (from, words) in
        [("", "apply dev -y"), ("elsewhere", "preview ../dev --exit-code"), ("dev", "preview --exit-code")]
    {
        let mut command = kusion(&folder.join("home"));
        command
            .current_dir(folder.join(from))
            .env("TF_CLI_CONFIG_FILE", folder.join("rc"))
            .env("HOME", folder);
        run(command.args(words.split_whitespace()), 0);
        assert!(folder.join("dev/here.txt").exists());
    }
}

#[test]
fn a_value_that_a_provider_builds_of_a_secret_shows_nothing_of_it() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    let call = |words: &str, code: i32| {
        let mut command = kusion(&folder.join("home"));
        command.current_dir(folder).env("TF_CLI_CONFIG_FILE", folder.join("rc")).env("HOME", folder);
        let output = run(command.args(words.split_whitespace()), code);
        format!("{}{}", text(&output.stderr), text(&output.stdout))
    };
    let (pw, pet) = ("hashicorp:random:random_password:pw", "hashicorp:random:random_pet:pet");
    let row = |id: &str, attributes: &str| {
        format!(
            "    {{id = \"{id}\", $type = \"Terraform\", attributes = {{{attributes}}}, extensions = \
             {{provider = \"registry.opentofu.org/hashicorp/random/3.9.0\"}}}}\n"
        )
    };
    let rows = [
        row(pw, "length = 20, special = False"),
        row(pet, &format!("prefix = \"$kusion_path.{pw}.result\"")),
    ];
    std::fs::write(folder.join("dev/main.k"), format!("resources = [\n{}]\n", rows.concat())).unwrap();
    call("apply dev -y", 0);
    call("export dev --tfstate out.tfstate --with-secrets", 0);
    let state = std::fs::read_to_string(folder.join("out.tfstate")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let rows = state["resources"].as_array().unwrap();
    let value = rows.iter().find(|row| row["type"] == "random_password").unwrap();
    let value = value["instances"][0]["attributes"]["result"].as_str().unwrap();
    for words in [
        format!("state show dev {pet}"),
        format!("state show dev {pet} -o json"),
        format!("why dev {pet} id"),
        "diff dev".to_owned(),
        "diff dev -o json".to_owned(),
    ] {
        let told = call(&words, 0);
        assert!(!told.contains(value), "{words}: {told}");
    }
}

//! States of other tools, taken over and given back: what is sensitive there, what must be given, configurations with a name.

use serde_json::{Value, json};

use crate::lab::{Lab, THING};
use crate::providers::real;
use crate::{kusion, run, text};

const OUT: &str = "out.tfstate";

fn state_of(lab: &Lab) -> Value {
    serde_json::from_str(&std::fs::read_to_string(lab.path().join(OUT)).unwrap()).unwrap()
}

/// A second stack that takes over what the first one has exported.
fn second(lab: &Lab, state: &Value) -> String {
    lab.write(OUT, &state.to_string());
    lab.write("prod/stack.yaml", "name: prod\n");
    lab.write("prod/main.k", "resources = []\n");
    lab.call("import prod --from-tfstate out.tfstate --provider acme/lab@1.0.0 -y", 0)
}

fn named<'s>(state: &'s mut Value, name: &str) -> &'s mut Value {
    let rows = state["resources"].as_array_mut().unwrap();
    rows.iter_mut().find(|row| row["name"] == name).unwrap()
}

#[test]
fn what_a_state_calls_sensitive_is_in_no_file_and_in_no_answer() {
    let Some(lab) = Lab::new() else { return };
    let first = "name = \"one\", opt = \"CANARY-6611\", $map = {k = \"CANARY-6612\", open = \"seen\"}, \
                 $any = {s = \"CANARY-6613\"}, list = [\"seen\"]";
    let user = format!("name = \"two\", opt = \"$kusion_path.{THING}.opt\"");
    let other = "name = \"three\", list = [\"CANARY-6612\"], opt = \"with CANARY-6611 inside\"";
    lab.stack(&[
        (THING, first, ""),
        ("acme:lab:lab_thing:user", &user, ""),
        ("acme:lab:lab_thing:other", other, ""),
    ]);
    lab.call("apply dev -y", 0);
    lab.call(&format!("export dev --tfstate {OUT}"), 0);
    let mut state = state_of(&lab);
    let step = |name: &str| json!({"type": "get_attr", "value": name});
    named(&mut state, "first")["instances"][0]["sensitive_attributes"] = json!([
        [step("opt")],
        [step("map"), {"type": "index", "value": {"value": "k", "type": "string"}}],
        [step("any"), step("s")],
    ]);
    let mut printed = second(&lab, &state);
    for says in [
        "`map.k` is sensitive in the state",
        "lab_thing:other: `list` is sensitive",
        "lab_thing:other: `opt`",
    ] {
        assert!(printed.contains(says), "{says}: {printed}");
    }
    let kcl = std::fs::read_to_string(lab.path().join("prod/imported.k")).unwrap();
    assert!(!kcl.contains("CANARY"), "{kcl}");
    assert!(kcl.contains(&format!("opt = \"$kusion_path.{THING}.opt\"")), "{kcl}");
    assert!(kcl.contains("open = \"seen\""), "{kcl}");
    printed += &lab.call("preview prod --exit-code", 0);
    printed += &lab.call("preview prod -o json", 0);
    for name in ["first", "user", "other"] {
        printed += &lab.call(&format!("state show prod acme:lab:lab_thing:{name}"), 0);
        printed += &lab.call(&format!("state show prod acme:lab:lab_thing:{name} -o json"), 0);
    }
    // An update says nothing either.
    let more = kcl.replace("name = \"one\"", "name = \"one\"\n            number = 7");
    lab.write("prod/imported.k", &more);
    printed += &lab.call("apply prod -y", 0);
    printed += &lab.call(&format!("state show prod {THING}"), 0);
    assert!(!printed.contains("CANARY"), "{printed}");
    let mut grep = std::process::Command::new("grep");
    grep.args(["-rla", "CANARY"]).arg(lab.path().join("home")).arg(lab.path().join("prod"));
    assert_eq!(text(&run(&mut grep, 1).stdout), "");
}

#[test]
fn a_sensitive_argument_is_a_reference_or_has_to_be_given() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    let command = || {
        let mut command = kusion(&folder.join("home"));
        command.current_dir(folder).env("TF_CLI_CONFIG_FILE", folder.join("rc")).env("HOME", folder);
        command
    };
    let call = |words: &str, code: i32| {
        let output = run(command().args(words.split_whitespace()), code);
        format!("{}{}", text(&output.stderr), text(&output.stdout))
    };
    let row = |id: &str, version: &str, attributes: &str| {
        let name = id.split(':').nth(1).unwrap();
        format!(
            "    {{id = \"{id}\", $type = \"Terraform\", attributes = {{{attributes}}}, extensions = \
             {{provider = \"registry.opentofu.org/hashicorp/{name}/{version}\"}}}}\n"
        )
    };
    let key = "hashicorp:tls:tls_private_key:key";
    let cert = format!(
        "private_key_pem = \"$kusion_path.{key}.private_key_pem\", validity_period_hours = 48000, \
         allowed_uses = [\"cert_signing\"], subject = [{{common_name = \"x\"}}]"
    );
    let file = format!("filename = \"{}\", content = \"CANARY-6621\"", folder.join("creds").display());
    let rows = [
        row(key, "4.3.0", "algorithm = \"ED25519\""),
        row("hashicorp:tls:tls_self_signed_cert:cert", "4.3.0", &cert),
        row("hashicorp:local:local_sensitive_file:creds", "2.9.0", &file),
    ];
    std::fs::write(folder.join("dev/main.k"), format!("resources = [\n{}]\n", rows.concat())).unwrap();
    call("apply dev -y", 0);
    call(&format!("export dev --tfstate {OUT} --with-secrets"), 0);
    std::fs::create_dir_all(folder.join("prod")).unwrap();
    std::fs::write(folder.join("prod/stack.yaml"), "name: prod\nsecretStore:\n  provider:\n    env: {}\n")
        .unwrap();
    std::fs::write(folder.join("prod/main.k"), "resources = []\n").unwrap();
    let versions = "--provider hashicorp/tls@4.3.0 --provider hashicorp/local@2.9.0";
    let taken = call(&format!("import prod --from-tfstate {OUT} {versions} -y"), 0);
    let given = "ref://local_sensitive_file-creds/content";
    assert!(
        taken.contains(&format!(
            "`content` is sensitive and has to be given: keep its value in a secret store as {given}"
        )),
        "{taken}"
    );
    let kcl = std::fs::read_to_string(folder.join("prod/imported.k")).unwrap();
    assert!(!kcl.contains("CANARY") && !kcl.contains("PRIVATE KEY"), "{kcl}");
    assert!(kcl.contains(&format!("private_key_pem = \"$kusion_path.{key}.private_key_pem\"")), "{kcl}");
    assert!(kcl.contains(&format!("content = \"{given}\"")), "{kcl}");
    let missing = call("preview prod", 1);
    assert!(
        missing.contains("LOCAL_SENSITIVE_FILE_CREDS_CONTENT") && missing.contains("imported.k:"),
        "{missing}"
    );
    let mut preview = command();
    preview.args(["preview", "prod", "--exit-code"]).env("LOCAL_SENSITIVE_FILE_CREDS_CONTENT", "CANARY-6621");
    run(&mut preview, 0);
    preview.env("LOCAL_SENSITIVE_FILE_CREDS_CONTENT", "CANARY-6622");
    let output = run(&mut preview, 2);
    assert!(!text(&output.stdout).contains("CANARY"), "{}", text(&output.stdout));
}

#[test]
fn configurations_of_one_provider_and_names_stay_apart() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[
        ("acme:lab:lab_thing:a.b", "name = \"one\"", ""),
        ("acme:lab:lab_thing:a_b", "name = \"two\"", ""),
        ("acme:lab:lab_thing:us", "name = \"three\"", ", providerMeta = {region = \"us\"}"),
    ]);
    lab.call("apply dev -y", 0);
    let told = lab.call(&format!("export dev --tfstate {OUT}"), 0);
    assert!(
        told.contains("2 configurations of registry.opentofu.org/acme/lab") && told.contains("config2"),
        "{told}"
    );
    let state = state_of(&lab);
    let rows: Vec<(&str, &str)> = state["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["provider"].as_str().unwrap()))
        .collect();
    let plain = "provider[\"registry.opentofu.org/acme/lab\"]";
    let aliased = format!("{plain}.config2");
    assert_eq!(rows, [("a_b", plain), ("a_b_2", plain), ("us", aliased.as_str())]);
    let taken = second(&lab, &state);
    assert!(taken.contains("Took over 2 resources"), "{taken}");
    for says in
        ["lab_thing.us is made with the provider configuration acme/lab.config2", "'acme/lab.config2=FILE'"]
    {
        assert!(taken.contains(says), "{says}: {taken}");
    }
    lab.call("preview prod --exit-code", 0);
}

#[test]
fn configurations_with_a_name_are_taken_over_and_given_back() {
    let Some(lab) = Lab::new() else { return };
    lab.write("project.yaml", "name: shop\nsecretStore:\n  provider:\n    env: {}\n");
    let door = ", providerMeta = {region = \"us\", token = \"ref://door/token\"}, providerAlias = \"us\"";
    let rows = [
        ("acme:lab:lab_thing:here", "name = \"here\"", ""),
        ("acme:lab:lab_thing:there", "name = \"there\"", door),
    ];
    lab.stack(&rows);
    let key = [("DOOR_TOKEN", "CANARY-7711")];
    lab.call_in(&key, "apply dev -y", 0);
    lab.call_in(&key, &format!("export dev --tfstate {OUT}"), 0);
    let aliased = "provider[\"registry.opentofu.org/acme/lab\"].us";
    assert_eq!(named(&mut state_of(&lab), "there")["provider"], aliased);

    lab.write("prod/stack.yaml", "name: prod\n");
    lab.write("prod/main.k", "resources = []\n");
    lab.write("us.json", r#"{"region": "us", "token": "ref://door/token"}"#);
    let take = format!("import prod --from-tfstate {OUT} --provider acme/lab@1.0.0 -y --provider-config");
    let wrong = lab.call_in(&key, &format!("{take} acme/lab.eu=us.json"), 1);
    assert!(
        wrong.contains("no provider configuration `acme/lab.eu`") && wrong.contains("acme/lab.us"),
        "{wrong}"
    );
    let taken = lab.call_in(&key, &format!("{take} acme/lab.us=us.json"), 0);
    assert!(taken.contains("Took over 2 resources") && !taken.contains("left out"), "{taken}");
    let kcl = std::fs::read_to_string(lab.path().join("prod/imported.k")).unwrap();
    assert!(kcl.contains("providerAlias = \"us\"") && kcl.contains("token = \"ref://door/token\""), "{kcl}");
    lab.call_in(&key, "preview prod --exit-code", 0);
    lab.call_in(&key, "drift prod", 0);
    lab.call_in(&key, &format!("export prod --tfstate {OUT}"), 0);
    let mut back = state_of(&lab);
    assert_eq!(named(&mut back, "there")["provider"], aliased);
    assert_eq!(named(&mut back, "here")["provider"], "provider[\"registry.opentofu.org/acme/lab\"]");
    tofu_plans_nothing(&lab);

    // Without its configuration it is reached as it was last time: with the token of the door.
    std::fs::remove_file(lab.path().join("prod/imported.k")).unwrap();
    lab.call("state rm prod acme:lab:lab_thing:here -y", 0);
    lab.call_in(&[("LAB_LOCK", "CANARY-7711")], "destroy prod -y --delete-imported", 0);
    assert_eq!(lab.objects(), 1);
    let mut grep = std::process::Command::new("grep");
    grep.args(["-rla", "CANARY"]).arg(lab.path());
    assert_eq!(text(&run(&mut grep, 1).stdout), "");
}

/// The other tool, with the same configurations under the same names, has nothing to do.
fn tofu_plans_nothing(lab: &Lab) {
    let Some(tofu) = testenv::needed("tofu") else { return };
    let folder = lab.path().join("tofu");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(lab.path().join(OUT), folder.join("terraform.tfstate")).unwrap();
    let config = json!({
        "terraform": {"required_providers": {"lab": {"source": "acme/lab"}}},
        "provider": {"lab": [{}, {"alias": "us", "region": "us", "token": "t"}]},
        "resource": {"lab_thing": {"here": {"name": "here"}, "there": {"name": "there", "provider": "lab.us"}}},
    });
    std::fs::write(folder.join("main.tf.json"), config.to_string()).unwrap();
    let mut plan = std::process::Command::new(tofu);
    plan.current_dir(&folder).env("TF_CLI_CONFIG_FILE", lab.path().join("rc")).env("TF_LOG_SDK", "off");
    plan.env("LAB_WORLD", lab.path().join("world")).args(["plan", "-input=false", "-detailed-exitcode"]);
    run(&mut plan, 0);
}

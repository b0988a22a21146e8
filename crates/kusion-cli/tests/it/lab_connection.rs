//! How a provider is reached: with a token of an ephemeral resource, with a secret of a store that changes, with what another
//! resource says; by every command, also after the configuration has gone.

use crate::lab::{Lab, THING, TOKEN};
use crate::{run, text};

const LOCK: &[(&str, &str)] = &[("LAB_LOCK", "token-of-door")];

/// A thing whose provider needs a token.
fn locked(lab: &Lab, attributes: &str, token: &str) {
    lab.stack(&[
        (TOKEN, "name = \"door\"", ", mode = \"ephemeral\""),
        (THING, attributes, &format!(", providerMeta = {{token = \"{token}\"}}")),
    ]);
}

#[test]
fn a_token_that_is_only_handed_over_opens_every_door() {
    let Some(lab) = Lab::new() else { return };
    let token = format!("$kusion_path.{TOKEN}.token");
    locked(&lab, "name = \"one\"", &token);
    let told = lab.call_in(&[("LAB_LOCK", "another")], "apply dev -y", 5);
    assert!(told.contains("another token than the lock"), "{told}");
    lab.call_in(LOCK, "apply dev -y", 0);
    lab.call_in(LOCK, "preview dev --exit-code", 0);
    lab.call_in(LOCK, "status dev", 0);
    lab.call_in(LOCK, "drift dev", 0);
    locked(&lab, "name = \"one\", opt = \"changed\"", &token);
    lab.call_in(LOCK, "apply dev -y", 0);
    locked(&lab, "name = \"two\", force = \"changed\"", &token);
    let replaced = lab.call_in(LOCK, "apply dev -y", 0);
    assert!(replaced.contains("1 replaced"), "{replaced}");
    lab.call_in(LOCK, "destroy dev -y", 0);
    assert_eq!(lab.objects(), 0);
    lab.call_in(LOCK, "apply dev -y", 0);
    lab.stack(&[]);
    lab.call_in(LOCK, "apply dev -y", 0);
    assert_eq!(lab.objects(), 0, "it went with its configuration");
    let opened = lab.trace().matches("OpenEphemeralResource").count();
    assert_eq!(lab.trace().matches("closed after").count(), opened, "{}", lab.trace());
    for canary in ["token-of-door", "dG9rZW4tb2YtZG9v"] {
        let mut grep = std::process::Command::new("grep");
        grep.args(["-rla", canary]).arg(lab.path());
        assert_eq!(text(&run(&mut grep, 1).stdout), "");
    }
}

#[test]
fn a_token_that_two_need_at_the_same_time_is_opened_once() {
    let Some(lab) = Lab::new() else { return };
    let meta = format!(", providerMeta = {{token = \"$kusion_path.{TOKEN}.token\"}}");
    lab.stack(&[
        (TOKEN, "name = \"door\"", ", mode = \"ephemeral\""),
        (THING, "name = \"one\"", &meta),
        ("acme:lab:lab_thing:second", "name = \"other\"", &meta),
    ]);
    lab.call_in(LOCK, "apply dev -y", 0);
    let opened = || lab.trace().lines().filter(|line| *line == "OpenEphemeralResource").count();
    let before = opened();
    let slow = ("LAB_FAULT", "OpenEphemeralResource:sleep=500ms");
    lab.call_in(&[LOCK[0], slow], "preview dev --exit-code", 0);
    assert_eq!(opened() - before, 1, "{}", lab.trace());
}

#[test]
fn a_secret_of_a_store_that_changed_is_used_at_once() {
    let Some(lab) = Lab::new() else { return };
    lab.write("project.yaml", "name: shop\nsecretStore:\n  provider:\n    env: {}\n");
    lab.stack(&[(THING, "name = \"one\"", ", providerMeta = {token = \"ref://door/token\"}")]);
    let first = [("LAB_LOCK", "CANARY-1"), ("DOOR_TOKEN", "CANARY-1")];
    let second = [("LAB_LOCK", "CANARY-2"), ("DOOR_TOKEN", "CANARY-2")];
    lab.call_in(&first, "apply dev -y", 0);
    lab.call_in(&second, "preview dev --exit-code", 0);
    lab.call_in(&second, "apply dev -y", 0);
    lab.call_in(&second, "status dev", 0);
    lab.call_in(&second, "destroy dev -y", 0);
    assert_eq!(lab.objects(), 0);
    let mut grep = std::process::Command::new("grep");
    grep.args(["-rla", "CANARY"]).arg(lab.path());
    assert_eq!(text(&run(&mut grep, 1).stdout), "");
}

#[test]
fn an_object_is_imported_through_a_provider_that_another_resource_configures() {
    let Some(lab) = Lab::new() else { return };
    let token = format!("$kusion_path.{TOKEN}.token");
    locked(&lab, "name = \"one\"", &token);
    lab.call_in(LOCK, "apply dev -y", 0);
    lab.call(&format!("state rm dev {THING} -y"), 0);
    let extensions =
        format!(", providerMeta = {{token = \"{token}\"}}, \"kusionstack.io/import-id\" = \"one\"");
    lab.stack(&[
        (TOKEN, "name = \"door\"", ", mode = \"ephemeral\""),
        (THING, "name = \"one\"", &extensions),
    ]);
    let applied = lab.call_in(LOCK, "apply dev -y", 0);
    assert!(applied.contains("1 imported"), "{applied}");
    lab.call_in(LOCK, "preview dev --exit-code", 0);
    lab.call(&format!("state rm dev {THING} -y"), 0);
    locked(&lab, "name = \"one\"", &token);
    let taken = lab.call_in(LOCK, &format!("import dev {THING} one -y"), 0);
    assert!(taken.contains("Took over 1 resource"), "{taken}");
}

#[test]
fn an_import_that_a_provider_puts_off_says_so() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[]);
    let told = lab.call(&format!("import dev {THING} later -y --provider acme/lab@1.0.0"), 5);
    let says = "import of `later`: the provider puts it off: something that it needs does not exist yet; nothing was taken";
    assert!(told.contains(says), "{told}");
    for (id, says) in [("none", "found 0 objects"), ("two", "found 2 objects")] {
        let told = lab.call(&format!("import dev {THING} {id} -y --provider acme/lab@1.0.0"), 5);
        assert!(told.contains(says), "{told}");
    }
}

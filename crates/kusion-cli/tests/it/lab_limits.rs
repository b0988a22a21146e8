//! Faults beyond the calls of every apply: moves, identities and ephemeral resources that fail, calls that hang, answers that are
//! too long. What is told says which call it was, the state stays valid, and the next run converges.

use serde_json::json;

use crate::lab::{Lab, THING, TOKEN};
use crate::lab_faults::all;

/// How calls fail, with what is told about each.
const KINDS: [(&str, &str); 3] = [
    ("exit", "crashed in CALL (exit status: 7)"),
    ("error", "CALL failed (Internal): as asked"),
    ("hang", HANGS),
];
const HANGS: &str = "did not answer CALL within 3 s";
/// Long enough for a busy machine to answer a call that does not hang.
const PATIENCE: (&str, &str) = ("KUSION_PROVIDER_TIMEOUT", "3s");

/// Lets a call fail in some words; returns what was told.
fn struck(lab: &Lab, call: &str, kind: (&str, &str), words: &str, code: i32) -> String {
    let fault = format!("{call}:{}", kind.0);
    let mut variables = vec![("LAB_FAULT", fault.as_str())];
    variables.extend((kind.0 == "hang").then_some(PATIENCE));
    let told = lab.call_in(&variables, words, code);
    let says = kind.1.replace("CALL", call);
    assert!(told.contains(&says), "{words}, {fault}: {told}");
    told
}

#[test]
fn a_move_that_fails_leaves_the_record_where_it_was() {
    let Some(lab) = Lab::new() else { return };
    lab.without_world();
    lab.stack(&[(THING, "name = \"one\"", "")]);
    lab.call("apply dev -y", 0);
    lab.stack(&[("acme:lab:lab_heir:third", "name = \"one\"", &format!(", movedFrom = \"{THING}\""))]);
    for kind in KINDS {
        for words in ["preview dev", "apply dev -y"] {
            struck(&lab, "MoveResourceState", kind, words, 5);
            let listed = lab.call("ls dev", 0);
            assert!(listed.contains("lab_thing:first") && !listed.contains("lab_heir"), "{kind:?}: {listed}");
        }
    }
    lab.call("apply dev -y", 0);
    let listed = lab.call("ls dev", 0);
    assert!(listed.contains("lab_heir:third") && !listed.contains("lab_thing"), "{listed}");
    lab.call("preview dev --exit-code", 0);
    lab.wait_for_the_end_of_providers();
}

#[test]
fn an_identity_that_cannot_be_upgraded_takes_nothing_over() {
    let Some(lab) = Lab::new() else { return };
    lab.without_world();
    lab.stack(&[]);
    let state = json!({
        "version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "8f2c8d2e-0000-4000-8000-000000000002",
        "outputs": {}, "resources": [{"mode": "managed", "type": "lab_citizen", "name": "c",
            "provider": "provider[\"registry.opentofu.org/acme/lab\"]", "instances": [{"schema_version": 0,
                "attributes": {"id": "id-ada", "name": "ada", "country": "uk", "opt": null},
                "identity_schema_version": 0, "identity": {"land": "uk", "name": "ada"}}]}]
    });
    lab.write("terraform.tfstate", &state.to_string());
    let words = "import dev --from-tfstate terraform.tfstate --provider acme/lab@1.0.0 -y";
    for kind in KINDS {
        struck(&lab, "UpgradeResourceIdentity", kind, words, 5);
        assert!(!lab.path().join("dev/imported.k").exists());
        assert!(!lab.call("ls dev", 0).contains("lab_citizen"));
    }
    lab.call(words, 0);
    lab.call("preview dev --exit-code", 0);
    lab.call("destroy dev -y --delete-imported", 0);
    lab.wait_for_the_end_of_providers();
}

fn with_token(lab: &Lab, version: u32) {
    let write = format!("name = \"one\", write = \"$kusion_path.{TOKEN}.token\", write_version = {version}");
    let token = (TOKEN, "name = \"t\", renew_seconds = 6", ", mode = \"ephemeral\"");
    lab.stack(&[token, (THING, &write, "")]);
}

#[test]
fn a_token_that_is_not_renewed_is_told() {
    let Some(lab) = Lab::new() else { return };
    with_token(&lab, 1);
    // It dies while it makes something: the next run knows that.
    let fault = "RenewEphemeralResource:exit,ApplyResourceChange:sleep=12s";
    let told = lab.call_in(&[("LAB_FAULT", fault)], "apply dev -y", 5);
    assert!(told.contains("crashed in ApplyResourceChange"), "{told}");
    assert!(told.contains("ended in RenewEphemeralResource as asked"), "{told}");
    assert_eq!(lab.objects(), 0);
    assert!(lab.call("apply dev -y", 0).contains("may exist already"));
    for (at, (kind, says)) in KINDS[1..].iter().enumerate() {
        with_token(&lab, 2 + u32::try_from(at).unwrap());
        let fault = format!("RenewEphemeralResource:{kind},ApplyResourceChange:sleep=12s");
        let patience = [("LAB_FAULT", fault.as_str()), PATIENCE];
        let variables = if *kind == "hang" { &patience[..] } else { &patience[..1] };
        let told = lab.call_in(variables, "apply dev -y", 0);
        let says = says.replace("CALL", "RenewEphemeralResource");
        assert!(told.contains(&format!("{TOKEN} could not be renewed")) && told.contains(&says), "{told}");
        assert!(told.contains("1 updated"), "{told}");
        lab.call("preview dev --exit-code", 0);
    }
    assert_eq!(lab.objects(), 1);
    lab.wait_for_the_end_of_providers();
}

#[test]
fn a_token_that_is_not_closed_is_told_and_harms_nothing() {
    let Some(lab) = Lab::new() else { return };
    for (at, kind) in KINDS.into_iter().enumerate() {
        with_token(&lab, 1 + u32::try_from(at).unwrap());
        for words in ["preview dev", "apply dev -y"] {
            let told = struck(&lab, "CloseEphemeralResource", kind, words, 0);
            assert!(told.contains(&format!("{TOKEN} could not be closed")), "{kind:?} {words}: {told}");
        }
        lab.call("preview dev --exit-code", 0);
        assert_eq!(lab.objects(), 1);
    }
    lab.wait_for_the_end_of_providers();
}

/// What the calls of a create, an update and a delete are made with.
const CREATE: &[&str] = &[
    "GetProviderSchema",
    "GetResourceIdentitySchemas",
    "ValidateProviderConfig",
    "ConfigureProvider",
    "ValidateEphemeralResourceConfig",
    "OpenEphemeralResource",
    "ValidateDataResourceConfig",
    "ReadDataSource",
    "ValidateResourceConfig",
    "PlanResourceChange",
];
const CHANGE: &[&str] = &["UpgradeResourceState", "ReadResource", "PlanResourceChange"];

#[test]
fn a_call_that_hangs_is_given_up_after_the_time_that_was_allowed() {
    let Some(lab) = Lab::new() else { return };
    all(&lab, "a");
    for call in CREATE {
        let _ = std::fs::remove_dir_all(lab.path().join("home/providers/schemas"));
        struck(&lab, call, ("hang", HANGS), "apply dev -y", 5);
        assert_eq!(lab.objects(), 0, "{call}");
    }
    lab.call("apply dev -y", 0);
    all(&lab, "b");
    for call in CHANGE {
        struck(&lab, call, ("hang", HANGS), "apply dev -y", 5);
        struck(&lab, call, ("hang", HANGS), "destroy dev -y", 5);
        assert_eq!(lab.objects(), 1, "{call}");
    }
    lab.call("apply dev -y", 0);
    lab.call("preview dev --exit-code", 0);
    let told = lab.call_in(&[("KUSION_PROVIDER_TIMEOUT", "soon")], "preview dev", 1);
    assert!(told.contains("--provider-timeout soon is no time"), "{told}");
    lab.call("destroy dev -y", 0);
    lab.wait_for_the_end_of_providers();
}

#[test]
fn an_answer_that_is_too_long_is_told_and_recorded_nowhere() {
    let Some(lab) = Lab::new() else { return };
    let huge = |call: &str, words: &str| {
        let fault = format!("{call}:huge");
        let variables = [("LAB_FAULT", fault.as_str()), ("KUSION_PROVIDER_MESSAGE_LIMIT", "8")];
        let told = lab.call_in(&variables, words, 5);
        let says = format!("the answer to {call} exceeds 8 MiB");
        assert!(
            told.contains(&says) && told.len() < 10_000,
            "{} {call}: {}",
            words,
            &told[..told.len().min(2000)]
        );
        told
    };
    all(&lab, "a");
    for call in ["GetProviderSchema", "ReadDataSource", "PlanResourceChange"] {
        huge(call, "apply dev -y");
        assert_eq!(lab.objects(), 0, "{call}");
    }
    lab.call("apply dev -y", 0);
    all(&lab, "b");
    for call in ["UpgradeResourceState", "ReadResource", "ApplyResourceChange"] {
        huge(call, "apply dev -y");
        assert_eq!(lab.objects(), 1, "{call}");
    }
    lab.call("apply dev -y", 0);
    lab.call("preview dev --exit-code", 0);
    lab.call("destroy dev -y", 0);
    // A create whose answer is not taken has made something.
    let told = huge("ApplyResourceChange", "apply dev -y");
    assert!(told.contains("it may have been made all the same"), "{told}");
    assert_eq!(lab.objects(), 1);
    lab.call(&format!("import dev {THING} one -y"), 0);
    lab.call("apply dev -y", 0);
    assert_eq!(lab.objects(), 1);
    let told = lab.call_in(&[("KUSION_PROVIDER_MESSAGE_LIMIT", "0")], "preview dev", 1);
    assert!(told.contains("--provider-message-limit 0 is no size"), "{told}");
}

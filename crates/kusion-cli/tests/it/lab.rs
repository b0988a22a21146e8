//! Stacks of the provider that was made for tests: kusion killed at each of its calls, objects half made, moved and identified.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{kusion, run, text};

pub(crate) const THING: &str = "acme:lab:lab_thing:first";

/// A project whose provider is the lab; its objects live in a folder.
pub(crate) struct Lab(tempfile::TempDir);

impl Lab {
    pub(crate) fn new() -> Option<Lab> {
        let program = testenv::needed("terraform-provider-lab")?;
        let lab = Lab(tempfile::tempdir().unwrap());
        let bin = program.parent().unwrap().display().to_string();
        lab.write("project.yaml", "name: shop\n");
        lab.write("dev/stack.yaml", "name: dev\n");
        lab.write("world/.keep", "");
        let rc =
            format!("provider_installation {{\n  dev_overrides {{\n    \"acme/lab\" = \"{bin}\"\n  }}\n}}\n");
        lab.write("rc", &rc);
        Some(lab)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Rows of id, attributes and further extensions, in KCL.
    pub(crate) fn stack(&self, rows: &[(&str, &str, &str)]) {
        let row = |(id, attributes, extensions): &(&str, &str, &str)| {
            format!(
                "    {{id = \"{id}\", $type = \"Terraform\", attributes = {{{attributes}}}, extensions = \
                 {{provider = \"registry.opentofu.org/acme/lab/1.0.0\"{extensions}}}}}\n"
            )
        };
        self.write("dev/main.k", &format!("resources = [\n{}]\n", rows.iter().map(row).collect::<String>()));
    }

    /// Objects live in the state alone from here on: those of the folder belong to one type for ever.
    pub(crate) fn without_world(&self) {
        std::fs::remove_dir_all(self.path().join("world")).unwrap();
    }

    pub(crate) fn command(&self, fault: &str) -> std::process::Command {
        let mut command = kusion(&self.path().join("home"));
        command.current_dir(self.path()).env("HOME", self.path());
        command.env("TF_CLI_CONFIG_FILE", self.path().join("rc"));
        let world = self.path().join("world");
        if world.exists() {
            command.env("LAB_WORLD", world);
        }
        command.env("LAB_TRACE", self.path().join("trace"));
        command.env("LAB_FAULT", fault);
        command
    }

    pub(crate) fn call(&self, words: &str, code: i32) -> String {
        self.call_with("", words, code)
    }

    pub(crate) fn call_with(&self, fault: &str, words: &str, code: i32) -> String {
        self.call_in(&[("LAB_FAULT", fault)], words, code)
    }

    /// With further variables.
    pub(crate) fn call_in(&self, variables: &[(&str, &str)], words: &str, code: i32) -> String {
        let mut command = self.command("");
        command.envs(variables.iter().copied()).args(words.split_whitespace());
        let output = run(&mut command, code);
        format!("{}{}", text(&output.stderr), text(&output.stdout))
    }

    pub(crate) fn trace(&self) -> String {
        std::fs::read_to_string(self.path().join("trace")).unwrap_or_default()
    }

    /// Lets a call hang, waits until it is made, and ends kusion with SIGKILL.
    fn kill_at(&self, call: &str, words: &str) {
        let mut child = self.hang_at(call, words);
        child.kill().unwrap();
        child.wait().unwrap();
        self.wait_for_the_end_of_providers();
    }

    /// Lets a call hang and waits until it is made.
    pub(crate) fn hang_at(&self, call: &str, words: &str) -> Child {
        let _ = std::fs::remove_file(self.path().join("trace"));
        let mut child = self
            .command(&format!("{call}:hang"))
            .args(words.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while !self.trace().lines().any(|line| line == call) {
            assert!(began.elapsed() < Duration::from_secs(120), "{call} never came: {}", self.trace());
            assert!(child.try_wait().unwrap().is_none(), "it ended before {call}: {}", self.trace());
            std::thread::sleep(Duration::from_millis(5));
        }
        child
    }

    /// Providers end with kusion, however that ended; they are known by what they were given.
    pub(crate) fn wait_for_the_end_of_providers(&self) {
        let given = format!("LAB_TRACE={}\0", self.path().join("trace").display());
        let is_ours = |process: &Path| {
            let environment = std::fs::read(process.join("environ")).unwrap_or_default();
            text(&environment).contains(&given)
        };
        let began = Instant::now();
        loop {
            let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
            let left: Vec<_> = all.filter(|process| is_ours(process)).collect();
            if left.is_empty() {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(5), "still there: {left:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn objects(&self) -> usize {
        let all = std::fs::read_dir(self.path().join("world")).unwrap().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().ends_with(".json")).count()
    }
}

#[test]
fn kusion_killed_at_each_call_makes_nothing_twice() {
    let Some(lab) = Lab::new() else { return };
    let calls = [
        "GetProviderSchema",
        "ValidateProviderConfig",
        "ConfigureProvider",
        "ValidateResourceConfig",
        "PlanResourceChange",
        "ApplyResourceChange",
        "ApplyResourceChange.late",
    ];
    for call in calls {
        lab.stack(&[(THING, "name = \"one\"", "")]);
        lab.kill_at(call, "apply dev -y");
        let plan = lab.call("preview dev", 0);
        let told = plan.contains(&format!("kusion import STACK {THING} ID"));
        assert_eq!(told, call.starts_with("ApplyResourceChange"), "{call}: {plan}");
        if call == "ApplyResourceChange.late" {
            assert_eq!(lab.objects(), 1, "it was made, and nobody heard of it");
            let twice = lab.call("apply dev -y", 5);
            assert!(twice.contains("It cannot be made"), "{twice}");
            assert_eq!(lab.objects(), 1);
            lab.call(&format!("import dev {THING} one -y"), 0);
        }
        lab.call("apply dev -y", 0);
        lab.call("preview dev --exit-code", 0);
        assert_eq!(lab.objects(), 1, "{call}");
        lab.call("destroy dev -y --delete-imported", 0);
        assert_eq!(lab.objects(), 0, "{call}");
    }
    // An update and a delete that were cut off are done again: there is one object, and then none.
    lab.stack(&[(THING, "name = \"one\"", "")]);
    lab.call("apply dev -y", 0);
    for call in ["ReadResource", "ApplyResourceChange", "ApplyResourceChange.late"] {
        lab.stack(&[(THING, &format!("name = \"one\", opt = \"{call}\""), "")]);
        lab.kill_at(call, "apply dev -y");
        lab.call("apply dev -y", 0);
        lab.call("preview dev --exit-code", 0);
        assert_eq!(lab.objects(), 1, "{call}");
    }
    for call in ["ApplyResourceChange", "ApplyResourceChange.late"] {
        lab.kill_at(call, "destroy dev -y");
        lab.call("destroy dev -y", 0);
        assert_eq!(lab.objects(), 0, "{call}");
        lab.call("apply dev -y", 0);
    }
}

#[test]
fn a_provider_that_dies_at_each_call_is_told_and_the_next_run_converges() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[(THING, "name = \"one\"", "")]);
    for call in ["ConfigureProvider", "ValidateResourceConfig", "PlanResourceChange", "ApplyResourceChange"] {
        let told = lab.call_with(&format!("{call}:exit"), "apply dev -y", 5);
        assert!(told.contains("exit status: 7") && told.contains("as asked"), "{call}: {told}");
    }
    let told = lab.call("apply dev -y", 0);
    assert!(told.contains("may exist already"), "the last one died while it made something: {told}");
    lab.call("preview dev --exit-code", 0);
    lab.call("destroy dev -y", 0);
    assert_eq!(lab.objects(), 0);
}

#[test]
fn half_made_objects_are_tainted_and_replaced() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[(THING, "name = \"one\", behave = \"fail-half\"", "")]);
    let told = lab.call("apply dev -y", 5);
    assert!(told.contains("Only half of it was made"), "{told}");
    let drift = lab.call("drift dev", 2);
    assert!(drift.contains("its create failed half-way") && drift.contains("puts it right"), "{drift}");
    let drift = run(lab.command("").args(["drift", "dev", "-o", "json"]), 2);
    let drift: serde_json::Value = serde_json::from_slice(&drift.stdout).unwrap();
    assert_eq!(drift["unfinished"][0]["reason"], "tainted", "{drift}");
    assert_eq!(drift["drift"], serde_json::json!([]));
    lab.stack(&[(THING, "name = \"one\"", "")]);
    let plan = lab.call("preview dev", 0);
    assert!(plan.contains("its create failed half-way"), "{plan}");
    lab.call("apply dev -y", 0);
    lab.call("preview dev --exit-code", 0);
    lab.call("drift dev", 0);
    assert_eq!(lab.objects(), 1);
}

#[test]
fn a_record_moves_to_another_id_and_to_another_type() {
    let Some(lab) = Lab::new() else { return };
    lab.without_world();
    lab.stack(&[(THING, "name = \"one\"", "")]);
    lab.call("apply dev -y", 0);
    let moved = format!(", movedFrom = \"{THING}\"");
    lab.stack(&[("acme:lab:lab_thing:second", "name = \"one\"", &moved)]);
    lab.call("preview dev --exit-code", 0);
    lab.call("apply dev -y", 0);
    let listed = lab.call("ls dev", 0);
    assert!(listed.contains("lab_thing:second") && !listed.contains("lab_thing:first"), "{listed}");
    lab.stack(&[(
        "acme:lab:lab_heir:third",
        "name = \"one\"",
        ", movedFrom = \"acme:lab:lab_thing:second\"",
    )]);
    lab.call("apply dev -y", 0);
    assert!(lab.trace().contains("MoveResourceState"));
    lab.call("preview dev --exit-code", 0);
    lab.stack(&[(
        "acme:lab:lab_citizen:fourth",
        "name = \"one\", country = \"x\"",
        ", movedFrom = \"acme:lab:lab_heir:third\"",
    )]);
    let refused = lab.call("preview dev", 5);
    assert!(refused.contains("a lab_heir does not become a lab_citizen"), "{refused}");
}

#[test]
fn secrets_of_providers_are_nowhere_in_clear() {
    let Some(lab) = Lab::new() else { return };
    let attributes = "name = \"one\", secret = \"CANARY-5511\", write = \"CANARY-5512\", write_version = 1";
    lab.stack(&[(THING, attributes, "")]);
    // Also with all that anybody can be asked to tell.
    let loud = [("KUSION_DEBUG", "1"), ("TF_LOG", "trace"), ("TF_LOG_SDK", "trace")];
    let mut printed = lab.call_in(&loud, "preview dev --plan dev.plan", 0);
    assert!(printed.contains("] provider lab: trace: "), "{printed}");
    printed += &lab.call_in(&loud, "apply dev -y -o json", 0);
    printed += &lab.call("preview dev -o json", 0);
    printed += &lab.call_in(&loud, "drift dev", 0);
    printed += &lab.call("drift dev -o json", 0);
    printed += &lab.call(&format!("why dev {THING} secret"), 0);
    printed += &lab.call("release show dev -o json", 0);
    printed += &lab.call("export dev --tfstate out.tfstate", 3);
    lab.stack(&[(THING, &attributes.replace("name = \"one\"", "name = \"refused\""), "")]);
    printed += &lab.call("apply dev -y", 5);
    lab.stack(&[(
        THING,
        &attributes.replace("name = \"one\"", "name = \"one\", behave = \"bad-apply\", force = \"x\""),
        "",
    )]);
    printed += &lab.call_in(&loud, "apply dev -y", 5);
    printed += &lab.call_with("PlanResourceChange:exit", "apply dev -y", 5);
    assert!(!printed.contains("CANARY"), "{printed}");
    // Also in base64, in the state, in the plan and in whatever else was written.
    for canary in ["CANARY-551", "Q0FOQVJZLTU1M", "NBTkFSWS01NTE", "DQU5BUlktNTUx"] {
        let mut grep = std::process::Command::new("grep");
        grep.args(["-rla", canary, "--exclude=main.k"]).arg(lab.path());
        let found = text(&run(&mut grep, 1).stdout);
        assert_eq!(found, "");
    }
}

pub(crate) const TOKEN: &str = "acme:lab:lab_token:t";

#[test]
fn an_ephemeral_value_is_opened_renewed_handed_over_closed_and_kept_nowhere() {
    let Some(lab) = Lab::new() else { return };
    let token = (TOKEN, "name = \"CANARY-77\", renew_seconds = 2", ", mode = \"ephemeral\"");
    let write = |version: u32| {
        format!("name = \"one\", write = \"$kusion_path.{TOKEN}.token\", write_version = {version}")
    };
    lab.stack(&[token, (THING, &write(1), "")]);
    lab.call("preview dev --plan dev.plan", 0);
    assert_eq!(lab.trace().matches("closed after").count(), 1, "{}", lab.trace());
    let applied = lab.call_with("ApplyResourceChange:sleep=4s", "apply dev --plan dev.plan -y", 0);
    assert!(applied.contains("1 created"), "{applied}");
    let opened = lab.trace().matches("OpenEphemeralResource").count();
    assert_eq!(opened, 2, "once for the preview, once for the apply");
    assert!(lab.trace().contains("RenewEphemeralResource"), "{}", lab.trace());
    assert!(
        !lab.trace().lines().last().unwrap_or_default().contains("closed after 0"),
        "the newest private part"
    );
    let told = lab.call(&format!("why dev {THING} write_digest"), 0);
    assert!(told.contains("2478eeb3935cb06c"), "the provider got the token: {told}");
    // Another token each time is no change.
    let again = lab.call("apply dev -y", 0);
    assert!(again.contains("Nothing to do"), "{again}");
    assert!(!lab.call("ls dev", 0).contains("lab_token"));
    lab.stack(&[token, (THING, &write(2), "")]);
    lab.call("apply dev -y", 0);
    let kept = format!("name = \"one\", opt = \"$kusion_path.{TOKEN}.token\"");
    lab.stack(&[token, (THING, &kept, "")]);
    let refused = lab.call("preview dev", 1);
    assert!(refused.contains("`opt` would keep a value of an ephemeral resource"), "{refused}");
    lab.stack(&[]);
    lab.call("destroy dev -y", 0);
    for canary in ["token-of-CANARY", "dG9rZW4tb2YtQ0FOQVJZ"] {
        let mut grep = std::process::Command::new("grep");
        grep.args(["-rla", canary]).arg(lab.path());
        assert_eq!(text(&run(&mut grep, 1).stdout), "");
    }
}

#[test]
fn what_a_provider_puts_off_is_told_left_alone_and_made_later() {
    let Some(lab) = Lab::new() else { return };
    let later = "acme:lab:lab_later:l";
    let wait = format!("wait = \"$kusion_path.{THING}.revision\"");
    let user = format!("name = \"two\", opt = \"$kusion_path.{later}.id\"");
    let user = ("acme:lab:lab_thing:user", user.as_str(), "");
    lab.stack(&[(THING, "name = \"one\"", ""), (later, &wait, ""), user]);
    let plan = lab.call("preview dev", 0);
    assert!(plan.contains("put off: something in its configuration is not known yet"), "{plan}");
    assert!(plan.contains(&format!("put off: waits for {later}, which is put off")), "{plan}");
    assert!(plan.contains("2 resources are put off"), "{plan}");
    let first = lab.call("apply dev -y", 0);
    assert!(first.contains("1 created"), "{first}");
    assert_eq!(lab.objects(), 1);
    let second = lab.call("apply dev -y", 0);
    assert!(second.contains("2 created") && !second.contains("put off"), "{second}");
    lab.call("preview dev --exit-code", 0);
    lab.call("destroy dev -y", 0);
    assert_eq!(lab.objects(), 0);
}

#[test]
fn a_sensitive_argument_is_hidden_before_anything_was_applied() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[(THING, "name = \"one\", secret = \"CANARY-5513\", opt = \"seen\"", "")]);
    let why = lab.call(&format!("why dev {THING} secret"), 0);
    assert!(why.contains("(secret)") && !why.contains("CANARY"), "{why}");
    assert!(lab.call(&format!("why dev {THING} opt"), 0).contains("seen"));
    let json = lab.call(&format!("why dev {THING} secret -o json"), 0);
    assert!(!json.contains("CANARY"), "{json}");
}

//! Replacements in a chain, on real providers: what each new object is made of is known only when the one before it has been
//! made. Both orders: the old ones go first, users before what they use; or the new ones come first.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::lab::{Lab, THING};
use crate::providers::real;
use crate::terraform::{call, command, resource, stack};
use crate::{run, text};

const SEED: &str = "hashicorp:random:random_uuid:seed";
const NAME: &str = "hashicorp:random:random_pet:name";
const FILE: &str = "hashicorp:local:local_file:file";
const BORN: &str = "hashicorp:time:time_static:born";
const LAST: &str = "builtin:terraform:terraform_data:last";
const ALL: [&str; 5] = [SEED, NAME, FILE, BORN, LAST];

/// A file whose name and content follow from what is random, and what follows from the file.
fn chain(folder: &Path, version: u32, create_first: &[&str]) {
    let rows = [
        resource(SEED, &format!("keepers = {{v = \"{version}\"}}")),
        resource(NAME, &format!("length = 3, keepers = {{seed = \"$kusion_path.{SEED}.result\"}}")),
        resource(
            FILE,
            &format!("filename = \"$kusion_path.{NAME}.id\", content = \"$kusion_path.{SEED}.result\""),
        ),
        resource(BORN, &format!("triggers = {{file = \"$kusion_path.{FILE}.filename\"}}")),
        format!(
            "    {{id = \"{LAST}\", $type = \"Terraform\", attributes = {{triggers_replace = [\"$kusion_path.{NAME}.id\"], \
             input = \"$kusion_path.{FILE}.content_sha256\"}}, extensions = {{}}}}\n"
        ),
    ];
    let first = "lifecycle = {createBeforeDestroy = True}";
    let with_order =
        |row: String| match create_first.iter().any(|id| row.contains(&format!("{{id = \"{id}\""))) {
            false => row,
            true => row
                .replace("{}}\n", &format!("{{{first}}}}}\n"))
                .replace("\"}}\n", &format!("\", {first}}}}}\n")),
        };
    stack(folder, &rows.map(with_order));
}

/// The fields of every change of a plan.
fn plan(folder: &Path) -> BTreeMap<String, Value> {
    let told = run(command(folder).args(["preview", "dev", "-o", "json"]), 0);
    let preview: Value = serde_json::from_slice(&told.stdout).unwrap();
    let steps = preview["plan"]["steps"].as_array().unwrap();
    steps.iter().map(|step| (step["key"]["id"].as_str().unwrap().to_owned(), step.clone())).collect()
}

/// The objects of all resources, as they are recorded.
fn recorded(folder: &Path) -> BTreeMap<String, Value> {
    ALL.into_iter()
        .map(|id| {
            let told = run(command(folder).args(["state", "show", "dev", id, "-o", "json"]), 0);
            let shown: Value = serde_json::from_slice(&told.stdout).unwrap();
            (id.to_owned(), shown["resource"]["kept"]["state"].clone())
        })
        .collect()
}

/// The ids of the objects that providers were asked to make or delete, in order.
fn asked(folder: &Path) -> Vec<String> {
    let done = run(command(folder).args(["apply", "dev", "-y", "--debug"]), 0);
    let calls = text(&done.stderr);
    let calls = calls.lines().filter_map(|line| line.split(": ApplyResourceChange ").nth(1));
    calls.map(|rest| rest.split(' ').next().unwrap().to_owned()).collect()
}

/// The file that a provider has made: in the folder of the stack, which it runs in.
fn only_file(folder: &Path) -> (String, String) {
    let folder = &folder.join("dev");
    let named = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name.split('-').count() == 3).then_some(name)
    };
    let names: Vec<String> = std::fs::read_dir(folder).unwrap().flatten().filter_map(named).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    (names[0].clone(), std::fs::read_to_string(folder.join(&names[0])).unwrap())
}

#[test]
fn what_is_replaced_in_a_chain_is_planned_as_unknown_and_comes_in_order() {
    // Those that create first; what one of them uses creates first with it.
    let orders: [(&[&str], &[&str], &[&str]); 3] = [
        (&[], &[], &[BORN, FILE, NAME, SEED, SEED, NAME, FILE, BORN]),
        (&ALL, &ALL, &[SEED, NAME, FILE, BORN, BORN, FILE, NAME, SEED]),
        (&[NAME], &[SEED, NAME], &[SEED, NAME, BORN, FILE, FILE, BORN, NAME, SEED]),
    ];
    for (says, create_first, order) in orders {
        let Some((folder, _)) = real() else { return };
        let folder = folder.path();
        chain(folder, 1, says);
        call(folder, "apply dev -y", 0);
        let (before, old) = (recorded(folder), only_file(folder));
        chain(folder, 2, says);
        let planned = plan(folder);
        for (id, unknown) in [
            (SEED, &["id", "result"][..]),
            (NAME, &["id", "keepers.seed"]),
            (FILE, &["filename", "content", "content_sha256", "id"]),
            (BORN, &["id", "rfc3339", "triggers.file"]),
            (LAST, &["id", "input", "output", "triggers_replace[0]"]),
        ] {
            let step = &planned[id];
            assert_eq!(step["action"], "replace", "{id}: {step}");
            let first = step["createFirst"].as_bool().unwrap_or_default();
            assert_eq!(first, create_first.contains(&id), "{id}: {step}");
            for field in unknown {
                let changes = step["changes"].as_array().unwrap();
                let change = changes.iter().find(|change| change["path"] == *field);
                let change = change.unwrap_or_else(|| panic!("{id} {field}: {step}"));
                assert_eq!(change["after"]["$kusion:unknown"], true, "{id} {field}: {change}");
            }
        }
        let known =
            planned[SEED]["changes"].as_array().unwrap().iter().find(|change| change["path"] == "keepers.v");
        assert_eq!(known.unwrap()["after"], "2");
        assert_eq!(asked(folder), order, "create first: {says:?}");
        // Everything that was unknown is another value now, each made of the new one before it.
        let (after, new) = (recorded(folder), only_file(folder));
        assert!(old.0 != new.0 && old.1 != new.1, "{old:?} {new:?}");
        let field = |id: &str, name: &str| after[id][name].clone();
        assert_eq!(field(NAME, "keepers")["seed"], field(SEED, "result"));
        assert_eq!(
            (field(FILE, "filename"), field(FILE, "content")),
            (Value::from(&*new.0), Value::from(&*new.1))
        );
        assert_eq!(field(SEED, "result"), Value::from(&*new.1));
        assert_eq!(field(LAST, "output"), field(FILE, "content_sha256"));
        assert!(after.iter().all(|(id, now)| before[id]["id"] != now["id"] || id == BORN));
        call(folder, "preview dev --exit-code", 0);
        call(folder, "destroy dev -y", 0);
        assert!(!folder.join("dev").join(&new.0).exists());
    }
}

/// The old user is deleted, and then nobody comes back to make the new one.
#[test]
fn a_chain_that_breaks_between_delete_and_create_is_mended_by_the_next_run() {
    const USER: &str = "acme:lab:lab_thing:user";
    let Some(lab) = Lab::new() else { return };
    let things = |force: &str| {
        let first = format!("name = \"one\", force = \"{force}\"");
        let user = format!("name = \"two\", force = \"$kusion_path.{THING}.revision\"");
        lab.stack(&[(THING, &first, ""), (USER, &user, "")]);
    };
    things("a");
    lab.call("apply dev -y", 0);
    things("b");
    let plan = lab.call("preview dev", 0);
    assert!(plan.contains("2 replace"), "{plan}");
    let told = lab.call_with("ApplyResourceChange.late:exit", "apply dev -y", 5);
    assert!(told.contains("crashed in ApplyResourceChange"), "{told}");
    assert_eq!(lab.objects(), 1, "the user is gone, what it used is still there");
    lab.call("state list dev", 0);
    let plan = lab.call("preview dev", 0);
    assert!(plan.contains("1 create, 1 replace"), "{plan}");
    lab.call("apply dev -y", 0);
    lab.call("preview dev --exit-code", 0);
    assert_eq!(lab.objects(), 2);
    lab.call("destroy dev -y", 0);
    assert_eq!(lab.objects(), 0);
}

//! The whole road on the real control plane: apply, no noise, an update, destroy.

use std::path::Path;

use serde_json::Value;

use crate::{kusion, run, text};

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            std::fs::copy(entry.path(), target).map(|_| ()).unwrap()
        }
    }
}

fn road(application: &str, image: (&str, &str)) {
    let Some(plane) = testenv::shared() else { return };
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join(application);
    copy(&crate::root().join("konfig/appops").join(application), &project);
    // The copy uses the embedded models.
    let _ = std::fs::remove_file(project.join("dev/kcl.yaml"));
    let call = |words: &[&str], code: i32| {
        let mut command = kusion(home.path());
        command
            .env("KUBECONFIG", plane.kubeconfig())
            .env("KUSION_PROFILE", "sandbox")
            .current_dir(project.join("dev"));
        text(&run(command.args(words), code).stdout)
    };
    call(&["preview", "--exit-code"], 2);
    let applied = call(&["apply", "-y"], 0);
    assert!(applied.contains("Release 1 succeeded"), "{applied}");
    let quiet = call(&["preview", "--exit-code"], 0);
    assert!(quiet.contains("unchanged"), "{quiet}");
    let base = project.join("base/base.k");
    let changed = std::fs::read_to_string(&base).unwrap().replace(image.0, image.1);
    std::fs::write(&base, changed).unwrap();
    let plan: Value = serde_json::from_str(&call(&["preview", "-o", "json"], 0)).unwrap();
    assert_eq!(plan["tally"]["update"], 1, "{plan}");
    call(&["apply", "-y"], 0);
    call(&["destroy", "-y"], 0);
    call(&["preview", "--exit-code"], 2);
}

#[test]
fn nginx_from_nothing_to_destroyed() {
    road("nginx", ("nginx:1.29", "nginx:1.30"));
}

#[test]
fn guestbook_from_nothing_to_destroyed() {
    road("guestbook", ("gb-frontend:v4", "gb-frontend:v5"));
}

/// Whoever cannot be told what happens gets nothing changed, in text and in JSON alike.
#[test]
fn output_that_cannot_be_written_stops_an_apply_before_anything_is_changed() {
    let Some(plane) = testenv::shared() else { return };
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("project.yaml", "name: unwritten\n");
    write("dev/stack.yaml", "name: dev\n");
    write(
        "dev/main.k",
        "resources = [{apiVersion = \"v1\", kind = \"ConfigMap\", metadata = {name = \"unwritten\", namespace = \"default\"}}]\n",
    );
    let command = |words: &[&str]| {
        let mut command = kusion(&home.path().join("home"));
        command.env("KUBECONFIG", plane.kubeconfig()).current_dir(home.path()).args(words);
        command
    };
    for format in ["text", "json"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = command(&["apply", "dev", "-y", "-o", format]).stdout(full).status().unwrap();
        assert_eq!(ended.code(), Some(1), "{format}");
        let told = text(&run(&mut command(&["release", "list", "dev", "-o", "json"]), 0).stdout);
        let list: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(list["releases"], serde_json::json!([]), "{format}");
    }
}

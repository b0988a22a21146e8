//! Every stack of `konfig/appops` evaluates to its golden file. `UPDATE=1` writes them.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn stacks(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for project in std::fs::read_dir(root).unwrap().flatten() {
        for stack in std::fs::read_dir(project.path()).into_iter().flatten().flatten() {
            if stack.path().join("stack.yaml").is_file() {
                found.push(stack.path());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn stacks_evaluate_to_their_golden_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../konfig/appops");
    let stacks = stacks(&root);
    assert!(stacks.len() >= 5, "found only {stacks:?}");
    for stack in stacks {
        let output = Command::new(env!("CARGO_BIN_EXE_kcl")).arg("run").current_dir(&stack).output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{}: {err}", stack.display());
        let golden = stack.join("ci-test/stdout.golden.yaml");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
            std::fs::write(&golden, &out).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(out, expected, "{}: run with UPDATE=1 and read the diff", stack.display());
    }
}

/// A project as `kusion init` makes it: nothing says where `konfig` is.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("project.yaml", "name: shop\n"),
        ("dev/stack.yaml", "name: dev\n"),
        (
            "base/base.k",
            "import konfig.models.frontend\n\n# What every environment shares.\nappConfiguration: frontend.Server {\n    name = \
             \"shop\"\n    image = \"nginx:1.29\"\n    mainContainer: {ports: [{port = 80}]}\n    services: [{ports: [{port = 80}]}]\n}\n",
        ),
        (
            "dev/main.k",
            "import konfig.models.frontend\n\n# What is special in dev.\nappConfiguration: frontend.Server {\n    replicas = 1\n}\n",
        ),
        (
            "checks/server_test.k",
            "import konfig.models.frontend\n\ntest_replicas = lambda {\n    app = frontend.Server {name = \"a\", image = \"b\"}\n    \
             assert app.replicas == 1\n}\n",
        ),
        (
            "lib/lib.k",
            "import konfig.models.frontend\n\nschema Shop(frontend.Server):\n    \"\"\"A shop.\"\"\"\n    currency: str = \"EUR\"\n",
        ),
        ("data.yaml", "name: shop\nimage: nginx\n"),
    ];
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn every_command_finds_the_models_that_come_with_the_program() {
    let folder = project();
    let calls: [(&[&str], &str); 8] = [
        (&["run", "base/base.k", "dev/main.k", "-S", "appConfiguration.replicas"], "1"),
        (&["lint", "./..."], ""),
        (&["test", "checks"], "PASS: 1/1"),
        (&["vet", "data.yaml", "-s", "konfig.models.frontend.Server"], ""),
        (&["fmt", "--check", "./..."], ""),
        (&["edit", "get", "dev", "appConfiguration.replicas"], "1"),
        (&["doc", "lib"], "Shop"),
        (&["edit", "set", "--check", "dev", "appConfiguration.replicas=1"], "unchanged"),
    ];
    for (words, said) in calls {
        let output =
            Command::new(env!("CARGO_BIN_EXE_kcl")).args(words).current_dir(folder.path()).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{words:?}\n{out}{err}");
        assert!(out.contains(said), "{words:?}\n{out}{err}");
    }
}

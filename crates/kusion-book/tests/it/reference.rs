//! Reference pages that are made from the tables of the program, and pages whose tables must agree with them.
//! `UPDATE=1 cargo test -p kusion-book` writes the made pages anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kusion_health::{Grade, Profile};
use kusion_model::{MetaFile, Project, Stack};

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src")
}

fn page(path: &str) -> String {
    std::fs::read_to_string(book().join(path)).unwrap_or_default()
}

fn made(path: &str, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(book().join(path), text).unwrap();
        return;
    }
    assert!(page(path) == text, "{path} is not what the tables say: UPDATE=1 cargo test -p kusion-book");
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn exit_codes() {
    let mut text = String::from(
        "# Exit codes\n\nScripts can trust these numbers. `kusion COMMAND --help` and the manual page list them as well.\n\n\
         | code | `kusion` |\n|---|---|\n",
    );
    for exit in kusion::Exit::ALL {
        let _ = writeln!(text, "| {} | {} |", exit.code(), exit.meaning());
    }
    text.push_str(
        "\nA conflict (4) is one about an owner, a cluster, an identity, a stale plan, or stacks that depend on this one.\n\
         With `-o json` the error says the same number under `code`.\n\n\
         | code | `kcl` |\n|---|---|\n| 0 | done |\n| 1 | anything wrong in the input or the call |\n| 70 | a bug of ours |\n",
    );
    made("reference/exit-codes.md", &text);
}

#[test]
fn system_modules() {
    let [functions, methods, members, decorators] = kcl_check::builtins();
    let table = |text: &mut String, rows: &[kcl_check::Builtin], cut: usize| {
        text.push_str("| name | what it does |\n|---|---|\n");
        for row in rows {
            let signature = row.signature[cut..].replace(" = _", "?");
            let _ = writeln!(text, "| `{}` | {} |", cell(&signature), cell(row.about));
        }
        text.push('\n');
    };
    let mut text = String::from(
        "# Functions and system modules\n\nA `?` behind a type: the argument may be left out. `...`: any number of arguments.\n\n\
         ## Functions\n\nThese are there without an import.\n\n",
    );
    table(&mut text, &functions, 0);
    text.push_str("## Methods of texts\n\n`\"a,b\".split(\",\")` is `[\"a\", \"b\"]`.\n\n");
    table(&mut text, &methods, 0);
    for module in kcl_check::SYSTEM_MODULES {
        let begin = format!("{module}.");
        let rows: Vec<_> = members.iter().copied().filter(|row| row.name.starts_with(&begin)).collect();
        assert!(!rows.is_empty(), "{module}");
        let _ = write!(text, "## {module}\n\n`import {module}`\n\n");
        table(&mut text, &rows, begin.len());
    }
    text.push_str("## Decorators\n\n`@deprecated(reason=\"use b\")` above a schema or an attribute.\n\n");
    table(&mut text, &decorators, 0);
    made("reference/modules.md", &format!("{}\n", text.trim_end()));
}

#[test]
fn health_rules() {
    let mut text = String::from(
        "# Health rules\n\nHow a verdict comes about is told in [health](../concepts/health.md). Here are the tables that the \
         program itself uses.\n\n## Grades\n\n| grade | an object that … |\n|---|---|\n",
    );
    for grade in Grade::ALL {
        let _ = writeln!(text, "| {} | {} |", grade.as_str(), grade.meaning());
    }
    text.push_str(
        "\n## Graces and deadlines\n\nA cluster whose context in the kubeconfig says so uses another profile; the sandbox's does.\n\n\
         | what | default | sandbox |\n|---|---|---|\n",
    );
    for ((what, usual), (_, sandbox)) in Profile::default().rows().into_iter().zip(Profile::sandbox().rows())
    {
        let _ = writeln!(text, "| {what} | {usual} | {sandbox} |");
    }
    text.push_str(
        "\n## Kinds with a rule of their own\n\nOther kinds are judged by their conditions and `observedGeneration`, or by \
         rules of yours\n(`--rules`, [health](../concepts/health.md)).\n\n| group | kinds |\n|---|---|\n",
    );
    let all = kube_meaning::builtin().resources().iter();
    let kinds: BTreeSet<(&str, &str)> = all.map(|one| (one.group.as_str(), one.kind.as_str())).collect();
    let groups: BTreeSet<&str> = kinds.iter().map(|(group, _)| *group).collect();
    for group in groups {
        let of_group = kinds.iter().filter(|(of, kind)| *of == group && kusion_health::has_rule(of, kind));
        let names: Vec<String> = of_group.map(|(_, kind)| format!("`{kind}`")).collect();
        if !names.is_empty() {
            let group = if group.is_empty() { "core" } else { group };
            let _ = writeln!(text, "| {group} | {} |", names.join(", "));
        }
    }
    made("reference/health.md", &text);
}

/// The keys in the first column of the tables under a heading.
fn keys_under(text: &str, heading: &str) -> BTreeSet<String> {
    let rest =
        text.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no heading {heading}"));
    let part = rest.split("\n## ").next().unwrap();
    let cells = part.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells
        .flat_map(|cell| cell.split('`').step_by(2).map(str::to_owned).collect::<Vec<_>>())
        .filter(|key| {
            key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') && !key.is_empty()
        })
        .collect()
}

#[test]
fn files_of_a_project_have_the_keys_that_are_read() {
    let text = page("reference/files.md");
    let known = |keys: Vec<String>| keys.into_iter().collect::<BTreeSet<_>>();
    assert_eq!(keys_under(&text, "`project.yaml`"), known(Project::keys()));
    assert_eq!(keys_under(&text, "`stack.yaml`"), known(Stack::keys()));
}

/// Every `kusion.io/NAME/vN` that the program prints, as its source has it.
fn printed_schemas(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            printed_schemas(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for rest in text.split("\"kusion.io/").skip(1) {
            let name = rest.split('"').next().unwrap();
            let is_schema = name.rsplit_once("/v").is_some_and(|(_, n)| n.parse::<u32>().is_ok());
            if is_schema {
                found.insert(format!("kusion.io/{name}"));
            }
        }
    }
}

#[test]
fn every_schema_of_json_output_is_in_its_page() {
    let mut printed = BTreeSet::new();
    for folder in ["kusion-cli", "kusion", "kusion-model"] {
        printed_schemas(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("src"),
            &mut printed,
        );
    }
    let text = page("reference/json.md");
    let listed: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `kusion.io/")?.split('`').next())
        .map(|name| format!("kusion.io/{name}"))
        .collect();
    assert!(printed.len() > 20, "{printed:?}");
    assert_eq!(listed, printed);
}

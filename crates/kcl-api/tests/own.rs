//! What the wheels do not answer: our own methods, budgets, both encodings.
#![allow(clippy::unwrap_used)]

use kcl_api::messages::{
    ExecProgramArgs, GenerateKclArgs, ListDepFilesArgs, OverrideFileArgs, Position, RenameArgs, SymbolAtArgs,
    TestArgs, ValidateCodeArgs,
};
use kcl_api::methods::{dependencies, exec, generate, overrides, rename, symbol, test, validate};
use kcl_api::{Budget, Encoding, METHODS, Reason, call, find, recode};

fn symbol_at(source: &str, line: u64, column: u64) -> kcl_api::messages::SymbolAtResult {
    let args = SymbolAtArgs {
        file: "/work/main.k".into(),
        line,
        column,
        source: Some(source.into()),
        ..SymbolAtArgs::default()
    };
    symbol::symbol_at(&args, &Budget::default()).unwrap()
}

#[test]
fn a_symbol_has_a_kind_a_type_a_definition_and_references() {
    let source = "schema App:\n    image: str\n\napp = App {image = \"a\"}\nx = app.image\n";
    let found = symbol_at(source, 5, 9);
    assert_eq!((found.name.as_str(), found.kind.as_str(), found.ty.as_str()), ("image", "attribute", "str"));
    let at = |line, column| Position { line, column, filename: "/work/main.k".into() };
    assert_eq!(found.definition, Some(at(2, 4)));
    assert_eq!(found.references, [at(2, 4), at(4, 11), at(5, 8)]);
    assert_eq!((symbol_at(source, 4, 0).ty, symbol_at(source, 2, 5).ty), ("App".into(), "str".into()));
    for (line, column) in [(1, 200), (99, 0), (0, 0), (u64::MAX, u64::MAX)] {
        assert_eq!(symbol_at(source, line, column).name, "", "{line}:{column}");
    }
}

/// A folder with files.
fn files(rows: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in rows {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

const MODULE: (&str, &str) = ("kcl.mod", "[package]\nname = \"m\"\n");

#[test]
fn a_rename_that_is_not_safe_or_not_whole_changes_nothing() {
    let rows = [MODULE, ("main.k", "import lib\nb = 1\na = b + lib.x\n"), ("lib/l.k", "x = 1\n")];
    let folder = files(&rows);
    let path = |name: &str| folder.path().canonicalize().unwrap().join(name).display().to_string();
    let rename = |symbol: &str, new: &str, files: &[&str]| {
        let args = RenameArgs {
            package_root: path(""),
            symbol_path: symbol.into(),
            file_paths: files.iter().map(|file| path(file)).collect(),
            new_name: new.into(),
        };
        rename::rename(&args, &Budget::default())
    };
    for (symbol, new, listed, message) in [
        ("b", "a", &["main.k"], "in use already"),
        ("b", "if", &["main.k"], "cannot be its name"),
        // `lib/l.k` declares it and is not listed.
        ("lib:x", "y", &["main.k"], "get symbol from symbol path failed"),
        ("zz", "y", &["main.k"], "get symbol from symbol path failed, zz"),
        ("b[0]", "y", &["main.k"], "an item of a list has no name"),
    ] {
        let failure = rename(symbol, new, listed).unwrap_err();
        assert!(failure.message.contains(message), "{failure}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("main.k")).unwrap(), rows[1].1);
    assert_eq!(rename("lib:x", "y", &["main.k", "lib/l.k"]).unwrap().changed_files.len(), 2);
    assert!(std::fs::read_to_string(path("main.k")).unwrap().contains("lib.y"));
}

#[test]
fn an_override_that_cannot_be_applied_speaks_of_no_flag() {
    let folder = files(&[("main.k", "a = 1\n")]);
    let file = folder.path().join("main.k").display().to_string();
    let args =
        OverrideFileArgs { file: file.clone(), specs: vec!["a=[1".into()], ..OverrideFileArgs::default() };
    let failure = overrides::override_file(&args, &Budget::default()).unwrap_err();
    assert!(failure.message.contains("a value is a KCL expression"), "{failure}");
    assert!(!failure.message.contains("--"), "{failure}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "a = 1\n");
}

#[test]
fn a_case_is_judged_by_the_snapshots_that_are_kept() {
    let folder = files(&[MODULE, ("a_test.k", "test_it = lambda {\n    snapshot(\"value\", {n = 1})\n}\n")]);
    let args = TestArgs { pkg_list: vec![folder.path().display().to_string()], ..TestArgs::default() };
    let error = || test::test(&args, &Budget::default()).unwrap().info.remove(0).error;
    assert!(error().contains("is not kept yet"), "{}", error());
    let kept = folder.path().join("__snapshots__/test_it.value.json");
    std::fs::create_dir_all(kept.parent().unwrap()).unwrap();
    std::fs::write(&kept, "{\n  \"n\": 1\n}\n").unwrap();
    assert_eq!(error(), "");
    std::fs::write(&kept, "{\n  \"n\": 2\n}\n").unwrap();
    assert!(error().contains("is another than the one that is kept"), "{}", error());
}

#[test]
fn the_files_of_a_program_are_listed() {
    let folder = files(&[MODULE, ("main.k", "import lib\n"), ("lib/l.k", "x = 1\n")]);
    let work_dir = folder.path().display().to_string();
    let args = ListDepFilesArgs { work_dir, include_all: true, ..ListDepFilesArgs::default() };
    let found = dependencies::list_dep_files(&args, &Budget::default()).unwrap();
    assert_eq!(found.files, ["lib/l.k", "main.k"]);
}

#[test]
fn a_budget_ends_a_run() {
    let args = |code: &str| ExecProgramArgs {
        k_filename_list: vec!["a.k".into()],
        k_code_list: vec![code.into()],
        ..ExecProgramArgs::default()
    };
    let endless = args("a = [i + j for i in range(10000) for j in range(10000)]");
    let mut budget = Budget::default();
    budget.limits.steps = 1_000;
    let result = exec::exec_program(&endless, &budget).unwrap();
    assert!(result.err_message.contains("steps"), "{}", result.err_message);
    let budget = Budget::default();
    budget.cancel.cancel();
    let failure = call("KclService.Ping", Encoding::Json, b"{}", &budget).unwrap_err();
    assert_eq!(failure.reason, Reason::Stopped);
    // A run is stopped from another thread.
    let budget = Budget::default();
    let cancel = budget.cancel.clone();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        cancel.cancel();
    });
    let body = recode("KclService.ExecProgram", Encoding::Json, br#"{"k_filename_list":["a.k"],"k_code_list":["a = [i + j for i in range(10000) for j in range(10000)]"]}"#, Encoding::Protobuf);
    let failure = call("KclService.ExecProgram", Encoding::Protobuf, &body.unwrap(), &budget).unwrap_err();
    assert_eq!(failure.reason, Reason::Stopped);
    stopper.join().unwrap();
}

#[test]
fn methods_are_found_by_the_names_of_every_carrier() {
    for name in [
        "KclService.Ping",
        "gpyrpc.KclService/Ping",
        "com.kcl.api.KclService.Ping",
        "/gpyrpc.KclService/Ping",
    ] {
        assert!(find(name).is_some_and(|method| method.name == "Ping"), "{name}");
    }
    assert!(find("Ping").is_none() && find("").is_none() && find("OtherService.Ping").is_none());
    let reference = METHODS.iter().filter(|method| !matches!(method.name, "ListDepFiles" | "SymbolAt"));
    assert_eq!(reference.count(), 28);
    let wrong = call("KclService.Ping", Encoding::Protobuf, &[0x0a, 0xff], &Budget::default()).unwrap_err();
    assert_eq!(wrong.reason, Reason::Undecodable);
    let near = call("KclService.ExecProgam", Encoding::Json, b"", &Budget::default()).unwrap_err();
    assert_eq!(
        near.message,
        "there is no method `KclService.ExecProgam`: did you mean `KclService.ExecProgram`?"
    );
}

#[test]
fn texts_of_a_question_are_named_and_stand_in_no_folder() {
    let validate = |data: &str, format: &str| {
        let code = "schema P:\n    age: int\n    check:\n        age > 0, \"bad age\"\n".to_owned();
        let (data, format) = (data.to_owned(), format.to_owned());
        let args = ValidateCodeArgs { code, data, format, ..ValidateCodeArgs::default() };
        validate::validate_code(&args, &Budget::default()).unwrap().err_message
    };
    let here = std::env::current_dir().unwrap().display().to_string();
    for (data, format) in [("{\"age\": 0}", "json"), ("age: x\n", "yaml"), ("age: [", "yaml"), ("", "toml")] {
        let told = validate(data, format);
        assert!(told.contains("--> <data>:1:") && !told.contains(&here), "{data}: {told}");
    }
    assert!(validate("age: 0\n", "yaml").contains("--> validationTempKCLCode.k:4:"));
}

#[test]
fn data_becomes_statements_and_a_schema_a_file_with_a_note() {
    let kcl = |format: &str, source: &str| {
        let (format, source) = (format.to_owned(), source.to_owned());
        let args = GenerateKclArgs { format, source, ..GenerateKclArgs::default() };
        generate::generate_kcl(&args, &Budget::default()).unwrap().kcl
    };
    assert_eq!(kcl("json", "{\"a\": true}"), "a = True\n");
    assert_eq!(kcl("yaml", "a: 1\nb: {c: x}\n"), "a = 1\nb = {\n    c = \"x\"\n}\n");
    let schema = kcl("jsonschema", "{\"title\": \"A\", \"properties\": {\"n\": {\"type\": \"integer\"}}}");
    assert!(schema.starts_with("\"\"\"\nThis file was generated by `kcl import`"), "{schema}");
}

/// Bytes of the packages that are kept.
fn kept(budget: &Budget) -> u64 {
    let told = format!("{:?}", budget.packages);
    told.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn packages_that_are_kept_are_counted_and_do_not_grow_for_ever() {
    const LARGE: u64 = 1 << 20;
    let filler = format!("# {}\n", "x".repeat(1021)).repeat(1 << 10);
    let models = format!("import lib\ny = lib.x\n{filler}");
    let main = ("main.k", "import models\na = models.y\n");
    let folder = files(&[MODULE, main, ("models/m.k", models.as_str()), ("lib/l.k", "x = 1\n")]);
    let budget = Budget::default();
    let run = || {
        let work_dir = folder.path().display().to_string();
        let args = ExecProgramArgs { work_dir, k_filename_list: vec!["main.k".into()], ..Default::default() };
        exec::exec_program(&args, &budget).unwrap().yaml_result
    };
    assert_eq!(kept(&budget), 0);
    assert_eq!(run(), "a: 1");
    let first = kept(&budget);
    assert!(first > 2 * LARGE, "parsed and checked: {first}");
    assert_eq!(run(), "a: 1");
    assert_eq!(kept(&budget), first, "nothing changed, and nothing was made");
    // What stands on a package that changed is checked again, and kept again.
    let mut most = 0;
    for n in 2..42 {
        std::fs::write(folder.path().join("lib/l.k"), format!("x = {n}\n")).unwrap();
        assert_eq!(run(), format!("a: {n}"));
        let now = kept(&budget);
        assert!(n > 2 || now > first + LARGE, "{first}, then {now}");
        most = most.max(now);
    }
    assert!(most < 20 * LARGE, "{most}");
}

#[test]
fn calls_share_packages_and_see_every_change_of_a_file() {
    let folder = files(&[MODULE, ("main.k", "import lib\na = lib.x\n"), ("lib/l.k", "x = 1\n")]);
    let budget = Budget::default();
    let run = || {
        let work_dir = folder.path().display().to_string();
        let args = ExecProgramArgs { work_dir, k_filename_list: vec!["main.k".into()], ..Default::default() };
        exec::exec_program(&args, &budget).map(|answer| answer.yaml_result).map_err(|failure| failure.message)
    };
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).unwrap();
    assert_eq!(run().unwrap(), "a: 1");
    let first = kept(&budget);
    assert_eq!(run().unwrap(), "a: 1");
    assert!(first > 0 && kept(&budget) == first, "{first}, then {}", kept(&budget));
    // Same length, and as fast as a disk can be written: times and sizes tell nothing.
    for n in 2..10 {
        write("lib/l.k", &format!("x = {n}\n"));
        assert_eq!(run().unwrap(), format!("a: {n}"));
    }
    write("lib/m.k", "x = True\n");
    assert!(run().unwrap_err().contains("x"), "a file that appears counts");
    std::fs::remove_file(folder.path().join("lib/l.k")).unwrap();
    assert_eq!(run().unwrap(), "a: true");
    std::fs::remove_dir_all(folder.path().join("lib")).unwrap();
    assert!(run().unwrap_err().contains("lib"));
    write("lib.k", "x = \"file\"\n");
    assert_eq!(run().unwrap(), "a: file");
    // What is too much is forgotten, and nobody notices.
    budget.packages.trim(0);
    assert_eq!(kept(&budget), 0);
    assert_eq!(run().unwrap(), "a: file");
}

#[test]
fn overrides_at_the_same_time_are_all_there() {
    let folder = files(&[("main.k", "a = 1\n")]);
    let file = folder.path().join("main.k").display().to_string();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for n in 0..25 {
                    let specs = vec![format!("v{thread}x{n}={n}")];
                    let args = OverrideFileArgs { file: file.clone(), specs, ..OverrideFileArgs::default() };
                    assert!(overrides::override_file(&args, &Budget::default()).unwrap().result);
                }
            });
        }
    });
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 101);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn renames_and_overrides_at_the_same_time_are_all_there() {
    let names: String = (0..4).map(|thread| format!("r{thread}x0 = {thread}\n")).collect();
    let folder = files(&[("main.k", names.as_str())]);
    let root = folder.path().canonicalize().unwrap().display().to_string();
    let file = format!("{root}/main.k");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (root, file) = (&root, &file);
            scope.spawn(move || {
                for n in 0..10 {
                    let args = RenameArgs {
                        package_root: root.clone(),
                        symbol_path: format!("r{thread}x{n}"),
                        file_paths: vec![file.clone()],
                        new_name: format!("r{thread}x{}", n + 1),
                    };
                    rename::rename(&args, &Budget::default()).unwrap();
                    let specs = vec![format!("v{thread}x{n}={n}")];
                    let args = OverrideFileArgs { file: file.clone(), specs, ..OverrideFileArgs::default() };
                    assert!(overrides::override_file(&args, &Budget::default()).unwrap().result);
                }
            });
        }
    });
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 44, "{text}");
    assert!((0..4).all(|thread| text.contains(&format!("r{thread}x10 = {thread}\n"))), "{text}");
}

//! The command as a user meets it: wrong calls, streams, exit codes, plugins.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn kcl(folder: &Path, words: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kcl"))
        .args(words)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A child that does not read its input may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// However many mistakes there are and however long their lines: the first twenty are told, and all are counted.
#[test]
fn reports_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let programs = [
        ("lines.k", "a = = 1\n".repeat(20_000), "20000 errors, of which 20 are shown."),
        ("nots.k", format!("a = {}True\n", "not ".repeat(100_000)), "50000 errors, of which 20 are shown."),
        ("long.k", format!("a = \"{}\" $\n", "x".repeat(1_000_000)), "1 error."),
    ];
    for (name, program, count) in programs {
        std::fs::write(dir.path().join(name), program).unwrap();
        let output = kcl(dir.path(), &["run", name], "");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(told.contains(count), "{name}: {}", told.lines().last().unwrap());
        assert!(told.len() < 50_000, "{name}: {}", told.len());
        let short = kcl(dir.path(), &["run", name, "--error-format", "short"], "");
        assert!(text(&short.stderr).lines().count() <= 21, "{name}");
    }
}

#[test]
fn wrong_calls_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bad.k"), "a = 1 +\n").unwrap();
    std::fs::write(dir.path().join("latin.k"), [b'a', b'=', 0xff]).unwrap();
    std::fs::write(dir.path().join("loop.k"), "f = lambda n { f(n + 1) }\na = f(0)\n").unwrap();
    std::fs::write(dir.path().join("big.k"), "a = [i for i in range(1000000000000)]\n").unwrap();
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    let cases: [(&[&str], &str); 15] = [
        (&["rum"], "did you mean `kcl run`"),
        (&["run", "empty"], "No input KCL files"),
        (&["run", "nowhere.k"], "Cannot find the kcl file"),
        (&["run", "bad.k"], "error[E1001]"),
        (&["run", "latin.k"], "not UTF-8"),
        (&["run", "bad.k", "--formt", "json"], "did you mean --format"),
        (&["run", "bad.k", "--format", "ini"], "is not a format"),
        (&["run", "bad.k", "-D", "k"], "Invalid value for top level arguments"),
        (&["run", "bad.k", "-Y", "none.yaml"], "no such file or directory"),
        (&["run", "loop.k"], "budget of nesting (8000)"),
        (&["run", "big.k"], "--max-memory"),
        (&["explain", "E9"], "there is no page"),
        (&["run", "bad.k", "--oci", "oci://x/y"], "name nothing beside it"),
        (&["run", "-t", "1.0"], "need --oci or --git"),
        (&["run", "bad.k", "--error-format", "loud"], "is not an error format"),
    ];
    for (words, expected) in cases {
        let output = kcl(dir.path(), words, "");
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{words:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "", "{words:?}");
    }
}

#[test]
fn data_goes_to_stdout_and_files() {
    let dir = tempfile::tempdir().unwrap();
    let output = kcl(dir.path(), &["run", "-", "--format", "json"], "a = 1\nb = [a]\n");
    assert_eq!(text(&output.stdout), "{\n    \"a\": 1,\n    \"b\": [\n        1\n    ]\n}\n");
    let output =
        kcl(dir.path(), &["run", "-", "-o", "out.yaml", "-D", "n=3"], "a = option(\"n\")\nprint(\"hi\")\n");
    assert_eq!(text(&output.stdout), "hi\n");
    assert_eq!(std::fs::read_to_string(dir.path().join("out.yaml")).unwrap(), "a: 3\n");
}

#[test]
fn errors_have_a_json_form() {
    let dir = tempfile::tempdir().unwrap();
    let output = kcl(dir.path(), &["run", "-", "--error-format", "json"], "a: int = \"x\"\n");
    let errors: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(errors[0]["code"], "E2G22");
    assert_eq!(errors[0]["labels"][0]["line"], 1);
}

#[test]
fn files_outside_the_work_folder_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let inside = dir.path().join("in");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(dir.path().join("secret.txt"), "s").unwrap();
    std::fs::write(inside.join("own.txt"), "o").unwrap();
    let own = kcl(&inside, &["run", "-"], "import file\na = file.read(\"own.txt\")\n");
    assert_eq!(text(&own.stdout), "a: o\n", "{}", text(&own.stderr));
    let program = "import file\na = file.read(\"../secret.txt\")\n";
    assert!(text(&kcl(&inside, &["run", "-"], program).stderr).contains("--allow-files"));
    assert_eq!(text(&kcl(&inside, &["run", "-", "--allow-files"], program).stdout), "a: s\n");
}

#[test]
fn files_of_the_modules_may_be_read_from_any_folder_of_them() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("m/kcl.mod", "[package]\n[dependencies]\nlib = { path = \"../lib\" }\n"),
            ("m/data.txt", "d"),
            (
                "m/sub/main.k",
                "import file\nimport lib\na = file.read(file.modpath() + \"/data.txt\")\nb = file.read(\"../data.txt\")\nc = lib.text\nd = file.exists(\"none/../../data.txt\")\n",
            ),
            ("lib/kcl.mod", ""),
            ("lib/own.txt", "own"),
            ("lib/l.k", "import file\ntext = file.read(file.current()[:-3] + \"own.txt\")\n"),
            ("secret.txt", "s"),
            ("m/sub/out.k", "import file\na = file.read(\"../../secret.txt\")\n"),
        ],
    );
    let sub = dir.path().join("m/sub");
    let output = kcl(&sub, &["run", "main.k"], "");
    assert_eq!(text(&output.stdout), "a: d\nb: d\nc: own\nd: false\n", "{}", text(&output.stderr));
    assert!(text(&kcl(&sub, &["run", "out.k"], "").stderr).contains("--allow-files"));
}

#[test]
fn links_do_not_lead_out_of_the_work_folder() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("in/kcl.mod", ""), ("out/o.txt", "o")]);
    let inside = dir.path().join("in");
    std::os::unix::fs::symlink(dir.path().join("out"), inside.join("a")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("out/new.txt"), inside.join("dangling")).unwrap();
    for call in [
        "file.read('a/o.txt')",
        "file.mkdir('a/b/c')",
        "file.mkdir('../other/../in/x')",
        "file.write('dangling', 'x')",
    ] {
        let output = kcl(&inside, &["run", "-"], &format!("import file\nx = {call}\n"));
        assert!(text(&output.stderr).contains("--allow-files"), "{call}: {}", text(&output.stderr));
    }
    assert_eq!(std::fs::read_dir(dir.path().join("out")).unwrap().count(), 1);
    assert!(!dir.path().join("other").exists());
}

#[test]
fn folders_are_made_with_those_above_them_and_may_be_there() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("kcl.mod", ""), ("f", "")]);
    let run = |call: &str| kcl(dir.path(), &["run", "-"], &format!("import file\nx = file.mkdir({call})\n"));
    for call in ["'p/q/r'", "'p/q/r'", "'p/q/r', False", "'p/q/r', True", "'f', True"] {
        let output = run(call);
        assert_eq!(text(&output.stdout), "x: null\n", "{call}: {}", text(&output.stderr));
    }
    assert!(dir.path().join("p/q/r").is_dir());
    for call in ["'f'", "'f', False", "'f/g', True"] {
        let output = run(call);
        assert_eq!(output.status.code(), Some(1), "{call}");
        assert!(
            text(&output.stderr).contains("cannot make the folder `f"),
            "{call}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn paths_on_the_command_line_start_where_one_stands() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("s/kcl.yaml", "kcl_cli_configs:\n  files: [a.k]\nkcl_options:\n- {key: o, value: 7}\n"),
            ("s/a.k", "a = 1\n"),
            ("t/b.k", "import lib\nb = lib.v + option(\"o\")\n"),
            ("lib/kcl.mod", ""),
            ("lib/l.k", "v = 2\n"),
        ],
    );
    let output = kcl(dir.path(), &["run", "t/b.k", "-Y", "s/kcl.yaml", "-E", "lib=lib"], "");
    assert_eq!(text(&output.stdout), "b: 9\n", "{}", text(&output.stderr));
}

#[test]
fn the_imports_of_an_entry_start_at_the_root_of_its_own_module() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            (
                "m/kcl.mod",
                "[package]\n[dependencies]\next = { path = \"../ext\" }\n[profile]\nentries = [\"main.k\", \"${ext:KCL_MOD}/render.k\"]\n",
            ),
            ("m/main.k", "import lib\na = lib.v\n"),
            ("m/lib/l.k", "v = \"mine\"\n"),
            ("ext/kcl.mod", ""),
            (
                "ext/render.k",
                "import tools\nimport .other\nimport ext.tools as t\nb = tools.v + other.v + t.v\n",
            ),
            ("ext/tools/t.k", "v = \"theirs\"\n"),
            ("ext/other/o.k", "v = \"!\"\n"),
        ],
    );
    let expected = "a: mine\nb: theirs!theirs\n";
    let module = dir.path().join("m");
    assert_eq!(text(&kcl(&module, &["run"], "").stdout), expected);
    // From a folder of neither module.
    let output = kcl(dir.path(), &["run", "m/main.k", "ext/render.k"], "");
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

#[test]
fn debug_reports_the_outermost_call_and_a_backtrace() {
    let dir = tempfile::tempdir().unwrap();
    let text_of = "f = lambda x {\n    [1][x]\n}\nschema S:\n    x: int\n    y: int = f(x)\n    check:\n        x < 9\n";
    let cases = [
        ("a = f(5)\n", "main.k:2", "main.k:9"),
        ("a = S {\n    x = 5\n}\n", "main.k:2", "main.k:10"),
        ("a = S {\n    y = 0\n    x = 9\n}\n", "main.k:9", "main.k:9"),
        ("a = S {\n    y = 0\n}\n", "main.k:9", "main.k:10"),
        ("a = [\n    f(0)\n    [1][f(0)]\n]\n", "main.k:2", "main.k:11"),
    ];
    for (program, plain, debug) in cases {
        write(dir.path(), &[("main.k", &format!("{text_of}{program}"))]);
        let told = |flags: &[&str]| {
            let words = [&["run", "main.k", "--error-format", "short"], flags].concat();
            text(&kcl(dir.path(), &words, "").stderr).to_owned()
        };
        assert!(told(&[]).starts_with(plain), "{program}: {}", told(&[]));
        assert!(told(&["-d"]).starts_with(debug), "{program}: {}", told(&["-d"]));
        let full = kcl(dir.path(), &["run", "main.k", "-d"], "");
        assert!(text(&full.stderr).contains("note: backtrace:\n\t0: kcl_main\n\t\tat "), "{program}");
    }
}

#[test]
fn plugins_answer_only_when_named() {
    let dir = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins");
    let python = format!("hello=python3 {}", examples.join("hello.py").display());
    let shell = format!("shout=sh {}", examples.join("shout.sh").display());
    let program = "import kcl_plugin.hello\na = hello.add(1, 2)\nb = hello.greet(name=\"li\")\n";
    let output = kcl(dir.path(), &["run", "-", "--plugin", &python], program);
    assert_eq!(text(&output.stdout), "a: 3\nb: hello li\n", "{}", text(&output.stderr));
    let program = "import kcl_plugin.shout\na = shout.upper(\"abc\")\n";
    let output = kcl(dir.path(), &["run", "-", "--plugin", &shell], program);
    assert_eq!(text(&output.stdout), "a: ABC\n", "{}", text(&output.stderr));
    let output = kcl(dir.path(), &["run", "-"], program);
    assert!(text(&output.stderr).contains("please confirm if plugin mode is enabled"));
    let output = kcl(dir.path(), &["run", "-", "--plugin", "shout=false"], program);
    assert!(text(&output.stderr).contains("the plugin `shout`"), "{}", text(&output.stderr));
}

#[test]
fn toml_and_xml_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let program = "t = {x = 1, s = \"<a>\"}\na = 1.5\nl = [1, 2]\nm = [{k = None, b = True}]\n";
    let output = kcl(dir.path(), &["run", "-", "--format", "toml"], program);
    let expected = "a = 1.5\nl = [1, 2]\n\n[[m]]\nb = true\n\n[t]\nx = 1\ns = \"<a>\"\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    let stream = "import manifests\nmanifests.yaml_stream([{a = 1}, {b = 1}])\n";
    let single = "import manifests\nmanifests.yaml_stream([1])\n";
    for (program, sentence, told) in [
        ("a = [None]\n", "null array element cannot be represented in TOML", "TOML has no `None` in a list"),
        (stream, "a stream of documents cannot be written as TOML", "write it as YAML"),
        (single, "only a mapping can be written as TOML", "give it a name"),
    ] {
        let output = kcl(dir.path(), &["run", "-", "--format", "toml"], program);
        assert_eq!(output.status.code(), Some(1), "{program}");
        assert!(text(&output.stderr).contains(told), "{program}: {}", text(&output.stderr));
        let json = kcl(dir.path(), &["run", "-", "--format", "toml", "--error-format", "json"], program);
        let json = format!("{}{}", text(&json.stdout), text(&json.stderr));
        assert!(json.contains(&format!("\"message\":\"{sentence}\"")), "{json}");
    }
    let output = kcl(dir.path(), &["run", "-", "--format", "xml"], "t = {s = \"<a>\"}\nl = [1]\n");
    let expected =
        "<root>\n  <t>\n    <s>&lt;a&gt;</s>\n  </t>\n  <l>\n    <item>1</item>\n  </l>\n</root>\n";
    assert_eq!(text(&output.stdout), expected);
}

/// Writes files below a folder.
fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn a_module_is_run_with_its_dependencies_and_profile() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = "[dependencies]\nmy-lib = { path = \"../lib\" }\nkept = \"1.0\"\n\
                    [profile]\nentries = [\"main.k\", \"conf/**/*.k\"]\nsort_keys = true\n";
    write(
        dir.path(),
        &[
            ("app/kcl.mod", manifest),
            ("app/main.k", "import my_lib\nimport kept\nz = my_lib.S {}\nk = kept.v\n"),
            ("app/conf/a/b.k", "c = 1\n"),
            ("app/vendor/kept_1.0/kcl.mod", ""),
            ("app/vendor/kept_1.0/v.k", "v = 2\n"),
            ("lib/kcl.mod", "[dependencies]\nfar = { path = \"../far\" }\n"),
            ("lib/s.k", "import far\nschema S:\n    a: int = far.w\n"),
            ("far/kcl.mod", ""),
            ("far/w.k", "w = 3\n"),
        ],
    );
    let expected = "c: 1\nk: 2\nz:\n  a: 3\n";
    for (folder, words) in [("app", vec!["run"]), ("", vec!["run", "app"])] {
        let output = kcl(&dir.path().join(folder), &words, "");
        assert_eq!(text(&output.stdout), expected, "{words:?}: {}", text(&output.stderr));
    }
    let output = kcl(&dir.path().join("app"), &["run", "main.k"], "");
    assert_eq!(text(&output.stdout), "z:\n  a: 3\nk: 2\n");
}

#[test]
fn the_edition_of_the_module_is_obeyed() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("kcl.mod", "[language]\nedition = \"0.13\"\n"), ("p/p.k", "_x = 1\n")]);
    write(dir.path(), &[("main.k", "import p\na = p._x\n")]);
    let output = kcl(dir.path(), &["run", "main.k"], "");
    assert!(text(&output.stderr).contains("private member"), "{}", text(&output.stderr));
    let output = kcl(dir.path(), &["run", "main.k", "--edition", "0.12"], "");
    assert_eq!(text(&output.stdout), "a: 1\n");
}

#[test]
fn every_wrong_input_says_what_to_do_next() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("main.k", "a = 1\nb = {c = [1]}\n"),
            ("lost.k", "import foo\n"),
            ("near.k", "import .nada\n"),
            ("needs.k", "a = option(\"env\", required=True)\n"),
            ("empty/readme.txt", ""),
            ("number.yaml", "kcl_options: 3\n"),
            ("broken.yaml", "a: [\n"),
            ("mod/kcl.mod", "[package]\n[dependencies\nfoo = 1\n"),
            ("mod/main.k", "a = 1\n"),
            ("old/kcl.mod", "[language]\nedition = \"7\"\n"),
            ("old/main.k", "a = 1\n"),
        ],
    );
    std::fs::write(dir.path().join("latin.k"), [0xff, 0xfe, 0x00]).unwrap();
    let trials: &[(&str, &str)] = &[
        ("run nofile.k", "the folder"),
        ("run nowhere/x.k", "there is no folder"),
        ("run empty", "has no .k files"),
        ("run latin.k", "not UTF-8"),
        ("run lost.k", "-E foo=PATH"),
        ("run near.k", "there is neither a folder"),
        ("run needs.k", "-D env=.."),
        ("run mod", "kcl.mod:2"),
        ("run old", "use 0.12 or 0.13"),
        ("run main.k --frmat json", "did you mean --format?"),
        ("run main.k -f pdf", "use yaml, json, toml or xml"),
        ("run main.k -kx", "there is no flag"),
        ("run main.k -D", "needs a value"),
        ("run main.k -D foo", "write -D key=value"),
        ("run main.k -D a=b=c", "settings file"),
        ("run main.k -O a", "is no override"),
        ("run main.k -O a[0]=1", "Expected opening quote"),
        ("run main.k -S zz", "the output has: a, b"),
        ("run main.k -Y none.yaml", "no such file"),
        ("run main.k -Y number.yaml", "kcl_options"),
        ("run main.k -Y broken.yaml", "invalid setting file format"),
        ("run main.k -E x", "NAME=VALUE"),
        ("run main.k -o nowhere/out.yaml", "a folder that exists"),
        ("run main.k -o empty", "cannot write to empty"),
        ("run main.k --max-steps abc", "whole number"),
        ("run main.k --edition 9", "use 0.12 or 0.13"),
        ("run main.k --why zz", "there is: a, b"),
        ("runn main.k", "did you mean"),
        ("explain E0000", "codes are"),
    ];
    for (words, expected) in trials {
        let words: Vec<&str> = words.split(' ').collect();
        let output = kcl(dir.path(), &words, "");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        assert!(!said.contains("panicked") && output.stdout.is_empty(), "{words:?}: {said}");
    }
}

#[test]
fn switches_may_stand_together() {
    let dir = tempfile::tempdir().unwrap();
    let output = kcl(dir.path(), &["run", "-", "-knH"], "b = None\n_a = 1\n");
    assert_eq!(text(&output.stdout), "_a: 1\n", "{}", text(&output.stderr));
}

#[cfg(unix)]
#[test]
fn a_command_that_is_a_program_takes_the_place_of_kcl() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("kcl-who");
    std::fs::write(&program, "#!/bin/sh\necho $$\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", dir.path().display());
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_kcl"))
        .arg("who")
        .env("PATH", path)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), id.to_string());
}

#[test]
fn a_list_of_half_a_program_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("main.k"), "schema A:\n    a: int\nb = (\n").unwrap();
    for what in ["schemas", "options"] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_kcl"))
            .args(["list", what, "main.k"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{what}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("main.k:"), "{what}");
    }
}

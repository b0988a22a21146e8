//! `kcl mod` as a user meets it: a module that needs a package from Git, from the first line to a run without a network.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    /// A repository `lib` with the tags v1.2.0 and v1.10.0, and an empty folder `shop`.
    fn new() -> Lab {
        let lab = Lab { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(lab.path("lib")).unwrap();
        std::fs::create_dir_all(lab.path("shop")).unwrap();
        lab.git(&["init", "--quiet"]);
        for version in ["1.2.0", "1.10.0"] {
            lab.write("lib/kcl.mod", &format!("[package]\nname = \"lib\"\nversion = \"{version}\"\n"));
            lab.write("lib/lib.k", &format!("release = \"{version}\"\n"));
            lab.git(&["add", "-A"]);
            lab.git(&["commit", "--quiet", "-m", version]);
            lab.git(&["tag", &format!("v{version}")]);
        }
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.path(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    fn git(&self, words: &[&str]) {
        let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let status =
            Command::new("git").arg("-C").arg(self.path("lib")).args(who).args(words).status().unwrap();
        assert!(status.success());
    }

    fn kcl(&self, words: &[&str]) -> Output {
        self.kcl_in(&self.path("shop"), words)
    }

    fn kcl_in(&self, folder: &Path, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kcl"))
            .args(words)
            .current_dir(folder)
            .env("HOME", self.path("home"))
            .env("NO_COLOR", "1")
            .env_remove("KCL_PKG_PATH")
            .output()
            .unwrap()
    }

    fn says(&self, words: &[&str]) -> String {
        let output = self.kcl(words);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{words:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text.replace(&self.folder.path().display().to_string(), "LAB")
    }

    fn refuses(&self, words: &[&str]) -> String {
        let output = self.kcl(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn a_package_from_git_from_the_first_line_to_a_run_without_it() {
    let lab = Lab::new();
    let url = format!("file://{}", lab.path("lib").display());
    assert_eq!(lab.says(&["mod", "init"]), "made the module `shop` in LAB/shop; `kcl run` runs it\n");
    assert_eq!(lab.says(&["run"]), "hello: world\n");
    assert_eq!(
        lab.says(&["mod", "add", "--git", &url, "--tag", "v1.2.0"]),
        "added lib 1.2.0: `import lib`\n"
    );
    lab.write("shop/main.k", "import lib\n\nrelease = lib.release\n");
    assert_eq!(lab.says(&["run"]), "release: '1.2.0'\n");
    assert_eq!(lab.says(&["mod", "tree"]), "shop@0.1.0\n└─ lib@1.2.0\n");
    assert_eq!(lab.says(&["mod", "graph"]), "shop@0.1.0 lib@1.2.0\n");
    assert_eq!(lab.says(&["mod", "verify"]), "1 package is what kcl.mod.lock says\n");
    // The newest is written down as what it was.
    assert_eq!(lab.says(&["mod", "add", "--git", &url]), "added lib 1.10.0: `import lib`\n");
    assert!(lab.read("shop/kcl.mod").contains("tag = \"v1.10.0\""));
    assert_eq!(lab.says(&["run"]), "release: '1.10.0'\n");
    assert_eq!(lab.says(&["mod", "vendor"]), "1 package in LAB/shop/vendor\n");
    std::fs::remove_dir_all(lab.path("lib")).unwrap();
    std::fs::remove_dir_all(lab.path("home")).unwrap();
    assert_eq!(lab.says(&["run", "--vendor"]), "release: '1.10.0'\n");
    assert_eq!(lab.says(&["mod", "remove", "lib"]), "removed lib\n");
    assert_eq!(lab.read("shop/kcl.mod.lock"), "[dependencies]\n");
}

#[test]
fn what_fails_changes_nothing() {
    let lab = Lab::new();
    lab.says(&["mod", "init"]);
    let (manifest, lock) = (lab.read("shop/kcl.mod"), lab.read("shop/kcl.mod.lock"));
    let url = format!("file://{}", lab.path("lib").display());
    let cases: &[(&[&str], &str)] = &[
        (&["mod", "add", "--git", &url, "--tag", "v9"], "has no tag `v9`"),
        (
            &["mod", "add", "--git", &url, "--tag", "v1.2.0", "--branch", "main"],
            "one of tag, commit and branch",
        ),
        (&["mod", "add", "--git", &url, "--tag", "v1.2.0", "--offline"], "--offline fetches nothing"),
        (&["mod", "add"], "name a package"),
        (&["mod", "add", "--path", "../nowhere"], "cannot read"),
        (&["mod", "add", "../../etc"], "letters, digits"),
        (&["mod", "remove", "nothing"], "has no dependency `nothing`"),
        (&["mod", "update", "nothing"], "needs no package `nothing`"),
        (&["mod", "ad"], "did you mean `kcl mod add`"),
        (&["mod", "push", "nowhere"], "is not oci://HOST/PATH"),
        (&["mod", "init"], "is a module already"),
        (&["clean"], "`kcl clean -y` does it"),
        (&["registry", "login"], "kcl registry login HOST"),
    ];
    for (words, says) in cases {
        let told = lab.refuses(words);
        assert!(told.contains(says), "{words:?}: {told}");
    }
    assert_eq!((lab.read("shop/kcl.mod"), lab.read("shop/kcl.mod.lock")), (manifest, lock));
}

#[test]
fn a_manifest_that_is_no_toml_is_told_with_its_line() {
    let lab = Lab::new();
    lab.write("shop/kcl.mod", "[package]\nname = \"shop\"\nname = \"other\"\n[dependencies]\n");
    for words in [
        &["mod", "push", "oci://127.0.0.1:9/shop"][..],
        &["mod", "pkg"],
        &["mod", "update"],
        &["mod", "tree"],
        &["run"],
    ] {
        let told = lab.refuses(words);
        assert!(told.contains("kcl.mod:3: duplicate key"), "{words:?}: {told}");
    }
}

#[test]
fn a_module_is_packed_into_the_same_bytes() {
    let lab = Lab::new();
    lab.says(&["mod", "init"]);
    std::fs::create_dir_all(lab.path("shop/.git")).unwrap();
    lab.write("shop/.git/config", "x");
    assert_eq!(lab.says(&["mod", "pkg", "--target", "../out"]), "../out/shop_0.1.0.tar (3 files)\n");
    let first = std::fs::read(lab.path("out/shop_0.1.0.tar")).unwrap();
    lab.says(&["mod", "pkg", "--target", "../out"]);
    assert_eq!(std::fs::read(lab.path("out/shop_0.1.0.tar")).unwrap(), first);
}

#[test]
fn a_program_beside_us_is_a_command() {
    let lab = Lab::new();
    lab.write("kcl-hello", "#!/bin/sh\necho \"hello $1\"\nexit 3\n");
    let mut mode = std::fs::metadata(lab.path("kcl-hello")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(lab.path("kcl-hello"), mode).unwrap();
    let path = format!("{}:{}", lab.folder.path().display(), std::env::var("PATH").unwrap());
    let output =
        Command::new(env!("CARGO_BIN_EXE_kcl")).args(["hello", "you"]).env("PATH", path).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), b"hello you\n".as_slice()));
}

/// A module that uses `lib` 1.2.0, fetched and locked.
fn using_lib() -> Lab {
    let lab = Lab::new();
    let url = format!("file://{}", lab.path("lib").display());
    lab.says(&["mod", "init"]);
    lab.says(&["mod", "add", "--git", &url, "--tag", "v1.2.0"]);
    lab.write("shop/main.k", "import lib\n\nrelease = lib.release\n");
    lab
}

#[test]
fn a_run_takes_nothing_that_is_not_what_the_lock_says() {
    let lab = using_lib();
    let store = std::fs::read_dir(lab.path("home/.kcl/kpm/store")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(lab.says(&["run"]), "release: '1.2.0'\n");
    // Once the files have settled they are sealed: the second run reads no more than it needs.
    std::thread::sleep(std::time::Duration::from_millis(150));
    assert_eq!(lab.says(&["run"]), "release: '1.2.0'\n");
    assert!(lab.path("home/.kcl/kpm/seals").is_dir());
    std::fs::write(store.join("lib.k"), "release = \"6.6.6\"\n").unwrap();
    let told = lab.refuses(&["run"]);
    assert!(told.contains("package `lib`") && told.contains("was changed"), "{told}");
    assert!(lab.refuses(&["mod", "verify"]).contains("was changed"));
    lab.says(&["mod", "update"]);
    assert_eq!(lab.says(&["run"]), "release: '1.2.0'\n");
    // A copy in vendor is used before the store, and judged in the same way.
    lab.says(&["mod", "vendor"]);
    lab.write("shop/vendor/lib_v1.2.0/more.k", "more = 1\n");
    let told = lab.refuses(&["run"]);
    assert!(told.contains("vendor/lib_v1.2.0 was changed") && told.contains("kcl mod vendor"), "{told}");
    lab.says(&["mod", "vendor"]);
    assert_eq!(lab.says(&["run"]), "release: '1.2.0'\n");
}

#[test]
fn what_is_locked_and_not_there_is_told_so() {
    let lab = using_lib();
    lab.says(&["clean", "-y"]);
    let told = lab.refuses(&["run"]);
    assert!(
        told.contains("kcl.mod.lock names lib 1.2.0") && told.contains("kcl mod update --locked"),
        "{told}"
    );
    assert!(!told.contains("kcl mod add"), "{told}");
}

#[test]
fn a_lock_without_sums_proves_nothing() {
    let lab = using_lib();
    let lock = lab.read("shop/kcl.mod.lock");
    let row = lock.lines().find(|line| line.contains("sum = ")).unwrap().to_owned();
    let cases = [
        ("", "has no sum for it"),
        ("    sum = \"garbage\"", "is not a sum of ours"),
        ("    sum = \"h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"", "kcl.mod.lock says h1:AAAA"),
    ];
    for (other, says) in cases {
        lab.write("shop/kcl.mod.lock", &lock.replace(&row, other));
        let told = lab.refuses(&["mod", "verify"]);
        assert!(told.contains(says) && told.contains("lib"), "{told}");
    }
    lab.write("shop/kcl.mod.lock", "[dependencies]\n");
    assert!(lab.refuses(&["mod", "verify"]).contains("does not fit kcl.mod"));
}

#[test]
fn a_package_from_elsewhere_shows_only_its_own_files() {
    let lab = Lab::new();
    lab.write("secret.k", "password = \"open sesame\"\n");
    let url = format!("file://{}/.git", lab.path("lib").display());
    let run = |tag: &str| lab.kcl(&["run", "--git", &url, "--tag", tag]);
    assert_eq!(String::from_utf8(run("v1.2.0").stdout).unwrap(), "release: '1.2.0'\n");
    let secret = lab.path("secret.k").display().to_string();
    let up = format!("{}{secret}", "../".repeat(24));
    for (number, entry) in [secret.as_str(), &up, "${KCL_MOD}/../../../../../secret.k"].iter().enumerate() {
        let manifest =
            format!("[package]\nname = \"lib\"\nversion = \"3.0.0\"\n[profile]\nentries = [\"{entry}\"]\n");
        lab.write("lib/kcl.mod", &manifest);
        lab.git(&["commit", "--quiet", "-am", "evil"]);
        lab.git(&["tag", &format!("evil{number}")]);
        let output = run(&format!("evil{number}"));
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{entry}: {told}");
        assert!(told.contains("a file outside of it"), "{entry}: {told}");
    }
    // What it names inside of itself is run.
    lab.write(
        "lib/kcl.mod",
        "[package]\nname = \"lib\"\nversion = \"3.0.0\"\n[profile]\nentries = [\"lib.k\"]\n",
    );
    lab.git(&["commit", "--quiet", "-am", "good"]);
    lab.git(&["tag", "good"]);
    assert_eq!(
        String::from_utf8(run("good").stdout).unwrap(),
        "release: 1.10.0\n".replace("1.10.0", "'1.10.0'")
    );
    // A package that is named and is not there is not another one.
    let told = lab.refuses(&["run", "--git", &url, "--tag", "v1.2.0", "--package", "nopart"]);
    assert!(told.contains("has no package `nopart`") && !told.contains("program"), "{told}");
    lab.says(&["mod", "init"]);
    let told = lab.refuses(&["mod", "add", "--git", &url, "--tag", "v1.2.0", "--package", "nopart"]);
    assert!(told.contains("has no package `nopart`"), "{told}");
}

#[test]
fn packages_that_are_added_at_the_same_time_are_all_there() {
    let lab = Lab::new();
    lab.says(&["mod", "init"]);
    let names: Vec<String> = (0..8).map(|number| format!("part{number}")).collect();
    for name in &names {
        std::fs::create_dir_all(lab.path(name)).unwrap();
        lab.write(
            &format!("{name}/kcl.mod"),
            &format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n"),
        );
    }
    std::thread::scope(|scope| {
        for name in &names {
            let lab = &lab;
            scope.spawn(move || lab.says(&["mod", "add", "--path", &format!("../{name}")]));
        }
    });
    let (manifest, lock) = (lab.read("shop/kcl.mod"), lab.read("shop/kcl.mod.lock"));
    for name in &names {
        assert!(
            manifest.contains(&format!("{name} = ")) && lock.contains(&format!(".{name}]")),
            "{manifest}{lock}"
        );
    }
}

/// A `git` that waits for a word before a fetch, and writes down when it begins and when it goes on.
const SLOW_GIT: &str = "#!/bin/sh\ncase \"$*\" in *' fetch '*) echo begun >> \"$LAB/log\"; \
                        while [ ! -e \"$LAB/word\" ]; do sleep 0.05; done; echo ended >> \"$LAB/log\";; esac\n\
                        exec \"$GIT\" \"$@\"\n";

/// Waits until something holds, for a machine that has much to do.
fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed().as_secs() < 120, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_git_that_outlives_its_kcl_is_waited_for() {
    let lab = Lab::new();
    lab.says(&["mod", "init"]);
    std::fs::create_dir_all(lab.path("bin")).unwrap();
    lab.write("bin/git", SLOW_GIT);
    let mut mode = std::fs::metadata(lab.path("bin/git")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(lab.path("bin/git"), mode).unwrap();
    let path = std::env::var("PATH").unwrap();
    let git =
        path.split(':').map(|folder| Path::new(folder).join("git")).find(|file| file.is_file()).unwrap();
    let url = format!("file://{}", lab.path("lib").display());
    let add = |tag: &str| {
        Command::new(env!("CARGO_BIN_EXE_kcl"))
            .args(["mod", "add", "--git", &url, "--tag", tag])
            .current_dir(lab.path("shop"))
            .env("HOME", lab.path("home"))
            .env("PATH", format!("{}:{path}", lab.path("bin").display()))
            .env("GIT", &git)
            .env("LAB", lab.folder.path())
            .spawn()
            .unwrap()
    };
    let log = || std::fs::read_to_string(lab.path("log")).unwrap_or_default();
    let mut first = add("v1.2.0");
    wait_for("no git was started", || log() == "begun\n");
    first.kill().unwrap();
    first.wait().unwrap();
    let mut second = add("v1.10.0");
    // The kernel tells who waits for a lock.
    let waits = format!(" {} ", second.id());
    let locks = || std::fs::read_to_string("/proc/locks").unwrap();
    let waiting = || locks().lines().any(|line| line.contains("->") && line.contains(&waits));
    wait_for("the second neither waits nor works", || waiting() || log() != "begun\n");
    assert_eq!(log(), "begun\n", "two of them work in one copy");
    lab.write("word", "go on");
    assert!(second.wait().unwrap().success());
    assert_eq!(log(), "begun\nended\nbegun\nended\n");
}

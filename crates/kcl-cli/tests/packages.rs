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
    assert_eq!(lab.says(&["mod", "vendor"]), "1 packages in LAB/shop/vendor\n");
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

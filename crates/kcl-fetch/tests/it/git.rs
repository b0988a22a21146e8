//! Packages from Git.

use kcl_fetch::Options;

use crate::lab::{Lab, names, text};

fn offline() -> Options {
    Options { offline: true, ..Options::default() }
}

fn app(lab: &Lab, dependencies: &str) {
    lab.module("app", "0.1.0", &format!("[dependencies]\n{dependencies}"));
}

#[test]
fn a_tag_is_fetched_locked_and_then_needs_no_network() {
    let lab = Lab::new();
    lab.module("lib", "1.4.0", "");
    let commit = lab.tag("lib", "v1.4.0");
    app(&lab, &format!("lib = {{ git = \"{}\", tag = \"v1.4.0\" }}", lab.url("lib")));
    let told = lab.resolve("app", &offline()).unwrap_err();
    assert!(told.what.contains("`lib`") && told.what.contains("--offline"), "{told}");
    let resolution = lab.resolve("app", &Options::default()).unwrap();
    assert_eq!(names(&resolution), ["lib@1.4.0"]);
    assert_eq!(text(&resolution.packages[0].folder, "lib.k"), "version = \"1.4.0\"\n");
    let lock = resolution.lock.write();
    assert!(lock.contains(&format!("resolved = \"{commit}\"")) && lock.contains("sum = \"h1:"), "{lock}");
    lab.write_lock("app", &resolution);
    std::fs::remove_dir_all(lab.path("lib")).unwrap();
    assert_eq!(lab.resolve("app", &offline()).unwrap().lock, resolution.lock);
}

#[test]
fn a_tag_that_was_moved_is_refused_until_somebody_asks_for_it() {
    let lab = Lab::new();
    lab.module("lib", "1.0.0", "");
    lab.tag("lib", "v1");
    app(&lab, &format!("lib = {{ git = \"{}\", tag = \"v1\" }}", lab.url("lib")));
    let first = lab.resolve("app", &Options::default()).unwrap();
    lab.write_lock("app", &first);
    lab.module("lib", "6.6.6", "");
    lab.tag("lib", "v1");
    // Another machine: an empty store, the same lock. The commit that was locked is taken, not the tag.
    std::fs::remove_dir_all(lab.path("store")).unwrap();
    assert_eq!(names(&lab.resolve("app", &Options::default()).unwrap()), ["lib@1.0.0"]);
    // A lock whose sum is another one than that of the commit is an attack or an accident.
    let sum = first.packages[0].locked.sum.clone().unwrap();
    let wrong = first.lock.write().replace(&sum, &format!("h1:{}=", "A".repeat(43)));
    lab.write("app/kcl.mod.lock", &wrong);
    let told = lab.resolve("app", &Options::default()).unwrap_err();
    assert!(told.what.contains("kcl.mod.lock says"), "{told}");
    let refresh = Options { refresh: Some(vec!["lib".to_owned()]), ..Options::default() };
    assert_eq!(names(&lab.resolve("app", &refresh).unwrap()), ["lib@6.6.6"]);
}

#[test]
fn the_greatest_version_asked_for_is_taken_for_all() {
    let lab = Lab::new();
    lab.module("base", "1.2.0", "");
    lab.tag("base", "v1.2.0");
    lab.module("base", "1.10.0", "");
    lab.tag("base", "v1.10.0");
    lab.module("base", "2.0.0", "");
    lab.tag("base", "v2.0.0");
    for (name, wants) in [("left", "v1.2.0"), ("right", "v1.10.0")] {
        let url = lab.url("base");
        lab.module(
            name,
            "1.0.0",
            &format!("[dependencies]\nbase = {{ git = \"{url}\", tag = \"{wants}\" }}\n"),
        );
        lab.tag(name, "v1.0.0");
    }
    let need = |name: &str| format!("{name} = {{ git = \"{}\", tag = \"v1.0.0\" }}\n", lab.url(name));
    app(&lab, &(need("left") + &need("right")));
    let resolution = lab.resolve("app", &Options::default()).unwrap();
    assert_eq!(names(&resolution), ["base@1.10.0", "left@1.0.0", "right@1.0.0"]);
}

#[test]
fn sub_folders_branches_commits_and_the_newest_tag() {
    let lab = Lab::new();
    lab.module("mono/part", "0.3.0", "");
    lab.write("mono/part/kcl.mod", "[package]\nname = \"part\"\nversion = \"0.3.0\"\n");
    lab.write("mono/README.md", "not a package\n");
    let commit = lab.tag("mono", "v0.3.0");
    lab.git("mono", &["branch", "team/next"]);
    let url = lab.url("mono");
    for (pin, said) in [
        (format!("commit = \"{}\"", &commit[..10]), "commit = "),
        ("branch = \"team/next\"".to_owned(), "full_name = \"part_team-next\""),
        ("package = \"part\"".to_owned(), "git_tag = \"v0.3.0\""),
    ] {
        app(&lab, &format!("part = {{ git = \"{url}\", {pin} }}"));
        let resolution = lab.resolve("app", &Options::default()).unwrap();
        assert_eq!(names(&resolution), ["part@0.3.0"]);
        assert!(!resolution.packages[0].folder.join("README.md").exists());
        let lock = resolution.lock.write();
        assert!(lock.contains(said) && lock.contains(&commit), "{lock}");
    }
}

#[test]
fn what_cannot_be_had_is_told() {
    let lab = Lab::new();
    lab.module("lib", "1.0.0", "[dependencies]\nother = { path = \"../other\" }\n");
    lab.tag("lib", "v1");
    let url = lab.url("lib");
    let says = |spec: &str| {
        app(&lab, spec);
        lab.resolve("app", &Options::default()).unwrap_err().to_string()
    };
    assert!(says(&format!("lib = {{ git = \"{url}\", tag = \"v9\" }}")).contains("has no tag `v9`"));
    assert!(says(&format!("lib = {{ git = \"{url}\", branch = \"x\" }}")).contains("has no branch `x`"));
    assert!(says(&format!("lib = {{ git = \"{url}\", commit = \"0123456789\" }}")).contains("has no commit"));
    assert!(says(&format!("lib = {{ git = \"{url}\", commit = \"HEAD\" }}")).contains("is not a commit"));
    assert!(says("lib = { git = \"file:///nowhere/at/all\", tag = \"v1\" }").contains("git says about"));
    assert!(
        says("lib = { git = \"--upload-pack=touch /tmp/x\", tag = \"v1\" }").contains("is not the address")
    );
    assert!(
        says("lib = { git = \"ext::sh -c touch% /tmp/x\", tag = \"v1\" }").contains("is not the address")
    );
    assert!(says(&format!("lib = {{ git = \"{url}\", tag = \"v1\" }}")).contains("a folder outside of it"));
    assert!(says("lib = { path = \"../none\" }").contains("cannot read"));
}

#[test]
fn what_was_changed_in_the_store_is_noticed() {
    let lab = Lab::new();
    lab.module("lib", "1.0.0", "");
    lab.tag("lib", "v1");
    app(&lab, &format!("lib = {{ git = \"{}\", tag = \"v1\" }}", lab.url("lib")));
    let kept = lab.resolve("app", &Options::default()).unwrap().packages.remove(0);
    let sum = kept.locked.sum.unwrap();
    kcl_fetch::compare(&kept.folder, &sum).unwrap();
    std::fs::write(kept.folder.join("lib.k"), "version = \"x\"\n").unwrap();
    assert!(kcl_fetch::compare(&kept.folder, &sum).unwrap_err().what.contains("was changed"));
}

#[test]
fn repositories_come_over_http_from_the_server_of_git() {
    let lab = Lab::new();
    lab.module("lib", "1.4.0", "");
    let commit = lab.tag("lib", "v1.4.0");
    lab.git("lib", &["branch", "next"]);
    let server = testenv::packages::GitServer::start(&lab.path(""), None);
    for pin in
        ["tag = \"v1.4.0\"".to_owned(), "branch = \"next\"".to_owned(), format!("commit = \"{commit}\"")]
    {
        app(&lab, &format!("lib = {{ git = \"http://{}/lib/.git\", {pin} }}", server.host));
        let resolution = lab.resolve("app", &Options::default()).unwrap();
        assert_eq!(names(&resolution), ["lib@1.4.0"], "{pin}");
        assert!(resolution.lock.write().contains(&commit), "{pin}");
    }
    app(&lab, &format!("lib = {{ git = \"http://{}/lib/.git\", tag = \"v9\" }}", server.host));
    assert!(lab.resolve("app", &Options::default()).unwrap_err().what.contains("has no tag `v9`"));
    app(&lab, &format!("lib = {{ git = \"http://{}/none/.git\", tag = \"v1\" }}", server.host));
    assert!(lab.resolve("app", &Options::default()).unwrap_err().what.contains("not found"));
}

#[test]
fn a_repository_with_a_password_is_told_and_then_opened() {
    let lab = Lab::new();
    lab.module("lib", "1.0.0", "");
    lab.tag("lib", "v1");
    let server = testenv::packages::GitServer::start(&lab.path(""), Some(("team", "sesame")));
    let need =
        |login: &str| format!("lib = {{ git = \"http://{login}{}/lib/.git\", tag = \"v1\" }}", server.host);
    app(&lab, &need(""));
    let told = lab.resolve("app", &Options::default()).unwrap_err();
    assert!(told.next.as_deref().unwrap_or_default().contains("asks for credentials"), "{told:?}");
    app(&lab, &need("team:wrong@"));
    let told = lab.resolve("app", &Options::default()).unwrap_err();
    assert!(told.what.contains("Authentication failed") && !told.what.contains("wrong"), "{told:?}");
    app(&lab, &need("team:sesame@"));
    assert_eq!(names(&lab.resolve("app", &Options::default()).unwrap()), ["lib@1.0.0"]);
}

#[test]
fn what_is_vendored_needs_neither_store_nor_network() {
    let lab = Lab::new();
    lab.module("lib", "1.0.0", "");
    lab.tag("lib", "v1");
    app(&lab, &format!("lib = {{ git = \"{}\", tag = \"v1\" }}", lab.url("lib")));
    let first = lab.resolve("app", &Options::default()).unwrap();
    lab.write_lock("app", &first);
    let copy = lab.path("app/vendor").join(first.packages[0].locked.full_name());
    let (_, content) = kcl_fetch::read_kept(&first.packages[0].folder).unwrap();
    std::fs::create_dir_all(lab.path("app/vendor")).unwrap();
    kcl_fetch::write_folder(&copy, &content).unwrap();
    std::fs::remove_dir_all(lab.path("store")).unwrap();
    let resolution = lab.resolve("app", &offline()).unwrap();
    assert_eq!((resolution.packages[0].folder.clone(), &resolution.lock), (copy.clone(), &first.lock));
    // A copy that somebody changed is no copy.
    std::fs::write(copy.join("lib.k"), "version = \"x\"\n").unwrap();
    assert!(lab.resolve("app", &offline()).unwrap_err().what.contains("--offline"));
}

#[test]
fn packages_of_one_repository_are_fetched_side_by_side() {
    let lab = Lab::new();
    lab.module("mono", "1.0.0", "");
    let names_of: Vec<String> = (0..7).map(|n| format!("part{n}")).collect();
    for name in &names_of {
        lab.write(
            &format!("mono/{name}/kcl.mod"),
            &format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n"),
        );
    }
    for number in 0..3 {
        lab.tag("mono", &format!("v1.0.{number}"));
    }
    let need = |name: &String| format!("{name} = {{ git = \"{}\", tag = \"v1.0.1\" }}\n", lab.url("mono"));
    let needs: String = names_of.iter().map(need).collect();
    app(&lab, &format!("mono = {{ git = \"{}\", tag = \"v1.0.2\" }}\n{needs}", lab.url("mono")));
    let resolution = lab.resolve("app", &Options::default()).unwrap();
    assert_eq!(resolution.packages.len(), 8, "{:?}", names(&resolution));
}

#[test]
fn what_a_killed_git_has_left_holds_nobody_up() {
    let lab = Lab::new();
    for version in ["1.0.0", "2.0.0", "3.0.0", "4.0.0"] {
        lab.module("lib", version, "");
        lab.tag("lib", &format!("v{version}"));
    }
    let at = |version: &str| {
        app(&lab, &format!("lib = {{ git = \"{}\", tag = \"v{version}\" }}", lab.url("lib")));
        names(&lab.resolve("app", &Options::default()).unwrap())
    };
    assert_eq!(at("1.0.0"), ["lib@1.0.0"]);
    let copy = std::fs::read_dir(lab.path("store/git")).unwrap().next().unwrap().unwrap().path();
    for stale in ["shallow.lock", "config.lock", "refs/tags/v2.0.0.lock"] {
        std::fs::write(copy.join(stale), "").unwrap();
    }
    assert_eq!(at("2.0.0"), ["lib@2.0.0"]);
    std::fs::remove_dir_all(copy.join("objects")).unwrap();
    assert_eq!(at("3.0.0"), ["lib@3.0.0"]);
    // Objects that a lost write has emptied.
    for entry in std::fs::read_dir(copy.join("objects/pack")).unwrap().flatten() {
        std::fs::remove_file(entry.path()).unwrap();
        std::fs::write(entry.path(), "").unwrap();
    }
    assert_eq!(at("4.0.0"), ["lib@4.0.0"]);
}

#[test]
fn a_damaged_copy_in_the_store_is_absent_and_is_fetched_again() {
    let lab = Lab::new();
    lab.module("lib", "1.0.0", "");
    lab.tag("lib", "v1");
    app(&lab, &format!("lib = {{ git = \"{}\", tag = \"v1\" }}", lab.url("lib")));
    let first = lab.resolve("app", &Options::default()).unwrap();
    lab.write_lock("app", &first);
    let folder = first.packages[0].folder.clone();
    let damages: [&dyn Fn(); 4] = [
        &|| std::fs::write(folder.join("lib.k"), "version = \"x\"\n").unwrap(),
        &|| std::fs::write(folder.join("more.k"), "").unwrap(),
        &|| std::fs::remove_file(folder.join("lib.k")).unwrap(),
        &|| std::fs::remove_file(folder.join("kcl.mod")).unwrap(),
    ];
    for damage in damages {
        damage();
        let told = lab.resolve("app", &offline()).unwrap_err();
        assert!(told.what.contains("what kcl.mod.lock names"), "{told}");
        assert_eq!(lab.resolve("app", &Options::default()).unwrap().lock, first.lock);
        assert_eq!(text(&folder, "lib.k"), "version = \"1.0.0\"\n");
        assert!(!folder.join("more.k").exists());
    }
    let beside: Vec<_> = std::fs::read_dir(lab.path("store/store")).unwrap().flatten().collect();
    assert_eq!(beside.len(), 1, "{beside:?}");
}

#[test]
fn a_package_that_is_named_is_that_one_or_none() {
    let lab = Lab::new();
    lab.module("mono", "1.0.0", "");
    lab.tag("mono", "v1");
    let url = lab.url("mono");
    // Nobody named a package: the one at the root is meant, whatever it calls itself.
    app(&lab, &format!("other = {{ git = \"{url}\", tag = \"v1\" }}"));
    assert_eq!(names(&lab.resolve("app", &Options::default()).unwrap()), ["other@1.0.0"]);
    app(&lab, &format!("other = {{ git = \"{url}\", tag = \"v1\", package = \"other\" }}"));
    let told = lab.resolve("app", &Options::default()).unwrap_err();
    assert!(told.what.contains("has no package `other`"), "{told}");
}

#[test]
fn a_branch_that_loses_against_a_version_is_told() {
    let lab = Lab::new();
    lab.module("base", "1.2.0", "");
    lab.tag("base", "v1.2.0");
    lab.git("base", &["branch", "next"]);
    let url = lab.url("base");
    lab.module("left", "1.0.0", &format!("[dependencies]\nbase = {{ git = \"{url}\", tag = \"v1.2.0\" }}\n"));
    lab.tag("left", "v1.0.0");
    let left = format!("left = {{ git = \"{}\", tag = \"v1.0.0\" }}\n", lab.url("left"));
    app(&lab, &format!("base = {{ git = \"{url}\", branch = \"next\" }}\n{left}"));
    let told = lab.resolve("app", &Options::default()).unwrap().surprises;
    assert!(told.len() == 1 && told[0].contains("kcl.mod asks for `next`, `v1.2.0` is taken"), "{told:?}");
    app(&lab, &left);
    assert!(lab.resolve("app", &Options::default()).unwrap().surprises.is_empty());
}

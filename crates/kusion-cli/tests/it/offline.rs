//! What needs no cluster: generate, wrong inputs.

use serde_json::Value;

use crate::{kusion, run, text};

#[test]
fn generate_prints_the_resources_of_a_stack_by_folder_and_by_name() {
    let home = tempfile::tempdir().unwrap();
    let by_folder = run(kusion(home.path()).args(["generate", "konfig/appops/nginx/dev", "-o", "json"]), 0);
    let by_name = run(kusion(home.path()).args(["compile", "nginx/dev", "-o", "json"]), 0);
    assert_eq!(by_folder.stdout, by_name.stdout);
    let spec: Value = serde_json::from_slice(&by_folder.stdout).unwrap();
    let ids: Vec<&str> =
        spec["resources"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert!(ids.iter().any(|id| id.starts_with("apps/v1:Deployment:")), "{ids:?}");
    assert!(ids.iter().any(|id| id.starts_with("v1:Service:")), "{ids:?}");
}

#[test]
fn wrong_words_are_answered_with_the_right_ones() {
    let home = tempfile::tempdir().unwrap();
    let typo = run(kusion(home.path()).arg("aply"), 1);
    assert!(text(&typo.stderr).contains("did you mean `kusion apply`"), "{}", text(&typo.stderr));
    let flag = run(kusion(home.path()).args(["preview", "--contxt", "x"]), 1);
    assert!(text(&flag.stderr).contains("--context"));
    let outside = run(kusion(home.path()).arg("preview").current_dir(home.path()), 1);
    assert!(text(&outside.stderr).contains("kusion init") || text(&outside.stderr).contains("stack.yaml"));
    let stack = run(kusion(home.path()).args(["preview", "guestbook/nope"]), 1);
    assert!(text(&stack.stderr).contains("guestbook/dev"), "{}", text(&stack.stderr));
}

#[test]
fn a_program_with_a_mistake_is_shown_with_its_line() {
    let home = tempfile::tempdir().unwrap();
    let stack = home.path().join("p/dev");
    std::fs::create_dir_all(&stack).unwrap();
    std::fs::write(home.path().join("p/project.yaml"), "name: p\n").unwrap();
    std::fs::write(stack.join("stack.yaml"), "name: dev\n").unwrap();
    run(kusion(home.path()).args(["generate", "-w"]).arg(&stack), 1);
    std::fs::write(stack.join("main.k"), "a = 1\nb = nowhere\n").unwrap();
    let wrong = run(kusion(home.path()).args(["generate", "-w"]).arg(&stack), 1);
    assert!(text(&wrong.stderr).contains("main.k:2"), "{}", text(&wrong.stderr));
}

/// Ten milliseconds are asked of a release build on a quiet machine; a busy one with a slower build gets ten times as long.
#[test]
fn help_is_there_at_once() {
    let home = tempfile::tempdir().unwrap();
    let once = || {
        let begun = std::time::Instant::now();
        run(kusion(home.path()).arg("--help"), 0);
        begun.elapsed()
    };
    let best = (0..20).map(|_| once()).min().unwrap();
    eprintln!("kusion --help: {:.1} ms", best.as_secs_f64() * 1e3);
    assert!(best.as_millis() <= 100, "{best:?}");
}

//! The README's first command ends as its recording in the book shows, and again, and leaves a folder that works. The picture
//! in the README is drawn from the recording.

use std::path::Path;

use crate::{kusion, picture, root, run, text};

const BEGIN: &str = "<!-- recording of `kusion quickstart`; renewed by UPDATE=1 cargo test -p kusion-cli --test it quickstart -->\n```text\n";
const END: &str = "```\n<!-- end of recording -->";

fn quickstart(folder: &Path, words: &[&str]) -> String {
    let mut command = kusion(&folder.join("unused"));
    command.env_remove("KUSION_HOME").env("LC_ALL", "C.UTF-8").env("USER", "you").current_dir(folder);
    text(&run(command.arg("quickstart").args(words), 0).stdout)
}

/// What is the same in every run: no times, ports, hashes and names that are drawn; no lines that come and go with the clock.
fn lasting(recording: &str) -> Vec<String> {
    let drawn = ["progressing", "Stack quickstart", "Rollback of quickstart"];
    let lines = recording.lines().filter(|line| !drawn.iter().any(|text| line.contains(text)));
    let mut lines: Vec<String> =
        lines.map(|line| line.split_whitespace().map(lasting_word).collect::<Vec<_>>().join(" ")).collect();
    // Objects that do not depend on each other become healthy in any order.
    lines.sort();
    lines
}

fn lasting_word(word: &str) -> String {
    let bare = word.trim_matches(|c: char| "(),:;".contains(c));
    let is_time = bare.parse::<f64>().is_ok() && bare.contains('.');
    let is_hash = bare.len() == 6 && bare.chars().all(|c| c.is_ascii_hexdigit());
    let is_drawn =
        bare.starts_with("127.0.0.1:") || bare.starts_with("10.96.") || bare.starts_with("gocity-");
    if is_time || is_hash || is_drawn { "…".to_owned() } else { word.to_owned() }
}

#[test]
fn the_book_shows_what_happens_and_the_readme_has_its_picture() {
    let folder = tempfile::tempdir().unwrap();
    let shown = quickstart(folder.path(), &[]);
    let path = root().join("docs/book/src/quickstart.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a recording");
    let (recorded, after) = rest.split_once(END).expect("the recording ends");
    let drawn = root().join("docs/book/src/pictures/quickstart.svg");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{shown}{END}{after}")).unwrap();
        std::fs::write(&drawn, picture::terminal(part(&shown))).unwrap();
        return;
    }
    assert_eq!(lasting(&shown), lasting(recorded));
    assert_eq!(std::fs::read_to_string(&drawn).unwrap(), picture::terminal(part(recorded)));
    assert!(std::fs::read_to_string(root().join("README.md")).unwrap().contains("pictures/quickstart.svg"));
}

/// What the picture shows: a change that fails, with cause, line and next step.
fn part(recording: &str) -> &str {
    let begin = recording.find("5  a bad day").unwrap();
    let end = recording.find("6  rollback").unwrap();
    recording[begin..end].trim_end()
}

#[test]
fn a_second_run_takes_another_folder_and_never_touches_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = quickstart(folder.path(), &[]);
    assert!(first.contains("Release 4 succeeded"), "{first}");
    let state =
        || std::fs::read(folder.path().join("quickstart/.kusion/state/quickstart/dev/default/log")).unwrap();
    let before = state();
    let again = quickstart(folder.path(), &[]);
    assert!(again.contains("quickstart-2") && again.contains("Release 4 succeeded"), "{again}");
    // Copied from where the reader stands, its advice acts on the second project, not on the first of that name.
    assert!(again.contains("`kusion rollback quickstart-2/dev --to 2`"), "{again}");
    assert_eq!(state(), before);
    let mut command = kusion(&folder.path().join("unused"));
    let refused = run(command.current_dir(folder.path()).args(["quickstart", "quickstart"]), 1);
    assert!(text(&refused.stderr).contains("not empty"), "{}", text(&refused.stderr));
    assert_eq!(state(), before);
}

#[test]
fn the_folder_is_good_for_more() {
    let folder = tempfile::tempdir().unwrap();
    quickstart(folder.path(), &[]);
    let project = folder.path().join("quickstart");
    let call = |words: &[&str], code: i32| {
        let mut command = kusion(&folder.path().join("unused"));
        text(&run(command.env_remove("KUSION_HOME").current_dir(&project).args(words), code).stdout)
    };
    let mut down = kusion(&folder.path().join("unused"));
    down.env_remove("KUSION_HOME").current_dir(&project).args(["preview", "dev"]);
    let down = text(&run(&mut down, 5).stderr);
    assert!(down.contains("the sandbox is not running") && down.contains("kusion sandbox start"), "{down}");
    let started = call(&["sandbox", "start"], 0);
    assert!(started.contains("KUBECONFIG="), "{started}");
    let plan = call(&["preview", "dev", "--exit-code"], 0);
    assert!(plan.contains("4 unchanged"), "{plan}");
    let releases = call(&["release", "list", "dev"], 0);
    assert!(releases.contains("failed"), "{releases}");
    call(&["destroy", "dev", "-y"], 0);
    assert!(call(&["sandbox", "stop"], 0).contains("stopped"));
    assert!(call(&["sandbox", "status"], 0).contains("No sandbox"));
}
